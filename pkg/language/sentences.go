package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// A Sentence is a sentence of a text with the white space around it: before it only for
// the first sentence, otherwise after it. The concatenation of Before, Text and After of
// all sentences is the text.
type Sentence struct{ Before, Text, After string }

// Sentences splits a text in a language. For languages without a list of abbreviations
// the boundaries are Unicode's. White space alone is one Sentence without Text.
func Sentences(text, lang string) []Sentence {
	var (
		out  []Sentence
		from int // start of a sentence that an abbreviation ended too early
	)
	segments := sentences.FromString(text)
	for segments.Next() {
		to := segments.End()
		if to < len(text) && goesOn(text[from:to], lang) {
			continue
		}
		out = add(out, text, from, to)
		from = to
	}
	return out
}

// add appends text[from:to]; white space alone belongs to the previous sentence. All
// results are slices of text: copying a growing one could take hours.
func add(out []Sentence, text string, from, to int) []Sentence {
	body := strings.TrimSpace(text[from:to])
	at := from + strings.Index(text[from:to], body)
	s := Sentence{Before: text[from:at], Text: body, After: text[at+len(body) : to]}
	if len(out) == 0 {
		return append(out, s)
	}
	last := &out[len(out)-1]
	switch {
	case last.Text == "":
		s.Before = text[:at]
		*last = s
		return out
	case body == "":
		last.After = text[from-len(last.After) : to]
		return out
	}
	last.After, s.Before = text[from-len(last.After):at], ""
	return append(out, s)
}

// goesOn reports whether a segment ends with an abbreviation and not with a sentence. A
// line feed ends both.
func goesOn(segment, lang string) bool {
	body := strings.TrimRightFunc(segment, unicode.IsSpace)
	if !strings.HasSuffix(body, ".") || strings.ContainsAny(segment[len(body):], "\n\r\u0085\u2028\u2029") {
		return false
	}
	body = body[:len(body)-1]
	word := body[strings.LastIndexFunc(body, unicode.IsSpace)+1:]
	word = strings.TrimLeftFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
	if initial(word) {
		return true
	}
	_, ok := abbreviations[lang][word]
	return ok
}

// initial reports whether a word is one capital letter, as in "J. S. Bach", except the
// English pronoun.
func initial(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsUpper(r) && word != "I"
}

// abbreviations holds, by language, the words that a full stop follows within sentences,
// spelled without it: titles and the like, before a name or number. Abbreviations that
// often end a sentence ("etc.") are excluded.
var abbreviations = map[string]map[string]struct{}{
	"en": words("Mr Mrs Ms Messrs Dr Prof St Rev Hon Gen Col Maj Capt Lt Sgt Gov Sen Rep Pres vs cf e.g i.e viz Fig fig Eq Vol vol pp p approx Jan Feb Aug Sept Oct Nov Dec"),
	"fr": words("M MM Mme Mmes Mlle Mlles Dr Pr Me St Ste cf p pp p.ex env chap fig vol no éd"),
	"de": words("Hr Hrn Fr Dr Prof Dipl Ing St z.B z d.h d u.a bzw vgl ca Nr Abb Bd S Str evtl ggf sog Jan Feb Aug Sept Okt Nov Dez"),
	"es": words("Sr Sra Srta Sres Dr Dra Prof D Dña Ud Uds Vd Vds p.ej ej pág págs art fig núm vol cap aprox"),
	"it": words("Sig Sigg Dott Prof Ing Avv On S p.es es cfr pag pagg art fig vol cap ca"),
	"pt": words("Sr Sra Srs Srta Dr Dra Prof Profa D Exmo p.ex ex pág págs art fig núm vol cap aprox"),
	"nl": words("Dhr Mevr Mw Dr Drs Prof Ir Ing St bijv b.v d.w.z o.a ca nr blz fig art vgl"),
	"ru": words("г гг г-н г-жа ул д стр рис т.е т.н проф акад см ср напр руб"),
	"pl": words("p dr prof inż mgr ks św ul nr str rys tzn np tj por ok"),
}

func words(list string) map[string]struct{} {
	set := map[string]struct{}{}
	for word := range strings.FieldsSeq(list) {
		set[word] = struct{}{}
	}
	return set
}
