package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// The directory of one model is not one of models, and the problem says so, whatever form the model has.
func TestDirectoryOfAModel(t *testing.T) {
	for _, file := range []string{"model.safetensors", "checkpoint-7.json", "metrics.jsonl"} {
		fsys := fstest.MapFS{"config.json": {Data: []byte("{}")}, file: {Data: []byte("{}")}}
		runs, problems := New(Config{}).Scan(fsys)
		if len(runs) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "it is the directory of a model: name the directory that holds it") {
			t.Errorf("%s: %v %v", file, runs, problems)
		}
	}
}

// A listing says which models reason, as they do when they are opened. The file that a record names
// is read only then.
func TestReasons(t *testing.T) {
	const plain = `{% for m in messages %}{{ m.content }}{% endfor %}`
	const thinks = plain + `{{ '<think>' }}`
	dir := t.TempDir()
	for path, template := range map[string]string{
		"plain/chat_template.jinja": plain, "thinks/chat_template.jinja": thinks,
		"a/chat_template.jinja": plain, "b/chat_template.jinja": thinks, "c/chat_template.jinja": plain, "c/other.jinja": thinks,
	} {
		path = filepath.Join(dir, path)
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			if err := os.CopyFS(filepath.Dir(path), os.DirFS(goldens+"gpt2")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(template), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record := func(name, checkpoint, template string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"pk":"models","sk":"local-` + name + `","schema":{"checkpoint":"` + checkpoint + `","chat_template":"` + template + `"}}`)}
	}
	p := start(t, settings{checkpoints: dir, records: fstest.MapFS{
		"a.json": record("made-to", "a", thinks), "b.json": record("kept-from", "b", plain), "c.json": record("by-file", "c", "other.jinja"),
	}})
	listed := map[string]bool{}
	infos, err := p.List(t.Context())
	for _, info := range infos {
		listed[info.Name] = info.Reasons
	}
	if err != nil || len(infos) != 5 {
		t.Fatal(infos, err)
	}
	for name, want := range map[string]bool{"plain": false, "thinks": true, "made-to": true, "kept-from": false, "by-file": true} {
		m, err := p.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Reasons != want || listed[name] != (want && name != "by-file") {
			t.Errorf("%s: opened %t, listed %t", name, m.Reasons, listed[name])
		}
	}
}
