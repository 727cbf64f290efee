package main

import (
	"slices"
	"strings"
)

// tense is when something happens, and what the two languages make of it.
type tense int

const (
	present tense = iota
	past          // perfect in French; of a state, the imperfect
	future
	soon // going to, aller
)

// clause is a subject with its verb and what depends on it.
type clause struct {
	subject  subject
	verb     *verb
	modal    *verb // the verb follows it as an infinitive
	tense    tense
	negated  bool
	never    text // what negates instead of not
	adverb   text // often
	object   *nounPhrase
	fixed    text    // an object that is not a noun phrase
	whom     *clitic // an object pronoun
	receiver *clitic // to whom, as a pronoun
	after    []text  // in this order
}

// clitic is an object pronoun.
type clitic struct {
	text
	feminine, plural bool
	agrees           bool // the participle agrees with it
}

var objectPronouns = []clitic{
	{text{"me", "me"}, false, false, true},
	{text{"you", "%vous"}, false, false, true},
	{text{"him", "le"}, false, false, true},
	{text{"her", "la"}, true, false, true},
	{text{"us", "nous"}, false, true, true},
	{text{"them", "les"}, false, true, true},
}

var receivers = []clitic{
	{text: text{"me", "me"}}, {text: text{"you", "%vous"}}, {text: text{"us", "nous"}}, {text: text{"them", "leur"}},
}

// join writes the words that are there with spaces between.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// english writes the clause as a statement or, with its auxiliary first, as a question.
func (c *clause) english(st style, question bool) string {
	aux, rest := c.englishVerb(st, question)
	tail := c.englishTail()
	if question {
		return join(aux, c.subject.en, rest, tail)
	}
	return join(c.subject.en, aux, rest, tail)
}

// englishVerb gives the auxiliary, if there is one, and the verb's form after it: do and
// not eat, or nothing and eats.
func (c *clause) englishVerb(st style, question bool) (aux, rest string) {
	base, p := c.verb.en, c.subject.person
	v := c.verb
	if c.modal != nil {
		v, base = c.modal, join(c.modal.en, c.verb.en)
	}
	not := ""
	if c.negated && c.never.en == "" {
		not = "not"
	}
	switch {
	case c.modal != nil && (v.en == "can" || v.en == "must"):
		if v.en == "can" && not != "" && !question {
			return "cannot", c.verb.en
		}
		return v.en, join(not, c.verb.en)
	case c.tense == future:
		return "will", join(not, c.adverbs(), base)
	case c.tense == soon:
		return be[p], join(not, "going to", base)
	case st.progressive && c.canProgress():
		return be[p], join(not, c.verb.ing)
	case not == "" && !question:
		return "", join(c.adverbs(), c.finite(v, base))
	case c.tense == past:
		return "did", join(not, base)
	case p == 2:
		return "does", join(not, c.adverbs(), base)
	}
	return "do", join(not, c.adverbs(), base)
}

// adverbs stand before the English verb.
func (c *clause) adverbs() string { return join(c.never.en, c.adverb.en) }

// canProgress reports whether the clause says what someone is doing now.
func (c *clause) canProgress() bool {
	return c.tense == present && c.modal == nil && !c.verb.is("state") && c.adverbs() == ""
}

// finite gives the English verb as it is without an auxiliary; base may have more words.
func (c *clause) finite(v *verb, base string) string {
	form := v.en
	switch {
	case c.tense == past:
		form = v.past
	case c.subject.person == 2:
		form = thirdPerson(v.en)
	}
	return form + strings.TrimPrefix(base, v.en)
}

func (c *clause) englishTail() string {
	out := []string{}
	if c.whom != nil {
		out = append(out, c.whom.en)
	}
	if c.receiver != nil {
		out = append(out, c.receiver.en)
	}
	if c.object != nil {
		out = append(out, c.object.text(c.negated).en)
	}
	out = append(out, c.fixed.en)
	for _, t := range c.after {
		out = append(out, t.en)
	}
	return join(out...)
}

