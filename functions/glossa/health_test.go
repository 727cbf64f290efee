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
	if code, out := operate(t, "health", "--url", server.URL); code != 1 || !strings.Contains(out, "no server answers: start glossa serve") {
		t.Errorf("nobody is there: %d %s", code, out)
	}
	if code, _ := operate(t, "health", "now"); code != 2 {
		t.Errorf("an argument: %d", code)
	}
	for _, url := range []string{"::", "127.0.0.1:8080", "localhost:8080", "foo", "ftp://127.0.0.1", "http://"} {
		for _, command := range []string{"health", "models ps"} {
			const want = "--url: it must be a URL such as http://127.0.0.1:8080"
			if code, out := operate(t, append(strings.Fields(command), "--url", url)...); code != 2 || !strings.Contains(out, want) {
				t.Errorf("%s --url %s: %d %s", command, url, code, out)
			}
		}
	}
	t.Setenv("GLOSSA_PORT", "http")
	if code, out := operate(t, "health"); code != 1 || !strings.Contains(out, `GLOSSA_PORT: "http" must be between`) {
		t.Errorf("%d %s", code, out)
	}
}
