package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"glossa/pkg/terminal"

	"golang.org/x/term"
)

// plainInterval is the shortest time between two lines of a bar without a terminal.
const plainInterval = 5 * time.Second

// barWidth is the width of the bar itself, in characters.
const barWidth = 24

// A bar shows the progress of a long operation: on a terminal one line that changes,
// elsewhere a plain line every few seconds.
type bar struct {
	w       io.Writer
	columns int // of the terminal; 0: not a terminal
	last    time.Time
	open    bool // the terminal's line is not yet ended
}

// A progress is the state that a bar shows.
type progress interface {
	share() float64 // done, from 0 to 1
	String() string
}

// A trainProgress is the progress of a training run.
type trainProgress struct {
	step, steps int
	loss        float64
	val         *float64 // the newest validation loss, nil before the first
	rate        float64  // tokens a second
	left        time.Duration
}

// newBar returns a bar on w.
func newBar(w io.Writer) *bar {
	b := &bar{w: w}
	if file, ok := w.(*os.File); ok && terminal.Is(file) {
		b.columns = 80
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			b.columns = columns
		}
	}
	return b
}

// show draws m, unless the last line is too recent.
func (b *bar) show(m progress, now time.Time) {
	if b.columns > 0 {
		line := "[" + gauge(m.share()) + "] " + m.String()
		fmt.Fprintf(b.w, "\r%.*s\x1b[K", b.columns-1, line)
		b.open = true
		return
	}
	if m.share() < 1 && !b.last.IsZero() && now.Sub(b.last) < plainInterval {
		return
	}
	b.last = now
	fmt.Fprintln(b.w, m)
}

// end ends the bar's line.
func (b *bar) end() {
	if b.open {
		fmt.Fprintln(b.w)
		b.open = false
	}
}

// share returns the share of the steps that are done.
func (m trainProgress) share() float64 { return float64(m.step) / float64(max(1, m.steps)) }

// gauge draws a share as a row of characters.
func gauge(share float64) string {
	full := int(barWidth * min(max(share, 0), 1))
	return strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
}

// String formats the progress.
func (m trainProgress) String() string {
	s := fmt.Sprintf("step %d/%d  loss %.4f", m.step, m.steps, m.loss)
	if m.val != nil {
		s += fmt.Sprintf("  val %.4f", *m.val)
	}
	return s + fmt.Sprintf("  %.0f tokens/s  %s left", m.rate, m.left.Round(time.Second))
}
