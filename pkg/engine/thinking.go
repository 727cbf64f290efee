package engine

import (
	"strings"
	"sync"

	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
)

// A thinker is what an engine knows of its model's reasoning. It is nil for a model that does
// not reason.
type thinker struct {
	marks               reasoning.Marks
	open, close, answer []int          // the tokens of the marks, as the tokenizer encodes them
	header              []int          // the tokens that begin calls and texts in place of answer, where there are tools
	framed              bool           // the constrained text may have the marks around an answer
	spelled             map[int]string // the special tokens of the marks, which decoders do not write

	// closers are the texts of the tokens that may end a mark Close and go on after it, by id.
	closers func() map[int]string
}

// newThinker returns the thinker of marks. It is nil if the tokenizer cannot spell them.
func newThinker(marks *reasoning.Marks, t tokenizer.Tokenizer, tokens int) *thinker {
	if marks == nil || marks.Open == "" || marks.Close == "" {
		return nil
	}
	k := &thinker{marks: *marks, spelled: map[int]string{}}
	k.open, k.close, k.answer = k.encode(t, marks.Open), k.encode(t, marks.Close), k.encode(t, marks.Answer)
	k.header = k.encode(t, marks.Header)
	r := reasoning.NewReader(marks, reasoning.Before)
	r.Push(k.text(t, k.open))
	inside := r.State() == reasoning.Inside
	if r.Push(k.text(t, k.close)); !inside || r.State() != reasoning.Between {
		return nil
	}
	if r.Push(k.text(t, k.answer)); marks.Answer != "" && r.State() != reasoning.Answer {
		return nil
	}
	k.closers = sync.OnceValue(func() map[int]string { return k.findClosers(t, tokens) })
	return k
}

// encode returns the tokens of a mark.
func (k *thinker) encode(t tokenizer.Tokenizer, mark string) []int {
	ids := t.EncodeSpecial(mark)
	for _, id := range ids {
		if tokenizer.Decode(t, []int{id}) == "" {
			k.spelled[id] = t.Piece(id)
		}
	}
	return ids
}

// text returns the text of tokens, special ones of marks included.
func (k *thinker) text(t tokenizer.Tokenizer, ids []int) string {
	var b strings.Builder
	d := t.NewDecoder()
	for _, id := range ids {
		b.WriteString(d.Next(id))
		b.WriteString(k.spelled[id])
	}
	b.WriteString(d.Flush())
	return b.String()
}

// findClosers returns the tokens with an end of Close, or all of it, and more text after it.
func (k *thinker) findClosers(t tokenizer.Tokenizer, tokens int) map[int]string {
	found := map[int]string{}
	mark := k.marks.Close
	for id := range tokens {
		text := tokenizer.Decode(t, []int{id})
		for i := 1; i < len(text); i++ {
			head := text[:i]
			if (strings.HasSuffix(head, mark) || strings.HasSuffix(mark, head)) && strings.TrimSpace(text[i:]) != "" {
				found[id] = text
				break
			}
		}
	}
	return found
}

// cost returns how many tokens end reasoning and begin a constrained answer.
func (k *thinker) cost() int { return len(k.close) + len(k.answer) }

// A block is the reasoning of a row, and the answer after it. Tokens are read when they are
// decided, since the constraint of the answer begins with it, and shown when they are written.
// A nil block is that of a row whose text is all answer.
type block struct {
	*thinker
	reader  *reasoning.Reader
	decoder tokenizer.Decoder
	limit   int   // tokens of reasoning; -1: any number
	tokens  int   // of reasoning
	seen    int   // tokens of the row
	opened  int   // how many tokens of open the row began with, if it has no others
	forced  []int // must come next

	read    []readToken // decided, not written
	waiting []waitingToken
	utf8    tokenizer.UTF8 // of the reasoning
}

// A readToken is a decided token.
type readToken struct {
	bytes  string // without the marks around an answer
	piece  reasoning.Piece
	state  reasoning.State // after the token
	inside bool            // it is part of the reasoning
	answer bool            // it is part of the answer
}

