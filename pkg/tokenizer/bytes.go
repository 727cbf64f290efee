package tokenizer

import (
	"cmp"
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
			if tokens[id] = middle; middle == "\ufffd" { // a byte alone may not be UTF-8
				tokens[id] = cmp.Or(byteOf(t.Piece(id)), middle)
			}
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
// either end. It is not a byte, which could make other bytes invalid.
func findAnchor(t Tokenizer) (id int, ok bool) {
	graphic := func(b byte) bool { return b > ' ' && b < 0x7f }
	for id := range t.Size() {
		text := Decode(t, []int{id})
		if text == "" || !graphic(text[0]) || !graphic(text[len(text)-1]) || byteOf(t.Piece(id)) != "" {
			continue
		}
		if Decode(t, []int{id, id, id}) == text+text+text {
			return id, true
		}
	}
	return 0, false
}

// byteOf returns the byte that a piece such as <0x0A> stands for, "" for other pieces.
func byteOf(piece string) string {
	if len(piece) != len("<0x00>") || !strings.HasPrefix(piece, "<0x") || piece[5] != '>' {
		return ""
	}
	b, err := strconv.ParseUint(piece[3:5], 16, 8)
	if err != nil {
		return ""
	}
	return string([]byte{byte(b)})
}
