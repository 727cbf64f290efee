// Package kinds opens tokenizers of every kind from the content of their files. It does not
// know the places of files.
//
// Start with [Open]. A program that links this package links every kind; package hf or
// sentencepiece alone is smaller.
package kinds

import (
	"encoding/json"
	"fmt"
	"strconv"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/sentencepiece"
)

// Open builds the tokenizer of s.
func Open(s *tokenizer.Source) (tokenizer.Tokenizer, error) {
	t, err := withoutNewline(s)
	if err != nil {
		return nil, err
	}
	text, ok := s.Parts[tokenizer.PartNewline]
	if !ok {
		return t, nil
	}
	id, err := strconv.Atoi(string(text))
	if err != nil || id < 0 || id >= encode.MaxVocab {
		return nil, fmt.Errorf("newline: %.20q is not a token", text)
	}
	return tokenizer.WithNewline(t, id), nil
}

// withoutNewline builds the tokenizer without PartNewline.
func withoutNewline(s *tokenizer.Source) (tokenizer.Tokenizer, error) {
	switch s.Kind {
	case tokenizer.KindHF:
		return hf.Parse(s.Parts[tokenizer.PartJSON])
	case tokenizer.KindGPT2:
		return hf.ParseGPT2(s.Parts[tokenizer.PartVocab], s.Parts[tokenizer.PartMerges])
	case tokenizer.KindSentencePiece:
		return sentencepiece.Parse(s.Parts[tokenizer.PartModel])
	case tokenizer.KindXGLM:
		return sentencepiece.ParseXGLM(s.Parts[tokenizer.PartModel])
	case tokenizer.KindM2M100:
		t, err := sentencepiece.ParseM2M100(s.Parts[tokenizer.PartVocab], s.Parts[tokenizer.PartModel])
		if err != nil {
			return nil, err // not a nil *M2M100 in an interface
		}
		return t, nil
	case tokenizer.KindMarian:
		t, err := sentencepiece.ParseMarian(s.Parts[tokenizer.PartVocab], s.Parts[tokenizer.PartModel])
		if err != nil {
			return nil, err // as above
		}
		return t, nil
	case tokenizer.KindPegasus:
		return sentencepiece.ParsePegasus(s.Parts[tokenizer.PartModel])
	case tokenizer.KindMBART50:
		t, err := sentencepiece.ParseMBART50(s.Parts[tokenizer.PartModel])
		if err != nil {
			return nil, err // as above
		}
		return t, nil
	case tokenizer.KindGGUF:
		var g gguf.Vocabulary
		if err := json.Unmarshal(s.Parts[tokenizer.PartJSON], &g); err != nil {
			return nil, err
		}
		return gguf.New(&g)
	case tokenizer.KindAlpha:
		return alpha.Parse(s.Parts[tokenizer.PartJSON])
	}
	return nil, fmt.Errorf("tokenizer of unknown kind %.40q", s.Kind)
}
