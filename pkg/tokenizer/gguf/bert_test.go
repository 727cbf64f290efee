package gguf_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/subword"
)

// A GGUF file of a BERT and the same model's vocab.txt give the ids of its tokenizer.json.
func TestBert(t *testing.T) {
	raw, err := os.ReadFile("../hf/testdata/wordpiece.tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts []string `json:"texts"`
	}
	texts, err := os.ReadFile("../hf/testdata/normalizer.golden.json")
	if err == nil {
		err = json.Unmarshal(texts, &golden)
	}
	if err != nil || len(golden.Texts) != 2000 {
		t.Fatal(len(golden.Texts), err)
	}
	want, err := hf.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	g := &gguf.Vocabulary{Model: "bert", Tokens: make([]string, want.Size()), Types: make([]int64, want.Size()), Lowercase: new(true)}
	var lines strings.Builder
	for id := range g.Tokens {
		piece := want.Piece(id)
		lines.WriteString(piece + "\n")
		g.Types[id] = int64(subword.KindNormal)
		if rest, ok := strings.CutPrefix(piece, "##"); ok && rest != "" {
			g.Tokens[id] = rest
		} else if id < 5 {
			g.Tokens[id], g.Types[id] = piece, int64(subword.KindControl)
		} else {
			g.Tokens[id] = "▁" + piece
		}
	}
	fromGGUF, err := gguf.New(g)
	if err != nil {
		t.Fatal(err)
	}
	vocab, err := hf.ParseVocab([]byte(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	b := hf.Bert{Vocab: vocab, Lowercase: true, Chinese: true}
	file, err := b.JSON()
	if err != nil {
		t.Fatal(err)
	}
	fromVocab, err := hf.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []tokenizer.Tokenizer{fromGGUF, fromVocab} {
		before, after := tok.(tokenizer.Affixes).Affixes()
		if !slices.Equal(before, []int{2}) || !slices.Equal(after, []int{3}) {
			t.Errorf("affixes %v %v", before, after)
		}
		for _, text := range golden.Texts {
			if got, ids := tok.Encode(text), want.Encode(text); !slices.Equal(got, ids) {
				t.Fatalf("%q: %v, want %v", text, got, ids)
			}
		}
	}
	if _, err := gguf.New(&gguf.Vocabulary{Model: "bert", Tokens: []string{"▁a"}}); err == nil || !strings.Contains(err.Error(), "the vocabulary has no [CLS]") {
		t.Error(err)
	}
}

// A vocabulary with capital letters as pieces keeps those of texts, unless a key says what
// becomes of them and of accents.
func TestBertCase(t *testing.T) {
	yes, no := new(true), new(false)
	cased := []string{"▁CAFÉ", "▁café", "▁CAFE", "▁cafe", "▁A"}
	for _, c := range []struct {
		pieces           []string
		lowercase, strip *bool
		want             string // of CAFÉ
	}{
		{[]string{"▁cafe", "▁ℝ", "▁<S>"}, nil, nil, "cafe"}, // as in the vocabularies of bert-base-uncased and bert-base-chinese
		{cased, nil, nil, "CAFÉ"},
		{cased, yes, nil, "cafe"},
		{cased, yes, no, "café"},
		{cased[:4], no, nil, "CAFÉ"},
		{cased, no, yes, "CAFE"},
		{cased, nil, yes, "CAFE"},
		{cased[:4], nil, no, "café"},
	} {
		g := bertGGUF(c.pieces...)
		g.Lowercase, g.StripAccents = c.lowercase, c.strip
		tok, err := gguf.New(g)
		if err != nil {
			t.Fatal(err)
		}
		if got := tokenizer.Decode(tok, tok.Encode("CAFÉ")); got != c.want {
			t.Errorf("%v: %q, want %q", c, got, c.want)
		}
	}
}

// bertGGUF returns the keys of a GGUF file with BERT's special tokens and pieces.
func bertGGUF(pieces ...string) *gguf.Vocabulary {
	return &gguf.Vocabulary{Model: "bert", Tokens: append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, pieces...)}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ model, pre, want string }{
		{"llama", "", ""}, {"gpt2", "llama-bpe", ""}, {"bert", "", ""}, {"gemma4", "", ""},
		{"rwkv", "", `tokenizer.ggml.model: "rwkv" is not supported, only llama, t5, gpt2, bert, gemma4`},
		{"gpt2", "gone", `tokenizer.ggml.pre: "gone" is not supported`},
	} {
		err := gguf.Check(c.model, c.pre)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s %s: %v", c.model, c.pre, err)
		}
	}
}
