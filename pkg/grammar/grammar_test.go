package grammar_test

import (
	"strings"
	"testing"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/automaton"
)

// Errors quote little of the input.
func TestShortErrors(t *testing.T) {
	long := strings.Repeat("näme", 5000)
	for name, compile := range map[string]func() (*grammar.Grammar, error){
		"reference": func() (*grammar.Grammar, error) {
			return grammar.Schema([]byte(`{"$ref":"#/$defs/`+long+`"}`), automaton.Generating())
		},
		"pointer": func() (*grammar.Grammar, error) {
			return grammar.Schema([]byte(`{"properties":{"`+long+`":{"type":"text"}}}`), automaton.Generating())
		},
		"rule": func() (*grammar.Grammar, error) { return grammar.GBNF("root ::= " + strings.Repeat("name", 5000)) },
	} {
		_, err := compile()
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %.2000v", name, err)
		}
	}
}
