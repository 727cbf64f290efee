package main

import (
	"fmt"
	"slices"
	"strings"
)

// A determiner is what stands before a noun.
type determiner int

const (
	the  determiner = iota
	a               // one, or some of many
	some            // of what is not counted
	this
	number
	lot
	whole // the kind: no article in English, the definite one in French
	own   // of an owner
)

// owner is whose a thing is: a person 0 to 5, and for the third whether it is hers.
type owner struct {
	person   int
	feminine bool
}

var (
	ownersEnglish = [6]string{"my", "your", "his", "our", "your", "their"}
	ownersFrench  = [6][3]string{
		{"mon", "ma", "mes"}, {"ton", "ta", "tes"}, {"son", "sa", "ses"},
		{"notre", "notre", "nos"}, {"%votre", "%votre-f", "%vos"}, {"leur", "leur", "leurs"},
	}
)

func (o owner) english() string {
	if o.person == 2 && o.feminine {
		return "her"
	}
	return ownersEnglish[o.person]
}

// nounPhrase is a noun with its determiner and, perhaps, an adjective.
type nounPhrase struct {
	noun   *noun
	det    determiner
	plural bool
	count  int // with number
	owner  owner
	adj    *adjective
	amount text // a kilo of
}

// text writes the phrase. In a negation French has de where English has any.
func (p *nounPhrase) text(negated bool) text {
	en, fr := p.noun.en, p.noun.fr
	if p.plural {
		en, fr = p.noun.enPlural, p.noun.frPlural
	}
	return text{
		strings.TrimSpace(p.englishBefore(negated) + " " + p.describedEnglish(en)),
		p.frenchBefore(negated) + " " + p.describedFrench(fr),
	}
}

func (p *nounPhrase) describedEnglish(noun string) string {
	if p.adj == nil {
		return noun
	}
	return p.adj.en + " " + noun
}

// describedFrench puts the adjective where it belongs; before a vowel it may have
// another form.
func (p *nounPhrase) describedFrench(noun string) string {
	switch {
	case p.adj == nil:
		return noun
	case !p.adj.before:
		return noun + " " + p.adj.agree(p.noun.feminine, p.plural)
	case p.adj.vowel != "" && !p.noun.feminine && !p.plural && open(noun):
		return p.adj.vowel + " " + noun
	}
	return p.adj.agree(p.noun.feminine, p.plural) + " " + noun
}

func (p *nounPhrase) englishBefore(negated bool) string {
	switch {
	case p.amount.en != "":
		return p.amount.en
	case p.det == the:
		return "the"
	case p.det == whole:
		return ""
	case p.det == own:
		return p.owner.english()
	case p.det == this && p.plural:
		return "these"
	case p.det == this:
		return "this"
	case p.det == number:
		return english(p.count)
	case p.det == lot:
		return "a lot of"
	case p.det == a && !p.plural:
		return "a"
	case negated:
		return "any"
	}
	return "some"
}

// frenchBefore gives the article as it is before elision and contraction.
func (p *nounPhrase) frenchBefore(negated bool) string {
	i := 0
	if p.noun.feminine {
		i = 1
	}
	if p.plural {
		i = 2
	}
	definite := [3]string{"le", "la", "les"}[i]
	switch {
	case p.amount.fr != "":
		return p.amount.fr
	case p.det == the, p.det == whole:
		return definite
	case p.det == own:
		return ownersFrench[p.owner.person][i]
	case p.det == this:
		return [3]string{"ce", "cette", "ces"}[i]
	case p.det == number:
		return french(p.count)
	case p.det == lot:
		return "beaucoup de"
	case negated, p.plural && p.adj != nil && p.adj.before:
		return "de" // de beaux jardins; pas de pain
	case p.det == a && !p.plural:
		return [2]string{"un", "une"}[i]
	}
	return "de " + definite
}

// things makes a noun phrase of one of the classes, with one of the determiners
// that suit its noun.
func (w *writer) things(classes []string, allowed ...determiner) *nounPhrase {
	p := &nounPhrase{}
	for ok := false; !ok; {
		p.noun = w.noun(classes)
		p.det, ok = w.determiner(p.noun, allowed)
	}
	switch p.det {
	case number:
		p.count, p.plural = 2+w.dice.n(11), true
	case lot, whole:
		p.plural = !p.noun.is("mass")
	case the, this, a, own:
		p.plural = !p.noun.is("mass") && !p.noun.is("one") && w.dice.chance(30)
	}
	if p.det == a && p.noun.fr == p.noun.frPlural {
		p.plural = false // pas de bus would be of one and of many
	}
	if p.det == own {
		p.owner = owner{person: pick(w.dice, 0, 0, 4, 3)}
	}
	if p.det != whole && w.dice.chance(25) {
		p.adj = w.adjective(p.noun.classes, false)
	}
	return p
}

