package app

import (
	"errors"

	"glossa/pkg/catalog"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// tokenizerJSON returns how the tokenizer.json of a published model is read. It is read anew
// for each that asks for it: some have tens of megabytes, and few are asked for.
func (a *App) tokenizerJSON(rec *catalog.Record, run *catalog.Run) func() ([]byte, error) {
	if run.Type == "" {
		return nil // the engine writes that of an Alpha model
	}
	return func() (raw []byte, err error) {
		m, err := a.describe(rec, run)
		if err != nil {
			return nil, unreadable(err)
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		words, err := m.Words()
		if err != nil {
			return nil, err
		}
		if words == nil || words.Kind != tokenizer.KindHF || words.Parts[tokenizer.PartNewline] != nil {
			return nil, llm.Errorf(llm.Unsupported, "the tokenizer of this model is not a tokenizer.json")
		}
		return words.Parts[tokenizer.PartJSON], nil
	}
}
