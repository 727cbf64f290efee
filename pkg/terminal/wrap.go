package terminal

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// tabStop is the distance of a terminal's tab stops.
const tabStop = 8

// A Wrapper breaks text between words so that no line is longer than the terminal is wide.
// It writes a word once the text after it shows that the word is complete; [Wrapper.End]
// writes the last one. It expects cleaned text, see [Clean].
type Wrapper struct {
	w       io.Writer
	columns func() int // called for each line, since the terminal can be resized
	column  int        // columns already written on the current line
	pending string     // text whose last word may continue
	out     strings.Builder
}

// NewWrapper returns a wrapper that writes to w.
func NewWrapper(w io.Writer, columns func() int) *Wrapper { return &Wrapper{w: w, columns: columns} }

// WriteString implements [io.StringWriter].
func (p *Wrapper) WriteString(text string) (int, error) {
	p.pending += text
	rest, state := p.pending, -1
	for {
		segment, after, _, next := uniseg.FirstLineSegmentInString(rest, state)
		if after == "" && !p.tooLong(rest) {
			break // text may follow
		}
		p.segment(segment)
		rest, state = after, next
		if rest == "" {
			break
		}
	}
	p.pending = rest
	return len(text), p.flush()
}

// tooLong reports whether text without a break fills a line, so that there is no point in
// waiting for its end.
func (p *Wrapper) tooLong(text string) bool {
	return len(text) > p.width() && uniseg.StringWidth(text) > p.width()
}

// End writes the rest of the text and ends its line, unless the line is empty.
func (p *Wrapper) End() error {
	if p.pending != "" {
		rest := p.pending
		p.pending = ""
		p.segment(rest)
	}
	if p.column > 0 {
		p.newline()
	}
	return p.flush()
}

// flush writes what the wrapper has composed.
func (p *Wrapper) flush() error {
	if p.out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(p.w, p.out.String())
	p.out.Reset()
	return err
}

// width is the usable width. The last column stays free: terminals differ in what they do
// after a character there.
func (p *Wrapper) width() int { return max(1, p.columns()-1) }

// segment composes a text that may only be broken at its end.
func (p *Wrapper) segment(text string) {
	text, ended := strings.CutSuffix(text, "\n")
	word := strings.TrimRight(text, " ")
	width := p.width()
	if p.column > 0 && word != "" && p.column+p.measure(word) > width {
		p.newline()
	}
	for word != "" {
		cluster, rest, columns, _ := uniseg.FirstGraphemeClusterInString(word, -1)
		if cluster == "\t" {
			columns = tabStop - p.column%tabStop
		}
		if p.column > 0 && p.column+columns > width {
			p.newline()
		}
		p.out.WriteString(cluster)
		p.column += columns
		word = rest
	}
	if spaces := min(len(text)-len(strings.TrimRight(text, " ")), width-p.column); spaces > 0 {
		p.out.WriteString(strings.Repeat(" ", spaces))
		p.column += spaces
	}
	if ended {
		p.newline()
	}
}

// measure returns the columns of a word that begins at the current column.
func (p *Wrapper) measure(word string) (columns int) {
	for i, part := range strings.Split(word, "\t") {
		if i > 0 {
			columns += tabStop - (p.column+columns)%tabStop
		}
		columns += uniseg.StringWidth(part)
	}
	return columns
}

func (p *Wrapper) newline() {
	p.out.WriteByte('\n')
	p.column = 0
}
