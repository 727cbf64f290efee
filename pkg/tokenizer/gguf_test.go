package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// ggufKeys are the keys that a converter writes for a .model file.
func ggufKeys(t testing.TB, name string) *GGUF {
	t.Helper()
	m, err := readPieceModel(readTestdata(t, "sp."+name+".model"))
	if err != nil {
		t.Fatal(err)
	}
	g := &GGUF{
		Model: "llama", Tokens: m.pieces, Charsmap: m.normalizer.charsmap,
		AddSpacePrefix: &m.normalizer.dummyPrefix, RemoveExtraWhitespaces: &m.normalizer.removeExtra,
	}
	if m.modelType == modelUnigram {
		g.Model = "t5"
	}
	for id, kind := range m.kinds {
		g.Types = append(g.Types, int64(kind))
		g.Scores = append(g.Scores, float32(m.scores[id]))
	}
	return g
}

func ggufOf(t testing.TB, name string) Tokenizer {
	t.Helper()
	tok, err := FromGGUF(ggufKeys(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// Of UTF-8 the ids are those of the .model file.
func TestGGUFPieces(t *testing.T) {
	g := readPieceGoldens(t)
	for _, name := range []string{"unigram", "unigramuser", "unigrambytes", "bpe", "bpebytes"} {
		tok := ggufOf(t, name)
		for i, text := range g.Texts {
			if got := tok.Encode(text); !slices.Equal(got, g.Models[name].IDs[i]) {
				t.Errorf("%s: Encode(%.60q)\n %v, want\n %v", name, text, got, g.Models[name].IDs[i])
			}
		}
		checkDecoding(t, tok, g.Models[name].IDs[:len(g.Texts)], g.Models[name].Decoded[:len(g.Texts)])
	}
}

// Bytes that are no UTF-8 stay as they are if there are pieces for them.
func TestGGUFBrokenText(t *testing.T) {
	tok := ggufOf(t, "bpebytes")
	for _, text := range readPieceGoldens(t).inputs(t) {
		if got, want := Decode(tok, tok.Encode(text)), strings.ReplaceAll(text, spaceMark, " "); got != want {
			t.Errorf("%q is decoded to %q", text, got)
		}
	}
}

func TestGGUFAffixes(t *testing.T) {
	llama, t5 := ggufKeys(t, "bpebytes"), ggufKeys(t, "unigram")
	check := func(g *GGUF, before, after []int) {
		t.Helper()
		tok, err := FromGGUF(g)
		if err != nil {
			t.Fatal(err)
		}
		if b, a := tok.(Affixes).Affixes(); !slices.Equal(b, before) || !slices.Equal(a, after) {
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
	for want, change := range map[string]func(*GGUF){
		"tokenizer.ggml: model: \"rwkv\"": func(g *GGUF) { g.Model = "rwkv" },
		"tokens: 0 of them":               func(g *GGUF) { g.Tokens = nil },
		"scores: 1 of them":               func(g *GGUF) { g.Scores = g.Scores[:1] },
		"token_type: 0 of them":           func(g *GGUF) { g.Types = nil },
		"token_type of token 7 is 9":      func(g *GGUF) { g.Types[7] = 9 },
		"bos_token_id is 900 of":          func(g *GGUF) { g.BOS = new(int64(900)) },
		"bos_token_id is -1 of":           func(g *GGUF) { g.BOS = new(int64(-1)) },
		"eos_token_id is 9000":            func(g *GGUF) { g.EOS, g.AddEOS = new(int64(9000)), new(true) },
		"precompiled_charsmap: it is":     func(g *GGUF) { g.Charsmap = []byte{1} },
		"has token_type BYTE":             func(g *GGUF) { g.Types[500] = 6 },
		"unknown_token_id is 900":         func(g *GGUF) { g.Types[0], g.Unknown = 1, new(int64(900)) },
		"both of type UNKNOWN":            func(g *GGUF) { g.Types[9] = 2 },
	} {
		g := ggufKeys(t, "bpebytes")
		change(g)
		if _, err := FromGGUF(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
