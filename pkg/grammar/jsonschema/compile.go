// Package jsonschema compiles JSON Schema (drafts 4 to 2020-12) to programs of rules: a
// text of a program is valid for its schema, and what is not supported is refused with the
// place and the keyword. It refuses to know tokens, models and wire formats, and reads
// nothing but the schema that it is given.
//
// Every valid value has a text, with these exceptions. Where validators read a pattern or
// a format differently, a text is valid in all readings (see TestDifferences). If a value
// can be valid in more than 512 ways, the program has some of each alternative. If two
// alternatives of a oneOf may both hold and the overlap cannot be excluded, the ways that
// would need it are left out, as long as others remain for values of the same types.
//
// Supported are all keywords of validation and application, but for $dynamicRef and
// $recursiveRef, unevaluatedItems and unevaluatedProperties next to keywords that apply
// schemas to the same value, uniqueItems next to contains, and minItems above 64 with
// uniqueItems. Not supported under not, if or oneOf are the opposite of uniqueItems and
// formats that only annotate (see [glossa/pkg/grammar/automaton.Format] for the others);
// elsewhere those formats are ignored.
package jsonschema

import (
	"net/url"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// Compile returns the program of a JSON Schema: a text matches if it is the compact JSON
// of a valid value, the members of its objects in the order of the schema. Errors are
// [fault.Error]s.
func Compile(raw []byte, l automaton.Limits) (*pushdown.Program, error) {
	return newCompiler(l).compile(raw)
}

func (c *compiler) compile(raw []byte) (*pushdown.Program, error) {
	root, named, err := decode(raw)
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
	limits automaton.Limits
	root   *value
	named  bool
	draft  int

	bases     map[*value]*url.URL
	resources map[string]*value
	anchors   map[anchor]*value

	schemas           int32 // made so far
	nothing, anything *schema
	empty             map[string]bool // of sets, whether they are provably so
	clashes           map[string]bool // of sets, whether that is quickly seen
	narrowed          error           // why a way in which a value can be valid was left out, nil if none was
	texts             map[*value]string
	sets              map[listKey]map[string]bool
	steps             int
	unsure            int // strings that were found valid by a format that nothing asserts

	languages map[language]*automaton.DFA
	loose     map[language]*automaton.DFA // languages that a string must not be in
	ranges    map[string]*automaton.DFA
	strings   map[string]*automaton.DFA
	literals  map[string]*automaton.DFA
	states    int // of the automata above

	rules   []pushdown.Rule
	sizes   int // of rules
	byOne   map[*schema]pushdown.ID
	bySet   map[string]pushdown.ID
	byText  map[pushdown.Text]pushdown.ID
	byParts map[string]pushdown.ID
	byAtoms map[string]pushdown.ID
	queue   []func() error // bodies of rules that are still to be written
}

func newCompiler(l automaton.Limits) *compiler {
	c := &compiler{
		limits:    l,
		empty:     map[string]bool{},
		clashes:   map[string]bool{},
		texts:     map[*value]string{},
		sets:      map[listKey]map[string]bool{},
		languages: map[language]*automaton.DFA{},
		loose:     map[language]*automaton.DFA{},
		ranges:    map[string]*automaton.DFA{},
		strings:   map[string]*automaton.DFA{},
		literals:  map[string]*automaton.DFA{},
		byOne:     map[*schema]pushdown.ID{},
		bySet:     map[string]pushdown.ID{},
		byText:    map[pushdown.Text]pushdown.ID{},
		byParts:   map[string]pushdown.ID{},
		byAtoms:   map[string]pushdown.ID{},
	}
	c.nothing, c.anything = c.derive(nil), c.derive(nil)
	c.nothing.never = true
	c.rules = append(c.rules, pushdown.Rule{}) // 0: nothing matches
	return c
}

// maxStates bounds the states of all automata of a schema.
const maxStates = 1 << 19

// built counts a new automaton, or says why there is none.
func (c *compiler) built(d *automaton.DFA, err error, s *schema, keyword string) (*automaton.DFA, error) {
	if err != nil {
		return nil, s.refuse(keyword, "%v", err)
	}
	if c.states += len(d.States); c.states > maxStates {
		return nil, fault.New("", "", "the patterns and bounds of the schema are too large")
	}
	return d, nil
}

// combine returns what an operation on two automata gives.
func (c *compiler) combine(op func(a, b *automaton.DFA) (*automaton.DFA, error), a, b *automaton.DFA, s *schema, keyword string) (*automaton.DFA, error) {
	d, err := op(a, b)
	return c.built(d, err, s, keyword)
}
