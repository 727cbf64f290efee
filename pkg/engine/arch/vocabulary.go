package arch

import (
	"errors"
	"fmt"
	"sync"

	"glossa/pkg/grammar"
	"glossa/pkg/tokenizer"
)

// packTrie is the tensor of a packed model with its vocabulary in a trie.
const packTrie = "tokens.trie"

// Vocabulary returns a function that makes the vocabulary on its first call: the bytes
// that each token adds in the middle of a text. Special tokens and those that end a text
// add none. It works after m is closed too.
func (m *Model) Vocabulary() func() (*grammar.Vocabulary, error) {
	tok, tokens, ends, trie := m.Tokenizer, m.Tokens, m.End, m.trie
	return sync.OnceValues(func() (*grammar.Vocabulary, error) {
		if trie == nil {
			return newVocabulary(tok, tokens, ends)
		}
		b, err := trie()
		if err != nil {
			return nil, err
		}
		v, err := grammar.ReadVocabulary(b)
		if err == nil && v.Size() != tokens {
			err = fmt.Errorf("a trie of %d tokens, where the model has %d", v.Size(), tokens)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", packTrie, err)
		}
		return v, nil
	})
}

func newVocabulary(tok tokenizer.Tokenizer, size int, ends []int) (*grammar.Vocabulary, error) {
	if tok == nil {
		return nil, errors.New("this model has no tokenizer")
	}
	texts, err := tokenizer.TokenBytes(tok)
	if err != nil {
		return nil, fmt.Errorf("this model does not support structured output: %w", err)
	}
	tokens := make([]string, size)
	copy(tokens, texts)
	for _, id := range ends {
		if id < size {
			tokens[id] = ""
		}
	}
	return grammar.NewVocabulary(tokens), nil
}
