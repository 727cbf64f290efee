package main

import (
	"slices"
	"strings"
)

// writer draws sentences.
type writer struct {
	*dice
	lexicon *lexicon
}

// list draws from a list.
func (w *writer) list(name string) text {
	if len(w.lexicon.lists[name]) == 0 {
		panic("phrases: no list " + name) // the tests draw from every list
	}
	return pick(w.dice, w.lexicon.lists[name]...)
}

// verb finds a verb by its English form.
func (w *writer) verb(en string) *verb {
	for _, v := range slices.Concat(w.lexicon.verbs, w.lexicon.modals) {
		if v.en == en {
			return v
		}
	}
	panic("phrases: no verb " + en)
}

// action draws a clause for the subject; without times it is in the present, and
// can be joined to another.
func (w *writer) action(s subject, times bool) *clause {
	c := &clause{subject: s, verb: pick(w.dice, w.lexicon.verbs...)}
	if times {
		c.tense = pick(w.dice, present, present, present, past, past, future, soon)
	}
	if c.tense != past && c.tense != soon && w.chance(15) && c.verb.en != "want" && c.verb.en != "need" && !c.verb.is("generic") {
		c.modal, c.tense = pick(w.dice, w.lexicon.modals...), present
	}
	w.complete(c)
	if times {
		w.colour(c)
	}
	return c
}

// complete gives the verb what it governs.
func (w *writer) complete(c *clause) {
	v := c.verb
	switch {
	case len(v.objects) > 0 && v.objects[0][0] == '=':
		c.fixed = w.fixedObject(v.objects[0][1:])
	case v.is("who") && !v.is("noclitic") && w.chance(35):
		c.whom = w.pronounFor(c.subject)
		if c.whom.fr == "la" && c.tense != past && open(v.fr.infinitive) {
			c.whom = &objectPronouns[2] // l' says nothing of the gender, unless a participle does
		}
	case v.is("who") && w.chance(25):
		name := w.list(pick(w.dice, "man", "lady"))
		c.fixed = name
	case v.is("generic"):
		c.object = w.things(nounClasses(w.lexicon, v), whole)
		if slices.Contains(v.objects, "sport") && w.chance(25) {
			c.object, c.fixed = nil, w.list("sport")
		}
	case len(v.objects) > 0:
		c.object = w.objectOf(c)
	}
	if v.is("to") {
		w.give(c)
	}
	switch {
	case v.is("go"):
		c.after = append(c.after, w.destination())
	case v.is("stay") && w.chance(60):
		c.after = append(c.after, w.location())
	}
}

// nounClasses are the classes of a verb's objects that nouns have.
func nounClasses(l *lexicon, v *verb) []string {
	return slices.DeleteFunc(slices.Clone(v.objects), func(c string) bool { return len(l.nouns[c]) == 0 })
}

// fixedObject draws from a list, or a place to live.
func (w *writer) fixedObject(list string) text {
	switch list {
	case "where":
		return w.in()
	case "origin":
		return w.origin()
	}
	return w.list(list)
}

// pronounFor draws an object pronoun that is not the subject.
func (w *writer) pronounFor(s subject) *clitic {
	for {
		i := w.n(len(objectPronouns))
		group := []int{0, 4, 2, 2, 0, 5}[i] // I and we both hold the speaker
		if group == 2 || group != s.person && (group != 0 || s.person != 3) {
			p := objectPronouns[i]
			return &p
		}
	}
}

// objectOf draws the object; what is owned is mostly the subject's.
func (w *writer) objectOf(c *clause) *nounPhrase {
	allowed := []determiner{the, the, a, a, some, this, own, number, lot}
	if c.verb.en == "have" {
		allowed = []determiner{a, a, some, number, lot}
	}
	if c.verb.is("to") {
		allowed = []determiner{the, a, this, own}
	}
	p := w.things(nounClasses(w.lexicon, c.verb), allowed...)
	if p.det == own && w.chance(70) {
		w.owned(p, c.subject)
	}
	if amounts := p.noun.is("mass") && p.adj == nil && p.det == some && !c.verb.is("article"); amounts && w.chance(25) {
		p.amount = w.list(map[bool]string{true: "vessel", false: "amount"}[p.noun.is("drink")])
	}
	return p
}

// owned makes the thing the subject's own.
func (w *writer) owned(p *nounPhrase, s subject) {
	p.owner = owner{person: s.person, feminine: s.feminine}
	if s.person == 1 {
		p.owner.person = 4
	}
}

// give adds who receives the object.
func (w *writer) give(c *clause) {
	if w.chance(40) {
		for {
			r := pick(w.dice, receivers...)
			if i := slices.Index([]string{"me", "you", "us", "them"}, r.en); []int{0, 4, 3, 5}[i] != c.subject.person {
				c.receiver = &r
				return
			}
		}
	}
	who := w.person()
	c.after = append(c.after, text{"to " + who.en, "à " + who.fr})
}

// person draws someone who is not the subject.
func (w *writer) person() text {
	if w.chance(30) {
		return w.list(pick(w.dice, "man", "lady"))
	}
	p := w.things([]string{"person", "kin"}, the, own)
	p.adj = nil
	return p.text(false)
}

