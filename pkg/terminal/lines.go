package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the longest line that [Lines] reads, in bytes.
const MaxLine = 1 << 20

// fence begins and ends input of several lines.
const fence = `"""`

// Lines reads lines without an editor: from a pipe, or a terminal that cannot move its
// cursor. A line that ends in a backslash continues on the next, and so does text between
// fences.
type Lines struct{ scanner *bufio.Scanner }

// NewLines returns the lines of in.
func NewLines(in io.Reader) *Lines {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, MaxLine)
	return &Lines{scanner}
}

// Line reads a line, or several that belong together. It returns [io.EOF] at the end of
// the input. The prompt is ignored.
func (l *Lines) Line(string) (string, error) {
	var text strings.Builder
	for l.scanner.Scan() {
		text.WriteString(l.scanner.Text())
		before, more := continues(text.String())
		if !more {
			return unfence(text.String()), nil
		}
		text.Reset()
		text.WriteString(before + "\n")
	}
	if err := l.scanner.Err(); err != nil {
		return "", fmt.Errorf("reading the input: %w", err)
	}
	if text.Len() > 0 {
		return unfence(text.String()), nil
	}
	return "", io.EOF
}

// continues reports whether another line follows text, which it returns without the
// backslash that says so.
func continues(text string) (before string, more bool) {
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), fence); ok {
		return text, !strings.HasSuffix(rest, fence)
	}
	return strings.CutSuffix(text, `\`)
}

// unfence returns text without the space and the fences around it.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, fence); ok {
		return strings.Trim(strings.TrimSuffix(rest, fence), "\n")
	}
	return text
}
