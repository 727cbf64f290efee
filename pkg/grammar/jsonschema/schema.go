package jsonschema

import (
	"math/big"

	"glossa/pkg/grammar/fault"
)

// types is a set of types of values. A number is an integer or has a fraction.
type types uint8

const (
	nullType types = 1 << iota
	booleanType
	integerType
	fractionType
	stringType
	arrayType
	objectType

	numberType = integerType | fractionType
	everyType  = 1<<7 - 1
)

// A schema is the schema at a place in the document, or one that follows from it (its
// negation, a part of it). It is the conjunction of its fields. Constraints on a type hold
// for values of other types.
type schema struct {
	id   int32
	node *value // the place, also of a derived schema
	read bool   // the fields were read from the place

	mark  mark
	never bool // false: no value
	types types
	enums [][]*value // the value is one of each list
	not   []*value   // the value is not in this list

	formats []string // that nothing asserts: ignored where annotations are

	number *numberFacts
	text   *stringFacts
	array  *arrayFacts
	object *objectFacts

	all     []*schema // allOf, the target of $ref
	none    []*schema // not
	choices []choice

	opposite      *schema      // its negation, made on demand
	exclusion     *schema      // its negation to exclude an alternative of a oneOf, made on demand
	excludes      bool         // its negations and refusals exclude an alternative of a oneOf
	visited, held int          // marks of the last searches by evaluators and by holding
	evaluate      evaluating   // whether it evaluates members or items
	refused       *fault.Error // values of its types are not supported
	some          *member      // of objects
}

// A member asks for a member of an object for whose name and value schemas hold: the
// negation of additionalProperties, patternProperties or propertyNames.
type member struct {
	keyword    string
	key, value *schema
	made       map[string]*schema  // schemas that ask for the member of a name
	free       *schema             // asks for an undeclared member
	declares   *schema             // declares the names that the member must not have; nil: not made yet
	shared     map[*member]*schema // schemas that ask for the same undeclared member as another
}

// mark is the state of a schema in the search for schemas that apply to themselves.
type mark uint8

const (
	unseen mark = iota
	open
	sound
)

// A choice is a disjunction of lists of schemas. All schemas of a list must hold; any list
// must hold, or exactly one.
type choice struct {
	of        *schema // the schema that makes it, by keyword
	keyword   string
	lists     [][]*schema
	exclusive bool
	optional  bool // no list has to hold; lists that do evaluate members and items
	silent    bool // the lists evaluate nothing
}

type numberFacts struct {
	min, max         *big.Rat // nil: none
	openMin, openMax bool
	multiples        []*big.Rat
	others           []*big.Rat // the number is not a multiple of any
}

// stringFacts constrains strings. max -1 means no bound, also in arrays and objects.
type stringFacts struct {
	min, max int
	matches  []language
	differs  []language // languages that the string must not be in
}

// A language is the set of strings of a regular expression or a format.
type language struct {
	text   string
	format bool
}

type arrayFacts struct {
	prefix   []*schema
	items    *schema // of the items after prefix; nil: any
	min, max int
	unique   bool

	contains, other      *schema // other: the negation of contains, made on demand
	minMatches, maxMatch int     // how many items match contains
	from                 int     // items before it are not counted

	rest *schema // unevaluatedItems
}

type objectFacts struct {
	names      []string
	properties []*schema
	index      map[string]int // of names, if there are many
	patterns   []pattern
	others     *schema // additionalProperties
	keys       *schema // propertyNames
	required   []string
	min, max   int
	lead       *member // one undeclared member must satisfy it
	with       *member // that member satisfies this too; nil: it differs from other leads

	rest *schema // unevaluatedProperties
}

// A pattern is an entry of patternProperties.
type pattern struct {
	text  string
	value *schema
}

func newArray() *arrayFacts   { return &arrayFacts{max: -1, minMatches: 1, maxMatch: -1} }
func newObject() *objectFacts { return &objectFacts{max: -1} }

// property returns the schema of the declared member name, or nil.
func (o *objectFacts) property(name string) *schema {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return o.properties[i]
		}
		return nil
	}
	for i, n := range o.names {
		if n == name {
			return o.properties[i]
		}
	}
	return nil
}

// plain reports whether s has constraints of its own.
func (s *schema) plain() bool {
	return s.types != everyType || s.enums != nil || s.not != nil || s.number != nil ||
		s.text != nil || s.array != nil || s.object != nil || s.refused != nil || s.some != nil
}

// empty reports whether s has no constraints at all.
func (s *schema) empty() bool {
	return !s.never && !s.plain() && s.formats == nil && s.all == nil && s.none == nil && s.choices == nil
}

// isTrue reports whether s plainly holds for every value.
func (s *schema) isTrue() bool {
	if s.read {
		return s.empty()
	}
	return trivial(s.node)
}

// isFalse reports whether s plainly holds for no value.
func (s *schema) isFalse() bool {
	if s.read {
		return s.never
	}
	return s.node.kind == booleanKind && !s.node.yes
}

// refuse returns an error about a keyword of s.
func (s *schema) refuse(keyword, format string, args ...any) error {
	return fault.New(s.node.pointer(), keyword, format, args...)
}
