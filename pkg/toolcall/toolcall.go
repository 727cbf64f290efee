// Package toolcall knows how families of models write calls of tools: the syntax of each as
// data, and a reader that takes the calls out of a stream of text. It knows neither prompts
// nor grammars: package grammar/calls holds text to a syntax, package chat writes prompts.
//
// Start with [Hermes] and [NewReader].
//
// Sources: the chat templates that models are published with, the parsers of vLLM 0.26 and
// ollama of 2026 for what models write.
package toolcall

import "slices"

// A Syntax describes the calls of an answer:
//
//	Open, the calls with Between between them, Close
//
// and a call is
//
//	Call, the name, Middle, the arguments, End
//
// Names have no byte outside [A-Za-z0-9_-], and Middle does not begin with one of these.
type Syntax struct {
	Family string // name in tables and errors

	// Trigger begins calls, and nothing else but Text: it is the beginning of Open and Call. Its
	// first byte is not repeated in it, except perhaps as the last, if calls may follow text.
	Trigger  string
	Anywhere bool // calls may follow text; otherwise they begin the answer

	Open, Call, Middle, End, Between, Close string

	// Text begins an answer that is text, and no calls follow it; "": nothing does. If it begins
	// with the trigger, prompts may end with this one.
	Text string
	// Also is another way to begin the first call, without Open. Without a Call there is none.
	Also Head

	Arguments Arguments
	One       bool // an answer has one call
}

// A Head is what comes before the name of a call, and between the name and the arguments.
type Head struct{ Call, Middle string }

// Heads returns the ways to begin the first call, with Open.
func (s *Syntax) Heads() []Head {
	heads := []Head{{s.Begin(), s.Middle}, s.Also}
	if s.Also.Call == "" {
		return heads[:1]
	}
	return heads
}

// Arguments is how the arguments of a call are written. The zero value is an object in JSON;
// otherwise each argument is
//
//	Open, the name of the parameter, Middle, the value, Close
//
// with Between between two. Typed, if it is set, replaces Middle before a value that is not
// written as a string: it tells the types apart.
type Arguments struct {
	Style Style

	Open, Middle, Typed, Close, Between string

	Quote string // around strings, in the style [Marked]
}

// A Style is the notation of arguments.
type Style uint8

const (
	// JSON is one object.
	JSON Style = iota
	// Tagged has values between tags: strings as they are, see [Strings]; anything else in
	// JSON. Strings cannot contain Close.
	Tagged
	// Python has keyword arguments: literals of Python with strings in double quotes.
	Python
	// Marked has values in JSON, but that keys have no quotes, and that strings stand as they are
	// between two marks Quote, which they cannot contain. Keys are sorted, without regard to case.
	Marked
)

// Begin returns what a call list begins with, up to the first name.
func (s *Syntax) Begin() string { return s.Open + s.Call }

// Marks returns the literal texts of a syntax, without empty ones and repetitions.
func (s *Syntax) Marks() (marks []string) {
	a := &s.Arguments
	for _, mark := range []string{s.Open, s.Call, s.Middle, s.End, s.Between, s.Close, s.Text, s.Also.Call, s.Also.Middle, a.Open, a.Middle, a.Typed, a.Close, a.Between, a.Quote} {
		if mark != "" && !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	return marks
}

// IsName reports whether a byte may be part of the name of a tool.
func IsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
