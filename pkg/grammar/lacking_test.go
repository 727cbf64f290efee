package grammar_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/pushdown"
	"glossa/pkg/toolcall"
)

// Bounded strings can be written of characters that are tokens although their bytes are not, whatever
// path to the end is the shortest in characters or in tokens.
func TestLackingBytes(t *testing.T) {
	pieces := []string{`"`, "aa", "é", "ü", "üü", `é"`, "日本", "日"}
	vocabs := append(vocabularies(t), vocabulary{name: "pieces", tokens: pieces, ready: pushdown.NewVocabulary(pieces)})
	written := 0
	for _, pattern := range []string{`^-|é`, `^é+$`, `^[日本]{1,5}$`, `^[日本]{2}$`, `^(abcdefg|é)ü?$`, `^(é|--)*😀$`, `\u0001|語`, `.`, `^[^a]*é`, `^(aß|é)ü?$`, `^(bß|[^b]*é)$`, `^(a*ß|x)+$`, `^(aa|é)ü$`, `^(日本|aa)+ü*$`} {
		for most := 1; most <= 4; most++ {
			for least := 0; least <= min(most, 2); least++ {
				raw := fmt.Appendf(nil, `{"type":"string","pattern":%q,"minLength":%d,"maxLength":%d}`, pattern, least, most)
				c, err := newSchemaCase(string(raw), raw)
				if err != nil {
					continue // no text is short enough, or patterns with a minimum are refused
				}
				for _, v := range vocabs {
					bound, err := c.grammar.Bind(v.ready)
					if err != nil {
						if v.name != "pieces" || most == 2 && pattern == `^(aa|é)ü$` {
							t.Errorf("%s over %s: %v", raw, v.name, err)
						}
						continue
					}
					for i, s := range samplers {
						for more := range 4 {
							w := &writer{constraint: bound, vocab: &v, random: rand.New(rand.NewPCG(uint64(i), uint64(more)))}
							if err := w.run(s, bound.Min()+more); err != nil {
								t.Errorf("%s over %s, %d tokens more, %s: %v", raw, v.name, more, s.name, err)
							} else if err := c.check(w.text()); err != nil {
								t.Errorf("%s over %s, %s: %q: %v", raw, v.name, s.name, w.text(), err)
							}
							written++
						}
					}
				}
			}
		}
	}
	if written < 500 {
		t.Errorf("only %d texts", written)
	}
}

// Constants and declared keys are written with escapes where the vocabulary lacks their characters.
func TestLackingCharacters(t *testing.T) {
	vocabs := vocabularies(t)
	for _, x := range []struct{ schema, characters string }{ // the texts over characters, with |
		{`{"enum":["ß","é","日ж😁"]}`, `"\u00df"|"é"|"日\u0436\ud83d\ude01"`},
		{`{"const":{"größe":["ß",1]}}`, `{"gr\u00f6\u00dfe":["\u00df",1]}`},
		{`{"type":"object","properties":{"größe":{"type":"boolean"},"é":{"const":1}},"required":["größe"],"additionalProperties":false}`,
			`{"gr\u00f6\u00dfe":true}|{"gr\u00f6\u00dfe":false}|{"gr\u00f6\u00dfe":true,"é":1}|{"gr\u00f6\u00dfe":false,"é":1}`},
		{`{"type":"array","items":{"enum":["ß","ñ"]},"uniqueItems":true,"minItems":2}`, `["\u00df","\u00f1"]|["\u00f1","\u00df"]`},
		{`{"type":"object","propertyNames":{"enum":["ß"]},"additionalProperties":{"const":1},"minProperties":1}`, `{"\u00df":1}`},
	} {
		c, err := newSchemaCase(x.schema, []byte(x.schema))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vocabs {
			bound, err := c.grammar.Bind(v.ready)
			if err != nil {
				t.Errorf("%s over %s: %v", x.schema, v.name, err)
				continue
			}
			seen := map[string]bool{}
			for seed := range uint64(40) {
				w := &writer{constraint: bound, vocab: &v, random: rand.New(rand.NewPCG(seed, 1))}
				if err := w.run(samplers[0], bound.Min()+int(seed)%20); err != nil {
					t.Fatalf("%s over %s: %v", x.schema, v.name, err)
				}
				seen[w.text()] = true
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(w.text()))
				if err != nil || c.judge.Validate(value) != nil {
					t.Errorf("%s over %s: %s, %v", x.schema, v.name, w.text(), err)
				}
			}
			want := x.characters
			if v.name != "characters" {
				want = unescaped.Replace(want)
			}
			if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, slices.Sorted(slices.Values(strings.Split(want, "|")))) {
				t.Errorf("%s over %s: %s", x.schema, v.name, got)
			}
		}
	}
	g, err := grammar.Regexp("ß")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Bind(vocabs[1].ready); err == nil {
		t.Error("a text that is not JSON is escaped")
	}
}

// Constants are also escaped in arguments of calls and in texts that may be written instead of calls.
func TestLackingCharactersOfCalls(t *testing.T) {
	var tokens []string
	for b := range 0x80 {
		tokens = append(tokens, string(rune(b)))
	}
	v := grammar.NewVocabulary(tokens)
	text, err := grammar.Schema([]byte(`{"type":"object","properties":{"größe":{"enum":["ß","😁"]}},"required":["größe"],"additionalProperties":false}`), grammar.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tools := []grammar.Tool{{Name: "f", Parameters: []byte(`{"type":"object","properties":{"x":{"const":"é"}},"required":["x"],"additionalProperties":false}`)}}
	for _, x := range []struct {
		syntax    toolcall.Syntax
		arguments string
	}{{toolcall.Hermes(), `{"x":"\u00e9"}`}, {toolcall.LFM2(), `x="\u00e9"`}} {
		g, err := grammar.NewCompiler(t.Context()).Calls(&x.syntax, tools, grammar.CallForm{Text: text}, grammar.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := g.Bind(v)
		if err != nil {
			t.Fatalf("%s: %v", x.syntax.Family, err)
		}
		call := x.syntax.Begin() + "f" + x.syntax.Middle + x.arguments + x.syntax.End + x.syntax.Close
		for _, want := range []string{`{"gr\u00f6\u00dfe":"\u00df"}`, `{"gr\u00f6\u00dfe":"\ud83d\ude01"}`, call} {
			m := c.Start()
			for i := range len(want) {
				if !m.Take(int(want[i])) {
					t.Errorf("%s: %q may not follow %q", x.syntax.Family, want[i], m.Text())
					break
				}
			}
			if !m.Accepts() {
				t.Errorf("%s: %q is not accepted", x.syntax.Family, m.Text())
			}
		}
	}
}

var unescaped = strings.NewReplacer(`\u00df`, "ß", `\u00f6`, "ö", `\u00f1`, "ñ", `\u0436`, "ж", `\ud83d\ude01`, "😁")
