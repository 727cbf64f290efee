package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

func readTest(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(name, ": ", err)
	}
}

// same compares values by their JSON.
func same(t testing.TB, got, want any) bool {
	t.Helper()
	var values [2]any
	for i, v := range []any{got, want} {
		b, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(b, &values[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// differ lists the paths on which this package and jsonpath-ng differ, with the
// reason. Where jsonpath-ng raises, this package finds nothing, and sets what it can.
var differ = map[string]string{
	"$['*']":           "a quoted name is a name",
	"$.'*'":            "a quoted name is a name",
	"$.ä":              "letters are letters",
	"$.l[1,0]":         "lists of indices are refused",
	"$['a','s']":       "lists of names are refused",
	"$.a,s":            "lists of names are refused",
	"$.a.`this`":       "named operators are refused",
	"$.a.b.`parent`.x": "named operators are refused",
	"$.a|$.l":          "unions are refused",
	"$.a where b":      "operators are refused",
	"$.(a.b)":          "groups are refused",
	"$.l[1:0:-1]":      "strides are at least 1",
	"$.l[0:2:0]":       "strides are at least 1",
	"$.s[0]":           "an index is of lists, not of the letters of a string",
	"$..[*]":           "the document is a list of itself, which cannot be replaced",
	"$[*]":             "the document is a list of itself, which cannot be replaced",
	"$.[*]":            "the document is a list of itself, which cannot be replaced",
	"$..[0]":           "an index never becomes a name of an object",
	"$[0]":             "an index never becomes a name of an object",
	"$.e[*]":           "an object is a list of itself, in find and in update",
}

// executed is jsonpath-ng's result for a path.
type executed struct {
	Path, UpdateRaises string
	Refused            bool
	Find               []any
	Changed            map[string]any
}

func TestJSONPathNG(t *testing.T) {
	var table struct {
		Document json.RawMessage
		Cases    []executed
	}
	readTest(t, "jsonpath-ng.json", &table)
	for _, c := range table.Cases {
		_, allowed := differ[c.Path]
		switch told := c.compare(t, table.Document); {
		case told != "" && !allowed:
			t.Errorf("%s: %s", c.Path, told)
		case told == "" && allowed:
			t.Errorf("%s: no difference is left", c.Path)
		}
	}
}

// compare returns the difference between this package and jsonpath-ng.
func (c *executed) compare(t *testing.T, document []byte) string {
	p, err := parsePath(c.Path)
	if c.Refused || err != nil {
		if c.Refused == (err != nil) {
			return ""
		}
		return fmt.Sprintf("refused with %v, by jsonpath-ng: %t", err, c.Refused)
	}
	doc, _ := decode(document)
	f, err := newFinder(p)
	if err != nil {
		return err.Error()
	}
	v, found, err := f.first(&walk{doc: doc, budget: maxRequest})
	if err != nil || found != (len(c.Find) > 0) || found && !same(t, v, c.Find[0]) {
		return fmt.Sprintf("finds %v %t %v, jsonpath-ng %v", v, found, err, c.Find)
	}
	before, _ := decode(document)
	p.set(doc.root, "NEW")
	changed := map[string]any{}
	for name, v := range doc.root.(map[string]any) {
		if !same(t, v, before.root.(map[string]any)[name]) {
			changed[name] = v
		}
	}
	if c.UpdateRaises == "" && len(changed)+len(c.Changed) > 0 && !same(t, changed, c.Changed) {
		return fmt.Sprintf("changes %v, jsonpath-ng %v", changed, c.Changed)
	}
	return ""
}

func TestPathRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "an empty path",
		"$.a[?(@.x==1)].y":              "a filter is not supported",
		"$.a|$.b":                       "a union is not supported",
		"$['a','b']":                    "a list of names",
		"$.a & b":                       "an intersection",
		"$.`parent`":                    "a named operator",
		"$.a[1":                         "not closed",
		"$.a['b":                        "a quote is not closed",
		`$.a['b\`:                       "a quote is not closed",
		"$..":                           "a name must follow",
		".a":                            "a name must precede the dot",
		"..a":                           "a name must precede the dot",
		"$.where":                       "quote it",
		"$[99999999999999999999]":       "beyond",
		"$[1:2:0]":                      "stride",
		"$.a b":                         "a dot or a bracket must follow",
		strings.Repeat("a.", 600) + "a": "longer than",
		strings.Repeat("a.", 64) + "a":  "more than 64 steps",
	} {
		if _, err := parsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func TestPathNormalForm(t *testing.T) {
	for text, want := range map[string]string{
		"$.[0].token.text":  `$[0]["token"]["text"]`,
		"a.b":               `$["a"]["b"]`,
		"$['a-b'].c-d":      `$["a-b"]["c-d"]`,
		`$.'it\'s'`:         `$["it's"]`,
		"$..*.x[*]":         `$..*["x"][*]`,
		"$.*[1:3][-1:][:2]": `$.*[1:3:1][-1::1][:2:1]`,
		"$.l[-1]":           `$["l"][-1]`,
		"$":                 "$",
		"$..text":           `$..["text"]`,
	} {
		p, err := parsePath(text)
		if err != nil || p.String() != want {
			t.Errorf("%s is %s %v, want %s", text, p, err, want)
		}
		again, err := parsePath(want)
		if err != nil || again.String() != want {
			t.Errorf("%s is %s %v", want, again, err)
		}
	}
}

// The library confuses 0 and "0"; a run begins with either only if the value has the
// right type.
func TestFindLooksAtKinds(t *testing.T) {
	doc, err := decode([]byte(`{"0": "member", "l": ["element"], "o": {"0": {"0": "deep"}}, "1e0": [1, 2]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]any{
		"$[0]": nil, "$.0": "member", "$.l[0]": "element", "$.l.0": nil, "$.l['0']": nil,
		"$.o.0.0": "deep", "$.o[0]": nil, "$.o.0[0]": nil, "$.1e0": nil, "$['1e0'][1]": json.Number("2"), "$.l['Inf']": nil,
	} {
		p, err := parsePath(text)
		if text == "$.1e0" {
			if err == nil {
				t.Error("1e0 is taken for a bare name")
			}
			continue
		}
		if err != nil {
			t.Fatal(text, err)
		}
		f, err := newFinder(p)
		if err != nil {
			t.Fatal(text, err)
		}
		if v, _, err := f.first(&walk{doc: doc, budget: maxRequest}); err != nil || v != want {
			t.Errorf("%s finds %v %v, want %v", text, v, err, want)
		}
	}
}

// The first match is the first in the text, not in Go's maps.
func TestFindInOrder(t *testing.T) {
	doc, err := decode([]byte(`{"z": {"x": 1, "x2": 0}, "y": {"x": 2}, "a": {"x": 3}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"$..x", "$.*.x", "$.*.*"} {
		p, _ := parsePath(text)
		f, _ := newFinder(p)
		for range 50 {
			if v, _, _ := f.first(&walk{doc: doc, budget: maxRequest}); v != json.Number("1") {
				t.Fatalf("%s finds %v first", text, v)
			}
		}
	}
}

// A path with too many values ends with an error.
func TestTooMany(t *testing.T) {
	doc, err := decode([]byte(chain(100)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePath("$" + strings.Repeat("..a", 20) + ".nothing")
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFinder(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.first(&walk{doc: doc, budget: maxRequest}); err != errTooMany {
		t.Errorf("found with %v", err)
	}
	if p.set(doc.root, 1) {
		t.Error("set")
	}
}
