package engine

import (
	"encoding/base32"
	"io"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// A callParser separates calls from text in a row's output, however the output is cut
// into chunks. It emits a name as soon as it is complete, arguments as they arrive, and
// text as soon as it cannot be part of a call. If unconstrained output deviates from the
// format of calls, the rest is emitted as text; a call that has begun stays incomplete.
// So does a call cut off by the end of the row. A nil callParser emits everything as
// text.
type callParser struct {
	format chat.CallFormat
	ids    io.Reader // random bytes for the ids of calls; reading never fails

	stage callStage
	held  string // read but not emitted: it may belong to a call
	at    int    // bytes read of the stage's literal
	count int    // calls begun

	depth   int // brackets open in the arguments
	quoted  bool
	escaped bool // after a backslash
}

// A callStage is the next part of a row's text.
type callStage int

const (
	opening      callStage = iota // format.Open, if it is a call
	inName                        // the name
	afterName                     // format.Arguments without its opening quote
	inArguments                   // the arguments
	closing                       // format.Close
	betweenCalls                  // format.Between and format.Open
	plainText                     // everything is text
)

// push moves the calls out of the text of a row's next chunk.
func (s *callParser) push(c *llm.Chunk) {
	if s == nil {
		return
	}
	text := c.Text
	c.Text = ""
	for text != "" {
		switch s.stage {
		case opening:
			text = s.literal(c, text, s.format.Open, inName)
		case inName:
			text = s.name(c, text)
		case afterName:
			text = s.literal(c, text, s.format.Arguments[1:], inArguments)
		case inArguments:
			text = s.arguments(c, text)
		case closing:
			text = s.literal(c, text, s.format.Close, betweenCalls)
		case betweenCalls:
			text = s.literal(c, text, s.format.Between+s.format.Open, inName)
		case plainText:
			c.Text += text
			text = ""
		}
	}
	if c.Finish != "" && s.count == 0 {
		s.flushAsText(c) // no call was completed
	}
}

// literal reads as much of the stage's literal as text has and returns the rest.
func (s *callParser) literal(c *llm.Chunk, text, stage string, next callStage) string {
	n := 0
	for n < len(text) && s.at+n < len(stage) && text[n] == stage[s.at+n] {
		n++
	}
	s.held += text[:n]
	s.at += n
	switch {
	case s.at == len(stage):
		s.stage, s.at = next, 0
		if next != inName { // without a name it may still be text
			s.held = ""
		}
	case n < len(text):
		s.flushAsText(c)
	}
	return text[n:]
}

// name reads a name up to its closing quote.
func (s *callParser) name(c *llm.Chunk, text string) string {
	n := 0
	for n < len(text) && isName(text[n]) {
		n++
	}
	s.held += text[:n]
	name := s.held[strings.LastIndexByte(s.held, '"')+1:]
	switch {
	case n == len(text):
	case text[n] != '"' || name == "":
		s.flushAsText(c)
	default:
		c.Calls = append(c.Calls, llm.Call{Index: s.count, ID: newCallID(s.ids), Name: name})
		s.count++
		s.stage, s.held = afterName, ""
		n++
	}
	return text[n:]
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// arguments reads arguments up to their closing bracket.
func (s *callParser) arguments(c *llm.Chunk, text string) string {
	n := 0
	for n < len(text) && s.stage == inArguments {
		b := text[n]
		switch {
		case s.depth == 0 && b != '{':
			s.flushAsText(c)
			return text
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = b == '\\', b != '"'
		case b == '"':
			s.quoted = true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			if s.depth--; s.depth == 0 {
				s.stage = closing
			}
		}
		n++
	}
	if last := len(c.Calls) - 1; last >= 0 {
		c.Calls[last].Arguments += text[:n]
	} else {
		c.Calls = append(c.Calls, llm.Call{Index: s.count - 1, Arguments: text[:n]})
	}
	return text[n:]
}

// flushAsText emits what is held as text, and everything after it.
func (s *callParser) flushAsText(c *llm.Chunk) {
	c.Text += s.held
	s.stage, s.held = plainText, ""
}

// callID encodes five bits in a character.
var callID = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// newCallID returns "call_" and 24 random characters (120 bits).
func newCallID(random io.Reader) string {
	var b [15]byte
	_, _ = io.ReadFull(random, b[:])
	return "call_" + callID.EncodeToString(b[:])
}
