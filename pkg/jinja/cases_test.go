package jinja_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"glossa/pkg/jinja"
)

var data = flag.String("data", "../../../shared/data", "directory with chat-templates")

// A suiteCase is a case of chat-templates/cases.json, rendered by Python.
type suiteCase struct {
	ID       string          `json:"id"`
	Template string          `json:"template"`
	Ctx      json.RawMessage `json:"ctx"`
	Want     *string         `json:"want"`
	Err      *string         `json:"err"`
}

// suite reads the cases and the templates, or skips the test.
func suite(t testing.TB) ([]suiteCase, map[string]string) {
	t.Helper()
	var cases []suiteCase
	templates := map[string]string{}
	for name, into := range map[string]any{"cases.json": &cases, "templates.json": &templates} {
		b, err := os.ReadFile(filepath.Join(*data, "chat-templates", name))
		if os.IsNotExist(err) {
			t.Skipf("no chat templates in %s; -data names the directory", *data)
		}
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cases, templates
}

// suiteTime is when Python rendered the cases.
var suiteTime = time.Date(2026, 7, 5, 12, 0, 0, 0, time.UTC)

// deviations are the cases that differ from Python on purpose, with the reason.
var deviations = map[string]string{}

// variables decodes a JSON object.
func variables(t testing.TB, ctx []byte) *jinja.Dict {
	t.Helper()
	v, err := jinja.FromJSON(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d, ok := v.AsDict()
	if !ok {
		t.Fatalf("the context is not an object: %.60s", ctx)
	}
	return d
}

func TestCases(t *testing.T) {
	cases, templates := suite(t)
	equal, failed := 0, 0
	for _, c := range cases {
		if why, ok := deviations[c.ID]; ok {
			t.Logf("%s: skipped: %s", c.ID, why)
			continue
		}
		template, err := jinja.Compile(templates[c.Template], jinja.Options{Name: c.ID})
		var got string
		if err == nil {
			var out jinja.Output
			out, err = template.Execute(t.Context(), variables(t, c.Ctx), jinja.Limits{Now: suiteTime})
			got = out.String()
		}
		switch {
		case c.Err != nil && err != nil:
			failed++
			t.Logf("both fail: %v; Python: %s", err, *c.Err)
		case c.Err != nil:
			t.Errorf("%s: rendered, but Python fails: %s", c.ID, *c.Err)
		case err != nil:
			t.Errorf("%v", err)
		case got != *c.Want:
			t.Errorf("%s: %s", c.ID, difference(got, *c.Want))
		default:
			equal++
		}
	}
	t.Logf("%d cases equal Python's bytes and %d fail as in Python, of %d; %d deliberate deviations", equal, failed, len(cases), len(deviations))
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-40):min(len(s), i+60)] }
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]any{"at": i, "got": part(got), "want": part(want)})
	return b.String()
}
