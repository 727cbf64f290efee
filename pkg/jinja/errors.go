package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Fault says why a template could not be compiled or executed.
type Fault uint8

// The faults.
const (
	// Syntax: the source is not a template.
	Syntax Fault = iota + 1
	// Unsupported: the source is Jinja, but not of the subset that this package implements.
	Unsupported
	// Undefined: an undefined value was used where Python raises UndefinedError.
	Undefined
	// Type: an operation does not accept its operands; Python raises TypeError, ValueError or the like.
	Type
	// Forbidden: Jinja's sandbox raises SecurityError, for example for list.append.
	Forbidden
	// Raised: the template called raise_exception. Message is its argument.
	Raised
	// Limit: the execution exceeded one of its Limits.
	Limit
	// Canceled: the context ended. errors.Is finds the context's error.
	Canceled
)

// An Error is the error of Compile and of Execute.
type Error struct {
	Fault    Fault
	Template string // the name from Options
	Line     int    // from 1; 0 if the error has no position
	Column   int    // from 1, in characters
	Message  string // one sentence without the position

	cause error
}

// Error returns the template's name, the position and the message.
func (e *Error) Error() string {
	name := e.Template
	if name == "" {
		name = "template"
	}
	if e.Line == 0 {
		return name + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, e.Line, e.Column, e.Message)
}

// Unwrap returns the context's error if the fault is Canceled.
func (e *Error) Unwrap() error { return e.cause }

// failure carries an error from the depth of the parser or of an execution to Compile or Execute, which recover it.
type failure struct {
	fault   Fault
	at      int // offset in the normalised source; -1 without a position
	message string
	cause   error
}

// locate returns the failure as an Error of the source.
func (f failure) locate(name, source string) *Error {
	e := &Error{Fault: f.fault, Template: name, Message: f.message, cause: f.cause}
	if f.at >= 0 {
		before := source[:min(f.at, len(source))]
		start := strings.LastIndexByte(before, '\n') + 1
		e.Line, e.Column = strings.Count(before, "\n")+1, utf8.RuneCountInString(before[start:])+1
	}
	return e
}

// quote returns s in single quotes as Python's repr writes it, cut to a length fit for a message.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return pythonRepr(s)
}
