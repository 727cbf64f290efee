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
	tokens       []int32 // on the path: bytes, unless the vocabulary lacks some
	maxTokens    int32   // the most tokens of any state
	maxChars     int32   // the most characters of any state
	oneTokenChar bool    // plain: a character may be one token
}

// A move leads from a state to another by one token, in which so many characters begin.
type move struct{ state, chars int32 }

// newShortest searches backwards from the accepting states, over the moves from each state.
func newShortest(d *automaton.DFA, moves func(from int32, found func(move))) *shortest {
	n := len(d.States)
	s := &shortest{chars: make([]int32, n), tokens: make([]int32, n)}
	into := make([][]move, n) // by state: the moves to it, with the states where they begin
	var queue distanceHeap
	for i := range d.States {
		s.chars[i], s.tokens[i] = never, never
		if d.States[i].Accept {
			s.chars[i], s.tokens[i] = 0, 0
			queue = append(queue, distance{state: int32(i)})
		}
		moves(int32(i), func(m move) { into[m.state] = append(into[m.state], move{int32(i), m.chars}) })
	}
	for len(queue) > 0 {
		at := heap.Pop(&queue).(distance)
		if at.chars > s.chars[at.state] || at.chars == s.chars[at.state] && at.tokens > s.tokens[at.state] {
			continue
		}
		s.maxTokens, s.maxChars = max(s.maxTokens, at.tokens), max(s.maxChars, at.chars)
		for _, by := range into[at.state] {
			s.oneTokenChar = s.oneTokenChar || by.state == at.state && by.chars == 1
			next := distance{by.state, at.chars + by.chars, at.tokens + 1}
			if next.less(distance{by.state, s.chars[by.state], s.tokens[by.state]}) {
				s.chars[by.state], s.tokens[by.state] = next.chars, next.tokens
				heap.Push(&queue, next)
			}
		}
	}
	return s
}

// byteMoves returns the moves by single bytes that may be used.
func byteMoves(d *automaton.DFA, may func(b byte) bool) func(from int32, found func(move)) {
	return func(from int32, found func(move)) {
		for _, e := range d.States[from].Edges {
			if chars, ok := begins(&d.States[from], e.To, may); ok {
				found(move{e.To, chars})
			}
		}
	}
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
type distance struct{ state, chars, tokens int32 }

func (w distance) less(o distance) bool {
	return w.chars < o.chars || w.chars == o.chars && w.tokens < o.tokens
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
