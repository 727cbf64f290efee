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

// A schema is what a place in the document asks of a value, or what follows from such
// a place (its negation, a part of it). All its fields hold together; those that are
// about a type hold for values of other types.
type schema struct {
	id   int32
	node *value // the place, also of what follows from it
	read bool   // its fields were read from the place

	mark  mark
	never bool // false: no value
	types types
	enums [][]*value // the value is one of each list
	not   []*value   // the value is none of these

	formats []string // that nothing asserts: annotations where they may be

	number *numberFacts
	text   *stringFacts
	array  *arrayFacts
	object *objectFacts

	all     []*schema // allOf, the target of $ref
	none    []*schema // not
	choices []choice

	opposite      *schema      // its negation, once asked
	exclusion     *schema      // its negation to exclude an alternative of a oneOf, once asked
	excludes      bool         // its negations, and what it refuses, exclude an alternative of a oneOf
	visited, held int          // when evaluators came to it, and when holding last found it in a clause
	evaluate      evaluating   // whether it evaluates members or items
	refused       *fault.Error // values of its types are not supported
	some          *member      // of objects
}

// A member asks an object for a member of which schemas of the name and of the value hold:
// the negation of additionalProperties, patternProperties or propertyNames.
type member struct {
	keyword    string
	key, value *schema
	made       map[string]*schema  // what asks for a member of that name
	free       *schema             // what asks for one that is not declared
	declares   *schema             // what declares the names that it must not have, nil: not asked yet
	shared     map[*member]*schema // what asks for the undeclared one that another asks for
}

// mark is how far the search for schemas that apply to themselves has come.
type mark uint8

const (
	unseen mark = iota
	open
	sound
)

// A choice asks for one of several lists of schemas, all of a list to hold: any of
// them, or exactly one.
type choice struct {
	of        *schema // whose it is, by keyword
	keyword   string
	lists     [][]*schema
	exclusive bool
	optional  bool // no list has to hold: those that do evaluate members and items
	silent    bool // its lists evaluate nothing, whether they hold or not
}

type numberFacts struct {
	min, max         *big.Rat // nil: none
	openMin, openMax bool
	multiples        []*big.Rat
	others           []*big.Rat // of which the number is no multiple
}

// stringFacts is about strings; max is -1 where there is none, as in arrays and objects.
type stringFacts struct {
	min, max int
	matches  []language
	differs  []language // languages that the string must not be in
}

// A language is that of a regular expression, or of a format.
type language struct {
	text   string
	format bool
}

type arrayFacts struct {
	prefix   []*schema
	items    *schema // of the items after prefix; nil: any
	min, max int
	unique   bool

	contains, other      *schema // other is not contains, once asked
	minMatches, maxMatch int     // how many items match contains
	from                 int     // items before it are not counted

	rest *schema // unevaluatedItems
}

type objectFacts struct {
	names      []string
	properties []*schema
	index      map[string]int // of names, where there are many
	patterns   []pattern
	others     *schema // additionalProperties
	keys       *schema // propertyNames
	required   []string
	min, max   int
	lead       *member // of the members that are not declared, one must be so
	with       *member // that one is as this asks too; nil: it is another one than others ask for

	rest *schema // unevaluatedProperties
}

// A pattern is one of patternProperties.
type pattern struct {
	text  string
	value *schema
}

func newArray() *arrayFacts   { return &arrayFacts{max: -1, minMatches: 1, maxMatch: -1} }
func newObject() *objectFacts { return &objectFacts{max: -1} }

// property returns what is said of a member by its name, or nil.
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

// plain reports whether s says something by itself.
func (s *schema) plain() bool {
	return s.types != everyType || s.enums != nil || s.not != nil || s.number != nil ||
		s.text != nil || s.array != nil || s.object != nil || s.refused != nil || s.some != nil
}

// empty reports whether s says nothing at all.
func (s *schema) empty() bool {
	return !s.never && !s.plain() && s.formats == nil && s.all == nil && s.none == nil && s.choices == nil
}

// isTrue reports whether s plainly says nothing.
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
