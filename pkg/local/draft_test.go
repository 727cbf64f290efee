package local

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine"
	"glossa/pkg/llm"
)

// schemasOf returns files of the records of local models, by the members of their schemas.
func schemasOf(schemas map[string]string) fstest.MapFS {
	records := fstest.MapFS{}
	for name, schema := range schemas {
		records[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-%s","schema":{%s}}`, name, schema)}
	}
	return records
}

// A record names the model that drafts for it: here the same weights in fewer bits. Texts are the
// same with and without, and the draft model answers requests itself.
func TestDraftOfRecord(t *testing.T) {
	p := start(t, settings{starters: os.DirFS(starters), records: schemasOf(map[string]string{
		"plain": `"checkpoint":"novels"`, "small": `"checkpoint":"novels","quant":"q4_0"`, "big": `"checkpoint":"novels","draft":"small"`,
	})})
	texts := map[string]string{}
	for _, name := range []string{"plain", "small", "big"} {
		m, err := p.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Prompts: []llm.Prompt{llm.Text("Once upon a time")}, Params: llm.Params{MaxTokens: new(60), Temperature: new(0.5), Seed: new(int64(1))}}
		rows, _, err := llm.Collect(m.Generate(t.Context(), req), 1)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = rows[0].Text
		if name != "big" {
			continue
		}
		if drafted, _ := m.Backend.(*engine.Engine).Drafts(); drafted == 0 {
			t.Error("nothing was drafted")
		}
	}
	if texts["big"] != texts["plain"] || texts["small"] == texts["plain"] {
		t.Errorf("%q", texts)
	}
	if held := p.Held(); len(held) != 3 {
		t.Errorf("in memory: %+v", held)
	}
}

// A draft model of another vocabulary, or of another kind, is refused with both names.
func TestDraftOfAnother(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/encoder", os.DirFS("../engine/testdata/encoders/bert-modes")); err != nil {
		t.Fatal(err)
	}
	p := start(t, settings{checkpoints: dir, starters: os.DirFS(starters), records: schemasOf(map[string]string{
		"words": `"checkpoint":"novels","draft":"abc"`, "embeds": `"checkpoint":"novels","draft":"encoder"`, "translates": `"checkpoint":"novels","draft":"phrases"`,
	})})
	for name, want := range map[string]string{
		"words":      `model "words": the draft model "abc": its vocabulary has 66 tokens, and that of "words" 2000`,
		"embeds":     `the model "embeds" cannot be served: its draft model "encoder" does not continue texts`,
		"translates": `the model "translates" could not be opened: its draft model "phrases" does not continue texts`,
	} {
		if _, err := p.open(t, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
