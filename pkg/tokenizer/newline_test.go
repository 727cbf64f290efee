package tokenizer_test

import (
	"slices"
	"testing"

	"glossa/pkg/tokenizer"
)

func TestWithNewline(t *testing.T) {
	base := hfOf(t, "llama3")
	end := base.(tokenizer.Specials).SpecialTokens()["<|end|>"]
	tok := tokenizer.WithNewline(base, end)
	join := func(lines ...string) []int {
		var ids []int
		for i, line := range lines {
			if i > 0 {
				ids = append(ids, end)
			}
			ids = append(ids, base.Encode(line)...)
		}
		return ids
	}
	for _, c := range []struct {
		text string
		want []int
		back string
	}{
		{"", nil, ""},
		{"the end", join("the end"), "the end"},
		{"the\nend of", join("the", "end of"), "the\nend of"},
		{"the\n\n\nend", join("the", "end"), "the\nend"},
		{"\n", join("", ""), "\n"},
		{"\n\nthe\n", join("", "the", ""), "\nthe\n"},
		{"the \n \n end", join("the ", " ", " end"), "the \n \n end"},
		{"the\r\nend", join("the\r", "end"), "the\r\nend"},
	} {
		got := tok.Encode(c.text)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
		if back := tokenizer.Decode(tok, got); back != c.back {
			t.Errorf("%q decodes to %q, want %q", c.text, back, c.back)
		}
	}
	if got := tok.EncodeSpecial("a<|end|>\nb"); !slices.Equal(got, slices.Concat(base.Encode("a"), []int{end, end}, base.Encode("b"))) {
		t.Errorf("EncodeSpecial: %v", got)
	}
	if got := tok.Encode("<|end|>"); slices.Contains(got, end) {
		t.Errorf("Encode: %v", got)
	}
	before, after := tok.(tokenizer.Affixes).Affixes()
	if want, _ := base.(tokenizer.Affixes).Affixes(); len(want) != 1 || !slices.Equal(before, want) || len(after) != 0 {
		t.Errorf("affixes %v %v, want %v", before, after, want)
	}
	if tok.(tokenizer.Specials).SpecialTokens()["<|end|>"] != end || tok.Size() != base.Size() || tok.Piece(end) != "<|end|>" {
		t.Error("specials, size or piece differ")
	}
}

// Each line is decoded from its beginning: the space that a tokenizer puts before a text
// precedes every line.
func TestWithNewlineStripping(t *testing.T) {
	base := hfOf(t, "llama2")
	end := base.(tokenizer.Specials).SpecialTokens()["</s>"]
	tok := tokenizer.WithNewline(base, end)
	const text = "the words\n and the\nwords "
	if got := tokenizer.Decode(tok, tok.Encode(text)); got != text {
		t.Errorf("%q decodes to %q", text, got)
	}
}
