package grammar_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"glossa/pkg/grammar/automaton"
)

var (
	update = flag.Bool("update", false, "write the counts of the suites anew")
	data   = flag.String("data", "../../../shared/data", "directory with maskbench and json-schema-test-suite")
)

// The suites, by their directories below the data. They are not part of the repository:
// MaskBench's sample has no licence.
var suites = []suite{
	{"MaskBench", "maskbench"},
	{"JSON Schema Test Suite", "json-schema-test-suite/tests/draft2020-12"},
}

type suite struct{ name, dir string }

// A group is a schema with instances.
type group struct {
	file        string // within its suite
	Description string
	Schema      json.RawMessage
	Tests       []instance
}

type instance struct {
	Description string
	Data        json.RawMessage
	Valid       bool
}

// read returns the groups of a suite and the number of its files, none if the data is
// absent.
func (s suite) read(t testing.TB) (groups []group, files int) {
	t.Helper()
	tree := os.DirFS(path.Join(*data, s.dir))
	if _, err := fs.Stat(tree, "."); err != nil {
		return nil, 0
	}
	err := fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".json" {
			return err
		}
		files++
		raw, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		list := make([]group, 1)
		if bytes.HasPrefix(raw, []byte("[")) {
			err = json.Unmarshal(raw, &list)
		} else {
			err = json.Unmarshal(raw, &list[0])
		}
		for i := range list {
			list[i].file = name
		}
		groups = append(groups, list...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return groups, files
}

// decode returns a JSON value with the spelling of its numbers.
func decode(t testing.TB, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%.200s: %v", raw, err)
	}
	return v
}

// equal compares decoded values, numbers by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, v := range a {
			if !equal(v, b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, okX := new(big.Rat).SetString(string(a))
		y, okY := new(big.Rat).SetString(string(b))
		return okX && okY && x.Cmp(y) == 0
	}
	return a == b
}

// judge compiles a schema with another implementation. It asserts only the formats that
// automata support.
func judge(raw []byte) (*jsonschema.Schema, error) {
	if strings.Contains(strings.Join(strings.Fields(string(raw)), ""), `"format":"regex"`) {
		return nil, errors.New("it cannot be kept from asserting the format regex")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range annotations {
		if _, ok := automaton.Format(name); !ok {
			c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
		}
	}
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(ecma)
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// ecma compiles an expression of ECMA-262 with Go's: there \s is more than in Go.
func ecma(expression string) (jsonschema.Regexp, error) {
	const space = `\s\v\x{a0}\x{feff}\x{2028}\x{2029}\p{Zs}`
	var b strings.Builder
	class := false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\' && i+1 < len(expression):
			i++
			switch {
			case expression[i] == 's' && class:
				b.WriteString(space)
			case expression[i] == 's':
				b.WriteString("[" + space + "]")
			default:
				b.WriteString(expression[i-1 : i+1])
			}
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		b.WriteByte(expression[i])
	}
	return regexp.Compile(b.String())
}

// annotations lists the formats that the judge supports.
var annotations = strings.Fields(`date date-time duration email hostname idn-email idn-hostname ipv4 ipv6
	iri iri-reference json-pointer period regex relative-json-pointer semver time uri uri-reference
	uri-template uuid`)

// nowhere loads no schemas over a network.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

// opinion describes the judge's verdict on an instance, for messages.
func opinion(raw []byte, value any) string {
	s, err := judge(raw)
	if err != nil {
		return "another validator refuses the schema"
	}
	if s.Validate(value) != nil {
		return "another validator refuses it too"
	}
	return "another validator accepts it"
}
