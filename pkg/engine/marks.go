package engine

import (
	"slices"
	"strings"
	"sync"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/toolcall"
)

// A callSyntax is how the model writes calls. Special tokens have no text in the vocabulary,
// and a text that spells one in letters is not the token. So each special token in the texts
// of the syntax becomes a byte that no other token has.
type callSyntax struct {
	toolcall.Syntax

	marks []int // by byte from [grammar.FirstMark] on: the token
}

// newCallSyntax returns a syntax over the special tokens of a tokenizer whose ids are below
// size.
func newCallSyntax(s toolcall.Syntax, t tokenizer.Tokenizer, size int) callSyntax {
	c := callSyntax{Syntax: s}
	specials, ok := t.(tokenizer.Specials)
	if !ok {
		return c
	}
	special := specials.SpecialTokens()
	a := &c.Arguments
	for _, text := range []*string{
		&c.Trigger, &c.Open, &c.Call, &c.Middle, &c.End, &c.Between, &c.Close, &c.Text, &c.Also.Call, &c.Also.Middle, &a.Open, &a.Middle, &a.Typed, &a.Close, &a.Between, &a.Quote,
	} {
		*text = c.mark(*text, special, size)
	}
	begin := c.Begin()
	if !strings.HasPrefix(begin, c.Trigger) && begin[0] >= grammar.FirstMark {
		c.Trigger = begin[:1] // it was a part of the token
	}
	if !strings.HasPrefix(begin, c.Trigger) || len(c.marks) > grammar.MaxMarks {
		return callSyntax{Syntax: s}
	}
	return c
}

// of returns the syntax of the answers to a request. A text that has a form is the whole answer, and
// what it quotes is no call.
func (c *callSyntax) of(p *llm.Params) toolcall.Syntax {
	s := c.Syntax
	s.Anywhere = s.Anywhere && len(p.Schema) == 0 && p.Grammar == nil
	return s
}

// mark replaces the special tokens in a text, at each place the longest, by their bytes.
func (c *callSyntax) mark(text string, special map[string]int, size int) string {
	var b strings.Builder
	for text != "" {
		longest := ""
		for spelling, id := range special {
			if id < size && len(spelling) > len(longest) && strings.HasPrefix(text, spelling) {
				longest = spelling
			}
		}
		if longest == "" {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		n := slices.Index(c.marks, special[longest])
		if n < 0 {
			n = len(c.marks)
			c.marks = append(c.marks, special[longest])
		}
		b.WriteByte(byte(grammar.FirstMark + n))
		text = text[len(longest):]
	}
	return b.String()
}

// vocabulary returns a function that makes the vocabulary in which the marks are bytes, from
// one that makes that of the tokenizer.
func (c *callSyntax) vocabulary(plain func() (*grammar.Vocabulary, error)) func() (*grammar.Vocabulary, error) {
	if len(c.marks) == 0 {
		return plain
	}
	return sync.OnceValues(func() (*grammar.Vocabulary, error) {
		v, err := plain()
		if err != nil {
			return nil, err
		}
		return v.WithMarks(c.marks), nil
	})
}

// isMark reports whether the bytes of a token are those of a mark.
func isMark(bytes string) bool { return len(bytes) == 1 && bytes[0] >= grammar.FirstMark }

// untilMark returns the length of the text before the first mark.
func untilMark(text string) int {
	if n := slices.IndexFunc([]byte(text), func(b byte) bool { return b >= grammar.FirstMark }); n >= 0 {
		return n
	}
	return len(text)
}
