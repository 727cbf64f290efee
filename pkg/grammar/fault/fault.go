// Package fault defines the error type of the packages that read a schema or a grammar. It
// does not know their contents.
package fault

import "fmt"

// An Error describes an invalid or unsupported part of a schema or a grammar.
type Error struct {
	Pointer string // JSON pointer of the place in a schema, "" for the whole; "line 3" in a grammar
	Keyword string // the keyword at fault, if any
	Message string // a sentence for the client
}

// New returns an [Error].
func New(pointer, keyword, format string, args ...any) *Error {
	return &Error{pointer, keyword, fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	s := e.Message
	if e.Keyword != "" {
		s = e.Keyword + ": " + s
	}
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	return s
}
