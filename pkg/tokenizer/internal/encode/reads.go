package encode

import (
	"math"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reads tells where added tokens are read in a text: special tokens, and the other tokens of a
// vocabulary that are found before the text is cut. The zero value is that of a plain text: no
// special tokens, all others.
//
// With parts by different writers, a token is read only where all of its spelling is trusted,
// special or not: vocabularies have marks like <think> that are not special. [IsMark] has the
// exceptions.
type Reads struct {
	parts bool
	ends  []int // of runs: the first is not trusted, the next is, and so on; perhaps empty
	from  int   // the position in ends of the beginning of the text
}

// Everywhere is a [Reads] of all tokens.
func Everywhere() Reads { return Reads{parts: true, ends: []int{0, math.MaxInt}} }

// ReadsIf returns [Everywhere], or that of a plain text.
func ReadsIf(special bool) Reads {
	if special {
		return Everywhere()
	}
	return Reads{}
}

// Plain reports whether r is that of a plain text.
func (r Reads) Plain() bool { return !r.parts }

// Any reports whether special tokens may be read.
func (r Reads) Any() bool { return len(r.ends) > 1 }

// At reports whether the bytes [start, end) are all trusted. Of a plain text none are.
func (r Reads) At(start, end int) bool {
	run := r.run(start)
	return run%2 == 1 && run < len(r.ends) && end+r.from <= r.ends[run]
}

// run returns the run that start lies in.
func (r Reads) run(start int) int {
	start += r.from
	return sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > start }) // few steps
}

// After returns r for the text from n on.
func (r Reads) After(n int) Reads {
	r.from += n
	return r
}

// Runs yields the bytes [start, end) of each run in the n first bytes of the text.
func (r Reads) Runs(n int, yield func(start, end int, trusted bool)) {
	run := r.run(0)
	for start := 0; start < n; run++ {
		end := n
		if run < len(r.ends) {
			end = min(n, r.ends[run]-r.from)
		}
		if start < end {
			yield(start, end, run%2 == 1)
		}
		start = end
	}
}

// ReadsBuilder builds a [Reads] from adjacent parts of a text. It is that of a text with
// parts, even if there are none.
type ReadsBuilder struct {
	ends    []int
	n       int
	trusted bool
}

// Add appends n bytes.
func (b *ReadsBuilder) Add(n int, trusted bool) {
	if n > 0 && trusted != b.trusted {
		b.ends, b.trusted = append(b.ends, b.n), trusted
	}
	b.n += n
}

// Reads returns the result.
func (b *ReadsBuilder) Reads() Reads { return Reads{parts: true, ends: append(b.ends, b.n)} }

// IsMark reports whether an added token may be a mark of a template. One of white space
// only, like the runs of spaces in vocabularies for code, or of a single character, which is
// part of an alphabet, is not: it is read whoever wrote it.
func IsMark(spelling string) bool {
	if _, n := utf8.DecodeRuneInString(spelling); n == len(spelling) {
		return false
	}
	return strings.TrimLeftFunc(spelling, func(r rune) bool { return r == '\u2581' || unicode.IsSpace(r) }) != ""
}
