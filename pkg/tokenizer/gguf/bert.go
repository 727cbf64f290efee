package gguf

import (
	"slices"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/subword"
)

// wordMark begins the pieces that begin a word; the others continue one.
const wordMark = "\u2581"

// newWords builds a WordPiece tokenizer. Without the key normalizer.lowercase it keeps capital
// letters if one of A to Z is a piece. llama.cpp then never keeps them.
//
// Source: gguf's conversion of BertModel, which rewrites ##x to x and other pieces x to ▁x.
func newWords(g *Vocabulary) (tokenizer.Tokenizer, error) {
	vocab := make(map[string]int, len(g.Tokens))
	var added []hf.AddedToken
	cased := false
	for id, piece := range g.Tokens {
		word, begins := strings.CutPrefix(piece, wordMark)
		special := len(g.Types) == len(g.Tokens) && (g.Types[id] == int64(subword.KindControl) || g.Types[id] == int64(subword.KindUnknown))
		switch {
		case special && piece != "" || isSpecial(word):
			if isSpecial(word) {
				piece = word // the converter may mark them too
			}
			added = append(added, hf.AddedToken{ID: id, Content: piece, Special: true})
			vocab[piece] = id
		case begins:
			vocab[word] = id
			cased = cased || isCapital(word)
		case piece != "":
			vocab["##"+piece] = id
		}
	}
	b := hf.Bert{Vocab: vocab, Added: added, Lowercase: flag(g.Lowercase, !cased), StripAccents: g.StripAccents, Chinese: true}
	raw, err := b.JSON()
	if err != nil {
		return nil, err
	}
	return hf.Parse(raw)
}

// wordSpecials are BERT's special tokens.
var wordSpecials = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

func isSpecial(piece string) bool { return slices.Contains(wordSpecials, piece) }

// isCapital reports whether word is a capital letter. Other words do not tell: BERT's
// lower-case vocabulary has ℝ, the Chinese one <S>.
func isCapital(word string) bool { return len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' }
