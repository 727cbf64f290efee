package engine

import (
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/toolcall"
)

// A text assembles the text of a row's tokens. It releases whole runes, holds back what
// may become a stop string, and ends before the first stop string. Stop strings are looked for
// in what clients see as text: not in calls, which are whole, nor in the white space before them.
type text struct {
	stops   []string // none once calls have begun
	decoder tokenizer.Decoder
	utf8    tokenizer.UTF8
	calls   *toolcall.Syntax // of calls that may come, with marks, see [isMark]; nil: none may

	held    string // assembled, not released yet
	stop    string // the stop string that ended the row
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
	if t.calls != nil && isMark(bytes) { // it is not UTF-8
		t.held += t.utf8.Flush() + bytes
	} else {
		t.held += t.utf8.Write(bytes)
	}
	end := t.out + len(t.held)
	if len(t.stops) > 0 && t.utf8.Holds() {
		end++ // in the rune that the token does not complete, which a stop string may cut
	}
	t.pending = append(t.pending, pendingToken{tok, start, end})
	searched, calls := t.beforeCalls()
	if at, found := t.find(searched); found {
		t.held = t.held[:at]
		out, tokens = t.release(at)
		t.pending = nil
		return out, tokens, true
	}
	if calls {
		t.stops, searched = nil, len(t.held)
	}
	out, tokens = t.release(searched - t.hold(searched))
	return out, tokens, false
}

// beforeCalls returns the length of the held text that is not part of calls, nor white space
// before them, whatever follows, and whether calls begin in the rest. What follows their first
// mark are calls, because a constraint demands it.
func (t *text) beforeCalls() (n int, calls bool) {
	n = len(t.held)
	if t.calls == nil || len(t.stops) == 0 || !t.calls.Anywhere && t.out > 0 || t.header() > 0 {
		return n, false
	}
	if strings.HasPrefix(t.calls.Text, t.held) {
		return 0, false
	}
	at := strings.Index(t.held, t.calls.Trigger)
	switch {
	case at == 0 || at > 0 && t.calls.Anywhere:
		n, calls = at, true
	case t.calls.Anywhere:
		n -= beginning(t.held, t.calls.Trigger)
	case strings.HasPrefix(t.calls.Trigger, t.held):
		n = 0
	}
	if t.calls.Anywhere {
		n = len(strings.TrimRight(t.held[:n], " \t\r\n"))
	}
	return n, calls
}

// header returns the length of the mark at the beginning of an answer that is text.
func (t *text) header() int {
	if t.calls == nil || t.out > 0 || !strings.HasPrefix(t.held, t.calls.Text) {
		return 0
	}
	return len(t.calls.Text)
}

// shown returns what clients see of a token's bytes.
func (t *text) shown(bytes string) string {
	if t.calls != nil && isMark(bytes) {
		return ""
	}
	return bytes
}

// add adds bytes that no token describes.
func (t *text) add(bytes string) { t.held += t.utf8.Write(bytes) }

// flush releases the rest of a row that no stop string ended.
func (t *text) flush() (out string, tokens []llm.Token) {
	t.held += t.utf8.Write(t.decoder.Flush()) + t.utf8.Flush()
	if at, found := t.find(len(t.held)); found { // an incomplete rune may complete one
		t.held = t.held[:at]
	}
	return t.release(len(t.held)) // where every pending token begins or ends
}

// find returns where the first stop string begins in n bytes of the held text.
func (t *text) find(n int) (at int, found bool) {
	at = n
	begin := min(t.header(), n)
	for _, stop := range t.stops {
		if i := strings.Index(t.held[begin:n], stop); i >= 0 && begin+i < at {
			at, found, t.stop = begin+i, true, stop
		}
	}
	return at, found
}

// hold returns the length of the longest end of n bytes of the held text that begins a stop
// string.
func (t *text) hold(n int) (longest int) {
	for _, stop := range t.stops {
		longest = max(longest, beginning(t.held[min(t.header(), n):n], stop))
	}
	return longest
}

// beginning returns the length of the longest end of a text that begins a mark but is not all
// of it.
func beginning(text, mark string) int {
	for n := min(len(mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
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
