package automaton

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

var anyCharacter = sync.OnceValue(func() Expr { return Class([]rune{0, unicode.MaxRune}, JSON) })

var stringDFA = sync.OnceValue(func() *DFA {
	digit := Class([]rune("09afAF"), UTF8)
	octal := Class([]rune("07"), UTF8)
	escape := Alternate( // RFC 8259, section 7; surrogates in pairs only
		Class([]rune(`""//\\bbffnnrrtt`), UTF8),
		Concat(Bytes("u"), Alternate(
			Concat(Class([]rune("09acefACEF"), UTF8), Repeat(digit, 3, 3)),
			Concat(Class([]rune("ddDD"), UTF8), octal, Repeat(digit, 2, 2)),
			Concat(Class([]rune("ddDD"), UTF8), Class([]rune("89abAB"), UTF8), Repeat(digit, 2, 2), Bytes(`\u`),
				Class([]rune("ddDD"), UTF8), Class([]rune("cfCF"), UTF8), Repeat(digit, 2, 2)))))
	plain := Class([]rune{' ', '!', '#', '[', ']', unicode.MaxRune}, UTF8)
	return must(Compile(quoted(Repeat(Alternate(plain, Concat(Bytes(`\`), escape)), 0, -1))))
})

// String returns the automaton of JSON strings with their quotes: every valid escape,
// surrogates in pairs only, valid UTF-8. It is always the same one.
func String() *DFA { return stringDFA() }

var keyDFA = sync.OnceValue(func() *DFA { return must(Compile(quoted(Repeat(anyCharacter(), 0, -1)))) })

// Key returns the automaton of JSON strings in canonical form, as [Quote] writes them.
// It is always the same one.
func Key() *DFA { return keyDFA() }

var booleanDFA = sync.OnceValue(func() *DFA { return Literals([]string{"true", "false"}) })

// Boolean returns the automaton of true and false. It is always the same one.
func Boolean() *DFA { return booleanDFA() }

var nullDFA = sync.OnceValue(func() *DFA { return Literals([]string{"null"}) })

// Null returns the automaton of null. It is always the same one.
func Null() *DFA { return nullDFA() }

// Quote returns s as a JSON string in canonical form: it escapes only '"', '\' and bytes
// below 0x20. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for i := range len(s) {
		b := s[i]
		switch at := strings.IndexByte(escapeOf, b); {
		case at >= 0:
			out = append(out, '\\', short[at])
		case b < 0x20:
			out = append(out, `\u00`...)
			out = append(out, hex[b>>4], hex[b&15])
		default:
			out = append(out, b)
		}
	}
	return string(append(out, '"'))
}

// Literals returns the automaton of exactly these texts. It marks Content as if the texts
// were JSON in canonical form.
func Literals(texts []string) *DFA {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	texts = slices.Compact(texts)
	size := 1
	for _, t := range texts {
		size += len(t)
	}
	type prefix struct {
		lo, hi, depth int // texts[lo:hi] have depth bytes in common
		in            jsonState
	}
	states := make([]State, 0, size)
	edges := make([]Edge, 0, size)
	queue := make([]prefix, 1, size)
	queue[0] = prefix{hi: len(texts)}
	for len(states) < len(queue) {
		p := queue[len(states)]
		s := State{Content: p.in == content}
		if p.lo < p.hi && len(texts[p.lo]) == p.depth {
			s.Accept = true
			p.lo++
		}
		first := len(edges)
		for lo := p.lo; lo < p.hi; {
			b := texts[lo][p.depth]
			hi := lo + 1
			for hi < p.hi && texts[hi][p.depth] == b {
				hi++
			}
			edges = append(edges, Edge{b, b, int32(len(queue))})
			queue = append(queue, prefix{lo, hi, p.depth + 1, p.in.after(b)})
			lo = hi
		}
		s.Edges = edges[first:len(edges):len(edges)]
		states = append(states, s)
	}
	return &DFA{states}
}

// jsonState is a position in JSON text: outside of strings, before a character of one,
// after a backslash, or a number of bytes before the next character.
type jsonState int8

const (
	outside jsonState = iota
	content
	escaped
	within // 1, 2, ... more bytes of a character
)

func (in jsonState) after(b byte) jsonState {
	switch {
	case in == outside && b == '"', in == within+1, in == escaped && b != 'u':
		return content
	case in == outside, in == content && b == '"':
		return outside
	case in == escaped:
		return within + 4
	case in > within:
		return in - 1
	case b == '\\':
		return escaped
	case b >= 0xF0:
		return within + 3
	case b >= 0xE0:
		return within + 2
	case b >= 0xC0:
		return within + 1
	}
	return content
}
