package hf

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/encode"
)

// wordPiece cuts a word into the longest pieces of its vocabulary, from left to right. A
// word that cannot be cut, or is too long, is one unknown token.
//
// Source: Wu et al. 2016, sec. 4.1; Hugging Face's tokenizers, models/wordpiece.
type wordPiece struct {
	begin     map[string]int // ids of pieces that begin a word
	continued map[string]int // ids of the others, without their prefix
	unk       int
	maxRunes  int // of a word
	longest   int // bytes of a piece
}

// maxWordRunes bounds max_input_chars_per_word: the work of a word is quadratic.
const maxWordRunes = 1 << 10

// newWordPiece builds the model. ordinary is the vocabulary without special tokens.
func newWordPiece(f *fileModel, ordinary map[string]int) (*wordPiece, error) {
	if f.UnkToken == nil || f.MaxChars == nil {
		return nil, fmt.Errorf("model: unk_token or max_input_chars_per_word is missing")
	}
	unk, ok := f.vocab[*f.UnkToken]
	switch {
	case !ok:
		return nil, fmt.Errorf("model: unk_token %.40q is not in the vocabulary", *f.UnkToken)
	case *f.MaxChars < 0 || *f.MaxChars > maxWordRunes:
		return nil, fmt.Errorf("model: max_input_chars_per_word is %d, not 0 to %d", *f.MaxChars, maxWordRunes)
	}
	m := &wordPiece{begin: ordinary, continued: map[string]int{}, unk: unk, maxRunes: *f.MaxChars}
	for piece, id := range ordinary {
		m.longest = max(m.longest, len(piece))
		if rest, ok := strings.CutPrefix(piece, f.Prefix); ok {
			m.continued[rest] = id
		}
	}
	return m, nil
}

// Encode implements pieceModel.
func (m *wordPiece) Encode(o *encode.Output, word string) {
	if utf8.RuneCountInString(word) > m.maxRunes {
		o.IDs = append(o.IDs, m.unk)
		return
	}
	before := len(o.IDs)
	pieces := m.begin
	for from := 0; from < len(word); {
		id, n := m.longestPiece(pieces, word[from:])
		if n == 0 {
			o.IDs = append(o.IDs[:before], m.unk)
			return
		}
		o.IDs = append(o.IDs, id)
		from += n
		pieces = m.continued
	}
}

// longestPiece returns the longest of the pieces that text begins with, and its length; 0
// if there is none.
func (m *wordPiece) longestPiece(pieces map[string]int, text string) (id, n int) {
	n = min(len(text), m.longest)
	for n > 0 {
		if n < len(text) && !utf8.RuneStart(text[n]) {
			n--
			continue
		}
		if id, ok := pieces[text[:n]]; ok {
			return id, n
		}
		n--
	}
	return 0, 0
}

// cleanUp removes the spaces that joining words puts before punctuation and English
// contractions.
var cleanUp = []string{
	" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't",
	" 's", "'s", " 've", "'ve", " 're", "'re",
}

// readWordPieceDecoder reads the decoder WordPiece: a token that does not continue a word
// begins with a space, except the first.
func readWordPieceDecoder(s *fileStep) tokenStep {
	return func(token string, first bool) string {
		if rest, ok := strings.CutPrefix(token, s.Prefix); ok && !first {
			token = rest
		} else if !first {
			token = " " + token
		}
		for i := 0; s.CleanUp && i < len(cleanUp); i += 2 {
			token = strings.ReplaceAll(token, cleanUp[i], cleanUp[i+1])
		}
		return token
	}
}
