package jsonschema

import "slices"

// A sieve finds the alternatives that may share a value without comparing all pairs:
// enumerations by their constants, objects by a required member with constant values (a
// discriminator). It compares the others by type.
type sieve struct {
	c      *compiler
	member string // the discriminator of objects; "": none
	tokens [][]token

	by    map[token][]int // earlier alternatives by token
	metBy []int           // by alternative: 1 + the last alternative that met it
	found []int           // scratch
}

// Alternatives must share a token to share a value. An alternative with a token of kind
// anyOf may have every value of a type, one of kind someOf some values: the two kinds match.
type token struct {
	kind tokenKind
	of   types
	text string // of a constant; of the discriminator, "" without one
}

type tokenKind uint8

const (
	anyOf tokenKind = iota
	someOf
	constant
	labelled
)

// newSieve returns a sieve of lists of clauses.
func (c *compiler) newSieve(ways [][]*clause) *sieve {
	s := &sieve{c: c, tokens: make([][]token, len(ways)), by: map[token][]int{}, metBy: make([]int, len(ways))}
	s.choose(ways)
	for i, list := range ways {
		for _, cl := range list {
			s.tokens[i] = append(s.tokens[i], s.tokensOf(cl)...)
		}
		slices.SortFunc(s.tokens[i], func(a, b token) int { return int(a.kind) - int(b.kind) })
		s.tokens[i] = slices.Compact(s.tokens[i])
	}
	return s
}

// maxTags bounds the members of an object that are considered as discriminators.
const maxTags = 16

// choose finds the discriminator that leaves the fewest pairs of objects.
func (s *sieve) choose(ways [][]*clause) {
	counts := map[string]map[string]int{} // of each member, objects by its constant
	having, objects := map[string]int{}, 0
	var names []string
	for _, list := range ways {
		for _, cl := range list {
			if cl.types&objectType == 0 || shortest(cl.atoms) != nil {
				continue
			}
			objects++
			required, _, _ := membersOf(cl.atoms)
			for _, name := range required[:min(maxTags, len(required))] {
				texts, ok := s.constants(cl, name)
				if !ok {
					continue
				}
				if counts[name] == nil {
					counts[name], names = map[string]int{}, append(names, name)
				}
				having[name]++
				for _, text := range texts {
					counts[name][text]++
				}
			}
		}
	}
	least := objects * objects
	for _, name := range names {
		pairs := (objects - having[name]) * objects
		for _, n := range counts[name] {
			pairs += n * n
		}
		if pairs < least {
			s.member, least = name, pairs
		}
	}
}

// constants returns the texts of the possible values of a member of a clause's objects;
// false if they are not enumerated.
func (s *sieve) constants(cl *clause, name string) (texts []string, ok bool) {
	set, err := s.c.member(cl.atoms, name)
	if err != nil || s.c.step(1+len(cl.atoms)) != nil || len(set) == 0 {
		return nil, false
	}
	both, err := s.c.conjunction(set) // expanding its choices would repeat work
	if err != nil {
		return nil, false
	}
	values, ok, err := s.c.candidates(both)
	if err != nil || !ok {
		return nil, false
	}
	for _, v := range values {
		text, err := s.c.canonical(v)
		if err != nil {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// tokensOf returns the tokens of a clause.
func (s *sieve) tokensOf(cl *clause) (list []token) {
	if values, ok, err := s.c.candidates(cl); ok && err == nil {
		for _, v := range values {
			list = append(list, s.ofValue(v)...)
		}
		return list
	}
	for of := nullType; of <= objectType; of <<= 1 {
		if cl.types&of == 0 {
			continue
		}
		if of == objectType && s.member != "" && slices.Contains(requiredOf(cl), s.member) {
			if texts, ok := s.constants(cl, s.member); ok {
				list = append(list, token{kind: someOf, of: of})
				for _, text := range texts {
					list = append(list, token{labelled, of, text})
				}
				continue
			}
		}
		list = append(list, token{kind: anyOf, of: of})
	}
	return list
}

func requiredOf(cl *clause) []string {
	required, _, _ := membersOf(cl.atoms)
	return required
}

// ofValue returns the tokens of a constant.
func (s *sieve) ofValue(v *value) []token {
	of := s.c.typeOf(v)
	text, err := s.c.canonical(v)
	if err != nil {
		return []token{{kind: anyOf, of: of}}
	}
	list := []token{{kind: someOf, of: of}, {constant, of, text}}
	if of != objectType || s.member == "" {
		return list
	}
	if tag := v.get(s.member); tag != nil {
		if text, err := s.c.canonical(tag); err == nil {
			list = append(list, token{labelled, of, text})
		}
	}
	return list
}

// near returns the alternatives before i that may share a value with it, in order. It is
// called once for each alternative, in order.
func (s *sieve) near(i int) ([]int, error) {
	s.found = s.found[:0]
	for _, t := range s.tokens[i] {
		switch t.kind {
		case anyOf:
			s.meet(i, t)
			s.meet(i, token{kind: someOf, of: t.of})
		case someOf: // other tokens distinguish them
			s.meet(i, token{kind: anyOf, of: t.of})
		default:
			s.meet(i, t)
		}
		if err := s.c.spend(stepSteps+8*len(s.found), 64+len(t.text)); err != nil {
			return nil, err
		}
	}
	for _, t := range s.tokens[i] {
		s.by[t] = append(s.by[t], i)
	}
	slices.Sort(s.found)
	return s.found, nil
}

// meet adds the earlier alternatives with a token.
func (s *sieve) meet(i int, t token) {
	for _, j := range s.by[t] {
		if s.metBy[j] != i+1 {
			s.metBy[j] = i + 1
			s.found = append(s.found, j)
		}
	}
}
