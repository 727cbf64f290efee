package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Parameter is a row of a [Table]: the complete description of one key of a request. It is
// the source of decoding, error messages, the README and the OpenAPI document.
type Parameter struct {
	Name        string      // the key; keys of nested objects are written with dots: "stream_options.include_usage"
	Disposition Disposition // default Honoured
	Note        string      // one sentence about the meaning, or the reason for the disposition
	Canonical   string      // the name in llm of what the key sets, if that differs: errors of models use it

	Required bool     // an absent key, null and an empty plain string are errors
	Missing  string   // message of these errors about the whole request; "": this key is required
	Bounds   Bounds   // of a number, of each number of a list, of each value of a map
	Count    Bounds   // of the elements of a list, of the entries of a map
	Noun     string   // what the elements are in messages; default by their type: "string"
	NotEmpty bool     // of a string, and of each string of a list
	MaxText  int      // characters of a string, of each string of a list and of each value of a map; 0: any number
	MaxKey   int      // characters of each key of a map; 0: any number
	OneOf    []string // the words that a string, and each string of a list, may be
	TokenIDs bool     // the keys of a map are token ids

	Default any     // a JSON value; nil: none, or see Absent
	Absent  string  // the effect of an absent key in words, if Default cannot express it
	Schema  *Schema // of a key that is decoded by hand (json.RawMessage); the table does not look inside

	Neutral []string // of Refused: JSON values, besides null, that ask for nothing and are accepted
	Remote  string   // of Honoured: the effect for a remote model; "": the same
}

// A Disposition describes the treatment of a parameter. Nothing is silently ignored: a key
// without a row is refused.
type Disposition string

// The dispositions.
const (
	Honoured Disposition = "supported"
	Refused  Disposition = "unsupported" // 400 that names it
	NoEffect Disposition = "no effect"   // accepted: it cannot change the answer
)

// Effects of a parameter for a remote model. Other effects are written in words.
const (
	ByRecord  = "if the model's record maps it, otherwise unsupported"
	ByGlossa  = "supported, by glossa"
	Checked   = "supported, by glossa: prompts for it, validates the answer and retries once"
	NotRemote = "unsupported"
	Unused    = "no effect"
)

// Bounds are the limits of a number. The zero value has none.
type Bounds struct {
	min, max         float64
	low, above, high bool // min is a limit, it is excluded, max is a limit
}

// Between bounds a number on both sides; both bounds are allowed.
func Between(least, most float64) Bounds {
	return Bounds{min: least, max: most, low: true, high: true}
}

// AtLeast bounds a number from below.
func AtLeast(least float64) Bounds { return Bounds{min: least, low: true} }

// AtMost bounds a number from above.
func AtMost(most float64) Bounds { return Bounds{max: most, high: true} }

// Above bounds a number from below; the bound itself is not allowed.
func Above(bound float64) Bounds { return Bounds{min: bound, low: true, above: true} }

// AboveUpTo is [Above], with an upper bound that is allowed.
func AboveUpTo(bound, most float64) Bounds {
	return Bounds{min: bound, max: most, low: true, above: true, high: true}
}

// holds reports whether x is within the bounds.
func (b Bounds) holds(x float64) bool {
	return !(b.low && (x < b.min || b.above && x == b.min)) && !(b.high && x > b.max)
}

// demand returns the bounds for an error message.
func (b Bounds) demand() string {
	switch least, most := number(b.min), number(b.max); {
	case b.above && b.high:
		return "must be greater than " + least + " and at most " + most
	case b.above:
		return "must be greater than " + least
	case b.low && b.high:
		return "must be between " + least + " and " + most
	case b.high:
		return "must be at most " + most
	case b.min == 0:
		return "must not be negative"
	default:
		return "must be at least " + least
	}
}

// String describes the bounds in documentation; "" if there are none.
func (b Bounds) String() string {
	switch least, most := number(b.min), number(b.max); {
	case b.above && b.high:
		return "above " + least + ", up to " + most
	case b.above:
		return "above " + least
	case b.low && b.high:
		return least + " to " + most
	case b.high:
		return "up to " + most
	case b.low:
		return least + " or more"
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// elements checks the number of elements of a list, and returns an error message or "".
func (p *Parameter) elements(n int, noun string) string {
	switch b := p.Count; {
	case b.holds(float64(n)):
		return ""
	case b.high && float64(n) > b.max:
		return fmt.Sprintf("at most %s %s", number(b.max), plural(noun, b.max))
	case b.min == 1:
		return fmt.Sprintf("at least one %s is required", noun)
	default:
		return fmt.Sprintf("at least %s %s are required", number(b.min), plural(noun, b.min))
	}
}

func plural(noun string, n float64) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "y"):
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

// Text describes the parameter in one line of documentation: its values, its default,
// its meaning.
func (p *Parameter) Text() string {
	var values []string
	if count := p.Count.String(); count != "" {
		values = append(values, count+" "+plural(cmp.Or(p.Noun, "element"), p.Count.max))
	}
	of := ""
	if p.MaxKey > 0 {
		values, of = append(values, fmt.Sprintf("keys of up to %d characters", p.MaxKey)), "values of "
	}
	if p.MaxText > 0 {
		values = append(values, fmt.Sprintf("%sup to %d characters", of, p.MaxText))
	}
	if p.Bounds != (Bounds{}) {
		values = append(values, p.Bounds.String())
	}
	if len(p.OneOf) > 0 {
		values = append(values, orList(p.OneOf))
	}
	if p.NotEmpty {
		values = append(values, "not empty")
	}
	switch {
	case p.Default != nil:
		values = append(values, fmt.Sprintf("default %v", p.Default))
	case p.Absent != "":
		values = append(values, "default: "+p.Absent)
	}
	text := strings.Join(values, "; ")
	switch {
	case text == "":
		return p.Note
	case p.Note == "":
		return text
	}
	return text + "; " + p.Note
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// refusal explains why p is rejected and which values are accepted.
func (p *Parameter) refusal() string {
	if len(p.Neutral) == 0 {
		return p.Note
	}
	return p.Note + "; only " + strings.Join(p.Neutral, " or ") + " is accepted"
}
