package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// firstPairs hashes the pairs that the model was trained on first. A change of the
// grammar changes it, and means that the model has to be trained again.
const (
	firstPairs = 5000
	firstSum   = "7a723e480efe847be1dbc699033c3fc6dc716c8094bef7ea6b23571bbdb8c542"
)

func take(seed uint64, n int) []Pair {
	var out []Pair
	for p := range Pairs(seed) {
		if out = append(out, p); len(out) == n {
			break
		}
	}
	return out
}

func TestPairsAreReproducible(t *testing.T) {
	h := sha256.New()
	for _, p := range take(1, firstPairs) {
		fmt.Fprintf(h, "%+v\n", p)
	}
	if sum := fmt.Sprintf("%x", h.Sum(nil)); sum != firstSum {
		t.Errorf("the pairs have the SHA-256 %s; the model was trained on %s", sum, firstSum)
	}
	if slices.Equal(take(1, 100), take(2, 100)) {
		t.Error("two seeds give the same pairs")
	}
}

// A translation can only be exact if a sentence has one: the grammar has to be a
// function both ways.
func TestOneTranslation(t *testing.T) {
	english, french := map[string]string{}, map[string]string{}
	for _, p := range take(3, 60_000) {
		if p.Direction != ToEnglish {
			if was, ok := english[p.English]; ok && was != p.French {
				t.Errorf("%q is %q and %q", p.English, was, p.French)
			}
			english[p.English] = p.French
		}
		if p.Direction != ToFrench {
			if was, ok := french[p.French]; ok && was != p.English {
				t.Errorf("%q is %q and %q", p.French, was, p.English)
			}
			french[p.French] = p.English
		}
	}
}

var (
	allowedEnglish = regexp.MustCompile(`^[A-Za-z0-9' ,.?!-]+$`)
	allowedFrench  = regexp.MustCompile(`^[A-Za-z0-9àâçèéêëîïôûùœÀÉÊŒ' ,.?!-]+$`)
	vowel          = `[aeiouàâéèêîôœh]`
	// Patterns that are wrong in any French sentence of the grammar.
	wrongFrench = regexp.MustCompile(`(?i)(?:^| )(?:(?:je|me|te|se|le|la|de|ne|que|ma|ta|sa) ` + vowel +
		`|ce [aeiouhê]|(?:de|à) les? |si ils? |de (?:du|des|de) |ne y |(?:un|le|ce|mon) (?:beau|vieux|nouveau) ` + vowel + `|[a-z]+ ['])`)
	wrongEnglish = regexp.MustCompile(`(?i)\ba (?:[aeio]|umb)|\ban [^aeiouh]|\b(?:he|she|it) (?:are|were) |\b(?:he|she|they) am |\bI (?:is|are|has) `)
)

// Phrases that the rules above would find and that are right.
var right = strings.NewReplacer(
	"de onze", "", "de huit", "", "que onze", "", "que huit", "", "le huit", "", "le onze", "", "fait beau", "", "faisait beau", "", "fera beau", "",
)

func TestSpelling(t *testing.T) {
	for _, p := range take(4, 20_000) {
		if !allowedEnglish.MatchString(p.English) || !allowedFrench.MatchString(p.French) {
			t.Errorf("strange characters: %+v", p)
		}
		if m := wrongFrench.FindString(right.Replace(p.French)); m != "" {
			t.Errorf("%q in %q", m, p.French)
		}
		if m := wrongEnglish.FindString(right.Replace(p.English)); m != "" {
			t.Errorf("%q in %q", m, p.English)
		}
		for _, s := range []string{p.English, p.French} {
			if strings.Contains(s, "  ") || strings.TrimSpace(s) != s || s == "" {
				t.Errorf("spaces in %q", s)
			}
			if p.Direction == Both && (!unicode.IsUpper([]rune(s)[0]) || !strings.ContainsAny(s[len(s)-1:], ".?!")) {
				t.Errorf("%q is not a whole sentence", s)
			}
		}
		if strings.HasSuffix(p.French, "?") != strings.HasSuffix(p.English, "?") && p.Direction == Both {
			t.Errorf("only one side of %+v is a question", p)
		}
	}
}

