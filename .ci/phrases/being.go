package main

import (
	"slices"
	"strings"
)

// being says how, what or where someone or something is.
type being struct {
	subject subject
	tense   tense // present, past or future
	negated bool
	very    bool
	adj     *adjective
	feeling text     // avoir faim
	what    text     // a job, a place, an age
	having  bool     // French says it with avoir
	kind    []string // the classes of a thing
}

func (b *being) english() string {
	verb, not := be[b.subject.person], ""
	switch b.tense {
	case past:
		verb = was[b.subject.person]
	case future:
		verb = "will"
	}
	if b.negated {
		not = "not"
	}
	if b.tense == future {
		return join(b.subject.en, verb, not, "be", b.englishWhat())
	}
	return join(b.subject.en, verb, not, b.englishWhat())
}

// asked writes the English question.
func (b *being) asked() string {
	verb := be[b.subject.person]
	if b.tense == past {
		verb = was[b.subject.person]
	}
	return join(verb, b.subject.en, b.englishWhat())
}

func (b *being) englishWhat() string {
	very := ""
	if b.very {
		very = "very"
	}
	if b.adj != nil {
		return join(very, b.adj.en)
	}
	return join(very, b.feeling.en, b.what.en)
}

func (b *being) french(st style) string {
	s := b.subject.in(st)
	c := words().conjugation("être")
	if b.having {
		c = words().conjugation("avoir")
	}
	verb := c.present[s.person]
	switch b.tense {
	case past:
		verb = c.inImperfect(s.person)
	case future:
		verb = c.inFuture(s.person)
	}
	ne, pas, very := "", "", ""
	if b.negated {
		ne, pas = "ne", "pas"
	}
	if b.very {
		very = "très"
	}
	adj := ""
	if b.adj != nil {
		adj = b.adj.agree(s.feminine, s.plural)
	}
	return join(s.fr, ne, verb, pas, very, adj, b.feeling.fr, b.what.fr)
}

// feeling draws how someone is.
func (w *writer) feeling(s subject) *being {
	b := &being{subject: s, negated: w.chance(20), very: w.chance(20)}
	if w.chance(35) {
		b.feeling, b.having = w.list("feeling"), true
		b.very = b.very && b.feeling.en != "right" && b.feeling.en != "wrong"
		return b
	}
	b.adj = w.adjective([]string{"human"}, true)
	return b
}

// being draws a sentence with be.
func (w *writer) being() *sentence {
	var b *being
	switch r := w.n(100); {
	case r < 40:
		b = w.feeling(w.asked())
	case r < 52:
		b = w.working(w.someone())
	case r < 58:
		b = &being{subject: w.someone(), what: w.location()}
	case r < 66:
		p := w.things([]string{"thing", "animal", "clothes"}, the, own)
		b = &being{subject: p.subject(), what: w.beside()}
	case r < 74:
		n := 2 + w.n(98)
		b = &being{subject: w.someone(), having: true, what: text{english(n) + " years old", french(n) + " ans"}}
	default:
		b = w.quality()
	}
	if b.what.en == "" || !strings.HasSuffix(b.what.fr, " ans") {
		b.tense = pick(w.dice, present, present, past, future)
		b.negated = w.chance(20)
	}
	if b.tense != future && w.chance(20) {
		return b.question()
	}
	return b.statement()
}

func (b *being) statement() *sentence {
	return &sentence{render: func(st style) text { return text{b.english() + ".", b.french(st) + "."} }}
}

func (b *being) question() *sentence {
	b.negated = false
	return &sentence{render: func(st style) text { return text{b.asked() + "?", "est-ce que " + b.french(st) + " ?"} }}
}

// working draws a job; French has no article before it.
func (w *writer) working(s subject) *being {
	for s.plural || s.feminine {
		s = w.someone()
	}
	j := w.list("job")
	return &being{subject: s, what: text{"a " + j.en, j.fr}}
}

// quality says how a thing is.
func (w *writer) quality() *being {
	classes := pick(w.dice, "thing", "building", "animal", "clothes", "room", "town", "food", "show", "shut", "drink")
	p := w.things([]string{classes}, the, the, this, own)
	p.adj = nil
	b := &being{subject: p.subject(), adj: w.adjective(p.noun.classes, true), kind: p.noun.classes}
	b.very = !b.adj.only && w.chance(15)
	return b
}

