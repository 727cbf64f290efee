package tokenizer

import (
	"errors"
	"strconv"
	"strings"
)

// TokenBytes returns the bytes that each id of t adds in the middle of a text, by id. A
// special token adds none. Package grammar's NewVocabulary takes the result. A tokenizer that
// joins words by spaces has no such bytes, which is an error.
func TokenBytes(t Tokenizer) ([]string, error) {
	anchor, ok := findAnchor(t)
	if !ok {
		return nil, errors.New("the texts of its tokens do not concatenate, for example because it joins words by spaces")
	}
	around := Decode(t, []int{anchor})
	tokens := make([]string, t.Size())
	for id := range tokens {
		text := Decode(t, []int{anchor, id, anchor})
		middle, after := strings.CutPrefix(text, around)
		middle, before := strings.CutSuffix(middle, around)
		if after && before {
			tokens[id] = rawByte(middle, t.Piece(id))
		}
	}
	if s, ok := t.(Specials); ok {
		for _, id := range s.SpecialTokens() {
			if id < len(tokens) {
				tokens[id] = ""
			}
		}
	}
	return tokens, nil
}

// findAnchor returns a token that adds the same text in every position, with no space at
// either end.
func findAnchor(t Tokenizer) (id int, ok bool) {
	graphic := func(b byte) bool { return b > ' ' && b < 0x7f }
	for id := range t.Size() {
		text := Decode(t, []int{id})
		if text == "" || !graphic(text[0]) || !graphic(text[len(text)-1]) {
			continue
		}
		if Decode(t, []int{id, id, id}) == text+text+text {
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
