package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBadRecordsHideNoOther(t *testing.T) {
	bad := map[string]string{ // record: what the problem says
		``:                                   "EOF",
		`[]`:                                 "cannot unmarshal array",
		`{"pk":"x"}`:                         `pk is "x"`,
		`{"pk":"models","sk":"novels"}`:      "sk is",
		`{"pk":"models","sk":"local-"}`:      "sk is",
		`{"pk":"models","sk":"foo-x"}`:       "sk is",
		`{"pk":"models","sk":"local-a"}`:     "checkpoint is missing",
		`{"pk":"models","sk":"local-a"} {}`:  "more after",
		`{"pk":"models","sk":"local-a","x":`: "EOF",
		`{"pk":"models","sk":"local-a","shema":{}}`:                                     `"shema"`,
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","chat_tmeplate":""}}`: `"chat_tmeplate"`,
		`{"pk":"models","sk":"local-a","schema":"{"}`:                                   "EOF",
		`{"pk":"models","sk":"local-a","schema":"\ud800"}`:                              "invalid",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":3}}`:                      "number",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":"tanh31"}}`:     "cap",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":-1}}`:           "cap",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":"NaN"}}`:        "cap",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","aliases":[""]}}`:     "aliases",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"context":-1}`:       "context",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","quant":"q3_k"}}`:     "quant",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"created":"noon"}`:   "time",
		`{"pk":"models","sk":"local-ok","schema":{"checkpoint":"a"}}`:                   "another file",
		`"` + strings.Repeat("x", maxItem) + `"`:                                        "larger than",
	}
	for content, want := range bad {
		f := Files{fstest.MapFS{
			"a.json": {Data: []byte(`{"pk":"models","sk":"local-ok","created":"2026-01-02T03:04:05Z","schema":{"checkpoint":"ok","cap":"tanh30"}}`)},
			"b.json": {Data: []byte(content)},
			"b.txt":  {Data: []byte("no record")},
		}}
		records, problems, err := f.Records(t.Context())
		if err != nil || len(records) != 1 || records[0].Name != "ok" || records[0].Created.Year() != 2026 {
			t.Errorf("%.80s: %+v, %v", content, records, err)
		}
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) || !strings.Contains(problems[0].Error(), "b.json") {
			t.Errorf("%.80s: %v, want %q", content, problems, want)
		}
	}
}

func TestRecordsThatNameNoRun(t *testing.T) {
	for checkpoint, want := range map[string]string{
		"gone": "no such run in starters", "s3://bucket/x": "S3", "../x": "neither", "a/b": "neither", `a\\b`: "neither",
		".": "neither", filepath.ToSlash(filepath.Join(t.TempDir(), "gone")): "gone",
	} {
		f := Files{fstest.MapFS{
			"a.json": {Data: []byte(`{"pk":"models","sk":"local-a","schema":{"checkpoint":"` + checkpoint + `"}}`)},
			"b.json": {Data: []byte(`{"pk":"models","sk":"all-models","models":[
				{"model_type":"Claude","model_name":"claude","model_family":"bedrock"},
				{"model_type":"?","model_name":"x","model_family":"nowhere"},
				{"model_type":"Alpha","model_name":"lost","model_family":"local"}]}`)},
			"c.json": {Data: []byte(`{"pk":"models","sk":"bedrock-anthropic"}`)},
		}}
		c := catalogOf(&opener{}, f, Root{"starters", fstest.MapFS{"b/weights": {Data: []byte("b")}}, true})
		if got := names(t, c); len(got) != 1 || got[0] != "b" {
			t.Errorf("%s: %v", checkpoint, got)
		}
		_, problems := c.Entries(t.Context())
		s := errors.Join(problems...).Error()
		for _, want := range []string{want, "record local-a", "lists local/lost", `"bedrock"`, `"nowhere"`} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: %q is not in %s", checkpoint, want, s)
			}
		}
	}
}

func TestRecordOfADirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mine", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "weights"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	record := `{"pk":"models","sk":"local-a","schema":{"checkpoint":"` + filepath.ToSlash(filepath.Join(dir, "mine")) + `/"}}`
	c := catalogOf(&opener{}, Files{fstest.MapFS{"a.json": {Data: []byte(record)}}})
	if got := names(t, c); len(got) != 1 || got[0] != "a" {
		t.Error(got)
	}
	if got := say(t, c, "a"); got != "mine" {
		t.Error(got)
	}
}

func FuzzRecord(f *testing.F) {
	for _, file := range records().FS.(fstest.MapFS) {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if it, err := parseItem(b); (it == nil) == (err == nil) {
			t.Fatalf("%+v and %v", it, err)
		}
		files := Files{fstest.MapFS{"a.json": {Data: b}, "b.json": {Data: b}}}
		if _, problems, err := files.Records(t.Context()); err != nil || len(problems) == 0 {
			t.Fatalf("the same record twice: %v, %v", problems, err)
		}
	})
}