// thinking reports whether the row's next token is part of its reasoning.
func (b *block) thinking() bool {
	return b != nil && (len(b.forced) > 0 || b.reader.State() == reasoning.Inside)
}

// undecided reports whether the row may still begin to reason.
func (b *block) undecided() bool {
	return b != nil && len(b.forced) == 0 && b.reader.State() == reasoning.Before
}

// openToken returns the next token of Open, -1 if the row has begun with others.
func (b *block) openToken() int {
	if b.opened < b.seen || b.opened >= len(b.open) {
		return -1
	}
	return b.open[b.opened]
}

// take reads a decided token. A constrained answer has the bytes of the vocabulary, and begins
// directly after Close; begins reports that the next token is its first.
func (b *block) take(id int, constrained *constrainedRow) (begins bool) {
	was, forced := b.reader.State(), len(b.forced) > 0
	if b.undecided() && id == b.openToken() {
		b.opened++
	}
	b.seen++
	bytes := b.decoder.Next(id)
	if constrained != nil && !forced && was != reasoning.Inside {
		bytes = constrained.tokenText(id)
	}
	if bytes == "" && was != reasoning.Answer {
		bytes = b.spelled[id]
	}
	if forced {
		b.forced = b.forced[1:]
	}
	read := bytes
	if spelling, ok := b.spelled[id]; ok && was == reasoning.Before {
		read = spelling // and not the byte that calls have for it
	}
	t := readToken{bytes: bytes, piece: b.reader.Push(read)}
	t.state = b.reader.State()
	t.inside = was == reasoning.Inside || t.state == reasoning.Inside
	t.answer = t.state == reasoning.Answer && (was == reasoning.Answer || t.piece.Text != "")
	if t.answer && was != reasoning.Before {
		t.bytes = t.piece.Text
	}
	if was == reasoning.Inside {
		b.tokens++
	}
	b.read = append(b.read, t)
	if constrained == nil || was == reasoning.Answer || b.framed && !forced && was == reasoning.Between || t.state == reasoning.Before || t.state == reasoning.Inside {
		return false
	}
	if was == reasoning.Inside {
		b.forced = b.answer
	}
	if len(b.forced) > 0 {
		return false
	}
	if !b.framed {
		b.reader.Stop()
	}
	return was != reasoning.Before
}

// next returns what the next token to be written adds. It keeps the tokens of a row that may
// still begin to reason, and returns them with the first token of an answer.
func (b *block) next(tok llm.Token) (reasoned string, answer []waitingToken, count int) {
	t := b.read[0]
	b.read = b.read[1:]
	switch {
	case t.state == reasoning.Before:
		b.waiting = append(b.waiting, waitingToken{t.bytes, tok})
		return "", nil, 0
	case t.inside:
		count = 1 + len(b.waiting)
	case t.answer && len(b.waiting) > 0:
		answer, b.waiting = append(b.waiting, waitingToken{t.bytes, tok}), nil
		return "", answer, 0
	}
	b.waiting = nil
	if t.piece.Reasoning != "" {
		reasoned = b.utf8.Write(t.piece.Reasoning)
	}
	if t.state != reasoning.Inside && t.inside {
		reasoned += b.utf8.Flush()
	}
	if t.answer {
		answer = []waitingToken{{t.bytes, tok}}
	}
	return reasoned, answer, count
}

// end returns what the row's last tokens held back: the tokens of an answer, or else reasoning
// or text. written reports whether all decided tokens are written.
func (b *block) end(written bool) (reasoned string, answer []waitingToken, text string) {
	answer, b.waiting = b.waiting, nil
	if !written || len(answer) > 0 {
		return b.utf8.Flush(), answer, ""
	}
	inside := b.reader.State() == reasoning.Inside
	var piece reasoning.Piece
	if inside {
		piece = b.reader.Push(b.decoder.Flush())
	}
	rest := b.reader.End()
	return b.utf8.Write(piece.Reasoning+rest.Reasoning) + b.utf8.Flush(), nil, piece.Text + rest.Text
}

// A waitingToken is a token of an answer with the bytes that it adds.
type waitingToken struct {
	bytes string
	llm.Token
}
