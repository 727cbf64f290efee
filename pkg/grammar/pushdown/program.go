// Package pushdown runs grammars as automata with a stack, over bytes and over the
// tokens of a vocabulary: which tokens may come next, how many it takes to end, and
// which text is forced. It refuses to know schemas, notations of grammars, logits and
// models.
package pushdown

import "glossa/pkg/grammar/automaton"

// A Program is a set of rules that call each other. It does not change once it is
// compiled and is safe for concurrent use.
type Program struct {
	Rules  []Rule
	Start  ID
	Places []Place // of the first rules in their source, for errors
}

// A Place is where a rule comes from.
type Place struct{ Pointer, Keyword string }

// A RuleError is an error at a rule of a program.
type RuleError struct {
	Rule ID
	Err  error
}

func (e *RuleError) Error() string { return e.Err.Error() }
func (e *RuleError) Unwrap() error { return e.Err }

// An ID is the index of a rule in its program.
type ID int32

// A Rule has exactly one of its fields set.
type Rule struct {
	Text   *Text
	Array  *Array
	Object *Object
	Any    []ID // any one of these rules; none: nothing matches
	Proc   *Proc
}

// A Text is a rule of bytes alone: a JSON string with its quotes, a number, a literal.
// Rules whose texts are the same should share one DFA: what is known of it is kept by
// its pointer.
type Text struct {
	DFA *automaton.DFA
	// Counted bounds the characters of a JSON string (Unicode code points): at most Max
	// unless that is negative, and at least Min, which for any DFA but [automaton.String]
	// and [automaton.Key] is 0.
	Counted  bool
	Min, Max int
}

// An Array is a JSON array without white space.
type Array struct {
	Prefix   []ID // of the first items
	Items    ID   // of all others; -1: there are none
	Min, Max int  // items, Max < 0 meaning without end
	// Unique forbids items that are equal JSON values. Their strings, keys included, must
	// be canonical: [automaton.Key], not [automaton.String].
	Unique bool
}

// An Object is a JSON object without white space: first members of Props in their
// order, then any number of others, no key twice.
type Object struct {
	Props []Prop
	// Extra are the members whose keys are none of Props: the first whose Key matches is
	// not special, so keys of two of them must not both match unless both may.
	Extra    []Extra
	Min, Max int // members, Max < 0 meaning without end
	// Lead says of which kinds the first extra members are, which must be there: Lead[0] of
	// Extra are the kinds of the first, the next Lead[1] those of the second, and so on. The
	// others are those of all further ones.
	Lead []int
}

// Kinds returns which of Extra are the kinds of the extra member that comes after others:
// those from lo to hi.
func (o *Object) Kinds(after int) (lo, hi int) {
	for i, n := range o.Lead {
		if i == after {
			return lo, lo + n
		}
		lo += n
	}
	return lo, len(o.Extra)
}

// Shared returns how many of Lead before that of kind i may have taken a key of that kind;
// keys returns the automaton of a rule. There must be more such keys than these and those of Props.
func (o *Object) Shared(i int, keys func(ID) *automaton.DFA) (n int) {
	for before := range o.leadsThrough(i) - 1 {
		lo, hi := o.Kinds(before)
		for _, x := range o.Extra[lo:hi] {
			if intersect(keys(x.Key), keys(o.Extra[i].Key)) {
				n++
				break
			}
		}
	}
	return n
}

// maxMeeting bounds the pairs of states that meet looks at.
const maxIntersectPairs = 1 << 10

// meet reports whether two automata may have a text in common: false if that is sure.
func intersect(a, b *automaton.DFA) bool {
	if a.Empty() || b.Empty() {
		return false
	}
	type pair struct{ a, b int32 }
	seen, todo := map[pair]bool{{}: true}, []pair{{}}
	for len(todo) > 0 && len(seen) < maxIntersectPairs {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x, y := &a.States[at.a], &b.States[at.b]
		if x.Accept && y.Accept {
			return true
		}
		for _, e := range x.Edges {
			for _, f := range y.Edges {
				if to := (pair{e.To, f.To}); e.Lo <= f.Hi && f.Lo <= e.Hi && !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	return len(todo) > 0
}

// place returns for how many of Lead extra members are there once one of kind i is.
func (o *Object) leadsThrough(i int) int {
	for n := range o.Lead {
		if _, hi := o.Kinds(n); i < hi {
			return n + 1
		}
	}
	return len(o.Lead)
}

// A Prop is a member with its own key.
type Prop struct {
	Name     string // as it is, not escaped
	Value    ID     // a rule that nothing matches: the member must not be there
	Required bool
}

// An Extra is a kind of members: Key is a Text of JSON strings in canonical form.
type Extra struct{ Key, Value ID }

// A Proc is a general rule: bytes and calls of rules, over states of which 0 is the
// first. Several ways may be open at once. A rule must not call itself before a byte
// was read (left recursion).
type Proc struct {
	States []ProcState
	// Unique says that the calls read the items of an array, which must differ as in an
	// [Array] that is Unique.
	Unique bool
}

// A ProcState reads a byte, calls a rule, or returns if it accepts.
type ProcState struct {
	Edges  []automaton.Edge // by Lo, disjoint
	Calls  []Call
	Accept bool
}

// A Call runs a rule and goes on at a state of the caller.
type Call struct {
	Rule   ID
	Return int32
	Before int32 // in a Unique Proc: how many of the items before it the rule may match, at most; -1: it reads the first; [MaxUnique]: that is not known
}
