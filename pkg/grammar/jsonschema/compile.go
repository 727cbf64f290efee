// Package jsonschema compiles JSON Schema (drafts 4 to 2020-12) to programs of rules: a
// text of a program is valid for its schema, and what is not supported is refused with the
// place and the keyword. It refuses to know tokens, models and wire formats, and reads
// nothing but the schema that it is given.
//
// Every valid value has a text, with these exceptions. Where validators read a pattern or
// a format differently, a text is valid in all readings (see TestDifferences). If a value
// can be valid in more than 16,384 ways, or fewer of many schemas each, the program has
// some of each alternative. If two alternatives of a oneOf may both hold and the overlap
// cannot be excluded, the ways that would need it are left out, as long as others remain
// for values of the same types: of the object itself, or of the member or item that would
// have to be invalid for the other alternative.
//
// Supported are all keywords of validation and application, but for $dynamicRef and
// $recursiveRef that lead to different schemas from different places, and minItems above 64 with
// uniqueItems. Not supported under not, if or oneOf are the opposite of uniqueItems and
// formats that only annotate (see [glossa/pkg/grammar/automaton.Format] for the others);
// elsewhere those formats are ignored.
package jsonschema

import (
	"context"
	"net/url"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// Compile returns the program of a JSON Schema: a text matches if it is the compact JSON
// of a valid value, the members of its objects in the order of the schema. Errors are
// [fault.Error]s.
func Compile(raw []byte, l automaton.Limits) (*pushdown.Program, error) {
	return CompileWithin(automaton.NewBudget(context.Background()), raw, l)
}

// CompileWithin is [Compile] within a budget, which may have been used before. Where it
// ends, the error names the place that was being compiled; where its context ends, what
// the error says does not matter.
func CompileWithin(budget *automaton.Budget, raw []byte, l automaton.Limits) (*pushdown.Program, error) {
	c := newCompiler(l)
	c.work = budget
	return c.compile(raw)
}

func (c *compiler) compile(raw []byte) (*pushdown.Program, error) {
	root, named, err := decodeWithin(c.work, raw)
	if err != nil {
		return nil, err
	}
	if root.kind != objectKind && root.kind != booleanKind {
		return nil, fault.New("", "", "a schema is an object, true or false")
	}
	c.root, c.named, c.draft = root, named, draftOf(root)
	start, err := c.rule([]*schema{c.schemaAt(root)})
	if err != nil {
		return nil, err
	}
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if err := next(); err != nil {
			return nil, err
		}
	}
	return c.program(start)
}

// A compiler compiles one schema.
type compiler struct {
	work    *automaton.Budget
	place   *value // what is being compiled, and by which of its keywords
	keyword string

	limits automaton.Limits
	root   *value
	named  bool
	draft  int

	bases     map[*value]*url.URL
	resources map[string]*value
	anchors   map[anchor]*value
	anchored  map[string][]dynamicAnchor // by name with a hash, "" for $recursiveAnchor

	schemas           int32 // made so far
	nothing, anything *schema
	empty             map[string]bool // of sets, whether they are provably so
	clashes           map[string]bool // of sets, whether that is quickly seen
	narrowed          error           // why a way in which a value can be valid was left out, nil if none was
	texts             map[*value]string
	sets              map[listKey]map[string]bool
	unsure            int // strings that were found valid by a format that nothing asserts

	strict, loose *languages
	ranges        map[string]*automaton.DFA
	strings       map[string]*automaton.DFA
	literals      map[string]*automaton.DFA
	extents       map[*automaton.DFA]extents

	rules   []pushdown.Rule
	origins []origin           // of the rules
	sizes   int                // of rules
	visits  int                // of evaluators and holding
	closed  map[string]*schema // what schemas say of members and items that others do not evaluate
	byOne   map[*schema]pushdown.ID
	bySet   map[string]pushdown.ID
	byText  map[pushdown.Text]pushdown.ID
	byParts map[string]pushdown.ID
	byAtoms map[string]pushdown.ID
	queue   []func() error // bodies of rules that are still to be written
}

func newCompiler(l automaton.Limits) *compiler {
	c := &compiler{
		limits:   l,
		empty:    map[string]bool{},
		clashes:  map[string]bool{},
		texts:    map[*value]string{},
		sets:     map[listKey]map[string]bool{},
		strict:   newLanguages(automaton.Format, (*automaton.Budget).Pattern),
		loose:    newLanguages(automaton.LooseFormat, (*automaton.Budget).LoosePattern),
		ranges:   map[string]*automaton.DFA{},
		strings:  map[string]*automaton.DFA{},
		literals: map[string]*automaton.DFA{},
		closed:   map[string]*schema{},
		byOne:    map[*schema]pushdown.ID{},
		bySet:    map[string]pushdown.ID{},
		byText:   map[pushdown.Text]pushdown.ID{},
		byParts:  map[string]pushdown.ID{},
		byAtoms:  map[string]pushdown.ID{},
	}
	c.nothing, c.anything = c.derive(nil), c.derive(nil)
	c.nothing.never = true
	c.rules, c.origins = append(c.rules, pushdown.Rule{}), append(c.origins, origin{}) // 0: nothing matches
	return c
}

// An origin is a keyword of a schema, from which something comes.
type origin struct {
	of      *value
	keyword string
}

// at notes what is being compiled.
func (c *compiler) at(s *schema, keyword string) {
	if s.node != nil {
		c.place, c.keyword = s.node, keyword
	}
}

// atFirst notes that the first of some schemas is being compiled, if there is one.
func (c *compiler) atFirst(list []*schema, keyword string) {
	if len(list) > 0 {
		c.at(list[0], keyword)
	}
}

// A step of compiling a schema takes about so much of the budget.
const (
	stepSteps = 6
	stepBytes = 24
)

// step counts work and returns an error once the budget is at its end.
func (c *compiler) step(n int) error { return c.spend(stepSteps*n, stepBytes*n) }

// spend takes steps and bytes of the budget.
func (c *compiler) spend(steps, bytes int) error {
	if err := c.work.Spend(steps, bytes); err != nil {
		return fault.New(c.place.pointer(), c.keyword, "%v", err)
	}
	return nil
}

// built counts a new automaton, or says why there is none.
func (c *compiler) built(d *automaton.DFA, err error, s *schema, keyword string) (*automaton.DFA, error) {
	if err != nil {
		return nil, s.refuse(keyword, "%v", err)
	}
	c.at(s, keyword)
	return d, c.spend(len(d.States), 0)
}

// combine returns what an operation on two automata gives.
func (c *compiler) combine(op func(a, b *automaton.DFA) (*automaton.DFA, error), a, b *automaton.DFA, s *schema, keyword string) (*automaton.DFA, error) {
	d, err := op(a, b)
	return c.built(d, err, s, keyword)
}
