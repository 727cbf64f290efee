package corpus

import (
	_ "embed" // the grammar
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
)

//go:embed sentences.grammar
var sentencesSource string

// scenes is the parsed grammar of sentences, with the names of its scenes and topics.
type scenes struct {
	*grammar
	names, topics []string
}

// sentencesGrammar parses the embedded grammar once.
var sentencesGrammar = sync.OnceValue(func() *scenes {
	g, err := parseGrammar(sentencesSource)
	if err != nil {
		panic(err) // the grammar is a constant that the tests parse
	}
	s := &scenes{grammar: g}
	for rule := range g.rules {
		if name, ok := strings.CutSuffix(rule, ".say"); ok {
			s.names = append(s.names, name)
		}
		if strings.HasPrefix(rule, "topic.") {
			s.topics = append(s.topics, rule)
		}
	}
	slices.Sort(s.names)
	slices.Sort(s.topics)
	return s
})

// A Pair is two texts that mean the same: statements, questions, a question and the
// statement that answers it, a statement and words to search for it, or lists of words of
// one topic.
type Pair struct {
	Meaning string // of this pair, without spaces: texts with other meanings are not its paraphrases
	A, B    string
}

// meaning is the alternatives of the bound rules of a pair.
type meaning struct {
	chosen map[string]int
}

func (m *meaning) choose(rule string, draw func() int) int {
	at, ok := m.chosen[rule]
	if !ok {
		at = draw()
		m.chosen[rule] = at
	}
	return at
}

// heldOutOf is the share of meanings that no training text has: one of this many.
const heldOutOf = 20

// HeldOut reports whether the training text leaves out the meaning of the pair.
func (p *Pair) HeldOut() bool {
	h := fnv.New32a()
	h.Write([]byte(p.Meaning))
	return h.Sum32()%heldOutOf == 0
}

// Sentences writes about size bytes of pairs for the starter model that embeds sentences,
// one in a line: the meaning, a tab, a text, a tab, a text. It leaves out the meanings of
// [HeldOutPairs].
func Sentences(seed uint64, size int) string {
	d := newDice(seed, "sentences")
	return fill(size, func(b *strings.Builder) {
		if p := sentencePair(d); !p.HeldOut() {
			fmt.Fprintf(b, "%s\t%s\t%s\n", p.Meaning, p.A, p.B)
		}
	})
}

// HeldOutPairs returns n pairs of statements, or of questions and their answers, with
// different meanings, none of which [Sentences] has.
func HeldOutPairs(seed uint64, n int, questions bool) []Pair {
	d := newDice(seed, "held-out sentences")
	var out []Pair
	seen := map[string]bool{}
	for len(out) < n {
		p := statements(d)
		if questions {
			p = questioned(d)
		}
		if p.HeldOut() && !seen[p.Meaning] && p.A != p.B {
			seen[p.Meaning] = true
			out = append(out, p)
		}
	}
	return out
}

// sentencePair draws a pair of any kind.
func sentencePair(d *dice) Pair {
	switch d.weighted([]int{38, 28, 10, 10, 14}) {
	case 0:
		return statements(d)
	case 1:
		return questioned(d)
	case 2:
		return asked(d)
	case 3:
		return searched(d)
	}
	return related(d)
}

// scene draws a scene and returns functions that write its statements and questions, and
// that complete the pair.
func scene(d *dice) (say, ask func() string, pair func(a, b string) Pair) {
	g := sentencesGrammar()
	name := pick(d, g.names)
	first, person := personName(d), personName(d)
	for person == first {
		person = personName(d)
	}
	m := &meaning{chosen: map[string]int{}}
	w := &writer{g: g.grammar, d: d, paraphrase: m, bound: map[string]string{
		"first": first, "name": person, "surname": syllables(d, 2), "coined": syllables(d, 2),
	}}
	words := []string{w.bound["first"], w.bound["name"], w.bound["surname"], w.bound["coined"]}
	say = func() string { return edited(w.sequence(pick(d, g.rules[name+".say"]))) }
	ask = func() string { return edited(w.sequence(pick(d, g.rules[name+".ask"]))) }
	pair = func(a, b string) Pair {
		key := []string{}
		for rule, at := range m.chosen {
			key = append(key, fmt.Sprintf("%s:%d", rule, at))
		}
		for _, word := range words {
			if strings.Contains(a, word) || strings.Contains(b, word) {
				key = append(key, word)
			}
		}
		slices.Sort(key)
		return Pair{Meaning: name + "/" + strings.Join(key, "/"), A: a, B: b}
	}
	return say, ask, pair
}

// different writes another text than a, if a few attempts give one.
func different(a string, write func() string) string {
	b := write()
	for range 5 {
		if b != a {
			break
		}
		b = write()
	}
	return b
}

// statements draws two statements that mean the same.
func statements(d *dice) Pair {
	say, _, pair := scene(d)
	a := say()
	return pair(a, different(a, say))
}

// questioned draws a question and the statement that answers it. The statement is written first,
// because it has most of the bound rules.
func questioned(d *dice) Pair {
	say, ask, pair := scene(d)
	statement := say()
	return pair(ask(), statement)
}

// asked draws two questions with the same answer.
func asked(d *dice) Pair {
	_, ask, pair := scene(d)
	a := ask()
	return pair(a, different(a, ask))
}

// functionWords are not searched for.
var functionWords = strings.Fields(`a an the is are was were be been has have had do does did will can may must of to in at on by for with from
	and or it its i my we our you your they their he she his her that this there because so when what who how where which not`)

// searched draws a statement and two to four words of another statement that means the same.
func searched(d *dice) Pair {
	say, _, pair := scene(d)
	var words []string
	for word := range strings.FieldsSeq(strings.ToLower(strings.Map(withoutMarks, say()))) {
		if !slices.Contains(functionWords, word) {
			words = append(words, word)
		}
	}
	for len(words) > 2+d.n(3) {
		at := d.n(len(words))
		words = slices.Delete(words, at, at+1)
	}
	return pair(strings.Join(words, " "), say())
}

func withoutMarks(c rune) rune {
	if strings.ContainsRune(".,?!:;", c) {
		return -1
	}
	return c
}

// related draws two lists of words of one topic.
func related(d *dice) Pair {
	g := sentencesGrammar()
	topic := pick(d, g.topics)
	list := func() string {
		var words []string
		for range 1 + d.n(4) {
			words = append(words, (&writer{g: g.grammar, d: d}).expand(topic, false))
		}
		if len(words) > 1 && d.chance(40) {
			return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
		}
		return strings.Join(words, pick(d, []string{" ", ", "}))
	}
	a := list()
	return Pair{Meaning: topic, A: a, B: different(a, list)}
}
