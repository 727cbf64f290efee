package app

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// A record names the chat template of a model whose own cannot be used: one of glossa's, a
// text, or a file beside the model's.
func TestRecordTemplates(t *testing.T) {
	dir, _ := brokenModels(t)
	if err := os.WriteFile(filepath.Join(dir, "template", "own.jinja"), []byte("{% for m in messages %}FILE {{ m.content }}{% endfor %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := func(name, template string) *fstest.MapFile {
		raw, err := json.Marshal(map[string]any{
			"pk": "models", "sk": "local-" + name,
			"schema": map[string]any{"checkpoint": "template", "chat_template": template},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: raw}
	}
	a, err := New(Config{Checkpoints: dir, Records: fstest.MapFS{
		"local-file.json": record("file", "own.jinja"), "local-text.json": record("text", "{% for m in messages %}TEXT {{ m.content }}{% endfor %}"),
		"local-named.json": record("named", "concat"), "local-gone.json": record("gone", "gone.jinja"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{"file": "FILE Hi", "text": "TEXT Hi", "named": "Hi", "gone": "chat_template: "} {
		res := ask(a.Handler(), "POST", "/tokenize", "", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hi"}],"return_token_strs":true,"add_special_tokens":false}`))
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Strings []string `json:"token_strs"`
			Error   struct{ Message string }
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatalf("%s: %s", raw, err)
		}
		got := strings.ReplaceAll(strings.Join(answer.Strings, ""), "Ġ", " ")
		if got != want && (want != "chat_template: " || !strings.Contains(answer.Error.Message, "chat_template: there is no file template/gone.jinja")) {
			t.Errorf("%s: %s, want %q", model, raw, want)
		}
	}
}
