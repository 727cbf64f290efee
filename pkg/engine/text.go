package engine

import (
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A text assembles the text of a row's tokens. It releases whole runes, holds back what
// may become a stop string, and ends before the first stop string.
type text struct {
	stops   []string
	decoder tokenizer.Decoder
	utf8    tokenizer.UTF8

	held    string // assembled, not released yet
	out     int    // bytes released
	pending []pendingToken
}

// A pendingToken waits for its text to be released.
type pendingToken struct {
	llm.Token
	start, end int // offsets in the row's text, bytes
}

// push adds a token's bytes and returns what can be released. stopped reports whether a
// stop string ended the row.
func (t *text) push(bytes string, tok llm.Token) (out string, tokens []llm.Token, stopped bool) {
	start := t.out + len(t.held)
	t.held += t.utf8.Write(bytes)
	t.pending = append(t.pending, pendingToken{tok, start, t.out + len(t.held)})
	if at, found := t.find(); found {
		t.held = t.held[:at]
		out, tokens = t.release(at)
		t.pending = nil
		return out, tokens, true
	}
	out, tokens = t.release(len(t.held) - t.hold())
	return out, tokens, false
}

// add adds bytes that no token describes.
func (t *text) add(bytes string) { t.held += t.utf8.Write(bytes) }

// flush releases the rest of a row that no stop string ended.
func (t *text) flush() (out string, tokens []llm.Token) {
	t.held += t.utf8.Write(t.decoder.Flush()) + t.utf8.Flush()
	if at, found := t.find(); found { // an incomplete rune may complete one
		t.held = t.held[:at]
	}
	return t.release(len(t.held)) // where every pending token begins or ends
}

// find returns where the first stop string begins.
func (t *text) find() (at int, found bool) {
	at = len(t.held)
	for _, stop := range t.stops {
		if i := strings.Index(t.held, stop); i >= 0 && i < at {
			at, found = i, true
		}
	}
	return at, found
}

// hold returns the length of the longest suffix of the text that begins a stop string.
func (t *text) hold() (longest int) {
	for _, stop := range t.stops {
		for n := min(len(stop)-1, len(t.held)); n > longest; n-- {
			if strings.HasSuffix(t.held, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// release returns n bytes and the tokens that begin or end in them.
func (t *text) release(n int) (out string, tokens []llm.Token) {
	out, t.held = t.held[:n], t.held[n:]
	t.out += n
	for len(t.pending) > 0 && (t.pending[0].start < t.out || t.pending[0].end <= t.out) {
		tokens = append(tokens, t.pending[0].Token)
		t.pending = t.pending[1:]
	}
	return out, tokens
}
