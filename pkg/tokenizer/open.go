package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// openSource builds the tokenizer of s.
func openSource(s *Source) (Tokenizer, error) {
	t, err := withoutNewline(s)
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

// withoutNewline builds the tokenizer without PartNewline.
func withoutNewline(s *Source) (Tokenizer, error) {
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

// Open builds the tokenizer.
func (s *Source) Open() (Tokenizer, error) { return openSource(s) }
