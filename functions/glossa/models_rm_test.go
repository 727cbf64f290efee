package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/hub"
)

// place writes files below a directory.
func place(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// filesIn returns the paths of all files below a directory.
func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, err = filepath.Rel(dir, name)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Only the files of the named model are deleted, and nothing outside of the directory.
func TestModelsRm(t *testing.T) {
	gguf := filesOf(t, "gpt2-gguf")["model.gguf"]
	all := map[string][]byte{
		"models/copied/config.json": filesOf(t, "gpt2")["config.json"], "models/copied/model.safetensors": filesOf(t, "gpt2")["model.safetensors"], "models/copied/notes.md": []byte("mine"),
		"models/two/two-Q8_0.gguf": gguf, "models/two/two-Q4_K_M.gguf": gguf, "models/bare.gguf": gguf, "models/bare-other.gguf": gguf,
		"models/diary/page.txt": []byte("mine"), "outside/one.gguf": gguf, "models/alone/alone-Q4_0.gguf": gguf,
		"models/clone/config.json": filesOf(t, "gpt2")["config.json"], "models/clone/m-Q4_0.gguf": gguf, "models/clone/m-Q8_0.gguf": gguf,
		"models/beside/config.json": filesOf(t, "gpt2")["config.json"], "models/beside/model.safetensors": filesOf(t, "gpt2")["model.safetensors"], "models/beside/b-Q8_0.gguf": gguf,
		"models/pt/config.json": []byte(`{"model_type":"bert"}`), "models/pt/vocab.json": []byte("{}"), "models/pt/pytorch_model.bin": []byte("mine"),
		"models/tuned/config.json": filesOf(t, "gpt2")["config.json"], "models/tuned/model.safetensors": filesOf(t, "gpt2")["model.safetensors"], "models/tuned/adapter_config.json": []byte("{}"),
		"models/tuned/adapter_model.safetensors": []byte("mine"), "models/tuned/t-Q8_0.gguf": gguf,
		"models/lora/adapter_config.json": []byte("{}"), "models/lora/adapter_model.safetensors": []byte("mine"), "models/lora/tokenizer.json": []byte("{}"), "models/lora/notes.md": []byte("mine"),
		"models/my--model/config.json": filesOf(t, "gpt2")["config.json"], "models/my--model/model.safetensors": filesOf(t, "gpt2")["model.safetensors"],
	}
	for name, test := range map[string]struct {
		args, in string
		status   int
		gone     []string
		says     string
	}{
		"a directory":             {"copied", "y\n", 0, []string{"models/copied/config.json", "models/copied/model.safetensors"}, "kept, because they do not belong to a model: copied/notes.md"},
		"one quantisation":        {"two:q8_0 --yes", "", 0, []string{"models/two/two-Q8_0.gguf"}, "deleted two:Q8_0: 82.1 kB"},
		"both":                    {"two:Q8_0 two:Q4_K_M --yes", "", 0, []string{"models/two/two-Q8_0.gguf", "models/two/two-Q4_K_M.gguf"}, "deleted two:Q4_K_M"},
		"which of two":            {"two --yes", "", 1, nil, "two has several models: name them: two:Q4_K_M two:Q8_0"},
		"the only one by name":    {"alone:q4_0 --yes", "", 0, []string{"models/alone/alone-Q4_0.gguf"}, "deleted alone"},
		"an absent one":           {"alone:Q8_0 --yes", "", 1, nil, `alone has no quantisation "Q8_0"`},
		"a file":                  {"bare:latest --yes", "", 0, []string{"models/bare.gguf"}, "deleted bare"},
		"a link":                  {"link --yes", "", 0, nil, "deleted link"},
		"no model":                {"diary --yes", "", 1, nil, "holds no model that glossa knows"},
		"a starter":               {"novels --yes", "", 1, nil, "novels is a starter model: it is part of the program and cannot be deleted"},
		"nobody":                  {"nobody --yes", "", 1, nil, `there is no model "nobody" in `},
		"beside a configuration":  {"clone:Q4_0 --yes", "", 0, []string{"models/clone/m-Q4_0.gguf"}, "deleted clone:Q4_0"},
		"beside safetensors":      {"beside:Q8_0 --yes", "", 0, []string{"models/beside/b-Q8_0.gguf"}, "deleted beside:Q8_0"},
		"not an adapter":          {"tuned --yes", "", 0, []string{"models/tuned/config.json", "models/tuned/model.safetensors"}, "tuned/adapter_config.json, tuned/adapter_model.safetensors, tuned/t-Q8_0.gguf"},
		"an adapter":              {"lora --yes", "", 0, []string{"models/lora/adapter_config.json", "models/lora/adapter_model.safetensors", "models/lora/tokenizer.json"}, "lora/notes.md"},
		"another program's":       {"pt --yes", "", 1, nil, "holds no model that glossa knows"},
		"a file has no variants":  {"bare:Q8_0 --yes", "", 1, nil, `there is no model "bare:Q8_0"`},
		"a file has no owner":     {"someone/bare --yes", "", 1, nil, `there is no model "someone/bare"`},
		"a link has no owner":     {"someone/link --yes", "", 1, nil, `there is no model "someone/link"`},
		"a name that no pull has": {"my--model --yes", "", 0, []string{"models/my--model/config.json", "models/my--model/model.safetensors"}, "deleted my--model"},
		"twice":                   {"bare bare --yes", "", 2, nil, "bare is named twice"},
		"the parent":              {".. --yes", "", 2, nil, "is not OWNER/NAME"},
		"outside":                 {"../outside --yes", "", 2, nil, "is not OWNER/NAME"},
		"another owner":           {"acme/copied --yes", "", 1, nil, "does not come from acme/copied"},
		"no":                      {"copied", "n\n", 1, nil, "nothing is deleted"},
		"no answer":               {"copied", "", 1, nil, "nothing is deleted"},
		"the second is wrong":     {"copied nobody --yes", "", 1, nil, `there is no model "nobody"`},
		"no name":                 {"--yes", "", 2, nil, "missing argument NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("GLOSSA_HOME", dir)
			place(t, dir, all)
			if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "models", "link")); err != nil {
				t.Skip(err)
			}
			status, out, notes := say(t, test.in, append([]string{"models", "rm"}, strings.Fields(test.args)...)...)
			if status != test.status || !strings.Contains(out+notes, test.says) {
				t.Errorf("status %d, %q, %q, want %d, %q", status, out, notes, test.status, test.says)
			}
			want := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Contains(test.gone, name) })
			got := slices.DeleteFunc(filesIn(t, dir), func(name string) bool { return name == "models/link" })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("left %q, want %q", got, want)
			}
			if _, err := os.Lstat(filepath.Join(dir, "models", "link")); (err != nil) != (name == "a link") {
				t.Errorf("the link: %v", err)
			}
		})
	}
}

