package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A record that is added again replaces the one in the directory, in whichever file that is.
func TestAddedAgain(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "mine.json")
	if err := os.WriteFile(own, []byte(`{"pk":"models","sk":"openai-far","url":"https://old.example.com/v1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"far", "org/model:8b", "org/model:8b"} {
		status, out := operate(t, "models", "add", "--family", "openai", "--url", "https://new.example.com/v1", "--records", dir, name)
		if status != 0 || name == "far" && out != "wrote "+own+"\n" {
			t.Errorf("%s: %d %s", name, status, out)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v %v", files, err)
	}
	t.Setenv("GLOSSA_RECORDS", dir)
	if b, err := os.ReadFile(own); err != nil || !strings.Contains(string(b), "new.example.com") {
		t.Errorf("%s %v", b, err)
	}
	if status, out := operate(t, "models", "check"); status != 0 || out != "all is well\n" {
		t.Errorf("%d %s", status, out)
	}
	for _, key := range []string{"env:AWS_SECRET_ACCESS_KEY", "sk-0123456789abcdef", "secretsmanager:sk-0123456789abcdef"} {
		status, out := operate(t, "models", "add", "--family", "openai", "--url", "https://new.example.com/v1", "--key", key, "--records", dir, "other")
		if status != 1 || !strings.Contains(out, "/key: ") || strings.Contains(out, "0123456789") {
			t.Errorf("%s: %d %s", key, status, out)
		}
	}
}
