package main

import (
	"strings"
)

// frenchPlural makes the regular plural.
func frenchPlural(s string) string {
	switch {
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "z"):
		return s
	case strings.HasSuffix(s, "eau"), strings.HasSuffix(s, "eu"):
		return s + "x"
	case strings.HasSuffix(s, "al"):
		return s[:len(s)-1] + "ux"
	}
	return s + "s"
}

// regularAdjective adds e and s.
func regularAdjective(s string) [4]string {
	feminine := s + "e"
	if strings.HasSuffix(s, "e") {
		feminine = s
	}
	return [4]string{s, feminine, frenchPlural(s), feminine + "s"}
}

// conjugation holds what the forms of a French verb are made from.
type conjugation struct {
	infinitive string
	present    [6]string // je, tu, il, nous, vous, ils
	participle string
	future     string // stem
	etre       bool   // the past is made with être
}

// regularVerb conjugates a verb in -er. Before a and o, c and g keep their sound;
// oy and uy become oi and ui before a silent e.
func regularVerb(infinitive string) *conjugation {
	stem := strings.TrimSuffix(infinitive, "er")
	soft, mute := stem, stem
	switch {
	case strings.HasSuffix(stem, "g"):
		soft = stem + "e"
	case strings.HasSuffix(stem, "c"):
		soft = strings.TrimSuffix(stem, "c") + "ç"
	case strings.HasSuffix(stem, "oy"), strings.HasSuffix(stem, "uy"):
		mute = stem[:len(stem)-1] + "i"
	}
	c := &conjugation{infinitive: infinitive, participle: stem + "é", future: mute + "er"}
	c.present = [6]string{mute + "e", mute + "es", mute + "e", soft + "ons", stem + "ez", mute + "ent"}
	return c
}

var (
	futureEnds    = [6]string{"ai", "as", "a", "ons", "ez", "ont"}
	imperfectEnds = [6]string{"ais", "ais", "ait", "ions", "iez", "aient"}
)

func (c *conjugation) inFuture(person int) string { return c.future + futureEnds[person] }

// inImperfect has the stem of nous; manger keeps its e before a only.
func (c *conjugation) inImperfect(person int) string {
	stem := strings.TrimSuffix(c.present[3], "ons")
	if c.infinitive == "être" {
		stem = "ét"
	}
	end := imperfectEnds[person]
	if end[0] == 'i' {
		stem = strings.TrimSuffix(stem, "e")
	}
	return stem + end
}

// agreed gives the participle's form.
func (c *conjugation) agreed(feminine, plural bool) string {
	p := c.participle
	if feminine {
		p += "e"
	}
	if plural && !strings.HasSuffix(p, "s") {
		p += "s"
	}
	return strings.Replace(p, "ûe", "ue", 1)
}

// The words that lose their vowel before another.
var elided = map[string]bool{
	"je": true, "me": true, "te": true, "se": true, "le": true, "la": true, "de": true, "ne": true, "que": true,
	"jusque": true,
}

// aspirated are words whose h, or vowel, is treated as a consonant.
var aspirated = map[string]bool{"huit": true, "onze": true, "oui": true, "haut": true, "héros": true}

// open reports whether a word begins with a vowel or a mute h.
func open(word string) bool {
	w := strings.ToLower(strings.TrimRight(word, ",.?!"))
	if w == "" || w == "y" || aspirated[w] {
		return w == "y"
	}
	return strings.ContainsRune("aeiouhàâéèêîôœ", []rune(w)[0]) && !strings.HasPrefix(w, "yo")
}

// addressed are the words for the person spoken to, as the grammar marks them:
// polite, and familiar.
var addressed = map[string][2]string{
	"%vous": {"vous", "te"}, "%toi": {"vous", "toi"},
	"%votre": {"votre", "ton"}, "%votre-f": {"votre", "ta"}, "%vos": {"vos", "tes"},
}

// finishFrench chooses the form of address, elides, contracts, and sets spaces
// and the first capital right.
func finishFrench(s string, st style) string {
	w := strings.Fields(s)
	for i, x := range w {
		if forms, ok := addressed[x]; ok {
			w[i] = forms[0]
			if st.familiar {
				w[i] = forms[1]
			}
		}
	}
	s = strings.Join(contract(elide(w)), " ")
	s = strings.ReplaceAll(s, "' ", "'")
	s = strings.NewReplacer(" ,", ",", " .", ".").Replace(s)
	return capitalised(s)
}

// elide shortens the words that stand before a vowel, or takes the form they have there.
func elide(w []string) []string {
	for i := range len(w) - 1 {
		next := w[i+1]
		if w[i] == "si" && (next == "il" || next == "ils") {
			w[i] = "s'"
			continue
		}
		if !open(next) {
			continue
		}
		switch x := w[i]; {
		case elided[x]:
			w[i] = x[:len(x)-1] + "'"
		case x == "ce" && (strings.HasPrefix(next, "est") || strings.HasPrefix(next, "était")):
			w[i] = "c'"
		case x == "ce":
			w[i] = "cet"
		case x == "ma" || x == "ta" || x == "sa":
			w[i] = x[:1] + "on"
		}
	}
	return w
}

// contract joins à and de with the articles that kept their vowel.
func contract(w []string) []string {
	joined := map[string]string{"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}
	out := w[:0]
	for _, x := range w {
		if len(out) > 0 {
			if short, ok := joined[out[len(out)-1]+" "+x]; ok {
				out[len(out)-1] = short
				continue
			}
		}
		out = append(out, x)
	}
	return out
}