// noun draws from all nouns of the classes.
func (w *writer) noun(classes []string) *noun {
	var all []*noun
	for _, c := range classes {
		if len(w.lexicon.nouns[c]) == 0 {
			panic(fmt.Sprintf("phrases: no noun of class %q", c)) // the tests draw from every class
		}
		all = append(all, w.lexicon.nouns[c]...)
	}
	return pick(w.dice, all...)
}

// determiner draws one, if the noun can have it.
func (w *writer) determiner(n *noun, allowed []determiner) (d determiner, ok bool) {
	d = pick(w.dice, allowed...)
	switch {
	case n.is("kin") && !slices.Contains(allowed, own):
		return d, d == number && !n.is("one")
	case n.is("kin"):
		d = own // sept filles would be daughters and girls
	case n.is("person") && d == own:
		d = the
	}
	switch mass := n.is("mass"); {
	case d == number && (mass || n.is("one")), d == a && mass && !slices.Contains(allowed, some):
		return d, false
	case d == a && mass:
		return some, true
	case d == some && !mass:
		return a, true
	}
	return d, true
}

// adjective draws one that suits the classes, or none.
func (w *writer) adjective(classes []string, predicate bool) *adjective {
	var all []*adjective
	for _, a := range w.lexicon.adjectives {
		suits := slices.ContainsFunc(a.classes, func(c string) bool { return slices.Contains(classes, c) })
		if suits && (predicate || !a.only) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(w.dice, all...)
}

// subject is who acts.
type subject struct {
	text
	person   int // 0 to 5: I, you (familiar), he, we, you, they
	feminine bool
	plural   bool
	pronoun  bool
}

// in gives the subject as the style has it: tu for vous, elles for ils.
func (s subject) in(st style) subject {
	if !s.pronoun {
		return s
	}
	switch {
	case s.person == 4 && st.familiar:
		s.fr, s.person = "tu", 1
	case s.person == 5 && st.feminine:
		s.fr = "elles"
	}
	if st.feminine && s.person != 2 {
		s.feminine = true
	}
	return s
}

var pronouns = []subject{
	{text: text{"I", "je"}, person: 0},
	{text: text{"you", "vous"}, person: 4},
	{text: text{"he", "il"}, person: 2},
	{text: text{"she", "elle"}, person: 2, feminine: true},
	{text: text{"we", "nous"}, person: 3, plural: true},
	{text: text{"they", "ils"}, person: 5, plural: true},
}

// someone draws a subject.
func (w *writer) someone() subject {
	switch r := w.dice.n(100); {
	case r < 62:
		s := pronouns[w.dice.n(len(pronouns))]
		s.pronoun = true
		return s
	case r < 76:
		return w.named()
	}
	p := w.things([]string{"person", "kin"}, the, own)
	if p.adj != nil && p.adj.en != "young" && p.adj.en != "old" {
		p.adj = nil
	}
	return p.subject()
}

// subject makes the phrase one that acts.
func (p *nounPhrase) subject() subject {
	s := subject{text: p.text(false), person: 2, feminine: p.noun.feminine, plural: p.plural}
	if p.plural {
		s.person = 5
	}
	return s
}

// named draws a person with a name, or two.
func (w *writer) named() subject {
	lady := w.dice.chance(50)
	name := func(lady bool) string {
		if lady {
			return pick(w.dice, w.lexicon.lists["lady"]...).en
		}
		return pick(w.dice, w.lexicon.lists["man"]...).en
	}
	one := name(lady)
	if w.dice.chance(75) {
		return subject{text: text{one, one}, person: 2, feminine: lady}
	}
	other := w.dice.chance(50)
	two := name(other)
	if one == two {
		return subject{text: text{one, one}, person: 2, feminine: lady}
	}
	return subject{text: text{one + " and " + two, one + " et " + two}, person: 5, feminine: lady && other, plural: true}
}
