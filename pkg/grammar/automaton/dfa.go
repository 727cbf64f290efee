// Package automaton builds finite automata over bytes: regular expressions, the texts
// of JSON strings and numbers, formats, and their unions, intersections and
// differences. It knows nothing of schemas, recursive grammars and tokens.
package automaton

// A DFA is a deterministic finite automaton over bytes. State 0 is the start. Every state
// leads to an accepting one, except state 0 of the empty language. A DFA is immutable and
// safe for concurrent use.
type DFA struct{ States []State }

// A State of a [DFA]. A byte without an edge leads nowhere.
type State struct {
	Edges  []Edge // by Lo, disjoint
	Accept bool
	// Content marks the states within a JSON string, before a character or the closing
	// quote: a byte other than '"' begins a character here.
	Content bool
	Plain   bool // with Content: the string has no quotes around it, and '"' begins a character too
}

// Begins reports whether a byte begins a character of a string here.
func (s *State) Begins(b byte) bool { return s.Content && (b != '"' || s.Plain) }

// An Edge leads from a state to another with a byte b, Lo <= b <= Hi.
type Edge struct {
	Lo, Hi byte
	To     int32
}

// Next returns the state after b, or -1.
func (d *DFA) Next(state int32, b byte) int32 { return Next(d.States[state].Edges, b) }

// Next returns where a byte leads over the edges of a state, or -1.
func Next(edges []Edge, b byte) int32 {
	for i := range edges {
		if e := &edges[i]; b <= e.Hi {
			if b < e.Lo {
				break
			}
			return e.To
		}
	}
	return -1
}

// Match reports whether s is in the language.
func (d *DFA) Match(s string) bool {
	state := int32(0)
	for i := 0; i < len(s) && state >= 0; i++ {
		state = d.Next(state, s[i])
	}
	return state >= 0 && d.States[state].Accept
}

// Empty reports whether the language has no member.
func (d *DFA) Empty() bool { return len(d.States[0].Edges) == 0 && !d.States[0].Accept }
