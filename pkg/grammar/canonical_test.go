package grammar

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// The first rules of each grammar in these tests.
const (
	anyString pushdown.ID = iota
	anyKey
	anyInteger
	anyNumber
	own // the first rule of the test
)

// newGrammar returns a grammar of rules, of which the first is the start.
func newGrammar(t *testing.T, rules ...pushdown.Rule) *Grammar {
	t.Helper()
	integers, err := automaton.Integers(automaton.Range{}, automaton.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := automaton.Numbers(automaton.Range{}, automaton.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p := &pushdown.Program{Start: own}
	for _, d := range []*automaton.DFA{automaton.String(), automaton.Key(), integers, numbers} {
		p.Rules = append(p.Rules, pushdown.Rule{Text: &pushdown.Text{DFA: d}})
	}
	p.Rules = append(p.Rules, rules...)
	m, err := pushdown.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return &Grammar{program: p, machine: m}
}

func literal(texts ...string) pushdown.Rule {
	return pushdown.Rule{Text: &pushdown.Text{DFA: automaton.Literals(texts)}}
}

func alternatives(ids ...pushdown.ID) pushdown.Rule { return pushdown.Rule{Any: ids} }

// declare returns an object whose members are all required. They are integers, except the
// last, which the rule last reads.
func declare(names string, last pushdown.ID) pushdown.Rule {
	o := &pushdown.Object{Max: -1}
	for name := range strings.SplitSeq(names, " ") {
		o.Props = append(o.Props, pushdown.Prop{Name: name, Value: anyInteger, Required: true})
	}
	o.Props[len(o.Props)-1].Value = last
	return pushdown.Rule{Object: o}
}

func value(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCanonical(t *testing.T) {
	extras := declare("c b", anyString)
	extras.Object.Props[0].Required = false
	extras.Object.Extra = []pushdown.Extra{{Key: anyKey, Value: anyInteger}}
	for _, test := range []struct {
		name  string
		rules []pushdown.Rule
		texts map[string]string // by value; "": none
	}{
		{"string", []pushdown.Rule{alternatives(anyString)}, map[string]string{
			`"a\u0041\/\u0001\u001f\n\"\\é\u2028\ud83d\ude00"`: `"aA/\u0001\u001f\n\"\\é` + "\u2028" + `😀"`,
			`""`: `""`, `1`: "", `null`: "",
		}},
		{"integer", []pushdown.Rule{alternatives(anyInteger)}, map[string]string{
			`1`: "1", `1.0`: "1", `1e3`: "1000", `1.2E+1`: "12", `100e-2`: "1", `-5.000`: "-5", `1.5`: "", `1e-1`: "", `"1"`: "",
		}},
		{"number", []pushdown.Rule{alternatives(anyNumber)}, map[string]string{`1e3`: "1e3", `1.50`: "1.50", `-0`: "-0"}},
		{"some numbers", []pushdown.Rule{literal("0", "0.015", "1.5", "200")}, map[string]string{
			`-0`: "0", `0.0`: "0", `0e5`: "0", `15e-3`: "0.015", `1.50`: "1.5", `2e2`: "200", `2`: "", `-1.5`: "",
		}},
		{"members", []pushdown.Rule{extras}, map[string]string{
			`{"b":"x","c":1}`:               `{"c":1,"b":"x"}`,
			`{"z":1,"b":"x","a":2}`:         `{"b":"x","a":2,"z":1}`,
			`{"z":1,"a":2.0,"c":3,"b":"x"}`: `{"c":3,"b":"x","a":2,"z":1}`,
			`{"c":1}`:                       "",
			`{"b":"x","a":"y"}`:             "",
			`{}`:                            "",
			`[]`:                            "",
		}},
		{"orders", []pushdown.Rule{alternatives(own+1, own+2), declare("a b t", own+3), declare("b a t", own+4), literal("1"), literal("2")}, map[string]string{
			`{"a":1,"b":2,"t":1}`: `{"a":1,"b":2,"t":1}`,
			`{"a":1,"b":2,"t":2}`: `{"b":2,"a":1,"t":2}`,
			`{"a":1,"b":2,"t":3}`: "",
		}},
		{"objects spelled out", []pushdown.Rule{literal(`{"q":{"y":1,"x":2},"p":[],"o":[{"d":1,"c":0}]}`)}, map[string]string{
			`{"o":[{"c":0,"d":1}],"p":[],"q":{"x":2,"y":1}}`: `{"q":{"y":1,"x":2},"p":[],"o":[{"d":1,"c":0}]}`,
			`{"o":[{"c":0,"d":2}],"p":[],"q":{"x":2,"y":1}}`: "",
			`{"o":[{"c":0,"d":1}],"p":[]}`:                   "",
		}},
		{"items", []pushdown.Rule{{Array: &pushdown.Array{Prefix: []pushdown.ID{anyString}, Items: anyInteger, Min: 1, Max: 3}}}, map[string]string{
			`["a",1.0,2]`: `["a",1,2]`, `["a"]`: `["a"]`, `[]`: "", `[1]`: "", `["a",1,2,3]`: "",
		}},
	} {
		g := newGrammar(t, test.rules...)
		for from, want := range test.texts {
			got, ok := g.Canonical(value(t, from))
			if got != want || ok != (want != "") {
				t.Errorf("%s: %s has the text %q, %v, want %q", test.name, from, got, ok, want)
			}
			if ok && !g.machine.Match(got) {
				t.Errorf("%s: %s does not match", test.name, got)
			}
		}
	}
}

func TestCanonicalNoValue(t *testing.T) {
	g := newGrammar(t, alternatives(anyString, anyNumber))
	for _, v := range []any{1.5, 1, []string{"a"}, struct{}{}, json.Number(""), json.Number("x"), json.Number("1e"), json.Number("+1")} {
		if text, ok := g.Canonical(v); ok {
			t.Errorf("%#v has the text %s", v, text)
		}
	}
}

// The depth of a value is not bounded.
func TestCanonicalDeep(t *testing.T) {
	const depth = 200_000
	g := newGrammar(t, pushdown.Rule{Array: &pushdown.Array{Items: own, Max: -1}})
	var v any = []any{}
	for range depth {
		v = []any{v}
	}
	want := strings.Repeat("[", depth+1) + strings.Repeat("]", depth+1)
	if text, ok := g.Canonical(v); !ok || text != want {
		t.Errorf("%d arrays have no text, or a wrong one of %d bytes", depth, len(text))
	}
}

// Each object fits both orders, and the mismatch comes after all of them.
func TestCanonicalGivesUp(t *testing.T) {
	const objects = 40
	g := newGrammar(t,
		pushdown.Rule{Array: &pushdown.Array{Items: own + 1, Max: objects}},
		alternatives(own+2, own+3), declare("a b", anyInteger), declare("b a", anyInteger))
	object := `{"a":1,"b":2}`
	if _, ok := g.Canonical(value(t, "["+strings.Repeat(object+",", objects)+object+"]")); ok {
		t.Error("a list that is too long has a text")
	}
	if _, ok := g.Canonical(value(t, "["+strings.Repeat(object+",", objects-1)+object+"]")); !ok {
		t.Error("a list that is not too long has no text")
	}
}

// Backtracking within each of many objects stays in proportion.
func TestCanonicalLong(t *testing.T) {
	const objects = 5000
	g := newGrammar(t, pushdown.Rule{Array: &pushdown.Array{Items: own + 1, Max: -1}},
		alternatives(own+2, own+3, own+4), declare("a b c t", own+5), declare("b a c t", own+6), declare("c b a t", own+7), literal("1"), literal("2"), literal("3"))
	var b strings.Builder
	for i := range objects {
		fmt.Fprintf(&b, `,{"a":%d,"b":%d,"c":%d,"t":%d}`, i, i, i, i%3+1)
	}
	text, ok := g.Canonical(value(t, "["+b.String()[1:]+"]"))
	if !ok || !strings.HasPrefix(text, `[{"a":0,"b":0,"c":0,"t":1},{"b":1,"a":1,"c":1,"t":2},{"c":2,`) {
		t.Errorf("%.100q, %v", text, ok)
	}
}

func TestPlain(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "-0.0e7": "0", "7": "7", "007": "7", "1.50": "1.5", "-1.50": "-1.5", "1e3": "1000", "1E+3": "1000",
		"1.234e2": "123.4", "1.234e5": "123400", "12e-1": "1.2", "12e-2": "0.12", "12e-4": "0.0012", "1e0": "1", "1e1000": "1" + strings.Repeat("0", 1000),
		"": "", "-": "", "e5": "", "1e": "", "x": "", "1e99999": "", "1e-99999": "", "1e99999999999999999999": "", "--1": "", "1.2.3": "", "0x1": "",
	} {
		if got, ok := plain(number); got != want || ok != (want != "") {
			t.Errorf("plain(%q) = %q, %v, want %q", number, got, ok, want)
		}
	}
}
