package hf

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/encode"
)

// AddedToken is an entry of added_tokens in tokenizer.json. Added tokens are read in the
// text before it is cut into pieces.
type AddedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not within a word
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`      // takes the white space after it
	Normalized bool   `json:"normalized"`  // is read after normalizing
	Special    bool   `json:"special"`
}

// maxAdded bounds the number of added tokens, encode.MaxSpecialLength their length.
const maxAdded = 1 << 14

// addedTrie finds added tokens, at each place the longest.
type addedTrie struct {
	tokens   []AddedToken
	nodes    []trieNode // from the root; none if there are no tokens
	begins   [256]bool  // the bytes that tokens begin with
	ordinary bool       // some token is not special
	// longestFirst follows llama.cpp: the longest token is read first instead of the leftmost, and a
	// plain text has no special tokens. Tokens do not take white space.
	longestFirst bool
	free         []bool // by token: it is read whoever wrote it
	pad          []int  // by token: the bytes of its spelling that the normalizer puts before every text
}

type trieNode struct {
	next  map[byte]int32 // nodes
	token int32          // index + 1 of the token that ends here
}

// add adds a token with its spelling, of which the first bytes may be a pad.
func (t *addedTrie) add(text string, pad int, token AddedToken) error {
	if err := checkLength(token, text); err != nil {
		return err
	}
	if len(t.nodes) == 0 {
		t.nodes = make([]trieNode, 1)
	}
	t.begins[text[0]] = true
	t.ordinary = t.ordinary || !token.Special
	at := int32(0)
	for i := range len(text) {
		next, ok := t.nodes[at].next[text[i]]
		if !ok {
			next = int32(len(t.nodes))
			if t.nodes[at].next == nil {
				t.nodes[at].next = map[byte]int32{}
			}
			t.nodes[at].next[text[i]] = next
			t.nodes = append(t.nodes, trieNode{})
		}
		at = next
	}
	if first := t.nodes[at].token; first != 0 {
		return fmt.Errorf("added tokens %d and %d are both %.40q", t.tokens[first-1].ID, token.ID, text)
	}
	t.tokens = append(t.tokens, token)
	t.pad = append(t.pad, pad)
	t.free = append(t.free, !token.Special && !encode.IsMark(token.Content))
	t.nodes[at].token = int32(len(t.tokens))
	return nil
}

// checkLength checks the length of a token's spelling.
func checkLength(token AddedToken, text string) error {
	if text == "" || len(text) > encode.MaxSpecialLength {
		return fmt.Errorf("added token %d, %.40q, has %d bytes, not 1 to %d", token.ID, text, len(text), encode.MaxSpecialLength)
	}
	return nil
}

// longest returns the longest token at a position of text that may be read, and its end, or
// nil.
func (t *addedTrie) longest(text string, from int, reads encode.Reads) (token *AddedToken, end int) {
	at := int32(0)
	for i := from; i < len(text); i++ {
		next, ok := t.nodes[at].next[text[i]]
		if !ok {
			break
		}
		at = next
		if k := t.nodes[at].token; k != 0 && t.mayRead(k-1, from, i+1, reads) {
			token, end = &t.tokens[k-1], i+1
		}
	}
	return token, end
}

// mayRead reports whether a token may be read in the bytes [from, to), which spell it.
func (t *addedTrie) mayRead(token int32, from, to int, reads encode.Reads) bool {
	if reads.Plain() {
		return !t.longestFirst || !t.tokens[token].Special
	}
	return t.free[token] || reads.At(from+t.pad[token], to)
}

// find returns the leftmost longest token from i on that may be read and its place, or nil.
func (t *addedTrie) find(text string, i int, reads encode.Reads) (token *AddedToken, start, end int) {
	for ; i < len(text); i++ {
		if !t.begins[text[i]] {
			continue
		}
		if token, end := t.longest(text, i, reads); token != nil {
			return token, i, end
		}
	}
	return nil, len(text), len(text)
}

// A place is the bytes [start, end) of a text.
type place struct{ start, end int }

// cut yields the places between tokens with -1, and those of tokens with their ids. In a
// plain text it skips the spellings of special tokens, as upstream does. It also skips tokens
// that must be a word and are part of one. The white space that a token takes may be anyone's.
// A token that begins in the white space that the last one takes is read too, and the text
// continues after it, as upstream does.
func (t *addedTrie) cut(text string, reads encode.Reads) iter.Seq2[place, int] {
	return func(yield func(place, int) bool) {
		if t.longestFirst {
			t.cutLongest(text, reads, yield)
			return
		}
		from, white := 0, 0 // the end of the last token; of white space that a token has taken
		for i := 0; len(t.nodes) > 0 && (!reads.Plain() || t.ordinary); {
			token, start, end := t.find(text, i, reads)
			if token == nil {
				break
			}
			i = end
			if token.Special && reads.Plain() || token.SingleWord && !standsAlone(text, start, end) {
				continue
			}
			if token.LStrip {
				start = from + len(strings.TrimRightFunc(text[min(from, start):start], unicode.IsSpace))
			}
			if token.RStrip {
				if end >= white {
					white = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
				}
				end = white
			}
			if start >= end {
				continue // the last token has taken all of it
			}
			if from < start && !yield(place{from, start}, -1) || !yield(place{start, end}, token.ID) {
				return
			}
			from = end
		}
		if from < len(text) {
			yield(place{from, len(text)}, -1)
		}
	}
}

// cutLongest is cut with the longest token first.
func (t *addedTrie) cutLongest(text string, reads encode.Reads, yield func(place, int) bool) {
	from := 0
	longest := func(from, to int) (id, length int) {
		if token, end := t.longest(text[:to], from, reads); token != nil {
			return token.ID, end - from
		}
		return 0, 0
	}
	if len(t.nodes) > 0 {
		for _, m := range encode.Partition(len(text), longest) {
			if from < m.From && !yield(place{from, m.From}, -1) || !yield(place{m.From, m.To}, m.ID) {
				return
			}
			from = m.To
		}
	}
	if from < len(text) {
		yield(place{from, len(text)}, -1)
	}
}

// standsAlone reports whether no word character touches text[start:end].
func standsAlone(text string, start, end int) bool {
	before, n := utf8.DecodeLastRuneInString(text[:start])
	after, m := utf8.DecodeRuneInString(text[end:])
	return (n == 0 || !isWord(before)) && (m == 0 || !isWord(after))
}

// isWord is \w (Unicode, UTS 18, annex C).
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control)
}