// Every template is filled, every list and class is drawn from, in every style.
func TestTopics(t *testing.T) {
	w := &writer{dice: newDice(5), lexicon: words()}
	for topic, lines := range topicLines() {
		for _, line := range lines {
			for range 20 {
				p := (&sentence{render: w.fill(line)}).write(style{familiar: w.chance(50), contracted: w.chance(50)})
				if strings.ContainsAny(p.English+p.French, "{}%") {
					t.Errorf("%s: %+v", topic, p)
				}
			}
		}
	}
	for _, v := range w.lexicon.verbs {
		for _, class := range v.objects {
			list := strings.TrimPrefix(class, "=")
			known := len(w.lexicon.lists[list]) + len(w.lexicon.nouns[list])
			if known == 0 && list != "where" && list != "origin" {
				t.Errorf("%s: no noun and no list is called %q", v.en, class)
			}
		}
	}
}

func TestHeldOut(t *testing.T) {
	held, n := 0, 0
	kept, used := map[string]bool{}, map[string]bool{}
	for _, seed := range []uint64{6, 7} {
		for _, p := range take(seed, 20_000) {
			if p.Fixed && p.HeldOut {
				t.Errorf("%+v is a set phrase", p)
			}
			if p.Direction != Both {
				continue
			}
			n++
			if p.HeldOut {
				held++
				kept[p.English] = true
			} else {
				used[p.English] = true
			}
		}
	}
	if share := float64(held) / float64(n); share < 0.04 || share > 0.06 {
		t.Errorf("%.3f of the pairs are held out", share)
	}
	for s := range kept {
		if used[s] {
			t.Errorf("%q is held out and trained on", s)
		}
	}
}

// Variants of a pair are held out with it and follow it.
func TestVariants(t *testing.T) {
	var plain Pair
	seen := map[Direction]int{}
	for _, p := range take(8, 10_000) {
		seen[p.Direction]++
		if p.Direction == Both {
			plain = p
			continue
		}
		kept, changed := p.French, p.English != plain.English
		was := plain.French
		if p.Direction == ToEnglish {
			kept, was, changed = p.English, plain.English, p.French != plain.French
		}
		if kept != was || !changed || p.HeldOut != plain.HeldOut {
			t.Errorf("%+v is not a variant of %+v", p, plain)
		}
	}
	if seen[ToFrench] < 500 || seen[ToEnglish] < 500 {
		t.Errorf("few variants: %v", seen)
	}
}

// The committed sample, on which the model is measured, is kept from the training, and
// the command still makes it: 48 of its pairs are among the first 100,000.
func TestSampleIsHeldOut(t *testing.T) {
	raw, err := os.ReadFile("../../pkg/starter/testdata/phrases/heldout.json")
	if err != nil {
		t.Fatal(err)
	}
	var sample [][2]string
	if err := json.Unmarshal(raw, &sample); err != nil {
		t.Fatal(err)
	}
	missing := map[[2]string]bool{}
	for _, p := range sample {
		missing[p] = true
		if !heldOut(Pair{English: p[0], French: p[1]}) {
			t.Errorf("%q was trained on", p)
		}
	}
	if len(missing) != 400 {
		t.Errorf("%d pairs", len(missing))
	}
	for _, p := range take(1, 100_000) {
		if p.HeldOut && p.Direction == Both {
			delete(missing, [2]string{p.English, p.French})
		}
	}
	if made := len(sample) - len(missing); made != 48 {
		t.Errorf("%d pairs of the sample are made, want 48", made)
	}
}

func TestLexiconErrors(t *testing.T) {
	for _, c := range []struct{ source, lists, want string }{
		{"[nouns]\ndog = chien, x, animal", "", "lexicon.txt: line 2: \"dog = chien, x, animal\" is not a noun"},
		{"[adjectives]\nbig = a/b, thing", "", "is not an adjective"},
		{"[irregular]\nboire: bois", "", `"boire" has 1 forms, not 8`},
		{"[verbs]\neat", "", `"eat" is not a verb`},
		{"[verb]\neat = manger", "", `no section is called "verb"`},
	} {
		if _, err := parseLexicon(c.source, c.lists); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.source, err, c.want)
		}
	}
}

func BenchmarkPairs(b *testing.B) {
	n := 0
	for b.Loop() {
		for p := range Pairs(1) {
			io.WriteString(io.Discard, p.French)
			if n++; n%1000 == 0 {
				break
			}
		}
	}
}
