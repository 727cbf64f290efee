package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			t.Errorf("it asks for %s", r.URL)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	for _, url := range []string{server.URL, server.URL + "/"} {
		if code, out := operate(t, "health", "--url", url); code != 0 || out != "ok\n" {
			t.Errorf("%d %q", code, out)
		}
	}
	t.Setenv("GLOSSA_PORT", server.URL[strings.LastIndex(server.URL, ":")+1:])
	if code, out := operate(t, "health"); code != 0 || out != "ok\n" {
		t.Errorf("at the port of the settings: %d %q", code, out)
	}
	status = http.StatusServiceUnavailable
	if code, out := operate(t, "health", "--url", server.URL); code != 1 || !strings.Contains(out, "503") {
		t.Errorf("%d %q", code, out)
	}
	secret := strings.Replace(server.URL, "://", "://user:secret@", 1)
	if code, out := operate(t, "health", "--url", secret); code != 1 || strings.Contains(out, "secret") {
		t.Errorf("%d %q", code, out)
	}
	server.Close()
	if code, _ := operate(t, "health", "--url", server.URL); code != 1 {
		t.Errorf("nobody is there: %d", code)
	}
	for _, args := range [][]string{{"health", "now"}, {"health", "--url", "::"}} {
		if code, _ := operate(t, args...); code != 2 {
			t.Errorf("%q: %d", args, code)
		}
	}
}