// colour adds time, company, negation.
func (w *writer) colour(c *clause) {
	switch {
	case c.tense == present && c.modal == nil && w.chance(12):
		c.adverb = w.list("often")
	case c.tense == present && c.modal == nil && w.chance(10):
		c.negated, c.never = true, pick(w.dice, text{"never", "jamais"}, text{"no longer", "plus"})
	case w.chance(22) && (c.object == nil || c.object.det != number && c.object.amount.en == ""):
		c.negated = true
	}
	if !c.verb.is("state") && c.verb.en != "wait for" && w.chance(14) {
		c.after = append(c.after, w.company(c.object != nil))
	}
	readPast := c.tense == past && c.verb.past == c.verb.en && !c.negated
	switch {
	case readPast:
		c.after = append(c.after, w.list("ago"))
	case w.chance(35):
		c.after = append(c.after, w.when(c.tense, !c.verb.is("state")))
	}
}

// company draws with whom, or for whom something is done to an object.
func (w *writer) company(object bool) text {
	p := w.person()
	if !object || w.chance(70) {
		return text{"with " + p.en, "avec " + p.fr}
	}
	return text{"for " + p.en, "pour " + p.fr}
}

// when draws a time that suits the tense; what lasts has no hour.
func (w *writer) when(t tense, hours bool) text {
	switch r := w.n(100); {
	case r < 20 && t != present:
		d := w.list("day")
		return text{"on " + d.en, d.fr}
	case r < 35 && t == past:
		n, p := 2+w.n(9), w.list("period")
		return text{english(n) + " " + p.en + "s ago", "il y a " + french(n) + " " + frenchPlural(p.fr)}
	case r < 35 && t != present:
		n, p := 2+w.n(9), w.list("period")
		return text{"in " + english(n) + " " + p.en + "s", "dans " + french(n) + " " + frenchPlural(p.fr)}
	case r < 50 && hours:
		h := w.hour()
		return text{"at " + h.en, "à " + h.fr}
	case r < 58 && t == present:
		return w.list("season")
	}
	return w.list([]string{"now", "ago", "soon", "soon"}[t])
}

// hour draws a time of day: half past two, deux heures et demie.
func (w *writer) hour() text {
	h := 1 + w.n(12)
	en, fr := english(h), french(h)+" heures"
	switch h {
	case 1:
		fr = "une heure"
	case 12:
		en, fr = "noon", "midi"
	}
	switch w.n(6) {
	case 0:
		if h == 12 {
			return text{"half past twelve", "midi et demi"}
		}
		return text{"half past " + en, fr + " et demie"}
	case 1:
		return text{"a quarter past " + en, fr + " et quart"}
	case 2:
		return text{"a quarter to " + en, fr + " moins le quart"}
	case 3:
		m := pick(w.dice, 5, 10, 20, 25)
		if w.chance(50) {
			return text{english(m) + " past " + en, fr + " " + french(m)}
		}
		return text{english(m) + " to " + en, fr + " moins " + french(m)}
	}
	if h == 12 {
		return text{en, fr}
	}
	return text{en + " o'clock", fr}
}

// place draws a place and the preposition it takes.
func (w *writer) place(classes ...string) (p *nounPhrase, in, dans string) {
	p = w.things(classes, the, the, this, own)
	p.plural = false
	if p.det == own && !slices.Contains([]string{"house", "garden", "bedroom", "school", "village", "kitchen"}, p.noun.en) {
		p.det = the
	}
	if p.noun.is("in") {
		return p, "in", "dans"
	}
	return p, "at", "à"
}

// destination draws where someone goes.
func (w *writer) destination() text {
	switch r := w.n(100); {
	case r < 20:
		c := w.list("city")
		return text{"to " + c.en, "à " + c.fr}
	case r < 38:
		c := w.list("country")
		return text{"to " + c.en, country(c.fr)}
	}
	p, _, fr := w.place("place", "room")
	t := p.text(false)
	return text{"to " + t.en, fr + " " + t.fr}
}

// location draws where someone is.
func (w *writer) location() text {
	if w.chance(20) {
		return w.in()
	}
	if w.chance(10) {
		return text{"at home", "à la maison"}
	}
	p, en, fr := w.place("place", "room")
	t := p.text(false)
	return text{en + " " + t.en, fr + " " + t.fr}
}

// in draws a city or a country.
func (w *writer) in() text {
	if w.chance(50) {
		c := w.list("city")
		return text{"in " + c.en, "à " + c.fr}
	}
	c := w.list("country")
	return text{"in " + c.en, country(c.fr)}
}

// origin draws where someone comes from: de France, du Japon.
func (w *writer) origin() text {
	if w.chance(50) {
		c := w.list("city")
		return text{"from " + c.en, "de " + c.fr}
	}
	c := w.list("country")
	fr := strings.NewReplacer("en la ", "de ", "à le ", "de le ").Replace(c.fr)
	return text{"from " + c.en, fr}
}

// country drops the article after en.
func country(fr string) string { return strings.Replace(fr, "en la ", "en ", 1) }
