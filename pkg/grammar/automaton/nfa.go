package automaton

import (
	"errors"
	"fmt"
)

// ErrTooLarge is wrapped by errors about automata that need too many states or steps.
var ErrTooLarge = errors.New("the automaton would be too large")

// The bounds of one automaton: its states, the states and edges of its nfa, and the steps
// of each construction.
const (
	maxStates = 100_000
	maxPlaces = 1_000_000
	maxWork   = 20_000_000
)

type kind uint8

const (
	reads  kind = iota // edges, or a call
	accept             // the text may end; edges
	passes             // to all of its exits
	begin              // passes if only enter precedes it
	end                // passes to the closing quote if final follows without a byte
	enter              // passes; the start of a string
	final              // passes; exits[0] is the closing quote
	anyEnd             // passes; any rest of the string matches
	ahead              // passes where the look-ahead whose body is at symbol matches; only alternation has it
	behind             // passes where look-behind number symbol matches; likewise
	met                // the end of a look-ahead; likewise
	here               // the end of a look-behind; likewise
	ended              // matches at the end of the text; likewise
)

// A place is a state of an nfa.
type place struct {
	kind        kind
	content     bool
	not         bool  // ahead and behind pass where the look-around does not match
	first, past int32 // its edges, or its exits
	symbol      int32 // of a call, to the place first

	// Copies of one place in a bounded repetition form a chain, named by one of them. Places
	// of higher rank allow more repetitions, so they match all that lower ones do. 0: none.
	chain, rank int32
}

const noSymbol = -1

// An nfa is a nondeterministic automaton (Thompson 1968). It is built from its end to its
// start: each part knows its continuation, so a concatenation needs no places.
type nfa struct {
	budget *Budget
	places []place
	edges  []Edge
	exits  []int32
	err    error
	ranked bool // there are chains

	last int32 // the closing quote of the current string

	// These belong to a string with look-arounds.
	met, here, ended int32           // the places of these kinds
	bodies           map[*node]int32 // the start of a look-ahead, the number of a look-behind
	behinds          []int32         // the starts of look-behinds, inner ones first
}

func (n *nfa) add(p place) int32 {
	if len(n.places)+len(n.edges)+len(n.exits) > maxPlaces && n.err == nil {
		n.err = fmt.Errorf("more than %d states in an expression: %w", maxPlaces, ErrTooLarge)
	}
	if err := n.budget.Spend(2, 160); err != nil && n.err == nil {
		n.err = err
	}
	n.places = append(n.places, p)
	return int32(len(n.places)) - 1
}

func (n *nfa) read(content bool, edges ...Edge) int32 {
	first := int32(len(n.edges))
	if err := n.budget.Spend(len(edges), 30*len(edges)); err != nil && n.err == nil {
		n.err = err
	}
	n.edges = append(n.edges, edges...)
	return n.add(place{kind: reads, content: content, first: first, past: int32(len(n.edges)), symbol: noSymbol})
}

func (n *nfa) pass(k kind, exits ...int32) int32 {
	p := n.add(place{kind: k})
	n.leave(p, exits...)
	return p
}

// leave sets the exits of p.
func (n *nfa) leave(p int32, exits ...int32) {
	n.places[p].first = int32(len(n.exits))
	n.exits = append(n.exits, exits...)
	n.places[p].past = int32(len(n.exits))
}

// build returns the start of e, which continues at next.
func (n *nfa) build(e Expr, next int32) int32 {
	if e.n == nil || n.err != nil {
		return next
	}
	switch e.n.op {
	case opBytes:
		for i := len(e.n.text) - 1; i >= 0; i-- {
			b := e.n.text[i]
			next = n.read(false, Edge{b, b, next})
		}
	case opClass:
		return n.class(e.n, next)
	case opConcat:
		for i := len(e.n.of) - 1; i >= 0; i-- {
			next = n.build(e.n.of[i], next)
		}
	case opAlternate:
		starts := make([]int32, len(e.n.of))
		for i, o := range e.n.of {
			starts[i] = n.build(o, next)
		}
		return n.pass(passes, starts...)
	case opRepeat:
		return n.repeat(e.n, next)
	case opCall:
		return n.add(place{kind: reads, first: next, symbol: e.n.symbol})
	case opString:
		return n.quoted(e.n, next)
	case opBegin:
		return n.pass(begin, next)
	case opEnd:
		return n.pass(end, next)
	case opLook:
		return n.look(e.n, next)
	}
	return next
}

// anything returns the start of any characters and the closing quote.
func (n *nfa) anything() int32 {
	after := n.add(place{kind: anyEnd})
	n.leave(after, n.build(anyCharacter(), after), n.last)
	return after
}

// embed adds the states of d and returns the place of its start.
func (n *nfa) embed(d *DFA) int32 {
	base := int32(len(n.places))
	for _, s := range d.States {
		p := n.read(s.Content, s.Edges...)
		if s.Accept {
			n.places[p].kind = accept
		}
		for j := range s.Edges {
			n.edges[int(n.places[p].first)+j].To += base
		}
	}
	return base
}

// class copies the automaton of a class.
func (n *nfa) class(of *node, next int32) int32 {
	base := int32(len(n.places))
	for i, edges := range of.class.states {
		p := n.read(i == 0 && of.enc == JSON, edges...)
		copied := n.edges[n.places[p].first:]
		for j := range copied {
			if copied[j].To == done {
				copied[j].To = next
			} else {
				copied[j].To += base
			}
		}
	}
	return base
}

func (n *nfa) repeat(of *node, next int32) int32 {
	low := of.min
	if of.max < 0 {
		loop := n.add(place{kind: passes})
		body := n.build(of.of[0], loop)
		n.leave(loop, body, next)
		if next = loop; low > 0 {
			next, low = body, low-1
		}
	} else {
		after, copied := next, int32(len(n.places))
		for i := low; i < of.max && n.err == nil; i++ {
			first := int32(len(n.places))
			next = n.pass(passes, n.build(of.of[0], next), after)
			if size := int32(len(n.places)) - first; size == first-copied {
				n.rank(n.places[copied:first], n.places[first:], copied)
			}
			copied = first
		}
	}
	for before := int32(noSymbol); low > 0 && before != next && n.err == nil; low-- {
		before, next = next, n.build(of.of[0], next)
	}
	return next
}

// rank ranks the places of one copy above those of the copy built before it, whose first
// place is number. Places of an inner repetition keep their chain.
func (n *nfa) rank(lower, higher []place, number int32) {
	for i := range lower {
		l, h := &lower[i], &higher[i]
		if h.chain != 0 {
			continue
		}
		if l.chain == 0 {
			l.chain = number + int32(i)
		}
		h.chain, h.rank = l.chain, l.rank+1
		n.ranked = true
	}
}

// quoted builds a string: quote, enter, of, final, quote. If of may match anywhere, any
// characters precede and follow it, except on a side where it is anchored.
func (n *nfa) quoted(of *node, next int32) int32 {
	n.last = n.read(true, Edge{'"', '"', next})
	body := of.of[0]
	if looks(body) {
		return n.read(false, Edge{'"', '"', n.stringWithLooks(of)})
	}
	after := n.last
	if of.anywhere && !anchored(body, opEnd) {
		after = n.anything()
	}
	start := n.build(body, n.pass(final, n.last, after))
	if of.anywhere && !anchored(body, opBegin) {
		start = n.after(start)
	}
	return n.read(false, Edge{'"', '"', n.pass(enter, start)})
}