// itself says two things of one: the second time it is a pronoun, whose gender in
// French is the noun's.
func (w *writer) itself() *sentence {
	one := w.quality()
	two := &being{subject: one.subject, adj: one.adj}
	for range 9 {
		if two.adj != one.adj {
			break
		}
		two.adj = w.adjective(one.kind, true)
	}
	two.subject.text = text{"it", "il"}
	switch {
	case one.subject.plural && one.subject.feminine:
		two.subject.text = text{"they", "elles"}
	case one.subject.plural:
		two.subject.text = text{"they", "ils"}
	case one.subject.feminine:
		two.subject.text = text{"it", "elle"}
	}
	link := pick(w.dice, text{", but ", ", mais "}, text{" and ", " et "}, text{" because ", " parce que "})
	return &sentence{render: func(st style) text {
		st.feminine = false
		return text{one.english() + link.en + two.english() + ".", one.french(st) + link.fr + two.french(st) + "."}
	}}
}

// degreeless are what a thing is or is not, and what has a comparative of its own in
// French.
var degreeless = []string{
	"good", "bad", "red", "green", "blue", "white", "black", "yellow", "grey", "open", "closed", "broken", "empty", "late", "ready",
}

// comparison compares two of a kind.
func (w *writer) comparison() *sentence {
	classes := pick(w.dice, []string{"thing"}, []string{"building"}, []string{"clothes"}, []string{"animal"})
	one, two := w.things(classes, the, this, own), w.things(classes, the, own)
	one.adj, two.adj = nil, nil
	b := &being{subject: one.subject()}
	if w.chance(40) {
		classes = []string{"human"}
		b.subject = w.someone()
		two = w.things([]string{"person", "kin"}, the, own)
		two.adj = nil
	}
	for b.adj = nil; b.adj == nil || slices.Contains(degreeless, b.adj.en); {
		b.adj = w.adjective(classes, true)
	}
	degree := pick(w.dice, text{"more", "plus"}, text{"less", "moins"}, text{"as", "aussi"})
	than := text{"than", "que"}
	if degree.en == "as" {
		than.en = "as"
	}
	return &sentence{render: func(st style) text {
		s, t := b.subject.in(st), two.text(false)
		c := words().conjugation("être")
		return text{
			join(s.en, be[b.subject.person], compared(degree.en, b.adj.en), than.en, t.en) + ".",
			join(s.fr, c.present[s.person], degree.fr, b.adj.agree(s.feminine, s.plural), than.fr, t.fr) + ".",
		}
	}}
}

// compared writes the English comparative: taller, more tired.
func compared(degree, adj string) string {
	short := map[string]string{
		"big": "bigger", "small": "smaller", "old": "older", "new": "newer", "pretty": "prettier", "young": "younger", "heavy": "heavier",
		"light": "lighter", "clean": "cleaner", "tall": "taller", "happy": "happier", "sad": "sadder", "rich": "richer", "poor": "poorer",
		"strong": "stronger", "nice": "nicer", "dirty": "dirtier", "busy": "busier", "angry": "angrier", "strange": "stranger",
	}
	if degree == "more" && short[adj] != "" {
		return short[adj]
	}
	return degree + " " + adj
}

// relative says something of a thing that someone has dealt with; the participle
// agrees with the thing, which stands before it.
func (w *writer) relative() *sentence {
	v := w.verb(pick(w.dice, "buy", "find", "lose", "forget", "look for", "choose"))
	p := w.things([]string{pick(w.dice, "thing", "clothes")}, the)
	p.adj = nil
	who := w.someone()
	for who.person == 1 {
		who = w.someone()
	}
	b := &being{subject: p.subject(), adj: w.adjective(p.noun.classes, true)}
	c := &clause{subject: who, verb: v, tense: past, whom: &clitic{feminine: p.noun.feminine, plural: p.plural, agrees: true}}
	if w.chance(30) {
		c.tense = pick(w.dice, present, future)
	}
	head := b.subject.text
	return &sentence{render: func(st style) text {
		inner := *b
		inner.subject.text = text{head.en + " that " + c.english(style{contracted: st.contracted}, false), head.fr + " que " + c.french(st)}
		return text{inner.english() + ".", inner.french(style{}) + "."}
	}}
}
