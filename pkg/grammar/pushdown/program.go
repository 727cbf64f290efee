// Package pushdown runs grammars as pushdown automata over bytes and over the tokens of a
// vocabulary. It computes which tokens may come next, how many suffice to end, and which
// text is forced. It knows nothing of schemas, grammar notations, logits and models.
package pushdown

import "glossa/pkg/grammar/automaton"

// A Program is a set of rules that call each other. It does not change once it is
// compiled and is safe for concurrent use.
type Program struct {
	Rules  []Rule
	Start  ID
	Places []Place // by rule, for the first rules: their source, for errors
	// JSON reports that some texts are JSON, see [Text], and that declared keys may have \u escapes
	// in place of characters that a vocabulary lacks.
	JSON bool

	quote func(name string) string // writes declared keys; nil: automaton.Quote
}

// A Place is the source of a rule in a schema.
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

// A Text is a rule of bytes only: a JSON string with its quotes, a number, a literal. Rules
// with the same texts should share one DFA, since tables are cached by its pointer.
type Text struct {
	DFA *automaton.DFA
	// Counted bounds the characters (Unicode code points) of a string, which begin where
	// [automaton.State.Begins] reports it: at most Max unless that is negative, and at least
	// Min. Min must be 0 unless the DFA is [automaton.String] or [automaton.Key].
	Counted  bool
	Min, Max int
	// JSON reports that the texts are JSON, so that constants may have \u escapes in place of
	// characters that a vocabulary lacks.
	JSON bool
}

// An Array is a JSON array without white space.
type Array struct {
	Prefix   []ID // of the first items
	Items    ID   // of all other items; -1: there are none
	Min, Max int  // items; Max < 0: unbounded
	// Unique forbids equal items. Their strings, keys included, must be canonical:
	// [automaton.Key], not [automaton.String].
	Unique bool
}

// An Object is a JSON object without white space: members of Props in their order, then
// extra members. No key occurs twice.
type Object struct {
	Props []Prop
	// Extra are the kinds of members whose keys are not in Props. They have no order of
	// precedence: a key that two kinds match may have a value of either.
	Extra    []Extra
	Min, Max int // members; Max < 0: unbounded
	// Lead lists the required first extra members. The first Lead[0] of Extra are the kinds
	// of the first extra member, the next Lead[1] those of the second, and so on. The
	// remaining kinds are those of all further extra members.
	Lead []int
}

// Kinds returns the kinds of the extra member after so many others: Extra[lo:hi].
func (o *Object) Kinds(after int) (lo, hi int) {
	for i, n := range o.Lead {
		if i == after {
			return lo, lo + n
		}
		lo += n
	}
	return lo, len(o.Extra)
}

// Shared returns how many of Lead before that of kind i may have a key that kind i matches
// too. keys returns the automaton of a rule. Kind i must match more keys than these and
// those of Props.
func (o *Object) Shared(i int, keys func(ID) *automaton.DFA) (n int) {
	for before := range o.leadsThrough(i) - 1 {
		lo, hi := o.Kinds(before)
		for _, x := range o.Extra[lo:hi] {
			if common, _ := intersect(keys(x.Key), keys(o.Extra[i].Key)); common {
				n++
				break
			}
		}
	}
	return n
}

// maxIntersectPairs bounds the pairs of states that intersect visits.
const maxIntersectPairs = 1 << 10

// intersect reports whether two automata may have a text in common, and how many pairs of
// states it looked at. False is certain.
func intersect(a, b *automaton.DFA) (common bool, looked int) {
	if a.Empty() || b.Empty() {
		return false, 0
	}
	type pair struct{ a, b int32 }
	seen, todo := map[pair]bool{{}: true}, []pair{{}}
	for len(todo) > 0 && len(seen) < maxIntersectPairs {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x, y := &a.States[at.a], &b.States[at.b]
		if x.Accept && y.Accept {
			return true, len(seen)
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
	return len(todo) > 0, len(seen)
}

// leadsThrough returns how many of Lead are present once an extra member of kind i is.
func (o *Object) leadsThrough(i int) int {
	for n := range o.Lead {
		if _, hi := o.Kinds(n); i < hi {
			return n + 1
		}
	}
	return len(o.Lead)
}

// A Prop is a member with a fixed key.
type Prop struct {
	Name     string // not escaped
	Value    ID     // if this rule matches nothing, the member must be absent
	Required bool
}

// An Extra is a kind of extra members. Key is a Text of JSON strings in canonical form.
type Extra struct{ Key, Value ID }

// A Proc is a general rule: a nondeterministic automaton whose edges are bytes and calls of
// rules. State 0 is the first. A rule must not call itself before a byte is read (left
// recursion).
type Proc struct {
	States []ProcState
	// Unique reports that the calls read the items of an array, which must differ as in a
	// unique [Array].
	Unique bool
}

// A ProcState reads a byte, calls a rule, or returns if it accepts.
type ProcState struct {
	Edges  []automaton.Edge // by Lo, disjoint
	Calls  []Call
	Accept bool
}

// A Call runs a rule and continues at a state of the caller.
type Call struct {
	Rule   ID
	Return int32
	// Before, in a Unique Proc, is the most of the items before it that the rule may match.
	// -1: it reads the first item. [MaxUnique]: the number is not known.
	Before int32
}