// A model that was pulled is deleted with what the pull keeps, and only what it wrote.
func TestModelsRmPulled(t *testing.T) {
	models := withHome(t)
	h := newHubOf(t, filesOf(t, "gpt2"))
	if status, _, notes := say(t, "", "pull", "acme/tiny", "--endpoint", h.URL); status != 0 {
		t.Fatal(notes)
	}
	place(t, models, map[string][]byte{"tiny/mine.safetensors": []byte("mine")})
	status, out, notes := say(t, "", "models", "rm", "acme/tiny", "--yes", "--json")
	var list struct{ Deleted []removal }
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list.Deleted) != 1 || len(list.Deleted[0].Files) != 5 {
		t.Errorf("status %d, %v, %s%s", status, err, out, notes)
	}
	if got := filesIn(t, models); !slices.Equal(got, []string{"tiny/mine.safetensors"}) {
		t.Errorf("left %q", got)
	}
}

// Nothing is deleted from a directory into which a pull writes.
func TestModelsRmWhilePulling(t *testing.T) {
	models := withHome(t)
	place(t, models, map[string][]byte{"tiny/tiny-Q8_0.gguf": filesOf(t, "gpt2-gguf")["model.gguf"], "tiny/tiny-Q4_0.gguf": filesOf(t, "gpt2-gguf")["model.gguf"]})
	client := hub.Client{Endpoint: newHubOf(t, filesOf(t, "gpt2")).URL}
	s, err := client.List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	d, err := client.Prepare(t.Context(), s, s.Files, filepath.Join(models, "tiny"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if status, _, notes := say(t, "", "models", "rm", "tiny:Q8_0", "--yes"); status != 1 || !strings.Contains(notes, "another pull is writing into it") {
		t.Errorf("status %d, %s", status, notes)
	}
	if _, err := os.Stat(filepath.Join(models, "tiny", "tiny-Q8_0.gguf")); err != nil {
		t.Error(err)
	}
}

// Two owners' models of one name have directories of their own.
func TestTwoOwners(t *testing.T) {
	models := withHome(t)
	h := newHubOf(t, filesOf(t, "gpt2"))
	for _, repo := range []string{"acme/tiny", "zenith/tiny", "zenith/tiny"} {
		status, out, notes := say(t, "", "pull", repo, "--endpoint", h.URL)
		if name := strings.TrimPrefix(repo, "acme/"); status != 0 || !strings.Contains(out, " is complete: glossa run "+name+"\n") {
			t.Fatalf("%s: status %d, %s%s", repo, status, out, notes)
		}
	}
	h.Close()
	for _, name := range []string{"acme/tiny", "zenith/tiny", "tiny", "zenith--tiny"} {
		if status, out, notes := say(t, "", "run", name, "the hen", "--max-tokens", "1", "--endpoint", h.URL); status != 0 || out == "" {
			t.Errorf("%s: status %d, %q, %s", name, status, out, notes)
		}
	}
	if status, _, notes := say(t, "", "models", "rm", "acme/tiny", "--yes"); status != 0 {
		t.Error(notes)
	}
	if status, out, notes := say(t, "", "run", "zenith/tiny", "the hen", "--max-tokens", "1", "--endpoint", h.URL); status != 0 || out == "" {
		t.Errorf("status %d, %q, %s", status, out, notes)
	}
	if status, _, notes := say(t, "", "models", "rm", "zenith/tiny", "--yes"); status != 0 || len(filesIn(t, models)) > 0 {
		t.Errorf("status %d, %s, left %q", status, notes, filesIn(t, models))
	}
}

// show describes starters, downloaded models and refused ones.
func TestModelsShow(t *testing.T) {
	models := withHome(t)
	place(t, models, map[string][]byte{
		"two/two-Q8_0.gguf": filesOf(t, "gpt2-gguf")["model.gguf"], "two/two-Q4_K_M.gguf": filesOf(t, "gpt2-gguf")["model.gguf"],
		"broken/pytorch_model.bin": []byte("x"), "broken/config.json": []byte(`{"model_type":"gpt2"}`),
	})
	for name, want := range map[string][]string{
		"novels":        {"architecture   Alpha\n", "context        256 tokens\n", "source         starters\n"},
		"phrases":       {"architecture   M2M100\n", "memory q8_0    1.2 MB\n", "tokenizer      m2m100\n"},
		"two:Q8_0":      {"architecture   GPT-2\n", "quantisation   Q8_0\n", "file           two-Q8_0.gguf, 82.1 kB\n"},
		"broken":        {"refused  ", "pytorch_model.bin is not supported"},
		"novels:latest": {"name           novels\n"},
	} {
		status, out, notes := say(t, "", "models", "show", name)
		for _, part := range want {
			if status != 0 || !strings.Contains(out, part) {
				t.Errorf("%s: status %d, %q is not in\n%s%s", name, status, part, out, notes)
			}
		}
		if strings.Contains(out, "two-Q4_K_M") {
			t.Errorf("%s has the file of another model: %s", name, out)
		}
	}
	var m shownModel
	if _, out, _ := say(t, "", "models", "show", "phrases", "--json"); json.Unmarshal([]byte(out), &m) != nil || m.Memory["q8_0"] == 0 || m.Type != "M2M100" || len(m.Files) != 6 {
		t.Errorf("%+v", m)
	}
	if status, _, notes := say(t, "", "models", "show", "novles"); status != 1 || !strings.Contains(notes, `there is no model "novles"; did you mean "novels"?`) {
		t.Errorf("%d, %s", status, notes)
	}
	t.Setenv("GLOSSA_MEMORY", "1kB")
	if _, out, _ := say(t, "", "models", "show", "phrases"); !strings.Contains(out, "refused        it does not fit into memory") {
		t.Error(out)
	}
}

// ps lists the models in the memory of a server.
func TestModelsPs(t *testing.T) {
	const busy = `{"since":1000,"now":1090,"memory":{"bytes":5400000,"limit":8000000000,"models":[{"name":"a\u001b[2J","bytes":5400000,"in_use":2}]},"generations":{"running":1,"waiting":3,"workers":8}}`
	body := busy
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/activity":
			w.WriteHeader(http.StatusNotFound)
		case r.Header.Get("Authorization") != "Bearer gls_key":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, body)
		}
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("gls_key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, notes := say(t, "", "models", "ps", "--url", s.URL+"/", "--key-file", file)
	want := "NAME   MEMORY  REQUESTS\na?[2J  5.4 MB  2\n\nmemory 5.4 MB of 8.0 GB; 1 of 8 workers busy, 3 waiting; the server started 1m30s ago\n"
	if status != 0 || out != want {
		t.Errorf("status %d, %q%s, want %q", status, out, notes, want)
	}
	if status, out, _ := say(t, "", "models", "ps", "--url", s.URL, "--key-file", file, "--json"); status != 0 || !strings.Contains(out, `"in_use": 2`) {
		t.Errorf("status %d, %s", status, out)
	}
	if status, _, notes := say(t, "", "models", "ps", "--url", s.URL); status != 1 || !strings.Contains(notes, "pass --key-file FILE") {
		t.Errorf("status %d, %s", status, notes)
	}
	body = `{"memory":{}}`
	if _, out, _ := say(t, "", "models", "ps", "--url", s.URL, "--key-file", file); !strings.Contains(out, "no model is in memory") {
		t.Error(out)
	}
	body = "<html>"
	if status, _, notes := say(t, "", "models", "ps", "--url", s.URL, "--key-file", file); status != 1 || !strings.Contains(notes, "is not a glossa server") {
		t.Error(notes)
	}
}
