package gguf_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// byteGGUF converts a tokenizer.json of byte-level BPE to GGUF.
func byteGGUF(t testing.TB, name, pre string) *gguf.Vocabulary {
	t.Helper()
	var f struct {
		AddedTokens []hf.AddedToken `json:"added_tokens"`
		Model       struct {
			Vocab  map[string]int
			Merges [][2]string
		}
	}
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "../hf/testdata", name+".tokenizer.json"), &f); err != nil {
		t.Fatal(err)
	}
	g := &gguf.Vocabulary{Model: "gpt2", Pre: pre}
	vocab := f.Model.Vocab
	for _, token := range f.AddedTokens {
		vocab[token.Content] = token.ID
	}
	g.Tokens, g.Types = make([]string, len(vocab)), make([]int64, len(vocab))
	for piece, id := range vocab {
		g.Tokens[id], g.Types[id] = piece, int64(subword.KindNormal)
	}
	for _, token := range f.AddedTokens {
		g.Types[token.ID] = int64(subword.KindUser)
		if token.Special {
			g.Types[token.ID] = int64(subword.KindControl)
		}
	}
	for _, m := range f.Model.Merges {
		g.Merges = append(g.Merges, m[0]+" "+m[1])
	}
	return g
}

func TestGGUFBytes(t *testing.T) {
	for name, pre := range map[string]string{"llama3": "llama-bpe", "gpt2": "olmo"} {
		g := byteGGUF(t, name, pre)
		g.AddBOS = new(false)
		tok, err := gguf.New(g)
		if err != nil {
			t.Fatal(err)
		}
		same := 0
		for _, c := range tokenizertest.Cases(t, "../hf/testdata", name) {
			if name == "gpt2" && slices.ContainsFunc(c.Plain, func(id int) bool { return g.Types[id] == int64(subword.KindUser) }) ||
				strings.Contains(c.Text, "lr|>") || strings.Contains(c.Text, "sword") || name == "gpt2" && norm.NFC.String(c.Text) != c.Text {
				continue // GGUF has neither NFC, nor lstrip and the like
			}
			same++
			if c.Special == nil {
				c.Special = c.Plain
			}
			if got := tok.Encode(c.Text); !slices.Equal(got, c.Plain) {
				t.Errorf("%s: Encode(%q)\n got %v\nwant %v", name, c.Text, got, c.Plain)
			}
			if got := tok.EncodeSpecial(c.Text); !slices.Equal(got, c.Special) {
				t.Errorf("%s: EncodeSpecial(%q)\n got %v\nwant %v", name, c.Text, got, c.Special)
			}
			if got := tokenizer.Decode(tok, tok.Encode(c.Text)); got != c.Text {
				t.Errorf("%s: %q decodes to %q", name, c.Text, got)
			}
		}
		if same < 50 {
			t.Errorf("%s: only %d cases", name, same)
		}
	}
}

func TestGGUFBytesAffixes(t *testing.T) {
	id := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		pre           string
		change        func(g *gguf.Vocabulary)
		before, after []int
		want          string // of the error
	}{
		{"gpt-2", func(*gguf.Vocabulary) {}, nil, nil, ""},
		{"gpt-2", func(g *gguf.Vocabulary) { g.AddBOS, g.BOS, g.AddEOS, g.EOS = new(true), id(7), new(true), id(9) }, []int{7}, []int{9}, ""},
		{"llama-bpe", func(g *gguf.Vocabulary) { g.BOS = id(5) }, []int{5}, nil, ""},
		{"llama-bpe", func(g *gguf.Vocabulary) { g.BOS, g.AddBOS = id(5), new(false) }, nil, nil, ""},
		{"llama-bpe", func(*gguf.Vocabulary) {}, nil, nil, "bos_token_id is -1"},
		{"llama-bpe", func(g *gguf.Vocabulary) { g.BOS = id(1 << 40) }, nil, nil, "bos_token_id is 1099511627776"},
		{"", func(*gguf.Vocabulary) {}, nil, nil, "pre is missing"},
		{"tekken-9", func(*gguf.Vocabulary) {}, nil, nil, `pre: "tekken-9" is not supported`},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Types = g.Types[1:] }, nil, nil, "token_type: "},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Types[3] = 7 }, nil, nil, "token_type of token 3 is 7"},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Merges[2] = "a" }, nil, nil, `merges: 2, "a", does not have two parts`},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Merges[2] = "a qqq" }, nil, nil, `"qqq" is not in the vocabulary`},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Tokens[400] = g.Tokens[300] }, nil, nil, "tokens: 300 and 400 are both"},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Tokens[0] = "" }, nil, nil, "is missing"},
		{"gpt-2", func(g *gguf.Vocabulary) { g.Tokens = nil }, nil, nil, "tokens: 0 of them"},
	} {
		g := byteGGUF(t, "gpt2", c.pre)
		c.change(g)
		tok, err := gguf.New(g)
		if c.want != "" {
			if err == nil || tok != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: want %q, got %v", c.pre, c.want, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.pre, err)
			continue
		}
		if before, after := tok.(tokenizer.Affixes).Affixes(); !slices.Equal(before, c.before) || !slices.Equal(after, c.after) {
			t.Errorf("%s: affixes %v %v, want %v %v", c.pre, before, after, c.before, c.after)
		}
	}
}

// Values of tokenizer.ggml.pre differ in numbers, in a mark or a capital in a word, and in
// words that no merges make, such as wz. The tokens are those of llama.cpp.
func TestPreTokenizers(t *testing.T) {
	for want, names := range map[string]string{
		"w z 1234 - aB":    "gpt-2 exaone4",
		"<s> wz 123 4 -aB": "llama-bpe falcon-h1 midm-2.0",
		"wz 123 4 -aB":     "glm4 glm5",
		"w z 123 4 -aB":    "chatglm-bpe",
		"w z 1 2 3 4 -aB":  "qwen2 solar-open",
		"w z 1 2 3 4 - aB": "starcoder mellum2",
		"w z 123 4 -a B":   "gpt-4o kanana2 minimax-m2",
	} {
		for name := range strings.FieldsSeq(names) {
			g := byteGGUF(t, "gpt2", name)
			g.Merges = []string{"1 2", "12 3", "123 4", "- a", "-a B", "a B"}
			g.Tokens = slices.DeleteFunc(g.Tokens, func(piece string) bool { return utf8.RuneCountInString(piece) > 1 })
			g.Tokens = append(g.Tokens, "<s>", "wz", "12", "123", "1234", "-a", "-aB", "aB")
			g.Types, g.BOS = nil, new(int64(256))
			tok, err := gguf.New(g)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			before, _ := tok.(tokenizer.Affixes).Affixes()
			var got []string
			for _, id := range append(before, tok.Encode("wz1234-aB")...) {
				got = append(got, tok.Piece(id))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// Without types the keys determine the special tokens.
func TestGGUFBytesKeys(t *testing.T) {
	g := byteGGUF(t, "gpt2", "starcoder")
	end := int64(slices.Index(g.Tokens, "<|endoftext|>"))
	g.Types, g.EOS = nil, &end
	tok, err := gguf.New(g)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.EncodeSpecial("<|endoftext|>"); !slices.Equal(got, []int{int(end)}) {
		t.Errorf("EncodeSpecial: %v, want %d", got, end)
	}
	if got, want := tok.Encode("a12"), slices.Concat(tok.Encode("a"), tok.Encode("1"), tok.Encode("2")); !slices.Equal(got, want) {
		t.Errorf("digits: %v, want %v", got, want)
	}
}
