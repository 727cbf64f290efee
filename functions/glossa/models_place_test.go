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

// A directory of records is made, and remove takes from it what add wrote.
func TestRecordsAddedAndRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "records")
	file := filepath.Join(dir, "openai-qwen.json")
	add := "models add --family openai --url http://127.0.0.1:8000/v1 --like vllm --records " + dir
	for _, test := range []struct {
		line   string
		status int
		want   string
	}{
		{add + " qwen", 0, "wrote " + file},
		{add + " far", 0, "wrote "},
		{"models check --records " + dir, exitUsage, "GLOSSA_RECORDS=" + dir},
		{"models remove missing qwen --records " + dir, 1, "has no record of missing"},
		{"models remove models --records " + dir, 1, "has no record of models"},
		{"models remove qwen openai/far --records " + dir, 0, "removed " + file},
		{"models remove qwen --records " + dir, 1, "has no record of qwen"},
		{"models remove qwen --table-name t --records " + dir, exitUsage, "choose one of"},
		{"models add --family bedrock --records " + dir + " us.amazon.nova-lite-v1:0", exitUsage, "with --name"},
	} {
		if status, out := operate(t, strings.Fields(test.line)...); status != test.status || !strings.Contains(out, test.want) {
			t.Errorf("%s: %d %s", test.line, status, out)
		}
		if test.status == 0 && strings.HasPrefix(test.line, add) {
			all := `{"pk":"models","sk":"all-models","models":[]}`
			if err := os.WriteFile(filepath.Join(dir, "all-models.json"), []byte(all), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
}
