package jinja_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"glossa/pkg/jinja"
)

var goldens = flag.String("goldens", "testdata/goldens.json", "file of testdata/goldens.py")

// goldenTime is NOW of goldens.py.
var goldenTime = time.Date(2026, 7, 5, 9, 8, 7, 654321000, time.UTC)

func TestGoldens(t *testing.T) {
	b, err := os.ReadFile(*goldens)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Ctx   json.RawMessage
		Cases []struct{ Template, Want, Err string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	vars := variables(t, file.Ctx)
	for _, c := range file.Cases {
		template, err := jinja.Compile(c.Template, jinja.Options{})
		var out jinja.Output
		if err == nil {
			out, err = template.Execute(t.Context(), vars, jinja.Limits{Now: goldenTime})
		}
		switch {
		case c.Err != "" && err == nil:
			t.Errorf("%q\n  gave %q, Python fails: %s", c.Template, out.String(), c.Err)
		case c.Err == "" && err != nil:
			t.Errorf("%q\n  %v, want %q", c.Template, err, c.Want)
		case c.Err == "" && out.String() != c.Want:
			t.Errorf("%q\n  got  %q\n  want %q", c.Template, out.String(), c.Want)
		}
	}
	t.Logf("%d templates", len(file.Cases))
}
