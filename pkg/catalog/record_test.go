package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// read reads the records of files.
func read(t *testing.T, f Files) listing {
	t.Helper()
	items, err := f.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var r reader
	return r.read(items, nil)
}

// tiny is a valid schema.
const tiny = `{"request":{"defaults":{"p":""},"mapping":{"prompt":"$.p"}},"response":{"mapping":{"generated_text":"$.t"}}}`

func TestBadRecordsHideNoOther(t *testing.T) {
	bad := map[string]string{ // record: its problem
		``:                                   "EOF",
		`[]`:                                 "it is a list, not an object",
		`null`:                               "it is null",
		`{"pk":"x","sk":"local-a"}`:          `/pk: it is "x"`,
		`{"pk":"models","sk":"novels"}`:      "/sk: ",
		`{"pk":"models","sk":"local-"}`:      "/sk: ",
		`{"pk":"models","sk":"foo-x"}`:       "/sk: ",
		`{"pk":"models","sk":["x"]}`:         "/sk: it is a list, not a string",
		`{"pk":"models","sk":"local-a"}`:     "/schema/checkpoint: it is missing",
		`{"pk":"models","sk":"local-a"} {}`:  "data after",
		`{"pk":"models","sk":"local-a","x":`: "EOF",
		`{"pk":"models","sk":"local-a","schema":{"a/b":{}}}`:                                                                      "/schema/a~1b: unknown name",
		`{"pk":"models","sk":"bedrock-a.b","schema":` + tiny + `,"listed":"no"}`:                                                  "/listed: it is a string, not true or false",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"listed":false}`:                                               "/listed: only records of remote models",
		`{"pk":"models","sk":"bedrock-a.b","schema":` + tiny + `,"streaming":1}`:                                                  "/streaming: it is a number",
		`{"pk":"models","sk":"bedrock-a.b","schema":` + tiny + `,"model_type":{}}`:                                                "/model_type: it is an object",
		`{"pk":"models","sk":"local-a","sk":"local-a"}`:                                                                           "/sk: this name appears twice",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","chat_tmeplate":""}}`:                                           "/schema/chat_tmeplate: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","chat_template":"x"}}`:                                          "/schema/chat_template: ",
		`{"pk":"models","sk":"local-a","schema":"{"}`:                                                                             "/schema: unexpected EOF",
		`{"pk":"models","sk":"local-a","schema":"\ud800"}`:                                                                        "/schema: invalid",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":3}}`:                                                                "/schema/checkpoint: it is a number, not a string",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":"tanh31"}}`:                                               "/schema/cap: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":-1}}`:                                                     "/schema/cap: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","cap":"NaN"}}`:                                                  "/schema/cap: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","aliases":["b",""]}}`:                                           "/schema/aliases/1: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","kv":"q8_0"}}`:                                                  "/schema/kv: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","quant":"q3_k"}}`:                                               "/schema/quant: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a","prefixes":"shared"}}`:                                          "/schema/prefixes: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"context":-1}`:                                                 "/context: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"context":"8"}`:                                                "/context: it is a string, not a whole number",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"context":8.5}`:                                                "/context: it is 8.5, not a whole number",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"context":[8]}`:                                                "/context: it is a list, not a whole number",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"cache_seconds":-1}`:                                           "/cache_seconds: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"fallbacks":["b",""]}`:                                         "/fallbacks/1: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"hostings":"aws"}`:                                             "/hostings: it is a string, not a list",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"parse_special":1}`:                                            "/parse_special: it is a number, not true or false",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"created":"noon"}`:                                             "/created: ",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"models":[]}`:                                                  "/models: only all-models may have it",
		`{"pk":"models","sk":"local-a","schema":{"checkpoint":"a"},"endpoint":"e"}`:                                               "/endpoint: only records of the family sagemaker",
		`{"pk":"models","sk":"bedrock-a"}`:                                                                                        "/schema: it is missing",
		`{"pk":"models","sk":"bedrock-a","schema":null}`:                                                                          "/schema: it is missing",
		`{"pk":"models","sk":"bedrock-a","schema":` + tiny + `,"endpoint":"e"}`:                                                   "/endpoint: only records of the family sagemaker",
		`{"pk":"models","sk":"bedrock-a","schema":` + tiny + `,"inference_component":"e"}`:                                        "/inference_component: only",
		`{"pk":"models","sk":"sagemaker-a","schema":` + tiny + `,"model_id":"e"}`:                                                 "/model_id: only records of the families bedrock and openai",
		`{"pk":"models","sk":"bedrock-a","schema":{"request":{"defaults":{},"mapping":{}},"response":{"mapping":{"a/b":"$.["}}}}`: `/schema/response/mapping/a~1b: `,
		`{"pk":"models","sk":"bedrock-a","schema":` + strings.Replace(tiny, `{`, `{"chat_template":"x",`, 1) + `}`:                "/schema/chat_template: unknown",
		`{"pk":"models","sk":"all-models","models":{}}`:                                                                           "/models: it is an object, not a list",
		`{"pk":"models","sk":"all-models","models":"{"}`:                                                                          "/models: unexpected EOF",
		`{"pk":"models","sk":"all-models","models":"[{\"model_name\":3,\"model_family\":\"local\"}]"}`:                            "/models/0/model_name: it is a number",
		`{"pk":"models","sk":"all-models","models":[{"model_name":"ok","model_family":"local"},{"model_name":"x"}]}`:              "/models/1: ",
		`{"pk":"models","sk":"all-models","models":[{"model_name":"ok","model_family":"local"},3]}`:                               "/models/1: it is a number, not an object",
		`{"pk":"models","sk":"all-models","models":[{"model_name":"x","model_family":"bedrock"}]}`:                                "/models/0: no record of bedrock/x: looked for bedrock-x",
		`{"pk":"models","sk":"local-ok","schema":{"checkpoint":"a"}}`:                                                             "another file",
		`"` + strings.Repeat("x", maxItem) + `"`:                                                                                  "larger than",
	}
	for content, want := range bad {
		f := Files{fstest.MapFS{
			"a.json": {Data: []byte(`{"pk":"models","sk":"local-ok","created":"2026-01-02T03:04:05Z","context":8.192e3,"schema":{"checkpoint":"ok","cap":"tanh30"}}`)},
			"b.json": {Data: []byte(content)},
			"b.txt":  {Data: []byte("no record")},
		}}
		l := read(t, f)
		if len(l.records) != 1 || l.records[0].Name != "ok" || l.records[0].Created.Year() != 2026 || l.records[0].Context != 8192 {
			t.Errorf("%.80s: %+v", content, l.records)
		}
		if s := fmt.Sprint(l.problems); len(l.problems) != 1 || !strings.Contains(s, want) || !strings.Contains(s, "b.json") && !strings.Contains(s, "all-models: /models/") {
			t.Errorf("%.120s: %v, want %q", content, l.problems, want)
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
			"c.json": {Data: []byte(`{"pk":"models","sk":"bedrock-claude","schema":` + tiny + `}`)},
		}}
		c := catalogOf(&loader{}, f, Root{"starters", fstest.MapFS{"b/weights": {Data: []byte("b")}}, true})
		if got := names(t, c); len(got) != 1 || got[0] != "b" {
			t.Errorf("%s: %v", checkpoint, got)
		}
		_, problems := c.Entries(t.Context())
		s := errors.Join(problems...).Error()
		for _, want := range []string{want, "record local-a", "no record of local/lost", `"bedrock"`, `"nowhere"`} {
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
	c := catalogOf(&loader{}, Files{fstest.MapFS{"a.json": {Data: []byte(record)}}})
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
		it := parseItem(b)
		if len(it.mistakes) == 0 && (it.PK != pk || it.SK == "") {
			t.Fatalf("%+v", it)
		}
		var r reader
		if l := r.read([]Item{{Name: "a", JSON: b}, {Name: "b", JSON: b}}, nil); len(l.problems) == 0 {
			t.Fatal("the same record twice is no problem")
		}
	})
}

// Records have the provider's name of a model; without it the model's name is used.
func TestProviderNames(t *testing.T) {
	for _, test := range []struct{ name, endpoint, want string }{
		{"tgi.llama-2-13b", "", "llama-2-13b"}, {"tgi.a.b", "", "a.b"}, {"llama", "", "llama"}, {"tgi.", "", "tgi."}, {"tgi.llama", "prod", "prod"},
	} {
		if got := (&Record{Name: test.name, Endpoint: test.endpoint}).EndpointName(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
	for id, rec := range map[string]Record{"a.b": {Name: "a.b"}, "c": {Name: "a.b", ModelID: "c"}} {
		if got := rec.BedrockID(); got != id {
			t.Errorf("%+v: %q", rec, got)
		}
	}
}
