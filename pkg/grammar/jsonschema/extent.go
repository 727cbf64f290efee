package jsonschema

import "glossa/pkg/grammar/automaton"

// extents bound the number of characters of an automaton's strings.
type extents struct{ least, most int }

// extent returns the least and the largest number of characters of the strings of d. most
// is -1 if there is no bound. Both are undefined for an empty language.
func (c *compiler) extent(d *automaton.DFA) (least, most int) {
	if d.Empty() {
		return 0, 0
	}
	e, ok := c.extents[d]
	if !ok {
		_ = c.spend(16*len(d.States), 32*len(d.States)) // an exhausted budget fails the next step
		e = extents{shortestText(d), longestText(d)}
		if c.extents == nil {
			c.extents = map[*automaton.DFA]extents{}
		}
		c.extents[d] = e
	}
	return e.least, e.most
}

// weight returns the number of characters that begin with an edge from a state: 0 or 1.
func weight(s *automaton.State, e automaton.Edge) int {
	if s.Content && e.Lo != '"' {
		return 1
	}
	return 0
}

// shortestText searches in the order of characters read.
func shortestText(d *automaton.DFA) int {
	seen := make([]bool, len(d.States))
	for now, n := []int32{0}, 0; ; n++ {
		var later []int32
		for len(now) > 0 {
			state := now[len(now)-1]
			now = now[:len(now)-1]
			s := &d.States[state]
			if s.Accept {
				return n
			}
			if seen[state] {
				continue
			}
			seen[state] = true
			for _, e := range s.Edges {
				if weight(s, e) == 0 {
					now = append(now, e.To)
				} else {
					later = append(later, e.To)
				}
			}
		}
		now = later
	}
}

// longestText searches the states depth first. A cycle makes texts unbounded, because an
// accepting state can be reached from every state.
func longestText(d *automaton.DFA) int {
	const (
		unseen = -1
		under  = -2
	)
	most := make([]int, len(d.States))
	for i := range most {
		most[i] = unseen
	}
	type place struct {
		state int32
		edge  int
	}
	path := []place{{}}
	most[0] = under
	for {
		at := &path[len(path)-1]
		s := &d.States[at.state]
		if at.edge < len(s.Edges) {
			to := s.Edges[at.edge].To
			at.edge++
			switch most[to] {
			case under:
				return -1
			case unseen:
				most[to] = under
				path = append(path, place{state: to})
			}
			continue
		}
		longest := 0
		for _, e := range s.Edges {
			longest = max(longest, most[e.To]+weight(s, e))
		}
		most[at.state] = longest
		if path = path[:len(path)-1]; len(path) == 0 {
			return longest
		}
	}
}

// allKeys reports whether d accepts every string in canonical form. Automata are minimal,
// so those of the same language have the same number of states.
func allKeys(d *automaton.DFA) bool {
	key := automaton.Key()
	if len(d.States) != len(key.States) {
		return false
	}
	rest, err := automaton.Subtract(key, d)
	return err == nil && rest.Empty()
}
