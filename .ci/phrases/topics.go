package main

import (
	_ "embed" // the topics
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed topics.txt
var topicsSource string

// topicLines holds the templates by topic.
var topicLines = sync.OnceValue(func() map[string][]text {
	topics := map[string][]text{}
	err := eachLine(topicsSource, func(topic, line string) error {
		en, fr, ok := strings.Cut(line, " = ")
		if !ok {
			return fmt.Errorf("%q has no translation", line)
		}
		topics[topic] = append(topics[topic], text{en, fr})
		return nil
	})
	if err != nil {
		panic(err) // the topics are constants that the tests parse
	}
	return topics
})

// topicNames are in order, for draws must not depend on that of a map.
var topicNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(topicLines())) })

// topic draws a template and fills its slots.
func (w *writer) topic() *sentence {
	lines := topicLines()[pick(w.dice, topicNames()...)]
	t := pick(w.dice, lines...)
	return &sentence{render: w.fill(t), fixed: !strings.Contains(t.en, "{")}
}

// fill draws what the slots of a template hold.
func (w *writer) fill(t text) func(style) text {
	for {
		from := strings.IndexByte(t.en, '{')
		if from < 0 {
			break
		}
		end := from + strings.IndexByte(t.en[from:], '}')
		slot := t.en[from+1 : end]
		v := w.slot(strings.ToLower(slot[:1]) + slot[1:])
		if !strings.Contains(t.fr, "{"+slot+"}") {
			panic(fmt.Sprintf("phrases: %q has no slot %q", t.fr, slot)) // the tests fill every template
		}
		t.en = strings.Replace(t.en, "{"+slot+"}", v.en, 1)
		t.fr = strings.Replace(t.fr, "{"+slot+"}", v.fr, 1)
	}
	t.fr = loose.Replace(t.fr)
	return func(style) text { return t }
}

// loose sets the full stops and commas apart that finishFrench joins again, so
// that a marked word before them is seen.
var loose = strings.NewReplacer(",", " ,", ".", " .", "!", " !", "?", " ?")

// slot draws a phrase for a slot: "the place", "hour", "person 2".
func (w *writer) slot(slot string) text {
	head, class, _ := strings.Cut(slot, " ")
	class, _, _ = strings.Cut(class, " ")
	dets := map[string][]determiner{"the": {the}, "a": {a}, "some": {some}, "this": {this}, "own": {own}, "count": {number}}
	if dets[head] != nil {
		p := w.things([]string{class}, dets[head]...)
		switch {
		case head == "count" && (p.noun.is("one") || !p.plural):
			return w.slot(slot)
		case head != "count":
			p.plural = head == "some" && p.plural
		}
		if head == "some" && !p.noun.is("mass") {
			p.plural = true
		}
		return p.text(false)
	}
	switch head {
	case "name":
		return w.list(pick(w.dice, "man", "lady"))
	case "number":
		n := 2 + w.n(59)
		return text{english(n), french(n)}
	case "nth":
		return w.day()
	case "digits":
		n := strconv.Itoa(2 + w.n(998))
		return text{n, n}
	case "money":
		return w.money()
	case "hour":
		return w.hour()
	case "person":
		return w.relation()
	case "in":
		return w.in()
	case "origin":
		return w.origin()
	}
	return w.list(head)
}

// relation draws one person.
func (w *writer) relation() text {
	if w.chance(40) {
		return w.list(pick(w.dice, "man", "lady"))
	}
	p := w.things([]string{"person", "kin"}, the, own)
	p.adj, p.plural = nil, false
	return p.text(false)
}

// money draws a price in words or in figures.
func (w *writer) money() text {
	n := 2 + w.n(98)
	if w.chance(50) {
		s := strconv.Itoa(n)
		return text{s + " euros", s + " euros"}
	}
	return text{english(n) + " euros", french(n) + " euros"}
}

// day draws a day of the month; only the first is an ordinal in French.
func (w *writer) day() text {
	ordinals := []string{
		"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
		"thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",
	}
	n := w.n(len(ordinals))
	if n == 0 {
		return text{ordinals[0], "premier"}
	}
	return text{ordinals[n], french(n + 1)}
}

// thereIs says where something is.
func (w *writer) thereIs() *sentence {
	p := w.things([]string{pick(w.dice, "thing", "animal", "clothes", "food", "drink", "person")}, a, some, number, lot)
	where := w.location()
	if w.chance(50) {
		where = w.beside()
	}
	negated := p.det != number && p.det != lot && w.chance(20)
	question := !negated && w.chance(20)
	return &sentence{render: func(style) text {
		t := p.text(negated)
		is, not, pas := "is", "", ""
		if p.plural {
			is = "are"
		}
		if p.det == lot {
			is = map[bool]string{true: "is", false: "are"}[p.noun.is("mass")]
		}
		switch {
		case question:
			return text{join(is, "there", t.en, where.en) + "?", join("est-ce que il y a", t.fr, where.fr) + " ?"}
		case negated:
			not, pas = "not", "pas"
			return text{join("there", is, not, t.en, where.en) + ".", join("il ne y a", pas, t.fr, where.fr) + "."}
		}
		return text{join("there", is, t.en, where.en) + ".", join("il y a", t.fr, where.fr) + "."}
	}}
}

// beside draws a place by another thing: under the table.
func (w *writer) beside() text {
	l := w.list("where")
	p := w.things([]string{"furniture", "spot", "building", "vehicle"}, the)
	p.plural, p.adj = false, nil
	t := p.text(false)
	return text{l.en + " " + t.en, l.fr + " " + t.fr}
}
