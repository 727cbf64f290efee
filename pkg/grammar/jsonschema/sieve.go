package jsonschema

import "slices"

// A sieve finds which alternatives may have a value in common without a look at each
// pair: those of constants by the constants, those of objects by a member that they
// require and that is one of some constants. The others it holds together by type.
type sieve struct {
	c      *compiler
	member string // that tells objects apart, "" if none does
	tokens [][]token

	by    map[token][]int // alternatives met so far, by their tokens
	met   []int           // by alternative: the last that has met it, and 1
	ahead []int           // scratch
}

// A token is what alternatives must share to have a value in common. One of kind
// anyOf has every value of a type, for all that is known, and one of kind someOf has
// some: these meet those.
type token struct {
	kind tokenKind
	of   types
	text string // of a constant; of the member, "" where an object has none
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
	s := &sieve{c: c, tokens: make([][]token, len(ways)), by: map[token][]int{}, met: make([]int, len(ways))}
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

// maxTags is how many members of an object are looked at for one that tells it from
// others.
const maxTags = 16

// choose finds the member that leaves fewest pairs of objects.
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

// constants returns the texts of the constants of which a member of a clause's objects
// is one; false if it may be something else.
func (s *sieve) constants(cl *clause, name string) (texts []string, ok bool) {
	set, err := s.c.member(cl.atoms, name)
	if err != nil || s.c.step(1+len(cl.atoms)) != nil || len(set) == 0 {
		return nil, false
	}
	both, err := s.c.conjunction(set) // its choices would be looked at again and again
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

// near returns the alternatives before i that may have a value in common with it, in
// their order. It is called once for each, in order.
func (s *sieve) near(i int) ([]int, error) {
	s.ahead = s.ahead[:0]
	for _, t := range s.tokens[i] {
		switch t.kind {
		case anyOf:
			s.meet(i, t)
			s.meet(i, token{kind: someOf, of: t.of})
		case someOf: // other tokens tell them apart
			s.meet(i, token{kind: anyOf, of: t.of})
		default:
			s.meet(i, t)
		}
		if err := s.c.spend(stepSteps+8*len(s.ahead), 64+len(t.text)); err != nil {
			return nil, err
		}
	}
	for _, t := range s.tokens[i] {
		s.by[t] = append(s.by[t], i)
	}
	slices.Sort(s.ahead)
	return s.ahead, nil
}

// meet adds those that have a token.
func (s *sieve) meet(i int, t token) {
	for _, j := range s.by[t] {
		if s.met[j] != i+1 {
			s.met[j] = i + 1
			s.ahead = append(s.ahead, j)
		}
	}
}
