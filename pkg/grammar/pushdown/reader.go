package pushdown

import "slices"

// A Reader checks byte by byte whether a text is in the language of a machine. A reader and
// its clones together are not safe for concurrent use.
type Reader struct {
	run  *run
	now  []element
	text []byte
}

// Begin returns a reader at the start of a text.
func (m *Machine) Begin() *Reader {
	r := newRun(m, nil)
	r.limit = readElements * m.maxElements
	return &Reader{run: r, now: r.begin()}
}

// Read reads a byte. It returns false, and changes nothing, if no text continues with b.
func (r *Reader) Read(b byte) bool {
	r.run.text = r.text
	r.run.stepAll(r.now, b)
	if len(r.run.out) == 0 {
		return false
	}
	r.now = append(r.now[:0], r.run.out...)
	r.text = append(r.text, b)
	return true
}

// Accepts reports whether the text may end here.
func (r *Reader) Accepts() bool { return accepts(r.now) }

func accepts(elements []element) bool {
	return slices.ContainsFunc(elements, func(e element) bool { return e.rule == ended })
}

// Ways returns the number of alternatives in which the text so far can continue.
func (r *Reader) Ways() int { return len(r.now) }

// Clone returns a reader at the same position.
func (r *Reader) Clone() *Reader {
	return &Reader{run: r.run, now: slices.Clone(r.now), text: slices.Clip(r.text)}
}

// Match reports whether text is in the language of m.
func (m *Machine) Match(text string) bool {
	r := m.Begin()
	for i := range len(text) {
		if !r.Read(text[i]) {
			return false
		}
		r.run.collect(r.now) // no clone refers to its frames
	}
	return r.Accepts()
}
