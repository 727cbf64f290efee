package automaton

import "fmt"

// explore returns the automaton of the states that are reachable from start. expand calls
// edge with the edges of a state, sorted and disjoint, and returns its marks.
func explore[K comparable](b *Budget, start K, expand func(k K, edge func(lo, hi byte, to K)) (accept, content bool)) (*DFA, error) {
	g := &graph{budget: b}
	number := map[K]int32{start: 0}
	queue := []K{start}
	edge := func(lo, hi byte, to K) {
		i, ok := number[to]
		if !ok {
			i = int32(len(queue))
			number[to] = i
			queue = append(queue, to)
		}
		g.edge(lo, hi, i)
	}
	for i, states, edges := 0, 0, 0; i < len(queue); i++ {
		if len(queue) > maxStates || len(g.edges) > maxWork {
			return nil, fmt.Errorf("more than %d states or %d edges: %w", maxStates, maxWork, ErrTooLarge)
		}
		if err := b.Spend(8+32*(len(queue)-states)+8*(len(g.edges)-edges), 320*(len(queue)-states)+24*(len(g.edges)-edges)); err != nil {
			return nil, err
		}
		states, edges = len(queue), len(g.edges)
		g.begin(vertex{})
		v := &g.vertices[i]
		v.accept, v.content = expand(queue[i], edge)
	}
	return g.dfa()
}

// A pair holds one state from each of two automata, or -1.
type pair struct{ a, b int32 }

// Intersect returns the automaton of the texts of both a and b.
func Intersect(a, b *DFA) (*DFA, error) { return (*Budget)(nil).Intersect(a, b) }

// Intersect is [Intersect] within a budget.
func (budget *Budget) Intersect(a, b *DFA) (*DFA, error) {
	return explore(budget, pair{}, func(p pair, edge func(lo, hi byte, to pair)) (bool, bool) {
		s, t := &a.States[p.a], &b.States[p.b]
		for e, f := s.Edges, t.Edges; len(e) > 0 && len(f) > 0; {
			if lo, hi := max(e[0].Lo, f[0].Lo), min(e[0].Hi, f[0].Hi); lo <= hi {
				edge(lo, hi, pair{e[0].To, f[0].To})
			}
			if e[0].Hi < f[0].Hi {
				e = e[1:]
			} else {
				f = f[1:]
			}
		}
		return s.Accept && t.Accept, s.Content || t.Content
	})
}

// Subtract returns the automaton of the texts of a that are not texts of b.
func Subtract(a, b *DFA) (*DFA, error) { return (*Budget)(nil).Subtract(a, b) }

// Subtract is [Subtract] within a budget.
func (budget *Budget) Subtract(a, b *DFA) (*DFA, error) {
	return explore(budget, pair{}, func(p pair, edge func(lo, hi byte, to pair)) (bool, bool) {
		s, t := &a.States[p.a], &State{}
		if p.b >= 0 {
			t = &b.States[p.b]
		}
		minus := t.Edges
		for _, e := range s.Edges {
			lo := int(e.Lo)
			for len(minus) > 0 && lo <= int(e.Hi) && minus[0].Lo <= e.Hi {
				f := minus[0]
				if from := max(lo, int(f.Lo)); from <= int(f.Hi) {
					if lo < from {
						edge(byte(lo), byte(from-1), pair{e.To, -1})
					}
					edge(byte(from), min(e.Hi, f.Hi), pair{e.To, f.To})
					lo = int(min(e.Hi, f.Hi)) + 1
				}
				if f.Hi > e.Hi {
					break
				}
				minus = minus[1:]
			}
			if lo <= int(e.Hi) {
				edge(byte(lo), e.Hi, pair{e.To, -1})
			}
		}
		return s.Accept && !t.Accept, s.Content
	})
}

// Union returns the automaton of the texts of any argument. Union() matches no text.
func Union(of ...*DFA) (*DFA, error) { return (*Budget)(nil).Union(of...) }

// Union is [Union] within a budget.
func (budget *Budget) Union(of ...*DFA) (*DFA, error) {
	n := &nfa{budget: budget}
	var starts []int32
	for _, d := range of {
		starts = append(starts, n.embed(d))
	}
	if n.err != nil {
		return nil, n.err
	}
	g, err := n.subsets(starts)
	if err != nil {
		return nil, err
	}
	return g.dfa()
}

// counted is a state with the number of characters that began before it.
type counted struct {
	state int32
	n     int
}

// Lengths returns the automaton of the JSON strings of d that have from min to max
// characters. There is no limit if max < 0.
func Lengths(d *DFA, min, max int) (*DFA, error) { return (*Budget)(nil).Lengths(d, min, max) }

// Lengths is [Lengths] within a budget.
func (budget *Budget) Lengths(d *DFA, min, max int) (*DFA, error) {
	if min <= 0 && max < 0 {
		return d, nil
	}
	return explore(budget, counted{}, func(c counted, edge func(lo, hi byte, to counted)) (bool, bool) {
		s := &d.States[c.state]
		grow := func(lo, hi byte, to int32) {
			if n := c.n + 1; lo <= hi && (max < 0 || n <= max) {
				if max < 0 && n > min {
					n = min
				}
				edge(lo, hi, counted{to, n})
			}
		}
		for _, e := range s.Edges {
			switch {
			case !s.Content:
				edge(e.Lo, e.Hi, counted{e.To, c.n})
			case e.Hi < '"' || e.Lo > '"':
				grow(e.Lo, e.Hi, e.To)
			default:
				if e.Lo < '"' {
					grow(e.Lo, '"'-1, e.To)
				}
				if c.n >= min {
					edge('"', '"', counted{e.To, c.n})
				}
				if e.Hi > '"' {
					grow('"'+1, e.Hi, e.To)
				}
			}
		}
		return s.Accept, s.Content
	})
}
