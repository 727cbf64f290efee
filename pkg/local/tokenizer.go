package local

import (
	"errors"

	"glossa/pkg/catalog"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// tokenizerJSON returns a function that reads the tokenizer.json of a published model. Each
// call reads it again: some files have tens of megabytes, and few clients ask for one.
func (l *Loader) tokenizerJSON(run *catalog.Run, o catalog.Options) func() ([]byte, error) {
	if run.Type == "" {
		return nil // the engine writes that of an Alpha model
	}
	return func() (raw []byte, err error) {
		m, _, err := l.read(run, o)
		if err != nil {
			return nil, clientError(err)
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		words, err := m.TokenizerSource()
		if err != nil {
			return nil, err
		}
		if words == nil || words.Kind != tokenizer.KindHF || words.Parts[tokenizer.PartNewline] != nil {
			return nil, llm.Errorf(llm.Unsupported, "the tokenizer of this model is not a tokenizer.json")
		}
		return words.Parts[tokenizer.PartJSON], nil
	}
}
