package automaton

import (
	"encoding/binary"
	"slices"
	"unicode"
)

// Sets of code points are pairs lo, hi, sorted and not adjacent.

// normal sorts pairs and joins those that overlap or are adjacent.
func normal(r []rune) []rune {
	sorted := true
	for i := 0; i+1 < len(r); i += 2 {
		sorted = sorted && r[i] <= r[i+1] && (i == 0 || r[i] > r[i-1]+1)
	}
	if sorted {
		return r
	}
	pairs := make([][2]rune, 0, len(r)/2)
	for i := 0; i+1 < len(r); i += 2 {
		if r[i] <= r[i+1] {
			pairs = append(pairs, [2]rune{r[i], r[i+1]})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var out []rune
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
		} else {
			out = append(out, p[0], p[1])
		}
	}
	return out
}

// negate returns the code points that are not in r, which is normal.
func negate(r []rune) []rune {
	var out []rune
	next := rune(0)
	for i := 0; i < len(r); i += 2 {
		if r[i] > next {
			out = append(out, next, r[i]-1)
		}
		next = r[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// clip returns the part of r from lo to hi.
func clip(r []rune, lo, hi rune) []rune {
	var out []rune
	for i := 0; i < len(r); i += 2 {
		if a, b := max(r[i], lo), min(r[i+1], hi); a <= b {
			out = append(out, a, b)
		}
	}
	return out
}

// characters returns r normalized, without surrogates and values that are not code points.
func characters(r []rune) []rune {
	r = normal(r)
	if n := len(r); n == 0 || r[0] >= 0 && r[n-1] < 0xD800 {
		return r
	}
	return append(clip(r, 0, 0xD7FF), clip(r, 0xE000, unicode.MaxRune)...)
}

// A template is the automaton of one character. Each state is a list of edges, which lead
// to a state or to done. State 0 is the start. Equal states are merged.
type template struct {
	states [][]Edge
	same   map[string]int32 // states by their edges; nil while they are few
}

const done = -1

// lower returns the automaton of one character of r, a result of characters.
func lower(r []rune, enc Encoding) *template {
	t := &template{states: make([][]Edge, 1, 4)}
	var edges []Edge
	if enc == JSON {
		edges = t.leadByte(edges, 0, 0, clip(r, 0x20, '"'-1))
		edges = t.leadByte(edges, 0, 0, clip(r, '"'+1, '\\'-1))
		if escaped := t.escapes(r); len(escaped) > 0 {
			edges = append(edges, Edge{'\\', '\\', t.state(escaped)})
		}
		edges = t.leadByte(edges, 0, 0, clip(r, '\\'+1, 0x7F))
	} else {
		edges = t.leadByte(edges, 0, 0, clip(r, 0, 0x7F))
	}
	if len(r) > 0 && r[len(r)-1] > 0x7F {
		edges = t.leadByte(edges, 0xC0, 1, clip(r, 0x80, 0x7FF))
		edges = t.leadByte(edges, 0xE0, 2, clip(r, 0x800, 0xFFFF))
		edges = t.leadByte(edges, 0xF0, 3, clip(r, 0x10000, unicode.MaxRune))
	}
	t.states[0] = edges
	return t
}

// leadByte appends the edges of a byte with the bits of r above the low 6k, which k
// continuation bytes follow: RFC 3629, section 3.
func (t *template) leadByte(edges []Edge, base rune, k int, r []rune) []Edge {
	shift, full := 6*k, rune(1)<<(6*k)-1
	past := rune(0) // what is below has its edges
	for i := 0; i < len(r); {
		lo, hi := max(r[i], past), r[i+1]
		for lo&full == 0 && hi-lo >= full {
			last := (hi+1)>>shift - 1
			edges = join(edges, base+lo>>shift, base+last, t.continuation(k, []rune{0, full}))
			lo = (last + 1) << shift
		}
		if lo > hi {
			i += 2
			continue
		}
		digit := lo >> shift
		var rest []rune
		for i < len(r) && lo>>shift == digit {
			end := min(r[i+1], digit<<shift|full)
			rest = append(rest, lo&full, end&full)
			if past = end + 1; end < r[i+1] {
				break
			}
			if i += 2; i < len(r) {
				lo = r[i]
			}
		}
		edges = join(edges, base+digit, base+digit, t.continuation(k, rest))
	}
	return edges
}

// continuation returns the state that reads the low 6k bits of r in k bytes.
func (t *template) continuation(k int, r []rune) int32 {
	if k == 0 {
		return done
	}
	return t.state(t.leadByte(nil, 0x80, k-1, r))
}

func join(edges []Edge, lo, hi rune, to int32) []Edge {
	if n := len(edges); n > 0 && edges[n-1].To == to && rune(edges[n-1].Hi)+1 == lo {
		edges[n-1].Hi = byte(hi)
		return edges
	}
	return append(edges, Edge{byte(lo), byte(hi), to})
}

// linearStates is the most states that are searched linearly.
const linearStates = 64

// state returns the number of the state with these edges.
func (t *template) state(edges []Edge) int32 {
	if len(t.states) > linearStates {
		return t.stateOf(edges)
	}
	for i, s := range t.states[1:] {
		if slices.Equal(s, edges) {
			return int32(i) + 1
		}
	}
	t.states = append(t.states, edges)
	return int32(len(t.states)) - 1
}

// stateOf is state for many states.
func (t *template) stateOf(edges []Edge) int32 {
	key := func(edges []Edge) string {
		b := make([]byte, 0, 6*len(edges))
		for _, e := range edges {
			b = binary.LittleEndian.AppendUint32(append(b, e.Lo, e.Hi), uint32(e.To))
		}
		return string(b)
	}
	if t.same == nil {
		t.same = map[string]int32{}
		for i, s := range t.states[1:] {
			t.same[key(s)] = int32(i) + 1
		}
	}
	name := key(edges)
	i, ok := t.same[name]
	if !ok {
		i = int32(len(t.states))
		t.states, t.same[name] = append(t.states, edges), i
	}
	return i
}

// short holds the escapes of one letter, by letter.
const short = `"\bfnrt`

// escapeOf holds the characters of short, in its order.
const escapeOf = "\"\\\b\f\n\r\t"

// escapes returns the edges after a backslash.
func (t *template) escapes(r []rune) []Edge {
	var edges, high []Edge
	for i := range len(short) {
		if len(clip(r, rune(escapeOf[i]), rune(escapeOf[i]))) > 0 {
			edges = append(edges, Edge{short[i], short[i], done})
		}
	}
	for digit := range rune(2) { // \u000x and \u001x
		var low []Edge
		for x := range rune(16) {
			c := digit<<4 | x
			if len(clip(r, c, c)) > 0 && !slices.Contains([]rune(escapeOf), c) {
				low = join(low, rune(hex[x]), rune(hex[x]), done)
			}
		}
		if len(low) > 0 {
			high = append(high, Edge{byte('0' + digit), byte('0' + digit), t.state(low)})
		}
	}
	if len(high) > 0 {
		zero := t.state([]Edge{{'0', '0', t.state(high)}})
		edges = append(edges, Edge{'u', 'u', t.state([]Edge{{'0', '0', zero}})})
	}
	return edges
}

const hex = "0123456789abcdef"
