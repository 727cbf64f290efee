package repl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.json")
	cfg := Config{Models: several(), NoStats: true}
	_, notes, err := converse(t, cfg, "/system be <brief>\n/params seed=5 temperature=0.5 stop=[\"x\",\"y\"]\none\ntwo\n/save "+path+"\nthree\n/save "+path+"\n")
	if err != nil || !strings.Contains(notes, "(saved 2 turns to "+path+")") || !strings.Contains(notes, "(saved 3 turns to ") {
		t.Fatalf("%q, %v", notes, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(b, &file); err != nil || file["model"] != "novels" || len(file["messages"].([]any)) != 7 || !strings.Contains(string(b), "be <brief>") {
		t.Errorf("%s, %v", b, err)
	}

	var prompts []string
	models := several()
	models.backends["novels"] = echo{prompts: &prompts}
	_, notes, err = converse(t, Config{Models: models, Model: "numbers"}, "gone\n/load "+path+"\n/params\nfour\n")
	want := []string{"system: be <brief> | one | <one> | two | <two> | three | <three> | four"}
	if err != nil || !slices.Equal(prompts, want) {
		t.Errorf("the model saw %q, want %q, %v", prompts, want, err)
	}
	for _, want := range []string{"(loaded 3 turns; novels)\n> three\n<three>\n", "  seed               5  ", "  temperature        0.5  ", `["x","y"]`} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
}

func TestLoadValidates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.json")
	for _, test := range []struct{ file, note string }{
		{"hello", " is not a conversation that /save wrote"},
		{`{"messages": []}`, " is not a conversation that /save wrote"},
		{`{"glossa_chat": 2}`, " has version 2 of the format, this program reads version 1"},
		{`{"glossa_chat": 1, "model": "novels", "messages": [], "more": 1}`, `: unknown field "more"`},
		{`{"glossa_chat": 1, "model": 5, "messages": []}`, "cannot unmarshal number"},
		{`{"glossa_chat": 1, "model": "novels", "messages": [{"role": "assistant", "content": "a"}]}`, `: messages[0]: the role must be user, not "assistant"`},
		{`{"glossa_chat": 1, "model": "novels", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "a"}, {"role": "user", "content": "a"}]}`, `: messages[2]: the role must be assistant, not "user"`},
		{`{"glossa_chat": 1, "model": "novels", "messages": [{"role": "user", "content": "a"}]}`, ": the last question has no answer"},
		{`{"glossa_chat": 1, "model": "novels", "parameters": {"temperature": 9}, "messages": []}`, ": temperature must be a number from 0 to 2"},
		{`{"glossa_chat": 1, "model": "novels", "parameters": {"heat": 9}, "messages": []}`, `: there is no parameter "heat"`},
	} {
		if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		var prompts []string
		_, notes, err := converse(t, Config{Models: one(echo{prompts: &prompts})}, "a\n/load "+path+"\nb\n")
		if err != nil || !strings.Contains(notes, test.note) || !slices.Equal(prompts, []string{"a", "a | <a> | b"}) {
			t.Errorf("%s: %q, the model saw %q, %v", test.file, notes, prompts, err)
		}
	}
	if _, notes, err := converse(t, Config{Models: one(echo{})}, "/load "+path+".no\n/load\n/load "+filepath.Dir(path)+"\n"); err != nil ||
		!strings.Contains(notes, "no such file") && runtime.GOOS != "windows" || !strings.Contains(notes, "/load needs a file") || !strings.Contains(notes, " is not a file") {
		t.Errorf("%q, %v", notes, err)
	}
}

// A file of a model that is not here loads, and the current model continues.
func TestLoadOfAnotherModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.json")
	file := `{"glossa_chat": 1, "model": "gone", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var prompts []string
	_, notes, err := converse(t, Config{Models: one(echo{prompts: &prompts})}, "/load "+path+"\nc\n")
	if err != nil || !strings.Contains(notes, `(there is no model "gone"; use m; continuing with m)`) || !slices.Equal(prompts, []string{"a | b | c"}) {
		t.Errorf("%q, %q, %v", notes, prompts, err)
	}
}

// /save does not overwrite a file that is something else.
func TestSaveKeepsOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, notes, err := converse(t, Config{Models: one(echo{})}, "a\n/save "+path+"\n/save\n/save "+path+"/no/dir\n")
	b, readErr := os.ReadFile(path)
	if err != nil || readErr != nil || string(b) != "notes" || !strings.Contains(notes, "exists and is not a saved conversation: choose another name") || !strings.Contains(notes, "/save needs a file") {
		t.Errorf("%q, %q, %v, %v", b, notes, err, readErr)
	}
}

// Every parameter survives a file.
func TestSavedParams(t *testing.T) {
	var p llm.Params
	for _, name := range Names() {
		value := "1"
		if name == "stop" {
			value = `["a\n","b"]`
		}
		if err := Set(&p, name+"="+value); err != nil {
			t.Fatal(err)
		}
	}
	s := &session{Config: Config{Params: p}, model: &llm.Model{}}
	b, err := json.Marshal(s.saved())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chat.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := readSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := v.params()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range params() {
		want, _ := json.Marshal(row.get(&p))
		if got, _ := json.Marshal(row.get(&again)); string(got) != string(want) || string(got) == "null" {
			t.Errorf("%s: %s, want %s", row.name, got, want)
		}
	}
}
