package corpus

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// corrupt applies each change to each piece and checks that the judge detects it. It
// ignores a change that leaves the piece unchanged.
func corrupt(t *testing.T, name string, changes map[string]func(string) string) {
	all := pieces(name, text(t, name, 9, 60_000))
	for what, change := range changes {
		tried := 0
		for _, p := range all {
			bad := change(p)
			if bad == p {
				continue
			}
			if tried++; judges[name](bad) == nil {
				t.Errorf("%s passes:\n%s", what, bad)
				break
			}
		}
		if tried == 0 {
			t.Errorf("%s: could not be tried", what)
		}
	}
}

// once replaces the first match of a pattern.
func once(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string {
		at := re.FindStringSubmatchIndex(s)
		if at == nil {
			return s
		}
		return s[:at[0]] + string(re.ExpandString(nil, with, s, at)) + s[at[1]:]
	}
}

func TestCheckStoryFindsFaults(t *testing.T) {
	corrupt(t, "novels", map[string]func(string) string{
		"a cut end":              func(s string) string { return s[:len(s)-2] },
		"a small beginning":      func(s string) string { return strings.ToLower(s[:2]) + s[2:] },
		"a small sentence":       once(`\. [A-Z][a-z]+`, ". so"),
		"a lost full stop":       once(`\. (One|The|A|He|She|It|In) `, " $1 "),
		"a doubled mark":         once(`\. `, ".. "),
		"a doubled space":        once(` `, "  "),
		"a space before a comma": once(`,`, " ,"),
		"an open quotation":      once(`"`, ""),
		"a wrong article":        once(` a ([b-df-gj-np-tv-z])`, " an $1"),
		"another wrong article":  once(` an ([aei])`, " a $1"),
		"letters swapped":        once(`lighthouse|morning|evening`, "lihgthouse"),
		"words run together":     once(`([a-z]{4}) ([a-z]{4})`, "$1$2"),
		"a capital inside":       once(` the ([a-z])`, " the Q$1"),
		"a foreign sign":         once(`, `, " – "),
		"a third paragraph":      func(s string) string { return s + "\nThe end.\nThe end." },
		"an empty paragraph":     func(s string) string { return s + "\n" },
		"a digit":                once(`[a-z] `, "7 "),
		"an odd heading":         once(`^Chapter [A-Z][a-z]+`, "Chapter Onety"),
	})
	for _, s := range []string{"", "\n", "the end.", "The end", `"The end.`, "The end. ", "Chapter One\n\n"} {
		if CheckStory(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
}

func TestStories(t *testing.T) {
	all := text(t, "novels", 1, 2_000_000)
	for _, opening := range []string{
		"\n\nThe old lighthouse stood ", "\n\nThe ship sailed into ", "\n\nOnce upon a time", "\n\nThe castle ",
		"\n\nThe old lighthouse ", "\n\nChapter One\n\n",
	} {
		if n := strings.Count(all, opening); n < 20 {
			t.Errorf("%d of the stories begin %q", n, opening)
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		for _, r := range []rune{c, c - 'a' + 'A'} {
			if !strings.ContainsRune(all, r) {
				t.Errorf("no story has the letter %c", r)
			}
		}
	}
	for _, p := range pieces("novels", all) {
		body := p[len(heading.FindString(p)):]
		if n := len(strings.Fields(body)); n < minStoryWords || n > maxStoryWords {
			t.Fatalf("%d words:\n%s", n, p)
		}
	}
}

// A hero keeps one sex: no story calls a hero he and she. Friends are of the other sex,
// so only stories with one name can be checked from outside.
func TestPronounsAgree(t *testing.T) {
	g := novelsGrammar()
	sex := map[string]bool{}
	for _, woman := range []bool{true, false} {
		for _, seq := range g.rules[map[bool]string{true: "girl", false: "boy"}[woman]] {
			sex[seq[0].text] = woman
		}
	}
	wrong := map[bool]*regexp.Regexp{
		true:  regexp.MustCompile(`\b([Hh]e|[Hh]im|[Hh]imself|[Hh]is)\b`),
		false: regexp.MustCompile(`\b([Ss]he|[Hh]er|[Hh]erself)\b`),
	}
	ruled := regexp.MustCompile(`riddle|Tell me|Bring me|never [a-z ]+\?|sent for|came to fetch|queen|ess |king|duke|prince|count|baron|emperor|mayor|governor|judge|abbot`)
	seen := 0
	for _, p := range pieces("novels", text(t, "novels", 4, 1_000_000)) {
		women, men := 0, 0
		for w, woman := range sex {
			if regexpWord(p, w) {
				if woman {
					women++
				} else {
					men++
				}
			}
		}
		if women+men != 1 || ruled.MatchString(p) {
			continue
		}
		if seen++; wrong[women == 1].MatchString(p) {
			t.Fatalf("a pronoun of the wrong sex:\n%s", p)
		}
	}
	if seen < 100 {
		t.Errorf("only %d stories could be judged", seen)
	}
}

// regexpWord reports whether text has the word w.
func regexpWord(text, w string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			return false
		}
		if after == "" || !isLetter(after[0]) {
			return true
		}
		rest = after
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func TestStoryWords(t *testing.T) {
	words := StoryWords()
	if len(words) < 1500 || len(words) > 3000 {
		t.Errorf("%d words", len(words))
	}
	for _, w := range []string{"lighthouse", "Zelda", "Monday", "great-aunt", "an", "herself"} {
		if !slices.Contains(words, w) {
			t.Errorf("%q is not among the words", w)
		}
	}
	for _, w := range []string{"", "zelda", "telephone", "s", "lightho"} {
		if slices.Contains(words, w) {
			t.Errorf("%q is among the words", w)
		}
	}
}

// Every rule of the grammar is used, and every reference has a rule.
func TestGrammarIsWhole(t *testing.T) {
	g := novelsGrammar()
	used := map[string]bool{}
	var mark func(seq sequence)
	mark = func(seq sequence) {
		for _, p := range seq {
			if p.rule != "" {
				rule, _ := g.find(p.rule)
				used[rule] = true
			}
			for _, c := range p.choices {
				mark(c)
			}
		}
	}
	for _, seqs := range g.rules {
		for _, seq := range seqs {
			mark(seq)
		}
	}
	for _, name := range []string{"story", "girl", "boy", "ruler.f", "ruler.m", "chapter"} {
		used[name] = true // referenced in the code
	}
	for _, rule := range slices.Sorted(maps.Keys(g.rules)) {
		if !used[rule] {
			t.Errorf("rule %q is never used", rule)
		}
		if len(g.rules[rule]) == 0 {
			t.Errorf("rule %q has no alternatives", rule)
		}
	}
}

func TestParseGrammarErrors(t *testing.T) {
	for _, bad := range []string{"a\n\t(b|c", "a\n\t[b", "a\n\tb)", "a\n\tb|c", "a = b\na = c", "a\n\t{b"} {
		if _, err := parseGrammar(bad); err == nil {
			t.Errorf("%q parses", bad)
		}
	}
}
