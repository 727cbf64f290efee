package automaton

import (
	"errors"
	"strings"
	"sync"
)

// Text returns the automaton of all texts in UTF-8 (Unicode 16, table 3-7).
func Text() *DFA { return anyText() }

// Contents returns the automaton of the texts that the JSON strings of d stand for: without
// quotes, and each character itself where d has its escape. Their states are not [State.Plain].
func (budget *Budget) Contents(d *DFA) (*DFA, error) {
	start := d.Next(0, '"')
	if start < 0 {
		return nil, errors.New("there is no string")
	}
	return explore(budget, start, func(s int32, edge func(lo, hi byte, to int32)) (bool, bool) {
		for b := range 256 {
			if to := d.character(s, byte(b)); to >= 0 {
				edge(byte(b), byte(b), to)
			}
		}
		end := d.Next(s, '"')
		return end >= 0 && d.States[end].Accept, d.States[s].Content
	})
}

// character returns the state after a byte of a string's content, or -1. Escapes are what a
// JSON string has for the byte, in either case of hexadecimal digits.
func (d *DFA) character(s int32, b byte) int32 {
	if b >= 0x20 && b != '"' && b != '\\' {
		return d.Next(s, b)
	}
	for _, escape := range escapesOf(b) {
		to := s
		for i := 0; i < len(escape) && to >= 0; i++ {
			to = d.Next(to, escape[i])
		}
		if to >= 0 {
			return to
		}
	}
	return -1
}

// escapesOf returns the escapes of an ASCII character that JSON strings must escape.
func escapesOf(b byte) []string {
	const upper, lower = "0123456789ABCDEF", "0123456789abcdef"
	list := []string{`\u00` + string([]byte{lower[b>>4], lower[b&15]}), `\u00` + string([]byte{upper[b>>4], upper[b&15]})}
	const short, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	if i := strings.IndexByte(short, b); i >= 0 {
		return append([]string{`\` + letters[i:i+1]}, list...)
	}
	return list
}

// A progress is a state of an automaton, with the progress of a mark in the last bytes.
type progress struct {
	state int32 // -1: only the rest of the mark may follow
	read  int   // bytes of the mark
	ends  bool  // the text before these bytes is one of the automaton's
}

// checkMark reports an error unless the first byte of a mark occurs once in it, but for its
// last byte: then only one occurrence of it can be in progress.
func checkMark(mark string) error {
	if mark == "" || len(mark) > 2 && strings.IndexByte(mark[1:len(mark)-1], mark[0]) >= 0 {
		return errors.New("a mark must not be empty, nor repeat its first byte before the last")
	}
	return nil
}

// advance returns the progress of a mark after a byte.
func (d *DFA) advance(at progress, b byte, mark string) progress {
	switch {
	case at.read > 0 && b == mark[at.read]:
		return progress{-1, at.read + 1, at.ends}
	case at.state >= 0 && b == mark[0]:
		return progress{-1, 1, d.States[at.state].Accept}
	}
	return progress{-1, 0, false}
}

// Until returns the automaton of the texts of d that do not contain mark, each followed by
// mark. Nothing but d bounds the bytes of the mark: they need not be UTF-8. If Content marks the
// beginnings of characters in d, it does so in the result, the mark's characters included:
// there are [Characters] of them. Its states are [State.Plain].
func (budget *Budget) Until(d *DFA, mark string) (*DFA, error) {
	if err := checkMark(mark); err != nil {
		return nil, err
	}
	until, err := explore(budget, progress{}, func(at progress, edge func(lo, hi byte, to progress)) (bool, bool) {
		if at.read == len(mark) {
			return true, false
		}
		for b := range 256 {
			to := d.advance(at, byte(b), mark)
			if at.state >= 0 && to.read < len(mark) {
				to.state = d.Next(at.state, byte(b))
			}
			if to.state >= 0 || to.ends {
				edge(byte(b), byte(b), to)
			}
		}
		if at.state < 0 {
			return false, begins(mark[at.read])
		}
		return false, d.States[at.state].Content
	})
	if err != nil {
		return nil, err
	}
	for i := range until.States {
		until.States[i].Plain = true
	}
	return until, nil
}

// begins reports whether a byte begins a character, or is not UTF-8.
func begins(b byte) bool { return b < 0x80 || b > 0xBF }

// Characters returns the number of characters of a mark.
func Characters(mark string) (n int) {
	for i := range len(mark) {
		if begins(mark[i]) {
			n++
		}
	}
	return n
}

// Without returns the automaton of the texts of d that do not contain mark.
func (budget *Budget) Without(d *DFA, mark string) (*DFA, error) {
	if err := checkMark(mark); err != nil {
		return nil, err
	}
	return explore(budget, progress{}, func(at progress, edge func(lo, hi byte, to progress)) (bool, bool) {
		for b := range 256 {
			to := d.advance(at, byte(b), mark)
			if to.state = d.Next(at.state, byte(b)); to.state >= 0 && to.read < len(mark) {
				to.ends = false // makes no difference here
				edge(byte(b), byte(b), to)
			}
		}
		return d.States[at.state].Accept, false
	})
}

// Literal returns the automaton of one text.
func Literal(text string) *DFA {
	d := &DFA{States: make([]State, len(text)+1)}
	for i := range len(text) {
		d.States[i].Edges = []Edge{{Lo: text[i], Hi: text[i], To: int32(i + 1)}}
	}
	d.States[len(text)].Accept = true
	return d
}

// Starting returns the automaton of all bytes after a text.
func Starting(text string) *DFA {
	d := Literal(text)
	d.States[len(text)].Edges = []Edge{{Hi: 0xFF, To: int32(len(text))}}
	return d
}

// leads lists the first bytes of multi-byte characters with the number of bytes that follow;
// the first of these is between lo and hi.
func leads() []lead {
	return []lead{
		{0xC2, 0xDF, 1, 0x80, 0xBF},
		{0xE0, 0xE0, 2, 0xA0, 0xBF},
		{0xE1, 0xEC, 2, 0x80, 0xBF},
		{0xED, 0xED, 2, 0x80, 0x9F},
		{0xEE, 0xEF, 2, 0x80, 0xBF},
		{0xF0, 0xF0, 3, 0x90, 0xBF},
		{0xF1, 0xF3, 3, 0x80, 0xBF},
		{0xF4, 0xF4, 3, 0x80, 0x8F},
	}
}

type lead struct {
	first, last byte
	more        int
	lo, hi      byte
}

// anyText accepts any text in UTF-8. All programs share it, so that its masks over a
// vocabulary are computed once.
var anyText = sync.OnceValue(func() *DFA {
	d := &DFA{States: make([]State, 4)} // by the number of remaining bytes
	d.States[0] = State{Accept: true, Edges: []Edge{{Hi: 0x7F}}}
	for i := 1; i < 4; i++ {
		d.States[i].Edges = []Edge{{Lo: 0x80, Hi: 0xBF, To: int32(i - 1)}}
	}
	for _, l := range leads() {
		to := int32(l.more)
		if l.lo != 0x80 || l.hi != 0xBF {
			to = int32(len(d.States))
			d.States = append(d.States, State{Edges: []Edge{{Lo: l.lo, Hi: l.hi, To: int32(l.more - 1)}}})
		}
		d.States[0].Edges = append(d.States[0].Edges, Edge{Lo: l.first, Hi: l.last, To: to})
	}
	return d
})