// french writes the clause as a statement.
func (c *clause) french(st style) string {
	s := c.subject.in(st)
	return join(s.fr, c.frenchVerb(s), c.frenchTail())
}

// inverted writes the question with the verb first; only for vous and a plain verb.
func (c *clause) inverted(st style) string {
	s := c.subject.in(st)
	v := c.frenchVerb(s)
	finite, rest, _ := strings.Cut(v, " ")
	return join(finite+"-vous", rest, c.frenchTail())
}

// canInvert reports whether inverted can write the question.
func (c *clause) canInvert(st style) bool {
	return c.subject.pronoun && c.subject.person == 4 && !st.familiar && !c.negated && c.whom == nil && c.receiver == nil && !c.verb.reflexive
}

// frenchVerb writes the verb with its pronouns and negation: ne la vois pas,
// ne suis pas allé, vais la voir.
func (c *clause) frenchVerb(s subject) string {
	clitics := c.clitics(s)
	finite, rest := c.forms(s)
	before, inner := clitics, ""
	if c.modal != nil || c.tense == soon {
		before, inner = "", clitics // they go with the infinitive
	}
	ne, pas := "", ""
	if c.negated {
		ne, pas = "ne", "pas"
		if c.never.fr != "" {
			pas = c.never.fr
		}
	}
	head := c.verb.tail
	if c.modal != nil || c.tense == soon {
		return join(ne, before, finite, pas, inner, rest, c.adverb.fr, head)
	}
	return join(ne, before, finite, pas, c.adverb.fr, rest, head)
}

// clitics are the pronouns before the verb.
func (c *clause) clitics(s subject) string {
	out := ""
	if c.verb.reflexive {
		out = [6]string{"me", "te", "se", "nous", "vous", "se"}[s.person]
	}
	if c.receiver != nil {
		out = c.receiver.fr
	}
	if c.whom != nil {
		out = c.whom.fr
	}
	return out
}

// forms gives the form that agrees with the subject, and the infinitive or
// participle that follows it.
func (c *clause) forms(s subject) (finite, rest string) {
	v := c.verb.fr
	if c.modal != nil {
		v, rest = c.modal.fr, c.verb.fr.infinitive
		if c.tense == past {
			return v.inImperfect(s.person), rest
		}
	}
	switch c.tense {
	case future:
		return v.inFuture(s.person), rest
	case soon:
		return words().conjugation("aller").present[s.person], v.infinitive
	case past:
		if c.verb.is("state") {
			return v.inImperfect(s.person), ""
		}
		return c.perfect(s)
	}
	return v.present[s.person], rest
}

// perfect agrees with the subject if made with être, else with an object that
// stands before it.
func (c *clause) perfect(s subject) (finite, rest string) {
	if c.verb.fr.etre || c.verb.reflexive {
		return words().conjugation("être").present[s.person], c.verb.fr.agreed(s.feminine, s.plural)
	}
	feminine, plural := false, false
	if c.whom != nil && c.whom.agrees {
		feminine, plural = c.whom.feminine, c.whom.plural
	}
	return words().conjugation("avoir").present[s.person], c.verb.fr.agreed(feminine, plural)
}

func (c *clause) frenchTail() string {
	out := []string{}
	if c.object != nil {
		out = append(out, c.frenchObject())
	}
	out = append(out, c.fixed.fr)
	for _, t := range c.after {
		out = append(out, t.fr)
	}
	return join(out...)
}

// frenchObject is the object, after a verb that ends in de without a second de.
func (c *clause) frenchObject() string {
	if !c.verb.is("article") {
		return c.object.text(c.negated).fr
	}
	fr := c.object.text(false).fr
	if c.object.det == some || c.object.det == a && c.object.plural {
		fr = strings.TrimPrefix(strings.TrimPrefix(fr, c.object.frenchBefore(false)), " ")
	}
	return fr
}
