package hf

import (
	"encoding/json"
	"slices"
	"testing"

	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// A token may begin in the white space that the one before it takes. The pieces are those of
// tokenizers 0.23.3.
func TestStrippedSpaceHasTokens(t *testing.T) {
	var file map[string]any
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "llama2.tokenizer.json"), &file); err != nil {
		t.Fatal(err)
	}
	list := file["added_tokens"].([]any)
	for _, token := range []AddedToken{
		{ID: 961, Content: "<r>", RStrip: true}, {ID: 260, Content: "\n"}, {ID: 962, Content: " x"}, {ID: 373, Content: "\n\n"},
		{ID: 963, Content: " <l>", LStrip: true}, {ID: 964, Content: "\v", LStrip: true, RStrip: true}, {ID: 965, Content: "\f", RStrip: true},
	} {
		list = append(list, token)
	}
	file["added_tokens"], file["normalizer"] = list, nil
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"<r> x":          {"<r>", " x"},
		"<r>   x b":      {"<r>", " x", "<0x20>", "b"},
		"<r> y":          {"<r>", "y"},
		"<r> \n ":        {"<r>", "\n", "<0x20>"},
		"<r>\n\n\n a":    {"<r>", "\n\n", "\n", "<0x20>", "a"},
		"a <r> \n \n x":  {"a", "<0x20>", "<r>", "\n", "<0x20>", "\n", " x"},
		"<r> \n  <l>":    {"<r>", "\n", " <l>"},
		"<r> <l>":        {"<r>", " <l>"},
		"<r> \v a":       {"<r>", "a"},
		"\f \f\n \f  a":  {"\f", "\f", "\n", "<0x20>", "\f", "a"},
		"<r>\n \v \n\vx": {"<r>", "\n", "\v", "\n", "\v", "<0x78>"},
	} {
		var got []string
		for _, id := range tok.EncodeSpecial(text) {
			got = append(got, tok.Piece(id))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
