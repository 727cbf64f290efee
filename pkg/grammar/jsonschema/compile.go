// Package jsonschema compiles JSON Schema (drafts 4 to 2020-12) to programs of rules. Every
// text of a program is valid for its schema. Unsupported schemas are refused with an error
// that names the place and the keyword. The package knows neither tokens nor models nor
// wire formats, and reads nothing but the given schema.
//
// Every valid value has a text, with three exceptions. Where validators read a pattern or
// a format differently, a text is valid in all readings (see TestDifferences). If a value
// can be valid in more than 16,384 ways, or in fewer ways of many schemas each, the program
// has some ways of each alternative. If two alternatives of a oneOf may both hold and the
// overlap cannot be excluded, the program leaves out the ways that would need the exclusion,
// provided that other ways remain for values of the same types: of the object itself, or of
// the member or item that would have to be invalid for the other alternative.
//
// The package supports all keywords of validation and application, except $dynamicRef and
// $recursiveRef if they lead to different schemas from different places, and minItems above
// 64 with uniqueItems. Under not, if or oneOf it does not support the opposite of uniqueItems
// and formats that only annotate (see [glossa/pkg/grammar/automaton.Format] for the others);
// elsewhere it ignores those formats.
package jsonschema

import (
	"context"
	"net/url"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// Compile returns the program of a JSON Schema. A text matches if it is the compact JSON
// of a valid value with the members of objects in the order of the schema. Errors are of
// type [*fault.Error].
func Compile(raw []byte, l automaton.Limits) (*pushdown.Program, error) {
	return CompileWithin(automaton.NewBudget(context.Background()), raw, l)
}

// CompileWithin is [Compile] within a budget that may be partly spent. If the budget is
// exhausted, the error names the place that was being compiled. If its context is done, the
// error is unspecified.
func CompileWithin(budget *automaton.Budget, raw []byte, l automaton.Limits) (*pushdown.Program, error) {
	c := newCompiler(l)
	c.budget = budget
	return c.compile(raw)
}

func (c *compiler) compile(raw []byte) (*pushdown.Program, error) {
	root, named, err := decodeWithin(c.budget, raw)
	if err != nil {
		return nil, err
	}
	if root.kind != objectKind && root.kind != booleanKind {
		return nil, fault.New("", "", "a schema must be an object, true or false")
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
	budget  *automaton.Budget
	place   *value // the place that is being compiled, for errors
	keyword string

	limits automaton.Limits
	root   *value
	named  bool
	draft  int

	bases     map[*value]*url.URL
	resources map[string]*value
	anchors   map[anchor]*value
	anchored  map[string][]dynamicAnchor // by name with a leading #, "" for $recursiveAnchor

	schemas           int32 // number of schemas created
	nothing, anything *schema
	empty             map[string]bool // by set: whether provably no value holds
	clashes           map[string]bool // by set: whether a quick check finds a contradiction
	narrowed          error           // why a way was left out; nil if none was
	texts             map[*value]string
	sets              map[listKey]map[string]bool
	annotated         int // matches of strings by formats that nothing asserts

	strict, loose *languages
	ranges        map[string]*automaton.DFA
	strings       map[string]*automaton.DFA
	literals      map[string]*automaton.DFA
	extents       map[*automaton.DFA]extents

	rules   []pushdown.Rule
	origins []origin           // of the rules
	sizes   int                // of rules
	visits  int                // of evaluators and holding
	closed  map[string]*schema // schemas of unevaluated members and items
	byOne   map[*schema]pushdown.ID
	bySet   map[string]pushdown.ID
	byText  map[pushdown.Text]pushdown.ID
	byParts map[string]pushdown.ID
	byAtoms map[string]pushdown.ID
	queue   []func() error // writes the remaining bodies of rules
}

func newCompiler(l automaton.Limits) *compiler {
	c := &compiler{
		limits:   l,
		empty:    map[string]bool{},
		clashes:  map[string]bool{},
		texts:    map[*value]string{},
		sets:     map[listKey]map[string]bool{},
		strict:   newLanguages(l.Format, (*automaton.Budget).Pattern),
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

// An origin is the keyword of a schema from which a rule comes.
type origin struct {
	of      *value
	keyword string
}

// at records the place that is being compiled.
func (c *compiler) at(s *schema, keyword string) {
	if s.node != nil {
		c.place, c.keyword = s.node, keyword
	}
}

// atFirst records the first schema of a list as the place that is being compiled.
func (c *compiler) atFirst(list []*schema, keyword string) {
	if len(list) > 0 {
		c.at(list[0], keyword)
	}
}

// A step of compiling a schema costs about this much of the budget.
const (
	stepSteps = 6
	stepBytes = 24
)

// step charges n steps to the budget and returns an error once it is exhausted.
func (c *compiler) step(n int) error { return c.spend(stepSteps*n, stepBytes*n) }

// spend charges steps and bytes to the budget.
func (c *compiler) spend(steps, bytes int) error {
	if err := c.budget.Spend(steps, bytes); err != nil {
		return fault.New(c.place.pointer(), c.keyword, "%v", err)
	}
	return nil
}

// built charges a new automaton to the budget, or puts the place into its error.
func (c *compiler) built(d *automaton.DFA, err error, s *schema, keyword string) (*automaton.DFA, error) {
	if err != nil {
		return nil, s.refuse(keyword, "%v", err)
	}
	c.at(s, keyword)
	return d, c.spend(len(d.States), 0)
}

// combine applies an operation to two automata.
func (c *compiler) combine(op func(a, b *automaton.DFA) (*automaton.DFA, error), a, b *automaton.DFA, s *schema, keyword string) (*automaton.DFA, error) {
	d, err := op(a, b)
	return c.built(d, err, s, keyword)
}
