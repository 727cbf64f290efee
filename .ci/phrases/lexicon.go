package main

import (
	_ "embed" // the lexicon
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed lexicon.txt
var lexiconSource string

//go:embed lists.txt
var listsSource string

// noun is a noun with its plurals.
type noun struct {
	en, enPlural string
	fr, frPlural string
	feminine     bool
	classes      []string
}

func (n *noun) is(class string) bool { return slices.Contains(n.classes, class) }

// adjective holds the English word and the French forms.
type adjective struct {
	en      string
	fr      [4]string // masculine, feminine, and their plurals
	vowel   string    // masculine before a vowel
	before  bool      // it stands before its French noun
	only    bool      // it never stands beside a noun
	classes []string
}

// agree gives the French form.
func (a *adjective) agree(feminine, plural bool) string {
	i := 0
	if feminine {
		i = 1
	}
	if plural {
		i += 2
	}
	return a.fr[i]
}

// verb is an English verb, the French one, and what they govern.
type verb struct {
	en, past, ing string // with the English particle: look for, looked for, looking for
	fr            *conjugation
	tail          string   // what follows the French verb: besoin de, à
	reflexive     bool     // se lever
	objects       []string // classes of nouns; or one list, marked by =
	marks         []string
}

func (v *verb) is(mark string) bool { return slices.Contains(v.marks, mark) }

// lexicon is all words, by section and list.
type lexicon struct {
	nouns      map[string][]*noun // by class
	adjectives []*adjective
	verbs      []*verb
	modals     []*verb
	irregular  map[string]*conjugation
	lists      map[string][]text
}

// words parses the embedded lexicon once.
var words = sync.OnceValue(func() *lexicon {
	l, err := parseLexicon(lexiconSource, listsSource)
	if err != nil {
		panic(err) // the lexicon is a constant that the tests parse
	}
	return l
})

func parseLexicon(source, lists string) (*lexicon, error) {
	l := &lexicon{nouns: map[string][]*noun{}, irregular: map[string]*conjugation{}, lists: map[string][]text{}}
	sections := map[string]func(string) error{
		"nouns": l.addNoun, "adjectives": l.addAdjective, "irregular": l.addIrregular,
		"être":   l.addEtre,
		"verbs":  func(line string) error { return l.addVerb(&l.verbs, line) },
		"modals": func(line string) error { return l.addVerb(&l.modals, line) },
	}
	// Verbs come last: they refer to their conjugations.
	for _, pass := range [][]string{{"nouns", "adjectives", "irregular", "être"}, {"verbs", "modals"}} {
		err := eachLine(source, func(section, line string) error {
			if sections[section] == nil {
				return fmt.Errorf("no section is called %q", section)
			}
			if !slices.Contains(pass, section) {
				return nil
			}
			return sections[section](line)
		})
		if err != nil {
			return nil, fmt.Errorf("lexicon.txt: %w", err)
		}
	}
	if err := eachLine(lists, l.addToList); err != nil {
		return nil, fmt.Errorf("lists.txt: %w", err)
	}
	return l, nil
}

// eachLine calls add with each entry and its section.
func eachLine(source string, add func(section, line string) error) error {
	section := ""
	for i, line := range strings.Split(source, "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			if err := add(section, line); err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// addToList reads an entry of a list: a pair, or words that are the same in both languages.
func (l *lexicon) addToList(list, line string) error {
	if en, fr, ok := strings.Cut(line, " = "); ok {
		l.lists[list] = append(l.lists[list], text{en, fr})
		return nil
	}
	for w := range strings.SplitSeq(line, ", ") {
		l.lists[list] = append(l.lists[list], text{w, w})
	}
	return nil
}

func (l *lexicon) addNoun(line string) error {
	en, rest, _ := strings.Cut(line, " = ")
	f := strings.Split(rest, ", ")
	if len(f) != 3 || f[1] != "m" && f[1] != "f" {
		return fmt.Errorf("%q is not a noun", line)
	}
	n := &noun{feminine: f[1] == "f", classes: strings.Fields(f[2])}
	n.en, n.enPlural = forms(en, englishPlural)
	n.fr, n.frPlural = forms(f[0], frenchPlural)
	for _, c := range n.classes {
		l.nouns[c] = append(l.nouns[c], n)
	}
	return nil
}

// forms splits word/plural, or makes the plural by its rule.
func forms(s string, plural func(string) string) (one, many string) {
	one, many, ok := strings.Cut(s, "/")
	if !ok {
		many = plural(one)
	}
	return one, many
}

func (l *lexicon) addAdjective(line string) error {
	en, rest, _ := strings.Cut(line, " = ")
	f := strings.Split(rest, ", ")
	a := &adjective{en: en}
	switch fr := strings.Split(f[0], "/"); len(fr) {
	case 1:
		a.fr = regularAdjective(fr[0])
	case 4, 5:
		a.fr = [4]string(fr[:4])
		a.vowel = strings.Join(fr[4:], "")
	default:
		return fmt.Errorf("%q is not an adjective", line)
	}
	for _, field := range f[1:] {
		for _, w := range strings.Fields(field) {
			switch w {
			case "before":
				a.before = true
			case "only":
				a.only = true
			default:
				a.classes = append(a.classes, w)
			}
		}
	}
	l.adjectives = append(l.adjectives, a)
	return nil
}

func (l *lexicon) addIrregular(line string) error {
	infinitive, rest, _ := strings.Cut(line, ": ")
	f := strings.Fields(rest)
	if len(f) != 8 {
		return fmt.Errorf("%q has %d forms, not 8", infinitive, len(f))
	}
	l.irregular[infinitive] = &conjugation{
		infinitive: infinitive, present: [6]string(f[:6]), participle: f[6], future: f[7],
	}
	return nil
}

// addEtre marks the verbs that make their past with être.
func (l *lexicon) addEtre(line string) error {
	for infinitive := range strings.SplitSeq(line, ", ") {
		l.conjugation(infinitive).etre = true
	}
	return nil
}

// conjugation finds an irregular verb or makes a regular one.
func (l *lexicon) conjugation(infinitive string) *conjugation {
	c := l.irregular[infinitive]
	if c == nil {
		c = regularVerb(infinitive)
		l.irregular[infinitive] = c
	}
	return c
}

func (l *lexicon) addVerb(to *[]*verb, line string) error {
	left, right, ok := strings.Cut(line, " = ")
	if !ok {
		return fmt.Errorf("%q is not a verb", line)
	}
	v := &verb{}
	v.en, v.past, v.ing = englishVerb(left)
	f := strings.Split(right, " |")
	fr, reflexive := strings.CutPrefix(f[0], "se ")
	infinitive, tail, _ := strings.Cut(fr, " ")
	v.fr, v.tail, v.reflexive = l.conjugation(infinitive), tail, reflexive
	if len(f) > 1 {
		v.objects = strings.Fields(f[1])
	}
	if len(f) > 2 {
		v.marks = strings.Fields(f[2])
	}
	*to = append(*to, v)
	return nil
}
