package arch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/tokenizer"
)

// The tokens of texts equal those of the original tokenizers, with and without the tokens
// put around a text.
func TestTexts(t *testing.T) {
	compared := map[string]int{}
	for _, dir := range models(t) {
		raw, err := os.ReadFile(filepath.Join("testdata", dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Texts []struct {
				Text, Language, Decoded string
				IDs, Plain, Target      []int
			}
		}
		if err := json.Unmarshal(raw, &golden); err != nil {
			t.Fatal(err)
		}
		m := open(t, dir)
		for _, text := range golden.Texts {
			if m.Tokenizer == nil {
				t.Fatalf("%s has no tokenizer", dir)
			}
			if dir == "fairseq-dense" && strings.Contains(text.Text, "\n") {
				continue // GPT-2's tokenizer, which is the golden, has a token for it
			}
			if text.Target != nil {
				if got := tokenizer.Decode(m.Tokenizer, text.Target); got != text.Decoded {
					t.Errorf("%s: %v decodes to %q, want %q", dir, text.Target, got, text.Decoded)
				}
				continue
			}
			ids := m.Tokenizer.Encode(text.Text)
			around, plain := slices.Concat(m.Start, ids), text.Plain
			if m.Translation != nil {
				before := languageOf(m, text.Language)
				around = slices.Concat(before, ids, []int{m.Translation.End})
				plain = text.IDs[len(before) : len(text.IDs)-1]
				if got := strings.TrimSpace(tokenizer.Decode(m.Tokenizer, ids)); !strings.Contains(text.Decoded, "<unk>") && got != strings.TrimSpace(text.Decoded) {
					t.Errorf("%s: %q decodes to %q, want %q", dir, text.Text, got, text.Decoded)
				}
			}
			if m.Seq2Seq != nil {
				around = append(around, m.Seq2Seq.End)
			}
			if dir == "fairseq-dense" { // unlike the golden, its texts begin with </s>
				around = ids
			}
			if !slices.Equal(around, text.IDs) || !slices.Equal(ids, plain) {
				t.Errorf("%s: %q: %v, %v, want %v, %v", dir, text.Text, around, ids, text.IDs, plain)
			}
			compared[m.Name()]++
		}
	}
	if len(compared) < 5 {
		t.Errorf("compared: %v", compared)
	}
}

// languageOf returns the token before a source of a language, or of a target's.
func languageOf(m *arch.Model, name string) []int {
	for _, l := range slices.Concat(m.Translation.Sources, m.Translation.Targets) {
		if name != "" && strings.Trim(m.Tokenizer.Piece(l.Source), "_<>") == name {
			return []int{l.Source}
		}
	}
	return nil
}
