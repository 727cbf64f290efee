package app

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/tokenizer/hf"
)

// An alias of a record is listed for Aleph Alpha's clients next to the model, and selects it.
func TestAliasesAreListed(t *testing.T) {
	records := fstest.MapFS{"golden.json": {Data: []byte(`{"pk":"models","sk":"local-golden","schema":{"checkpoint":"golden","aliases":["other","luminous-base"]}}`)}}
	h := golden(t, Config{Records: records}).Handler()
	var list []struct{ Name string }
	if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/models_available", "", nil))), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"golden", "other", "luminous-base"}) {
		t.Errorf("listed: %v", names)
	}
	if res := ask(h, "POST", "/complete", "", strings.NewReader(`{"model":"luminous-base","prompt":"a","maximum_tokens":1}`)); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, text(t, res))
	}
}

// A tokenizer.json is sent as in the model's files; for an Alpha model it is generated.
func TestTokenizerFile(t *testing.T) {
	a := golden(t, Config{})
	addTranslator(t, a)
	source := os.DirFS("../engine/arch/testdata/gpt2")
	if err := os.CopyFS(filepath.Join(a.cfg.Checkpoints, "gpt2"), source); err != nil {
		t.Fatal(err)
	}
	h := a.Handler()
	file, err := fs.ReadFile(source, "tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, ask(h, "GET", "/models/gpt2/tokenizer", "", nil)); got != string(file) {
		t.Errorf("%d bytes of %d: %.200s", len(got), len(file), got)
	}
	res := ask(h, "GET", "/models/local/golden/tokenizer", "", nil)
	got := text(t, res)
	words, err := hf.Parse([]byte(got))
	if err != nil || res.Header.Get("Content-Type") != "application/json" || !slices.Equal(words.Encode("ab\nx"), []int{1, 2, 0}) {
		t.Errorf("%s: %v", got, err)
	}
	res = ask(h, "GET", "/models/translator/tokenizer", "", nil)
	if got := text(t, res); res.StatusCode != 400 || !strings.Contains(got, "is not a tokenizer.json") {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}
