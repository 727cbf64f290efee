package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
	"glossa/pkg/tokenizer/kinds"
)

// source returns a source of a kind, from files of tests.
func source(t *testing.T, kind string, parts map[string]string) *tokenizer.Source {
	t.Helper()
	s := &tokenizer.Source{Kind: kind, Parts: map[string][]byte{}}
	for part, file := range parts {
		s.Parts[part] = tokenizertest.ReadFile(t, "..", file)
	}
	return s
}

func TestOpen(t *testing.T) {
	const hf, pieces = "hf/testdata/", "sentencepiece/testdata/"
	alpha := &tokenizer.Source{Kind: tokenizer.KindAlpha, Parts: map[string][]byte{
		tokenizer.PartJSON: []byte(`{"type":"char","vocabSize":3,"vocab":["a","b"," "]}`),
	}}
	gguf := &tokenizer.Source{Kind: tokenizer.KindGGUF, Parts: map[string][]byte{
		tokenizer.PartJSON: []byte(`{"Model":"t5","Tokens":["<unk>","</s>","a","b","\u2581"],"Types":[2,3,1,1,1],"Scores":[0,0,-1,-1,-1]}`),
	}}
	for _, s := range []*tokenizer.Source{
		source(t, tokenizer.KindHF, map[string]string{tokenizer.PartJSON: hf + "gpt2.tokenizer.json"}),
		source(t, tokenizer.KindGPT2, map[string]string{tokenizer.PartVocab: hf + "gpt2.vocab.json", tokenizer.PartMerges: hf + "gpt2.merges.txt"}),
		source(t, tokenizer.KindSentencePiece, map[string]string{tokenizer.PartModel: pieces + "sp.bpe.model"}),
		source(t, tokenizer.KindXGLM, map[string]string{tokenizer.PartModel: pieces + "sp.unigram.model"}),
		source(t, tokenizer.KindM2M100, map[string]string{tokenizer.PartVocab: pieces + "sp.m2m100.vocab.json", tokenizer.PartModel: pieces + "sp.unigram.model"}),
		source(t, tokenizer.KindPegasus, map[string]string{tokenizer.PartModel: "../engine/arch/testdata/pegasus/spiece.model"}),
		source(t, tokenizer.KindMBART50, map[string]string{tokenizer.PartModel: pieces + "sp.unigram.model"}),
		gguf, alpha,
	} {
		tok, err := kinds.Open(s)
		if err != nil {
			t.Errorf("%s: %v", s.Kind, err)
			continue
		}
		if got := strings.TrimSpace(tokenizer.Decode(tok, tok.Encode("a b"))); got != "a b" {
			t.Errorf("%s: decoded %q", s.Kind, got)
		}
		s.Parts[tokenizer.PartNewline] = []byte("1")
		if tok, err = kinds.Open(s); err != nil || !slices.Contains(tok.Encode("a\nb"), 1) {
			t.Errorf("%s: a line feed is not token 1: %v", s.Kind, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	alpha := func(newline string) *tokenizer.Source {
		return &tokenizer.Source{Kind: tokenizer.KindAlpha, Parts: map[string][]byte{
			tokenizer.PartJSON: []byte(`{"type":"char","vocabSize":1,"vocab":["a"]}`), tokenizer.PartNewline: []byte(newline),
		}}
	}
	for want, s := range map[string]*tokenizer.Source{
		`tokenizer of unknown kind "other"`: {Kind: "other"},
		`newline: "-1" is not a token`:      alpha("-1"),
		`newline: "x" is not a token`:       alpha("x"),
		`newline: "1048576" is not a token`: alpha("1048576"),
		"tokenizer.json: unexpected end":    {Kind: tokenizer.KindHF},
		"vocab.json of M2M100":              source(t, tokenizer.KindM2M100, map[string]string{tokenizer.PartModel: "sentencepiece/testdata/sp.unigram.model"}),
	} {
		if tok, err := kinds.Open(s); err == nil || tok != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", tok, err, want)
		}
	}
}
