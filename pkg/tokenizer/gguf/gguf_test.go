package gguf_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/internal/gguftest"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// For valid UTF-8 the ids are those of the .model file, but for texts with user-defined pieces, which
// llama.cpp reads first, for spaces alone, before which t5 has no further one, and for U+2581 at the
// end, which llama.cpp keeps.
func TestGGUFPieces(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "../sentencepiece/testdata")
	for _, name := range []string{"unigram", "unigramuser", "unigrambytes", "bpe", "bpebytes"} {
		tok := gguftest.Open(t, "../sentencepiece/testdata", name)
		keys := gguftest.Keys(t, "../sentencepiece/testdata", name)
		ids := make([]int, len(keys.Tokens))
		for id := range ids {
			ids[id] = id
		}
		same := 0
		for i, text := range g.Texts {
			user := func(id int) bool {
				return keys.Types[id] == int64(subword.KindUser) && strings.Contains(text, keys.Tokens[id])
			}
			if slices.ContainsFunc(ids, user) || strings.Trim(text, " ") == "" || strings.HasSuffix(strings.TrimRight(text, " "), "▁") {
				continue
			}
			same++
			if got := tok.Encode(text); !slices.Equal(got, g.Models[name].IDs[i]) {
				t.Errorf("%s: Encode(%.60q)\n %v, want\n %v", name, text, got, g.Models[name].IDs[i])
			}
		}
		if same < 50 {
			t.Errorf("%s: only %d texts", name, same)
		}
		tokenizertest.CheckDecoding(t, tok, g.Models[name].IDs[:len(g.Texts)], g.Models[name].Decoded[:len(g.Texts)])
	}
}

// User-defined tokens are spelled with spaces, of which Gemma has runs. The ids are those of
// llama.cpp.
func TestGGUFUserSpaces(t *testing.T) {
	g := &gguf.Vocabulary{
		Tokens: []string{"<unk>", "  ", "   ", "    ", "<x y>", "▁", "a", "b", "▁a", "▁b", "\n"}, Types: []int64{2, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1},
		Scores: []float32{0, -1000, -1000, -1000, -1000, -3, -4, -5, -1, -1.5, -3}, AddSpacePrefix: new(false), AddBOS: new(false), AddEOS: new(false),
	}
	check := func(text string, want ...int) {
		t.Helper()
		tok, err := gguf.New(g)
		if err != nil {
			t.Fatal(err)
		}
		got := tok.Encode(text)
		if decoded := tokenizer.Decode(tok, got); !slices.Equal(got, want) || decoded != text {
			t.Errorf("%s: %q is %v, want %v, and decodes to %q", g.Model, text, got, want, decoded)
		}
	}
	for _, g.Model = range []string{"llama", "t5"} {
		check("a b", 6, 9)
		check("a    b", 6, 3, 7)
		check("    a\n  b", 3, 6, 10, 1, 7)
		check("a   ", 6, 2)
		check("a <x y> b", 6, 5, 4, 9)
		check("a<x y>b", 6, 4, 7)
	}
	g.RemoveExtraWhitespaces = new(true) // those are not extra
	check("    a   ", 3, 6, 2)
}

