package pushdown

import (
	"container/heap"

	"glossa/pkg/grammar/automaton"
)

// plain reports whether any number of characters may follow in a DFA of strings, and
// the string may end after each.
func plain(d *automaton.DFA) bool { return d == automaton.String() || d == automaton.Key() }

// A shortest holds, by state, the paths of fewest characters to the end of a DFA of strings.
type shortest struct {
	chars        []int32 // that begin on the path; never if the end cannot be reached
	bytes        []int32 // on the path
	maxBytes     int32   // the most bytes of any state
	maxChars     int32   // the most characters of any state
	oneByteChars bool    // plain: a character may be one byte
}

// newShortest searches backwards from the accepting states, over the bytes that may be used.
func newShortest(d *automaton.DFA, may func(b byte) bool) *shortest {
	n := len(d.States)
	s := &shortest{chars: make([]int32, n), bytes: make([]int32, n)}
	into := make([][]int32, n) // by state: the states with an edge to it
	var queue distanceHeap
	for i := range d.States {
		s.chars[i], s.bytes[i] = never, never
		if d.States[i].Accept {
			s.chars[i], s.bytes[i] = 0, 0
			queue = append(queue, distance{state: int32(i)})
		}
		for _, e := range d.States[i].Edges {
			into[e.To] = append(into[e.To], int32(i))
		}
	}
	for len(queue) > 0 {
		at := heap.Pop(&queue).(distance)
		if at.chars > s.chars[at.state] || at.chars == s.chars[at.state] && at.bytes > s.bytes[at.state] {
			continue
		}
		s.maxBytes, s.maxChars = max(s.maxBytes, at.bytes), max(s.maxChars, at.chars)
		for _, from := range into[at.state] {
			chars, ok := begins(&d.States[from], at.state, may)
			s.oneByteChars = s.oneByteChars || ok && from == at.state && chars > 0
			next := distance{from, at.chars + chars, at.bytes + 1}
			if ok && next.less(distance{from, s.chars[from], s.bytes[from]}) {
				s.chars[from], s.bytes[from] = next.chars, next.bytes
				heap.Push(&queue, next)
			}
		}
	}
	return s
}

// begins returns the fewest characters, 0 or 1, that begin with a byte from a state to another.
func begins(from *automaton.State, to int32, may func(b byte) bool) (chars int32, ok bool) {
	chars = 1
	for _, e := range from.Edges {
		for b := int(e.Lo); e.To == to && b <= int(e.Hi); b++ {
			if may(byte(b)) {
				ok = true
				if !from.Begins(byte(b)) {
					chars = 0
				}
			}
		}
	}
	return chars, ok
}

// A distance is how far a state is from acceptance.
type distance struct{ state, chars, bytes int32 }

func (w distance) less(o distance) bool {
	return w.chars < o.chars || w.chars == o.chars && w.bytes < o.bytes
}

// A distanceHeap is a heap, the shortest distance first.
type distanceHeap []distance

func (w distanceHeap) Len() int           { return len(w) }
func (w distanceHeap) Less(i, j int) bool { return w[i].less(w[j]) }
func (w distanceHeap) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *distanceHeap) Push(x any)        { *w = append(*w, x.(distance)) }
func (w *distanceHeap) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
