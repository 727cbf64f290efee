package automaton

// An Encoding determines the bytes of a character.
type Encoding int

// The encodings.
const (
	UTF8 Encoding = iota // its UTF-8 form
	JSON                 // the same inside a JSON string in canonical form: `"`, `\` and controls escaped
)

// An Expr is a regular expression over bytes that may call other grammars by a
// symbol. The zero value is the empty text. An Expr is immutable.
type Expr struct{ n *node }

type op int

const (
	opBytes op = iota
	opClass
	opConcat
	opAlternate
	opRepeat
	opCall
	opString // of[0] between quotes, the whole of it or anywhere in it: see quoted and search
	opBegin  // before the first character of an opString
	opEnd    // after its last
	opLook   // a look-around: of[0] matches after this position, or before it
)

type node struct {
	op       op
	text     string    // opBytes
	class    *template // opClass
	enc      Encoding  // opClass
	of       []Expr
	min, max int   // opRepeat
	symbol   int32 // opCall
	anywhere bool  // opString
	behind   bool  // opLook: before it
	not      bool  // opLook: of[0] does not match
}

// Bytes returns the expression of exactly s.
func Bytes(s string) Expr { return Expr{&node{op: opBytes, text: s}} }

// Class returns the expression of one character from ranges of code points, given as
// pairs of the first and the last. Surrogates are not characters; Class leaves them out.
func Class(r []rune, enc Encoding) Expr {
	return Expr{&node{op: opClass, class: lower(characters(r), enc), enc: enc}}
}

// Concat returns the expression of its arguments in order. Concat() is the empty text.
func Concat(of ...Expr) Expr { return Expr{&node{op: opConcat, of: of}} }

// Alternate returns the expression of any of its arguments. Alternate() matches no text.
func Alternate(of ...Expr) Expr { return Expr{&node{op: opAlternate, of: of}} }

// Repeat returns the expression of e from min to max times. There is no limit if max < 0.
func Repeat(e Expr, min, max int) Expr {
	return Expr{&node{op: opRepeat, of: []Expr{e}, min: min, max: max}}
}

// Call returns the expression of the texts of a symbol.
func Call(symbol int32) Expr { return Expr{&node{op: opCall, symbol: symbol}} }

// quoted returns the expression of JSON strings whose content is e.
func quoted(e Expr) Expr { return Expr{&node{op: opString, of: []Expr{e}}} }

// search returns the expression of canonical JSON strings with e somewhere in them.
func search(e Expr) Expr { return Expr{&node{op: opString, of: []Expr{e}, anywhere: true}} }

// anchored reports whether every alternative of e has an anchor on a side: opBegin or opEnd.
func anchored(e Expr, side op) bool {
	if e.n == nil {
		return false
	}
	switch e.n.op {
	case side:
		return true
	case opConcat:
		last := len(e.n.of) - 1
		if last < 0 {
			return false
		}
		if side == opBegin {
			last = 0
		}
		return anchored(e.n.of[last], side)
	case opAlternate:
		for _, o := range e.n.of {
			if !anchored(o, side) {
				return false
			}
		}
		return len(e.n.of) > 0
	case opRepeat:
		return e.n.min > 0 && anchored(e.n.of[0], side)
	}
	return false
}
