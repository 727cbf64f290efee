package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Source is what a tokenizer is made of: the content of its files, as they are. It may
// be kept elsewhere and gives the same tokenizer again.
type Source struct {
	Kind  string            // one of the kinds
	Parts map[string][]byte // by name; which ones the kind says
}

// The kinds of sources, with their parts. Any may also have PartNewline.
const (
	KindHF            = "hf"            // PartJSON: tokenizer.json
	KindGPT2          = "gpt2"          // PartVocab: vocab.json; PartMerges: merges.txt
	KindSentencePiece = "sentencepiece" // PartModel: the model's protocol buffer
	KindXGLM          = "xglm"          // PartModel
	KindM2M100        = "m2m100"        // PartVocab, PartModel
	KindGGUF          = "gguf"          // PartJSON: [GGUF]
	KindAlpha         = "alpha"         // PartJSON: tokenizerArtifacts
)

// The names of parts.
const (
	PartJSON    = "json"
	PartVocab   = "vocab"
	PartMerges  = "merges"
	PartModel   = "model"
	PartNewline = "newline" // decimal: the id that line feeds are, see [WithNewline]
)

// Open builds the tokenizer.
func (s *Source) Open() (Tokenizer, error) {
	t, err := s.open()
	if err != nil {
		return nil, err
	}
	text, ok := s.Parts[PartNewline]
	if !ok {
		return t, nil
	}
	id, err := strconv.Atoi(string(text))
	if err != nil || id < 0 || id >= maxVocab {
		return nil, fmt.Errorf("newline: %.20q is no token", text)
	}
	return WithNewline(t, id), nil
}

func (s *Source) open() (Tokenizer, error) {
	switch s.Kind {
	case KindHF:
		return FromHF(s.Parts[PartJSON])
	case KindGPT2:
		return FromVocabMerges(s.Parts[PartVocab], s.Parts[PartMerges])
	case KindSentencePiece:
		return FromSentencePiece(s.Parts[PartModel])
	case KindXGLM:
		return FromXGLM(s.Parts[PartModel])
	case KindM2M100:
		t, err := FromM2M100(s.Parts[PartVocab], s.Parts[PartModel])
		if err != nil {
			return nil, err // and no nil in an interface
		}
		return t, nil
	case KindGGUF:
		var g GGUF
		if err := json.Unmarshal(s.Parts[PartJSON], &g); err != nil {
			return nil, err
		}
		return FromGGUF(&g)
	case KindAlpha:
		return FromAlpha(s.Parts[PartJSON])
	}
	return nil, fmt.Errorf("tokenizer of unknown kind %.40q", s.Kind)
}

// Source returns g as a source. Its texts must be UTF-8.
func (g *GGUF) Source() (*Source, error) {
	for _, list := range [][]string{g.Tokens, g.Merges} {
		for i, text := range list {
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("tokenizer.ggml: token or merge %d, %.40q, is not UTF-8", i, text)
			}
		}
	}
	raw, err := json.Marshal(g)
	return &Source{Kind: KindGGUF, Parts: map[string][]byte{PartJSON: raw}}, err
}
