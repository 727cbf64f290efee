// Package terminal talks to a person at a terminal: it reads lines with an editor, wraps
// text to the terminal's width as it streams, and removes control characters. It knows
// nothing of models or commands.
//
// Line breaks follow Unicode's UAX 14, widths and characters UAX 11 and UAX 29, all by
// github.com/rivo/uniseg. The editor is github.com/reeflective/readline.
package terminal

import (
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// defaultColumns is the width of a terminal that does not report one.
const defaultColumns = 80

// Is reports whether f is a terminal.
func Is(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Columns returns the current width of the terminal f.
func Columns(f any) int {
	if file, ok := f.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultColumns
}

// Clean removes control characters, which could control the terminal: move its cursor,
// rewrite its screen, set its clipboard. Line feeds and tabs stay. Bytes that are not
// UTF-8 become U+FFFD, since some terminals obey 8-bit controls.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r):
			return -1
		case r == '\u2028', r == '\u2029': // Unicode's own line and paragraph separators
			return '\n'
		}
		return r
	}, text)
}