// U+2581 in a text is not a space that is removed: llama.cpp removes spaces before it escapes them.
func TestGGUFLiteralMark(t *testing.T) {
	tok, err := gguf.New(&gguf.Vocabulary{
		Model: "t5", Tokens: []string{"<unk>", "<s>", "▁", "a", "▁a"}, Types: []int64{2, 3, 1, 1, 1}, Scores: []float32{0, 0, -3, -4, -1},
		AddSpacePrefix: new(true), RemoveExtraWhitespaces: new(true), AddEOS: new(false),
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"a▁": {4, 2}, "a▁ ": {4, 2}, "a ▁": {4, 2, 2}, "a▁▁  ": {4, 2, 2}, "▁": {2, 2}, "a  ": {4}, "  ": nil, "a▁ <s> a▁": {4, 2, 1, 4, 2},
	} {
		if got := tok.EncodeSpecial(text); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// Special tokens of Phi-3 take the white space after them, but for those of Llama. llama.cpp knows
// them by the model's name.
func TestGGUFTakenSpace(t *testing.T) {
	g := &gguf.Vocabulary{
		Model: "llama", Tokens: []string{"<unk>", "<s>", "<|user|>", "<|end|>", "<|endoftext|>", "▁", "a", "▁a", "\n", "\t", "b"},
		Types: []int64{2, 3, 3, 4, 3, 1, 1, 1, 1, 1, 1}, Scores: []float32{0, 0, 0, 0, 0, -3, -4, -1, -5, -6, -7}, AddBOS: new(false),
	}
	check := func(name, text string, special bool, want ...int) {
		t.Helper()
		g.Name = name
		tok, err := gguf.New(g)
		if err != nil {
			t.Fatal(err)
		}
		got := tok.Encode(text)
		if special {
			got = tok.EncodeSpecial(text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, special %v, is %v, want %v", name, text, special, got, want)
		}
	}
	const text = "<s> <|user|>\n \ta<|end|>\n<|user|> <|endoftext|> a"
	check("Phi-3-mini", text, true, 1, 5, 5, 2, 7, 3, 2, 4, 5, 7)
	check("phi3", "a<|end|>\n a b", false, 7, 3, 7, 5, 10)
	check("phi3", "a<|end|> \n", false, 7, 3)
	check("Llama", text, true, 1, 5, 5, 2, 5, 8, 5, 9, 6, 3, 5, 8, 2, 5, 5, 4, 5, 7)
	check("", "a<|end|> \n", false, 7, 3, 5, 5, 8)
	g.Tokens, g.Types, g.Scores = append(g.Tokens, "\n\n\n\n\n\n\n\n"), append(g.Types, 4), append(g.Scores, 0) // longer than <|end|>, so read first
	check("phi3", "a<|end|> "+g.Tokens[11]+"\n a", false, 7, 3, 11, 7)
}

// A token such as <0xab> is decoded to its byte, but no text is encoded to it.
func TestGGUFLowerBytes(t *testing.T) {
	tok, err := gguf.New(&gguf.Vocabulary{
		Model: "llama", Tokens: []string{"<unk>", "<0xc3>", "<0xA4>", "a"}, Types: []int64{2, 6, 6, 1}, Scores: []float32{0, 0, 0, -1},
		AddBOS: new(false), AddSpacePrefix: new(false),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := tokenizer.Decode(tok, []int{3, 1, 2}); got != "aä" {
		t.Errorf("decoded to %q", got)
	}
	if got := tok.Encode("aä"); !slices.Equal(got, []int{3, 0}) {
		t.Errorf("encoded to %v", got)
	}
}

// Bytes that are not UTF-8 are kept if there are pieces for them.
func TestGGUFBrokenText(t *testing.T) {
	tok := gguftest.Open(t, "../sentencepiece/testdata", "bpebytes")
	for _, text := range tokenizertest.ReadPieceGoldens(t, "../sentencepiece/testdata").Inputs(t) {
		if got, want := tokenizer.Decode(tok, tok.Encode(text)), strings.ReplaceAll(text, "\u2581", " "); got != want {
			t.Errorf("%q is decoded to %q", text, got)
		}
	}
}

// llama.cpp reads special and user-defined tokens first, of those that overlap the longest, and then
// what is between them, each as a text of its own. The ids are those of llama.cpp, with tokens for
// bytes instead of <unk>.
func TestGGUFPartition(t *testing.T) {
	pieces := &gguf.Vocabulary{
		Tokens: []string{"<unk>", "<s>", "<s>a", "ab", "bcd", "ca", "▁", "a", "b", "c", "d", "x", "▁x", "▁▁", "cab"}, Types: []int64{2, 3, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 4},
		Scores: []float32{0, 0, 0, -9, -9, -9, -3, -4, -5, -6, -7, -8, -1, -2, -9}, BOS: new(int64(1)), EOS: new(int64(1)), AddBOS: new(false), AddEOS: new(false),
	}
	bytes := byteGGUF(t, "gpt2", "gpt-2")
	bytes.Tokens = slices.DeleteFunc(bytes.Tokens, func(piece string) bool { return utf8.RuneCountInString(piece) > 1 })
	n := len(bytes.Tokens)
	bytes.Tokens, bytes.Merges, bytes.Types = append(bytes.Tokens, "<s>", "<s>a", "ab", "bcd", "ca", "cab"), []string{}, make([]int64, n+6)
	for i := range bytes.Types {
		bytes.Types[i] = 1
	}
	copy(bytes.Types[n:], []int64{3, 3, 4, 4, 4, 4})
	for _, c := range []struct {
		model         string
		prefix        bool
		text          string
		plain, tokens string // tokens: with special ones
	}{
		{"llama", true, "abcd", "▁ a bcd", "▁ a bcd"},
		{"llama", true, "cabcd", "ca bcd", "ca bcd"},
		{"llama", true, "xabx", "▁x ab ▁x", "▁x ab ▁x"},
		{"llama", true, "x<s>ax", "▁x <unk> a x", "▁x <s>a ▁x"},
		{"llama", true, "<s>abx", "▁ <unk> ab ▁x", "<s>a ▁ b x"},
		{"llama", true, "x ab x", "▁x ▁ ab ▁ ▁x", "▁x ▁ ab ▁ ▁x"},
		{"llama", false, "abcdca", "a bcd ca", "a bcd ca"},
		{"llama", false, "xabx", "x ab x", "x ab x"},
		{"t5", true, "abcd", "▁ a bcd", "▁ a bcd"},
		{"t5", true, "xabx", "▁x ab ▁x", "▁x ab ▁x"},
		{"t5", true, "ab  ", "ab ▁▁", "ab ▁▁"},
		{"t5", true, "  ", "▁▁", "▁▁"},
		{"gpt2", false, "abcd", "a bcd", "a bcd"},
		{"gpt2", false, "cabcd", "ca bcd", "ca bcd"},
		{"gpt2", false, "<s>abca", "< s > ab ca", "<s>a b ca"},
	} {
		g := *pieces
		if c.model == "gpt2" {
			g = *bytes
		} else {
			g.Model, g.AddSpacePrefix = c.model, &c.prefix
		}
		tok, err := gguf.New(&g)
		if err != nil {
			t.Fatal(err)
		}
		for want, ids := range map[string][]int{c.plain: tok.Encode(c.text), c.tokens: tok.EncodeSpecial(c.text)} {
			var got []string
			for _, id := range ids {
				got = append(got, tok.Piece(id))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, prefix %t: %q is %q, want %q", c.model, c.prefix, c.text, got, want)
			}
		}
	}
}

// Two cuts of a run of spaces have the same sum of scores, except for rounding. The ids are those of
// llama.cpp, which rounds to float64.
func TestGGUFEqualCuts(t *testing.T) {
	for _, c := range []struct {
		scores []float32
		spaces int
		want   []int
	}{
		{[]float32{0, -4, -1.7, -4.8, -3}, 7, []int{2, 2, 3, 4}},
		{[]float32{0, -1.6, -4.2, -0.4, -3}, 5, []int{1, 1, 3, 4}},
		{[]float32{0, -2.4, -3.1, -5.6, -3}, 7, []int{1, 2, 2, 2, 4}},
	} {
		tok, err := gguf.New(&gguf.Vocabulary{
			Model: "t5", Tokens: []string{"<unk>", "▁", "▁▁", "▁▁▁", "a"}, Types: []int64{2, 1, 1, 1, 1}, Scores: c.scores,
			AddSpacePrefix: new(false), AddEOS: new(false),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(strings.Repeat(" ", c.spaces) + "a"); !slices.Equal(got, c.want) {
			t.Errorf("%v: %d spaces are %v, want %v", c.scores, c.spaces, got, c.want)
		}
	}
}

func TestGGUFAffixes(t *testing.T) {
	llama, t5 := gguftest.Keys(t, "../sentencepiece/testdata", "bpebytes"), gguftest.Keys(t, "../sentencepiece/testdata", "unigram")
	check := func(g *gguf.Vocabulary, before, after []int) {
		t.Helper()
		tok, err := gguf.New(g)
		if err != nil {
			t.Fatal(err)
		}
		if b, a := tok.(tokenizer.Affixes).Affixes(); !slices.Equal(b, before) || !slices.Equal(a, after) {
			t.Errorf("%s: affixes %v %v, want %v %v", g.Model, b, a, before, after)
		}
	}
	check(llama, []int{1}, nil) // llama.cpp's defaults
	check(t5, nil, []int{1})
	llama.BOS, llama.EOS, llama.AddEOS = new(int64(5)), new(int64(6)), new(true)
	check(llama, []int{5}, []int{6})
	llama.AddBOS = new(false)
	check(llama, nil, []int{6})
	t5.AddEOS = new(false)
	check(t5, nil, nil)
}

func TestGGUFRefuses(t *testing.T) {
	for want, change := range map[string]func(*gguf.Vocabulary){
		"tokenizer.ggml: model: \"rwkv\"": func(g *gguf.Vocabulary) { g.Model = "rwkv" },
		"tokens: 0 of them":               func(g *gguf.Vocabulary) { g.Tokens = nil },
		"scores: 1 of them":               func(g *gguf.Vocabulary) { g.Scores = g.Scores[:1] },
		"token_type: 0 of them":           func(g *gguf.Vocabulary) { g.Types = nil },
		"token_type of token 7 is 9":      func(g *gguf.Vocabulary) { g.Types[7] = 9 },
		"bos_token_id is 900 of":          func(g *gguf.Vocabulary) { g.BOS = new(int64(900)) },
		"bos_token_id is -1 of":           func(g *gguf.Vocabulary) { g.BOS = new(int64(-1)) },
		"eos_token_id is 9000":            func(g *gguf.Vocabulary) { g.EOS, g.AddEOS = new(int64(9000)), new(true) },
		"precompiled_charsmap: it is":     func(g *gguf.Vocabulary) { g.Charsmap = []byte{1} },
		"has token_type BYTE":             func(g *gguf.Vocabulary) { g.Types[500] = 6 },
		"unknown_token_id is 900":         func(g *gguf.Vocabulary) { g.Types[0], g.Unknown = 1, new(int64(900)) },
		"both of type UNKNOWN":            func(g *gguf.Vocabulary) { g.Types[9] = 2 },
	} {
		g := gguftest.Keys(t, "../sentencepiece/testdata", "bpebytes")
		change(g)
		if _, err := gguf.New(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzGGUFPieces(f *testing.F) {
	toks := map[string]tokenizer.Tokenizer{"gguf": gguftest.Open(f, "../sentencepiece/testdata", "bpebytes"), "t5": gguftest.Open(f, "../sentencepiece/testdata", "unigramuser")}
	for _, text := range tokenizertest.ReadPieceGoldens(f, "../sentencepiece/testdata").Inputs(f) {
		if len(text) < 200 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		for name, tok := range toks {
			tokenizertest.CheckRoundTrip(t, name, tok, text)
		}
	})
}
