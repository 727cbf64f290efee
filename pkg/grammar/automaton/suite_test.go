package automaton

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// data is the directory of test suites next to a clone of the repository.
const data = "../../../../shared/data"

// patterns returns the patterns of every schema in data.
func patterns(t *testing.T) map[string]bool {
	if _, err := os.Stat(data); err != nil {
		t.Skip("no schemas next to the repository: ", err)
	}
	found := map[string]bool{}
	err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		if err := json.Unmarshal(raw, &v); err == nil {
			collect(v, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// collect adds the patterns of a schema.
func collect(v any, to map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(e, to)
		}
	case map[string]any:
		if s, ok := v["pattern"].(string); ok {
			to[s] = true
		}
		if m, ok := v["patternProperties"].(map[string]any); ok {
			for s := range m {
				to[s] = true
			}
		}
		for _, e := range v {
			collect(e, to)
		}
	}
}

// TestPatternsOfSchemas lists the rejected patterns among those of real schemas.
func TestPatternsOfSchemas(t *testing.T) {
	refused := 0
	list := slices.Sorted(maps.Keys(patterns(t)))
	for _, p := range list {
		d, err := Pattern(p)
		if err != nil {
			t.Logf("%s: %v", p, err)
			refused++
			continue
		}
		check(t, d)
		if testing.Verbose() {
			t.Logf("%5d states: %.100s", len(d.States), p)
		}
	}
	if len(list) == 0 || refused > len(list)/100 {
		t.Errorf("%d of %d patterns refused", refused, len(list))
	}
}

// oneReading lists the texts of the suite that match a pattern in ECMA-262 and not in Python's
// re.
var oneReading = map[string]bool{`^\D$ ߀`: true, `^\W$ é`: true, "^\\s$ \ufeff": true}

// TestPatternsOfSuite has the texts of the suite of JSON Schema.
func TestPatternsOfSuite(t *testing.T) {
	dir := filepath.Join(data, "json-schema-test-suite/tests/draft2020-12")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no suite next to the repository: ", err)
	}
	tried := 0
	for _, name := range []string{"pattern", "optional/ecmascript-regex", "optional/non-bmp-regex"} {
		raw, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Schema struct{ Pattern *string }
			Tests  []struct {
				Description string
				Data        any
				Valid       bool
			}
		}
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if g.Schema.Pattern == nil {
				continue
			}
			d, err := Pattern(*g.Schema.Pattern)
			if err != nil {
				t.Errorf("%s: %v", *g.Schema.Pattern, err)
				continue
			}
			for _, c := range g.Tests {
				s, ok := c.Data.(string)
				if tried++; ok && d.Match(Quote(s)) != (c.Valid && !oneReading[*g.Schema.Pattern+" "+s]) {
					t.Errorf("%s: %s: %q: %v", *g.Schema.Pattern, c.Description, s, !c.Valid)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d texts", tried)
	}
}
