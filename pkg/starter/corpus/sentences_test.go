package corpus

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// Every rule is used and every reference has a rule, so that no draw can fail.
func TestSentencesGrammar(t *testing.T) {
	g := sentencesGrammar()
	outside := map[string]bool{"name": true, "first": true, "surname": true, "coined": true}
	used := map[string]bool{}
	var walk func(rule string, seq sequence)
	walk = func(rule string, seq sequence) {
		for _, p := range seq {
			for _, c := range p.choices {
				walk(rule, c)
			}
			if p.rule == "" {
				continue
			}
			used[p.rule] = true
			if len(g.rules[p.rule]) == 0 && !outside[p.rule] {
				t.Errorf("%s: there is no rule %q", rule, p.rule)
			}
			if !p.bound {
				t.Errorf("%s: [%s] differs between the sentences of a pair", rule, p.rule)
			}
		}
	}
	for rule, alternatives := range g.rules {
		for _, seq := range alternatives {
			walk(rule, seq)
		}
	}
	for rule, alternatives := range g.rules {
		kind := strings.HasSuffix(rule, ".say") || strings.HasSuffix(rule, ".ask") || strings.HasPrefix(rule, "topic.")
		if !kind && !used[rule] {
			t.Errorf("rule %q is not used", rule)
		}
		if len(alternatives) == 0 {
			t.Errorf("rule %q has no alternatives", rule)
		}
	}
	for _, scene := range g.names {
		if len(g.rules[scene+".ask"]) == 0 || len(g.rules[scene+".say"]) < 2 {
			t.Errorf("scene %q needs two statements and a question", scene)
		}
	}
	if len(g.names) < 100 || len(g.topics) < 50 {
		t.Errorf("%d scenes, %d topics", len(g.names), len(g.topics))
	}
}

// Both sentences of a pair have the same alternative of a bound rule, and choose its words anew.
func TestPairsMeanTheSame(t *testing.T) {
	d := newDice(1, "test")
	kittens := 0
	for range 20000 {
		p := statements(d)
		for _, text := range []string{p.A, p.B} {
			if strings.ContainsAny(text, "{}[]()|\t\n") || text == "" || strings.Contains(text, "  ") {
				t.Fatalf("unfinished: %q", text)
			}
		}
		cat := func(s string) bool {
			s = strings.NewReplacer(",", " ", ".", " ").Replace(s)
			return strings.Contains(s, " cat ") || strings.Contains(s, " kitten ") || strings.Contains(s, " kitty ")
		}
		if !strings.HasPrefix(p.Meaning, "sleep/") {
			continue
		}
		if cat(p.A) != cat(p.B) {
			t.Errorf("%q, %q", p.A, p.B)
		}
		if cat(p.A) && strings.Contains(p.A, "cat") != strings.Contains(p.B, "cat") {
			kittens++
		}
	}
	if kittens == 0 {
		t.Error("no pair says cat in one sentence and kitten in the other")
	}
}

// No text of the training set has a held-out meaning, and the held-out pairs differ in theirs.
func TestHeldOutPairs(t *testing.T) {
	for line := range strings.Lines(Sentences(1, 200_000)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 || fields[1] == "" || fields[2] == "" {
			t.Fatalf("line %q", line)
		}
		if p := (Pair{Meaning: fields[0]}); p.HeldOut() {
			t.Errorf("%q is held out", line)
		}
	}
	for _, questions := range []bool{false, true} {
		seen := map[string]bool{}
		for _, p := range HeldOutPairs(1, 500, questions) {
			if seen[p.Meaning] || !p.HeldOut() || p.A == p.B || questions != strings.HasSuffix(p.A, "?") {
				t.Errorf("questions %t: %+v", questions, p)
			}
			seen[p.Meaning] = true
		}
	}
}

// The training text is the same on every platform: a hash of its first bytes.
func TestSentencesAreStable(t *testing.T) {
	text := Sentences(1, 100_000)
	if text != Sentences(1, 100_000) || text == Sentences(2, 100_000) {
		t.Error("the seed does not determine the text")
	}
	const want = "2107311cc62d3e5a"
	if got := fmt.Sprintf("%.8x", sha256.Sum256([]byte(text))); got != want {
		t.Errorf("hash %s, want %s: the training text has changed", got, want)
	}
}
