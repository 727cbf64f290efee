package corpus

import (
	_ "embed" // the grammar
	"regexp"
	"strings"
	"sync"
)

//go:embed novels.grammar
var novelsSource string

// novelsGrammar parses the embedded grammar once.
var novelsGrammar = sync.OnceValue(func() *grammar {
	g, err := parseGrammar(novelsSource)
	if err != nil {
		panic(err) // the grammar is a constant that the tests parse
	}
	return g
})

const (
	minStoryWords = 60
	maxStoryWords = 160
)

// Novels writes short stories of 60 to 160 words, a blank line after each,
// about size bytes in all. People, places and things stay the same within a
// story. Some stories have a chapter heading and a blank line before them.
func Novels(seed uint64, size int) string {
	d, g := newDice(seed, "novels"), novelsGrammar()
	return fill(size, func(b *strings.Builder) {
		for {
			text := story(d, g)
			if n := len(strings.Fields(text)); n < minStoryWords || n > maxStoryWords {
				continue
			}
			if d.chance(6) {
				b.WriteString("Chapter " + pick(d, g.rules["chapter"])[0].text + "\n\n")
			}
			b.WriteString(text)
			b.WriteString("\n\n")
			return
		}
	})
}

// Pronouns of a person: the names of the rules and their texts.
var (
	pronounRules = []string{"he", "him", "his", "himself"}
	pronounTexts = map[bool][]string{true: {"she", "her", "her", "herself"}, false: {"he", "him", "his", "himself"}}
)

// story writes one story without its heading.
func story(d *dice, g *grammar) string {
	w := &writer{g: g, d: d, bound: map[string]string{}}
	woman := d.chance(50)
	girl, boy := w.expand("girl", false), w.expand("boy", false)
	w.bound["Hero"], w.bound["Friend"] = boy, girl
	w.bound["ruler"] = w.expand("ruler.f", false)
	if woman {
		w.bound["Hero"], w.bound["Friend"] = girl, boy
		w.bound["ruler"] = w.expand("ruler.m", false)
	}
	for i, rule := range pronounRules {
		w.bound[rule] = pronounTexts[woman][i]
		w.bound["f"+rule] = pronounTexts[!woman][i]
	}
	var beats []string
	for _, p := range pick(d, g.rules["story"]) {
		switch {
		case p.rule != "":
			beats = append(beats, edited(w.expand(p.rule, p.bound)))
		case strings.Contains(p.text, "//"):
			beats = append(beats, "//")
		}
	}
	return strings.ReplaceAll(strings.Join(beats, " "), " // ", "\n")
}

// Edits that a context-free grammar cannot express.
var (
	manySpaces  = regexp.MustCompile(` {2,}`)
	looseMark   = regexp.MustCompile(` +([,.;:!?])`)
	anBefore    = regexp.MustCompile(`\b([Aa]) ((?:[aeiouAEIOU]|honest|hour)[a-z]*)`)
	consonantal = regexp.MustCompile(`^(?:one|uni|use|eu|ew)`)
	sentence    = regexp.MustCompile(`(?:^|\. |\." )"?[a-z]`)
)

// edited corrects the spaces, articles and capitals of one beat.
func edited(text string) string {
	text = strings.TrimSpace(manySpaces.ReplaceAllString(text, " "))
	text = looseMark.ReplaceAllString(text, "$1")
	text = anBefore.ReplaceAllStringFunc(text, func(m string) string {
		if consonantal.MatchString(m[2:]) {
			return m
		}
		return m[:1] + "n" + m[1:]
	})
	return sentence.ReplaceAllStringFunc(text, strings.ToUpper)
}
