package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCheckFormFindsFaults(t *testing.T) {
	corrupt(t, "forms", map[string]func(string) string{
		"another name":        once(`{"name":"`, `$0`+"X"),
		"a letter too few":    once(`("(?:name|customer|user|topic|street)":"[^"]*)[^"]"`, `$1"`),
		"another number":      once(`("(?:age|hour|wind|door|number)":)`, "${1}1"),
		"a number as string":  once(`("(?:age|hour|wind|door)":)([0-9]+)`, `$1"$2"`),
		"a string as number":  once(`("(?:children)":)([0-9])`, `$1"$2"`),
		"another count":       once(`"children":[0-5]`, `"children":6`),
		"a boolean turned":    once(`:true`, ":false"),
		"and the other way":   once(`:false`, ":true"),
		"another sky":         once(`"sky":"(rain|snow|sun|fog|cloud)"`, `"sky":"storm"`),
		"a guest too few":     once(`,"[A-Z][a-z]+"\]`, "]"),
		"an item twice":       once(`\[("[a-z]+")`, "[$1,$1"),
		"items turned round":  once(`\[("[a-z]+"),("[a-z]+")`, "[$2,$1"),
		"an unknown key":      once(`{"name"`, `{"nose"`),
		"a key not told":      once(`}$`, `,"zip":1}`),
		"keys turned round":   once(`("hour":[0-9]+),("room":"[^"]*")`, "$2,$1"),
		"a key twice":         once(`{("age":[0-9]+)`, "{$1,$1"),
		"a space":             once(`":`, `": `),
		"no keys":             once(`{".*`, "{}"),
		"no form":             once(`{".*`, ""),
		"an open form":        once(`}$`, ""),
		"more after the form": once(`}$`, "}}"),
		"no nested object":    once(`"ship_to":{([^}]*)}`, `"ship_to":[]`),
		"half of the address": once(`"ship_to":{"street":"[^"]*",`, `"ship_to":{`),
		"an unknown sentence": once(`^`, "Hear: "),
		"no full stop":        once(`\.\n`, "\n"),
		"a small name":        func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
		"an unknown phrase":   once(`paid in coins|there is no warning|the sky is grey|not married`, "who knows"),
		"another question":    once(`(How old is|What does|Where does)`, "Why is"),
		"who was not named":   once(`(How old is|Where does) [A-Z][a-z]+`, "$1 Nobody"),
		"a false answer":      once(`"answer":"`, `$0`+"No, "),
		"another unit":        once(`"units":"years"`, `"units":"days"`),
		"no escape":           once(`\\(["\\])`, "$1"),
		"a needless escape":   once(`{"([a-z])`, `{"\u0061$1`),
	})
	for _, s := range []string{"", "{}", "Hilda is 4 years old.", "How old is Hilda?{\"age\":4}", `Hilda is 43 years old. How old is Hilda?`} {
		if CheckForm(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
}

func TestFillForm(t *testing.T) {
	for _, tt := range []struct{ text, kind, want string }{
		{"Hilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.\n", "person",
			`{"name":"Hilda","age":43,"trade":"weaver","town":"Lower Sands","children":2}`},
		{"Ida at 4 Mill Lane owes us 2.5 crowns for tea, rope and ink.", "order",
			`{"customer":"Ida","items":["tea","rope","ink"],"total":2.5,"ship_to":{"street":"Mill Lane","number":4}}`},
		{"Thunder rolls in Kings Bay and the wind reaches 90 km/h.", "weather", `{"place":"Kings Bay","sky":"storm","wind":90}`},
		{`Tell Ida that a"\b? opens door 7.`, "access", `{"user":"Ida","door":7,"code":"a\"\\b?"}`},
		{"Meet Ida and Tom in room B4 on Monday. Where is the meeting?", "meeting", `{"answer":"They meet in room B4","room":"B4"}`},
		{"Carl, the llama with a hat, is 10 years old. How old is Carl?", "person",
			`{"answer":"Carl is 10 years old","age":10,"units":"years"}`},
	} {
		f, err := FillForm(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var entries []entry
		for _, k := range f.Keys {
			entries = append(entries, entry{k, f.Values[k]})
		}
		if got := object(entries); got != tt.want || f.Kind != tt.kind {
			t.Errorf("%s\ngives %s %s\nwant  %s %s", tt.text, f.Kind, got, tt.kind, tt.want)
		}
	}
	for _, text := range []string{"", "?", "Hilda is tall.", "Hilda is 43 years old. How old is Tom?", "How old is Tom?", "Hilda is 43 years old. Where is the meeting?"} {
		if f, err := FillForm(text); err == nil {
			t.Errorf("%q gives %v", text, f)
		}
	}
}

// A char tokenizer has the characters of its text: the model must be able to spell any
// JSON in ASCII.
func TestFormsHaveAllOfASCII(t *testing.T) {
	count := map[rune]int{}
	for _, c := range text(t, "forms", 1, 1_000_000) {
		count[c]++
	}
	for c := ' '; c <= '~'; c++ {
		if count[c] < 30 {
			t.Errorf("%q stands there %d times in 1 MB", c, count[c])
		}
	}
	if len(count) != '~'-' '+2 {
		t.Errorf("%d characters, want those of ASCII and the line feed", len(count))
	}
}

func TestFormsFitAContext(t *testing.T) {
	kinds, types := map[string]int{}, map[string]int{}
	for _, p := range pieces("forms", text(t, "forms", 3, 300_000)) {
		if len(p) > maxForm {
			t.Fatalf("%d bytes:\n%s", len(p), p)
		}
		sentence, form := SplitForm(p)
		f, err := FillForm(sentence)
		if err != nil {
			t.Fatal(err)
		}
		kinds[f.Kind]++
		var values map[string]any
		if err := json.Unmarshal([]byte(form), &values); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			types[fmt.Sprintf("%T", v)]++
		}
	}
	if len(kinds) != len(forms) || len(types) != 5 {
		t.Errorf("kinds %v, types %v", kinds, types)
	}
}

// Every rule is used, and every key has a value or is nested.
func TestFormsGrammarIsWhole(t *testing.T) {
	g, used := formsGrammar(), []string{}
	visit := func(from string) {
		used = append(used, from)
		given := map[string]bool{}
		for name := range formSlots {
			given[name] = true
		}
		if err := g.literals(from, given, func(rule, _ string) { used = append(used, rule) }); err != nil {
			t.Error(err)
		}
	}
	for _, f := range forms {
		visit(f.rule)
	}
	for name, s := range formSlots {
		for _, v := range s.values {
			visit(name + "." + v)
		}
		for _, rule := range []string{"ask.", "answer.", "units."} {
			if g.rules[rule+name] != nil {
				visit(rule + name)
			}
		}
		if (g.rules["ask."+name] == nil) != (g.rules["answer."+name] == nil) {
			t.Errorf("%s: a question without an answer", name)
		}
	}
	for rule := range g.rules {
		if !slices.Contains(used, rule) {
			t.Errorf("rule %q is never used", rule)
		}
	}
}
