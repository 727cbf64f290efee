package arch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	anchor, ok := findAnchor(tok, size)
	if !ok {
		return nil, errors.New("this model does not support structured output: the texts of its tokens do not concatenate, for example because it joins words by spaces")
	}
	around := tokenizer.Decode(tok, []int{anchor})
	tokens := make([]string, size)
	for id := range tokens {
		text := tokenizer.Decode(tok, []int{anchor, id, anchor})
		middle, after := strings.CutPrefix(text, around)
		middle, before := strings.CutSuffix(middle, around)
		if after && before {
			tokens[id] = rawByte(middle, tok.Piece(id))
		}
	}
	if t, ok := tok.(tokenizer.Specials); ok {
		for _, id := range t.SpecialTokens() {
			if id < size {
				tokens[id] = ""
			}
		}
	}
	for _, id := range ends {
		if id < size {
			tokens[id] = ""
		}
	}
	return grammar.NewVocabulary(tokens), nil
}

// findAnchor returns a token that adds the same text in every position, with no space at
// either end.
func findAnchor(tok tokenizer.Tokenizer, size int) (id int, ok bool) {
	graphic := func(b byte) bool { return b > ' ' && b < 0x7f }
	for id := range size {
		text := tokenizer.Decode(tok, []int{id})
		if text == "" || !graphic(text[0]) || !graphic(text[len(text)-1]) {
			continue
		}
		if tokenizer.Decode(tok, []int{id, id, id}) == text+text+text {
			return id, true
		}
	}
	return 0, false
}

// rawByte returns text, or the raw byte if the token is a byte that SentencePiece shows
// as text: alone it is not UTF-8.
func rawByte(text, piece string) string {
	if text != "\ufffd" || len(piece) != len("<0x00>") || !strings.HasPrefix(piece, "<0x") || piece[5] != '>' {
		return text
	}
	b, err := strconv.ParseUint(piece[3:5], 16, 8)
	if err != nil {
		return text
	}
	return string([]byte{byte(b)})
}
