package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"glossa/pkg/grammar"
)

// letters returns a vocabulary of single characters.
func letters(s string) *grammar.Vocabulary { return grammar.NewVocabulary(strings.Split(s, "")) }

// A grammar can also check texts that something else wrote.
func ExampleSchema() {
	g, err := grammar.Schema([]byte(`{"type": "array", "items": {"type": "integer"}, "maxItems": 3}`), grammar.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Match("[1,2,3]"), g.Match("[1,2,3,4]"), g.Match(`["one"]`))
	// Output:
	// true false false
}

// An error names the place in the schema.
func ExampleError() {
	_, err := grammar.Schema([]byte(`{"properties": {"a": {"type": "string", "pattern": "("}}}`), grammar.Limits{})
	if e, ok := errors.AsType[*grammar.Error](err); ok {
		fmt.Println(e.Pointer, e.Keyword)
	}
	// Output:
	// /properties/a pattern
}

// A regular expression must match the whole text.
func ExampleRegexp() {
	g, err := grammar.Regexp(`\d{4}-(0[1-9]|1[0-2])`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Match("2026-11"), g.Match("2026-13"), g.Match("in 2026-11"))
	// Output:
	// true false false
}

// Grammars may be recursive.
func ExampleGBNF() {
	g, err := grammar.GBNF(`
		root ::= term ("+" term)*
		term ::= [0-9]+ | "(" root ")"
	`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Match("1+(2+30)"), g.Match("1+(2"))
	// Output:
	// true false
}

// Canonical writes a value as the grammar spells it, or reports that it is not valid.
func ExampleGrammar_Canonical() {
	g, err := grammar.Schema([]byte(`{
		"type": "object",
		"properties": {"b": {"type": "boolean"}, "a": {"type": "boolean"}},
		"additionalProperties": false
	}`), grammar.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Canonical(map[string]any{"a": true, "b": false}))
	fmt.Println(g.Canonical(map[string]any{"c": true}))
	// Output:
	// {"b":false,"a":true} true
	//  false
}

// With three tokens left a mask excludes what could not end in time.
func ExampleMatcher_Mask() {
	v := letters("[]1,")
	g, err := grammar.GBNF(`root ::= "[" "1"* ("," "1")* "]"`)
	if err != nil {
		log.Fatal(err)
	}
	constraint, err := g.Bind(v)
	if err != nil {
		log.Fatal(err)
	}
	m := constraint.Start()
	m.Take(0)
	for _, left := range []int{3, 2, 1} {
		mask := m.Mask(left)
		for id := range v.Size() {
			if mask.Allows(id) {
				fmt.Print(v.Token(id), " ")
			}
		}
		fmt.Println("with", left, "left")
	}
	// Output:
	// ] 1 , with 3 left
	// ] 1 with 2 left
	// ] with 1 left
}

// Forced is text without a choice: an engine need not ask its model for it.
func ExampleMatcher_Forced() {
	g, err := grammar.Schema([]byte(`{
		"type": "object", "properties": {"answer": {"type": "boolean"}}, "required": ["answer"], "additionalProperties": false
	}`), grammar.Generating())
	if err != nil {
		log.Fatal(err)
	}
	constraint, err := g.Bind(letters(`{}":answertufl`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(constraint.Start().Forced())
	// Output:
	// {"answer":
}

// An answer may be text or calls of functions, whose arguments follow their schemas.
func ExampleCompiler_Calls() {
	syntax := &grammar.CallSyntax{
		Trigger: "<call>", Call: `<call>{"name": "`, Middle: `", "arguments": `, End: "}</call>", Between: "\n",
	}
	tools := []grammar.Tool{{
		Name:       "weather",
		Parameters: []byte(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`),
	}}
	g, err := grammar.NewCompiler(context.Background()).Calls(syntax, tools, grammar.CallForm{}, grammar.Generating())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Match("It is sunny."))
	fmt.Println(g.Match(`<call>{"name": "weather", "arguments": {"city":"Oslo"}}</call>`))
	fmt.Println(g.Match(`<call>{"name": "weather", "arguments": {}}</call>`))
	// Output:
	// true
	// true
	// false
}
