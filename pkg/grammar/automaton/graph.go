package automaton

// A graph is an automaton under construction. States are in the order of discovery, and so
// are their edges and arcs.
type graph struct {
	budget   *Budget
	vertices []vertex
	edges    []Edge
	arcs     []Arc
}

type vertex struct {
	accept, content bool
	edge, arc       int32 // the first of each; they end at the next vertex's first
}

// kind returns a number that differs for states that are never equal.
func (v vertex) kind() int32 {
	k := int32(0)
	if v.accept {
		k = 1
	}
	if v.content {
		k += 2
	}
	return k
}

// begin starts the next state; edge and arc add to it.
func (g *graph) begin(v vertex) {
	v.edge, v.arc = int32(len(g.edges)), int32(len(g.arcs))
	g.vertices = append(g.vertices, v)
}

// edge adds an edge after those of the last state.
func (g *graph) edge(lo, hi byte, to int32) {
	first := int(g.vertices[len(g.vertices)-1].edge)
	if n := len(g.edges); n > first && g.edges[n-1].To == to && g.edges[n-1].Hi+1 == lo {
		g.edges[n-1].Hi = hi
		return
	}
	g.edges = append(g.edges, Edge{lo, hi, to})
}

func (g *graph) arc(symbol, to int32) { g.arcs = append(g.arcs, Arc{symbol, to}) }

func (g *graph) edgesOf(i int32) []Edge {
	if int(i)+1 < len(g.vertices) {
		return g.edges[g.vertices[i].edge:g.vertices[i+1].edge]
	}
	return g.edges[g.vertices[i].edge:]
}

func (g *graph) arcsOf(i int32) []Arc {
	if int(i)+1 < len(g.vertices) {
		return g.arcs[g.vertices[i].arc:g.vertices[i+1].arc]
	}
	return g.arcs[g.vertices[i].arc:]
}

// live reports, by state, whether it leads to an accepting one.
func (g *graph) live() []bool {
	n := len(g.vertices)
	into := make([]int32, n+2) // where the sources of each state begin
	g.moves(func(_, to int32) { into[to+2]++ })
	for i := 2; i < len(into); i++ {
		into[i] += into[i-1]
	}
	sources := make([]int32, len(g.edges)+len(g.arcs))
	g.moves(func(from, to int32) { sources[into[to+1]] = from; into[to+1]++ })
	live, stack := make([]bool, n), make([]int32, 0, n)
	for i, v := range g.vertices {
		if v.accept {
			live[i], stack = true, append(stack, int32(i))
		}
	}
	for len(stack) > 0 {
		to := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, from := range sources[into[to]:into[to+1]] {
			if !live[from] {
				live[from], stack = true, append(stack, from)
			}
		}
	}
	return live
}

// moves calls f for every edge and arc.
func (g *graph) moves(f func(from, to int32)) {
	for i := range int32(len(g.vertices)) {
		for _, e := range g.edgesOf(i) {
			f(i, e.To)
		}
		for _, a := range g.arcsOf(i) {
			f(i, a.To)
		}
	}
}

// dfa returns the minimal automaton of the same texts and marks, without arcs.
func (g *graph) dfa() (*DFA, error) {
	states, err := g.states()
	if err != nil {
		return nil, err
	}
	d := &DFA{make([]State, len(states))}
	for i, s := range states {
		d.States[i] = s.State
	}
	return d, nil
}

// states returns the minimal automaton of the same texts, calls and marks. Its states are
// in the order of discovery from the first.
func (g *graph) states() ([]CallState, error) {
	// Approximate cost of minimizing, by state and move.
	n, moves := len(g.vertices), len(g.edges)+len(g.arcs)
	if err := g.budget.Spend(12*n+8*moves, 120*n+50*moves); err != nil {
		return nil, err
	}
	live := g.live()
	if !live[0] {
		return make([]CallState, 1), nil
	}
	block := g.minimize(live)
	if err := g.budget.Err(); err != nil {
		return nil, err
	}
	number := make([]int32, len(g.vertices)+1) // 1 + state of a block, of which one may have no live state
	first := []int32{0}                        // a vertex of each state
	number[block[0]] = 1
	goal := func(v int32) int32 {
		b := block[v]
		if number[b] == 0 {
			first = append(first, v)
			number[b] = int32(len(first))
		}
		return number[b] - 1
	}
	out := &graph{edges: make([]Edge, 0, len(g.edges)), arcs: make([]Arc, 0, len(g.arcs))}
	for i := 0; i < len(first); i++ {
		out.begin(g.vertices[first[i]])
		for _, e := range g.edgesOf(first[i]) {
			if live[e.To] {
				out.edge(e.Lo, e.Hi, goal(e.To))
			}
		}
		for _, a := range g.arcsOf(first[i]) {
			if live[a.To] {
				out.arc(a.Symbol, goal(a.To))
			}
		}
	}
	states := make([]CallState, len(first))
	for i, v := range out.vertices {
		edges, arcs := out.edgesOf(int32(i)), out.arcsOf(int32(i))
		states[i] = CallState{State{Edges: edges[:len(edges):len(edges)], Accept: v.accept, Content: v.content}, arcs[:len(arcs):len(arcs)]}
	}
	return states, nil
}
