package gguf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// spacedGGUF returns the keys of a GGUF file of Gemma 4 with all bytes, from 0 on.
func spacedGGUF() *gguf.Vocabulary {
	g := &gguf.Vocabulary{
		Model: "gemma4", AddBOS: new(false), BOS: new(int64(257)),
		Merges: []string{"▁ a", "a b", "▁ ▁", "\n \n", "▁▁ ▁▁", "▁a \n", "\n a"},
	}
	add := func(kind subword.Kind, pieces ...string) {
		for _, piece := range pieces {
			g.Tokens, g.Types = append(g.Tokens, piece), append(g.Types, int64(kind))
		}
	}
	for b := range 256 {
		add(subword.KindByte, fmt.Sprintf("<0x%02X>", b))
	}
	add(subword.KindControl, "<eos>", "<bos>", "<turn|>")
	add(subword.KindUser, "<|tool_response>", "<|tool_call>", "<b>", "<b>a")
	add(subword.KindNormal, "▁", "a", "b", "\n", "▁a", "ab", "▁▁", "\n\n", "▁▁▁▁", "▁a\n", "\na", "\n\n\n", "<0xQQ>", "ä")
	return g
}

// The ids are those of llama.cpp: spaces are spelled U+2581, merges stay within a line, a run of line
// feeds is a token if there is one, other characters are bytes, and added tokens are read before all
// of that, the longest first.
func TestSpaced(t *testing.T) {
	g := spacedGGUF()
	tok, err := gguf.New(g)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a ab":              "a|▁a|b",
		" a":                "▁a",
		"     a":            "▁▁▁▁|▁a",
		"aab":               "a|ab",
		" a\na":             "▁a|\n|a",
		"a\n\n\na\n\n\n\n":  "a|\n\n\n|a|\n\n|\n\n",
		"éä\t":              "<0xC3>|<0xA9>|ä|<0x09>",
		"▁a":                "▁a",
		"<0x0A>":            "<0x3C>|<0x30>|<0x78>|<0x30>|<0x41>|<0x3E>",
		" <b>a<b>b":         "▁|<b>a|<b>|b",
		"<|tool_call>\n\na": "<|tool_call>|\n\n|a",
		"":                  "",
	} {
		ids := tok.Encode(text)
		var got []string
		for _, id := range ids {
			got = append(got, tok.Piece(id))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if decoded := tokenizer.Decode(tok, ids); decoded != strings.ReplaceAll(text, "▁", " ") {
			t.Errorf("%q decodes to %q", text, decoded)
		}
		tokenizertest.CheckBounds(t, "spaced", tok, text)
	}
	if before, after := tok.(tokenizer.Affixes).Affixes(); !slices.Equal(before, []int{257}) || after != nil {
		t.Errorf("affixes %v %v: texts begin with a token, whatever add_bos_token says", before, after)
	}
	if ends := g.Ends(); !slices.Equal(ends, []int{256, 258, 259}) {
		t.Errorf("ends %v", ends)
	}
	const marks = "<turn|><|tool_response>"
	if got := tok.EncodeSpecial(marks); !slices.Equal(got, []int{258, 259}) || len(tok.Encode(marks)) != len(marks) {
		t.Errorf("%v %v", got, tok.Encode(marks))
	}
	g.Model = "gpt2"
	if ends := g.Ends(); ends != nil {
		t.Errorf("ends of another model: %v", ends)
	}
}

func TestHostileSpaced(t *testing.T) {
	for _, c := range []struct {
		change func(g *gguf.Vocabulary)
		want   string
	}{
		{func(g *gguf.Vocabulary) { g.BOS = nil }, "bos_token_id is -1 of 277 tokens"},
		{func(g *gguf.Vocabulary) { g.AddEOS, g.EOS = new(true), new(int64(277)) }, "eos_token_id is 277 of 277 tokens"},
		{func(g *gguf.Vocabulary) { g.Types = g.Types[1:] }, "token_type: 276 of them for 277 tokens"},
		{func(g *gguf.Vocabulary) { g.Types[0] = 7 }, "token_type of token 0 is 7, not 1 to 6"},
		{func(g *gguf.Vocabulary) { g.Tokens[1] = "<0x00>" }, `tokens: 0 and 1 are both "<0x00>"`},
		{func(g *gguf.Vocabulary) { g.Merges[0] = "▁a" }, `merges: 0, "▁a", does not have two parts`},
		{func(g *gguf.Vocabulary) { g.Merges[0] = "▁ b" }, `merge 0: "▁b" is not in the vocabulary`},
		{func(g *gguf.Vocabulary) { g.Tokens, g.Types = nil, nil }, "tokens: 0 of them"},
	} {
		g := spacedGGUF()
		c.change(g)
		if tok, err := gguf.New(g); tok != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
