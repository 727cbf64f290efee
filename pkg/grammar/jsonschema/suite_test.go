package jsonschema

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
)

// suite is the directory of JSON-Schema-Test-Suite, next to the checkout if it exists.
var suite = "../../../../shared/data/json-schema-test-suite/tests/draft2020-12"

// notInSuite lists the groups of tests that differ on purpose.
var notInSuite = map[string]string{
	"vocabulary.json": "a meta-schema of one's own is not read: all keywords hold",
	"format.json":     "formats that are known are held to",
}

type group struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func TestSuite(t *testing.T) {
	files, _ := filepath.Glob(suite + "/*.json")
	if len(files) == 0 {
		t.Skip("JSON-Schema-Test-Suite is not at " + suite)
	}
	all := 0
	refused := map[string]int{}
	for _, file := range files {
		name := filepath.Base(file)
		if notInSuite[name] != "" {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []group
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			all++
			t.Run(name+"/"+g.Description, func(t *testing.T) {
				if f := g.run(t); f != nil {
					refused[f.Keyword]++
					t.Log(f)
				}
			})
		}
	}
	left := all
	for _, keyword := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d refused by %s", refused[keyword], keyword)
		left -= refused[keyword]
	}
	t.Logf("%d of %d schemas accepted", left, all)
	if left < 330 {
		t.Error("too few")
	}
}

// run checks the program of a schema against its tests, or returns the compiler's error.
func (g *group) run(t *testing.T) (refused *fault.Error) {
	p, err := Compile(g.Schema, automaton.Limits{})
	none := err != nil && err.Error() == "no value is valid for the schema"
	if err != nil && !none {
		if !errors.As(err, &refused) {
			t.Fatalf("%v is no fault", err)
		}
		return refused
	}
	for _, test := range g.Tests {
		if (!none && accepts(t, p, string(test.Data))) != test.Valid {
			t.Errorf("%s: %s: valid is %v", test.Description, test.Data, test.Valid)
		}
	}
	return nil
}
