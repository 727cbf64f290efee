package corpus

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// StoryWords lists every word that Novels may write, in the grammar's spelling: names
// with their capital, other words without. It is sorted.
func StoryWords() []string { return slices.Sorted(maps.Keys(storyWords())) }

// nameRules are the rules whose words always keep their capital. In the other rules a
// capital begins a sentence.
var nameRules = []string{
	"girl", "boy", "surname", "PetName", "Street", "street.first", "town.first", "town.second", "town.one", "weekday", "month",
}

// uncapitalised makes the first letter lower case.
func uncapitalised(word string) string { return strings.ToLower(word[:1]) + word[1:] }

// literals calls yield for each piece of literal text that a rule can produce, with the
// rule that contains it. The given names are defined outside the grammar.
func (g *grammar) literals(from string, given map[string]bool, yield func(rule, text string)) error {
	seen := map[string]bool{}
	var visitRule func(name string) error
	var visit func(rule string, seq sequence) error
	visit = func(rule string, seq sequence) error {
		for _, p := range seq {
			if p.text != "" {
				yield(rule, p.text)
			}
			if p.rule != "" {
				if err := visitRule(p.rule); err != nil {
					return err
				}
			}
			for _, c := range p.choices {
				if err := visit(rule, c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	visitRule = func(name string) error {
		rule, _ := g.find(name)
		if given[name] || given[rule] || seen[rule] {
			return nil
		}
		if len(g.rules[rule]) == 0 {
			return fmt.Errorf("grammar: no rule %q", name)
		}
		seen[rule] = true
		for _, seq := range g.rules[rule] {
			if err := visit(rule, seq); err != nil {
				return err
			}
		}
		return nil
	}
	return visitRule(from)
}

// storyWords collects the words of the grammar's literals.
var storyWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{"an": true}
	given := map[string]bool{"Hero": true, "Friend": true, "ruler": true}
	for i, rule := range pronounRules {
		given[rule], given["f"+rule] = true, true
		words[pronounTexts[true][i]], words[pronounTexts[false][i]] = true, true
	}
	for _, from := range []string{"story", "girl", "boy", "ruler.f", "ruler.m"} {
		err := novelsGrammar().literals(from, given, func(rule, text string) {
			for _, w := range wordPattern.FindAllString(strings.ReplaceAll(text, "'s", ""), -1) {
				if !slices.Contains(nameRules, rule) && w != "I" {
					w = uncapitalised(w)
				}
				words[w] = true
			}
		})
		if err != nil {
			panic(err) // the grammar is a constant that the tests walk
		}
	}
	return words
})

var (
	wordPattern = regexp.MustCompile(`[A-Za-z]+(?:-[A-Za-z]+)*`)
	heading     = regexp.MustCompile(`^Chapter ([A-Z][a-z]+)\n\n`)
	storyToken  = regexp.MustCompile(`^(?:[A-Za-z]+(?:-[A-Za-z]+)*(?:'s)?|18[0-9][0-9]|[,;:.!?"] ?)`)
	opensLine   = regexp.MustCompile(`^"?[A-Z]`)
	closesLine  = regexp.MustCompile(`[.!?]"?$`)
	badMarks    = regexp.MustCompile(`  | [,.;:!?]|[,.;:!?]{2}|[,;:]$|[a-z]"[a-z]|\. [a-z]|\. "[a-z]`)
	wrongA      = regexp.MustCompile(`\b[Aa] (?:[aeiou][a-z]+|honest|hour)|\b[Aa]n [^aeiouAEIOUh]`)
)

// CheckStory returns the first fault of a story: a paragraph that does not begin with a
// capital or end with a full stop, question or exclamation mark, an open quotation, a
// misplaced mark, a/an before the wrong sound, or a word that the grammar does not
// contain.
func CheckStory(text string) error {
	if m := heading.FindStringSubmatch(text); m != nil {
		if !isChapter(m[1]) {
			return fmt.Errorf("story: heading %q", m[0])
		}
		text = text[len(m[0]):]
	}
	paragraphs := strings.Split(strings.TrimSuffix(text, "\n\n"), "\n")
	if len(paragraphs) > 2 {
		return fmt.Errorf("story: %d paragraphs", len(paragraphs))
	}
	for i, p := range paragraphs {
		if err := checkParagraph(p); err != nil {
			return fmt.Errorf("story: paragraph %d: %w", i+1, err)
		}
	}
	return nil
}

// isChapter reports whether the grammar numbers chapters with that word.
func isChapter(number string) bool {
	return slices.ContainsFunc(novelsGrammar().rules["chapter"], func(s sequence) bool { return s[0].text == number })
}

func checkParagraph(p string) error {
	switch {
	case !opensLine.MatchString(p):
		return fmt.Errorf("begins %q", p[:min(len(p), 20)])
	case !closesLine.MatchString(p):
		return fmt.Errorf("ends %q", p[max(0, len(p)-20):])
	case strings.Count(p, `"`)%2 != 0:
		return errors.New("a quotation is left open")
	}
	if m := badMarks.FindString(p); m != "" {
		return fmt.Errorf("misplaced %q", m)
	}
	for _, m := range wrongA.FindAllString(p, -1) {
		if !consonantal.MatchString(m[2:]) {
			return fmt.Errorf("wrong article in %q", m)
		}
	}
	return checkWords(p)
}

// checkWords checks the paragraph word by word. Except in names, a capital may appear
// only at the beginning of a sentence or a quotation.
func checkWords(p string) error {
	words := storyWords()
	begins := true
	for rest := p; rest != ""; {
		t := storyToken.FindString(rest)
		if t == "" {
			return fmt.Errorf("strange text at %q", rest[:min(len(rest), 20)])
		}
		rest = strings.TrimPrefix(rest[len(t):], " ")
		w := strings.TrimSuffix(strings.TrimRight(t, " "), "'s")
		switch {
		case w[0] >= '0' && w[0] <= '9':
			begins = false
		case strings.Contains(`,;:.!?"`, w):
			begins = begins && w == `"` || strings.Contains(`.!?"`, w)
		case words[w], begins && words[uncapitalised(w)]:
			begins = false
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	return nil
}
