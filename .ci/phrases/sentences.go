package main

// kinds are the kinds of sentences and how often they come.
var kinds = []struct {
	weight int
	write  func(*writer) *sentence
}{
	{30, (*writer).statement},
	{9, (*writer).question},
	{10, (*writer).openQuestion},
	{7, (*writer).order},
	{12, (*writer).being},
	{6, (*writer).thereIs},
	{24, (*writer).topic},
	{8, (*writer).joined},
	{4, (*writer).relative},
	{4, (*writer).itself},
	{3, (*writer).comparison},
}

// sentence draws a sentence.
func (w *writer) sentence() *sentence {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	at := w.n(sum)
	for _, k := range kinds {
		if at < k.weight {
			return k.write(w)
		}
		at -= k.weight
	}
	panic("phrases: the weights do not add up")
}

// statement is one clause.
func (w *writer) statement() *sentence {
	c := w.action(w.someone(), true)
	return &sentence{render: func(st style) text { return text{c.english(st, false) + ".", c.french(st) + "."} }}
}

// question asks whether; French asks with est-ce que.
func (w *writer) question() *sentence {
	c := w.action(w.asked(), true)
	c.negated, c.never, c.adverb = false, text{}, text{}
	return &sentence{render: func(st style) text {
		fr := "est-ce que " + c.french(st)
		if st.inverted && c.canInvert(st) {
			fr = c.inverted(st)
		}
		return text{c.english(st, true) + "?", fr + " ?"}
	}}
}

// asked draws the subject of a question: often you.
func (w *writer) asked() subject {
	if w.chance(45) {
		s := pronouns[1]
		s.pronoun = true
		return s
	}
	return w.someone()
}

// openQuestion asks where, when, why, what or who.
func (w *writer) openQuestion() *sentence {
	if w.chance(20) {
		return w.who()
	}
	c := w.action(w.asked(), true)
	c.negated, c.never, c.adverb, c.after = false, text{}, text{}, nil
	if c.verb.is("go") {
		return w.asking(c, text{"where", "où"})
	}
	word := pick(w.dice, text{"where", "où"}, text{"when", "quand"}, text{"why", "pourquoi"}, text{"with whom", "avec qui"})
	if len(c.verb.objects) > 0 && c.verb.objects[0] == "=where" || c.verb.is("state") && word.en != "why" {
		word = text{"why", "pourquoi"}
	}
	if c.object != nil && !c.verb.is("to") && !c.verb.is("article") && c.modal == nil && w.chance(25) {
		c.object = nil
		if c.verb.is("who") {
			return w.asking(c, text{"who", "qui"})
		}
		return w.asking(c, text{"what", "que"})
	}
	return w.asking(c, word)
}

// asking puts the question word first.
func (w *writer) asking(c *clause, word text) *sentence {
	return &sentence{render: func(st style) text {
		fr := word.fr + " est-ce que " + c.french(st)
		if st.inverted && c.canInvert(st) && word.fr != "que" {
			fr = word.fr + " " + c.inverted(st)
		}
		return text{word.en + " " + c.english(st, true) + "?", fr + " ?"}
	}}
}

// who asks for the subject.
func (w *writer) who() *sentence {
	c := w.action(subject{text: text{"who", "qui"}, person: 2}, true)
	c.negated, c.never, c.adverb = false, text{}, text{}
	if c.object != nil && c.object.det == own {
		c.object.det = the
	}
	return &sentence{render: func(st style) text {
		return text{c.english(st, false) + "?", c.french(st) + " ?"}
	}}
}

// order tells someone, or us, to do something.
func (w *writer) order() *sentence {
	together := w.chance(25)
	s := pronouns[1]
	if together {
		s = pronouns[4]
	}
	s.pronoun = true
	c := &clause{subject: s, verb: pick(w.dice, w.lexicon.verbs...)}
	for c.verb.is("state") || c.verb.reflexive {
		c.verb = pick(w.dice, w.lexicon.verbs...)
	}
	w.complete(c)
	if c.whom != nil || c.receiver != nil {
		c.whom, c.receiver, c.fixed = nil, nil, w.list("man")
		if c.object != nil {
			c.fixed = text{}
		}
	}
	c.negated = !together && w.chance(20)
	please := !together && w.chance(25)
	return &sentence{render: func(st style) text { return c.order(st, together, please) }}
}

// order writes the clause without its subject.
func (c *clause) order(st style, together, please bool) text {
	s := c.subject.in(st)
	form := c.verb.fr.present[s.person]
	if n := len(form); s.person == 1 && (form[n-2:] == "es" || form == "vas") {
		form = form[:n-1]
	}
	ne, pas, en := "", "", ""
	if c.negated {
		ne, pas, en = "ne", "pas", "do not"
	}
	if together {
		en = "let us"
		if st.contracted {
			en = "let's"
		}
	}
	t := text{join(en, c.verb.en, c.englishTail()), join(ne, form, pas, c.verb.tail, c.frenchTail())}
	if please {
		t.en += ", please"
		t.fr += ", s'il %vous plaît"
	}
	return text{t.en + ".", t.fr + "."}
}

// joined is two clauses.
func (w *writer) joined() *sentence {
	one := w.action(w.someone(), false)
	two := w.feeling(w.asSubject(one.subject))
	link := w.list("because")
	if w.chance(35) {
		other := w.action(w.someone(), false)
		if link.en == "because" && w.chance(50) {
			other.negated = other.object == nil || other.object.amount.en == "" && other.object.det != number
		}
		return &sentence{render: func(st style) text {
			return text{
				one.english(st, false) + comma(link.en) + other.english(st, false) + ".",
				one.french(st) + comma(link.fr) + other.french(st) + ".",
			}
		}}
	}
	if w.chance(30) {
		return &sentence{render: func(st style) text {
			return text{"If " + two.english() + ", " + one.english(st, false) + ".", "si " + two.french(st) + ", " + one.french(st) + "."}
		}}
	}
	return &sentence{render: func(st style) text {
		return text{
			one.english(st, false) + comma(link.en) + two.english() + ".",
			one.french(st) + comma(link.fr) + two.french(st) + ".",
		}
	}}
}

// comma sets a comma before but alone.
func comma(link string) string {
	if link == "but" || link == "mais" {
		return ", " + link + " "
	}
	return " " + link + " "
}

// asSubject makes a pronoun of a subject that was named before.
func (w *writer) asSubject(s subject) subject {
	if s.pronoun {
		return s
	}
	switch {
	case s.plural && s.feminine:
		s.text = text{"they", "elles"}
	case s.plural:
		s.text = text{"they", "ils"}
	case s.feminine:
		s.text = text{"she", "elle"}
	default:
		s.text = text{"he", "il"}
	}
	return s
}
