package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// remotes returns a catalog that opens models of all families as scripts of their records.
func remotes(source Source) *Catalog {
	open := func(_ context.Context, rec *Record) (llm.Backend, error) {
		return llmtest.Script{fmt.Sprintf("%s %s %s %s", rec.Key, rec.ModelID, rec.Endpoint, rec.Component)}, nil
	}
	return New(Config{Source: source, Loader: &loader{}, Openers: map[string]Opener{Bedrock: open, SageMaker: open}})
}

// seed returns the JSON documents of API layer's documentation: the schemas of Claude and TGI.
func seed(t *testing.T, name string) json.RawMessage {
	t.Helper()
	b, err := os.ReadFile("../schema/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// quoted returns JSON as a JSON string.
func quoted(t *testing.T, v json.RawMessage) string {
	t.Helper()
	b, err := json.Marshal(string(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// upstream returns the items of API layer as its own scripts write them: schema and models
// are JSON strings.
func upstream(t *testing.T) []Item {
	rows := `[
		{"model_type": "Claude", "model_name": "anthropic.claude-instant-v1", "model_family": "bedrock", "streaming": true},
		{"model_type": "Claude", "model_name": "anthropic.claude-v2:1", "model_family": "bedrock", "streaming": true},
		{"model_type": "Cohere", "model_name": "cohere.command-light-text-v14", "model_family": "bedrock", "streaming": true},
		{"model_type": "Llama2", "model_name": "llama2js.jumpstart-dft-meta-textgeneration-llama-2-13b", "model_family": "sagemaker", "streaming": false}
	]`
	item := func(sk, attribute, value string) Item {
		return Item{Name: "models/" + sk, JSON: fmt.Appendf(nil, `{"pk":"models","sk":%q,%q:%s}`, sk, attribute, value)}
	}
	return []Item{
		item("all-models", "models", quoted(t, json.RawMessage(rows))),
		item("bedrock-anthropic", "schema", quoted(t, seed(t, "seed-claude.json"))),
		item("bedrock-cohere", "schema", string(seed(t, "seed-claude.json"))),
		item("sagemaker-llama2js", "schema", quoted(t, seed(t, "seed-tgi.json"))),
	}
}

// fixed is a source of these items.
type fixed []Item

func (f fixed) Items(context.Context) ([]Item, error) { return f, nil }

func TestUpstreamsItems(t *testing.T) {
	c := remotes(fixed(upstream(t)))
	entries, problems := c.Entries(t.Context())
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Family, " ", e.Name, " ", e.Type, " ", e.Item, " ", e.Streaming))
	}
	want := []string{
		"bedrock anthropic.claude-instant-v1 Claude bedrock-anthropic true", "bedrock anthropic.claude-v2:1 Claude bedrock-anthropic true",
		"bedrock cohere.command-light-text-v14 Cohere bedrock-cohere true",
		"sagemaker llama2js.jumpstart-dft-meta-textgeneration-llama-2-13b Llama2 sagemaker-llama2js false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, p := range problems {
		if !IsWarning(p) || !regexp.MustCompile(`^record models/[a-z0-9-]+: /schema/`).MatchString(p.Error()) {
			t.Error(p)
		}
	}
}

// rows returns an all-models with these names of the family bedrock.
func rows(names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"model_type":"T","model_name":%q,"model_family":"bedrock","streaming":false}`, name))
	}
	return `{"pk":"models","sk":"all-models","models":[` + strings.Join(list, ",") + `]}`
}

// group returns a record of the family bedrock.
func group(key, more string) string {
	return `{"pk":"models","sk":"bedrock-` + key + `","schema":` + tiny + more + `}`
}

func files(contents ...string) Files {
	m := fstest.MapFS{}
	for i, content := range contents {
		m[fmt.Sprintf("%02d.json", i)] = &fstest.MapFile{Data: []byte(content)}
	}
	return Files{m}
}

// A model whose record is missing or invalid is a reported problem, and no other
// record serves it; other models are served.
func TestModelsWithoutARecord(t *testing.T) {
	c := remotes(files(rows("a.b-c", "a.good", "x.y", "a.b"), group("a", ""), `{"pk":"models","sk":"bedrock-a.b","schema":{},"typo":1}`))
	if got := names(t, c); !slices.Equal(got, []string{"a.good"}) {
		t.Error(got)
	}
	_, problems := c.Entries(t.Context())
	s := errors.Join(problems...).Error()
	for _, want := range []string{
		"record 02.json: unknown and ignored: \"typo\"", "record 02.json: /schema/request: ", "/models/0: bedrock-a.b, the record of bedrock/a.b-c, has errors",
		"/models/2: no record of bedrock/x.y: looked for bedrock-x.y, bedrock-x", "/models/3: bedrock-a.b, ",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in:\n%s", want, s)
		}
	}
	for name, want := range map[string]string{"a.b": "is listed", "bedrock/a.b-c": "is listed", "x.y": "is listed", "x.z": "does not exist"} {
		_, err := c.Open(t.Context(), name)
		if e := llm.AsError(err); e.Code != llm.NotFound || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "typo") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Probable mistakes are reported, and hide no model.
func TestWarnings(t *testing.T) {
	odd := strings.Replace(group("odd", ""), `"mapping":{"prompt":"$.p"}`, `"mapping":{"prompt":"$.nowhere"}`, 1)
	c := remotes(files(
		strings.Replace(rows("odd", "one", "two", "lost", "self", "all.1", "all.2"), "false", "true", 1), odd,
		group("one", `,"fallbacks":["bedrock/two"]`), group("two", `,"fallbacks":["one"]`), group("lost", `,"fallbacks":["nobody"]`),
		group("self", `,"fallbacks":["self"]`), group("all", `,"fallbacks":["all.2"]`),
	))
	if got := names(t, c); len(got) != 7 {
		t.Error(got)
	}
	m, err := c.Open(t.Context(), "odd")
	if err != nil || m.Streaming {
		t.Errorf("%+v, %v: its schema has no response-with-stream", m, err)
	}
	_, problems := c.Entries(t.Context())
	s := errors.Join(problems...).Error()
	for _, want := range []string{
		"record 01.json: /schema/request/mapping/prompt: ", "/models/0/streaming: bedrock/odd does not stream",
		"bedrock/one: its fallbacks lead back", "bedrock/two: its fallbacks lead back", "bedrock/self: its fallbacks lead back",
		`bedrock/lost: the fallback model "nobody" does not exist`,
	} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in:\n%s", want, s)
		}
	}
	if len(problems) != 6 {
		t.Error(s)
	}
	for _, p := range problems {
		if !IsWarning(p) {
			t.Errorf("%v is more than a warning", p)
		}
	}
}

// An unchanged record is not parsed again and keeps its backend; any change of a record
// gives another backend.
func TestUnchangedRecordsStayOpen(t *testing.T) {
	text := group("a", `,"model_id":"one"`)
	f := files(rows("a.x"), text)
	m := f.FS.(fstest.MapFS)
	c := remotes(f)
	c.cfg.TTL, c.source.ttl = 1, 1 // read each time
	open := func() (*Record, llm.Backend) {
		t.Helper()
		model, err := c.Open(t.Context(), "a.x")
		if err != nil {
			t.Fatal(err)
		}
		return c.now.Load().entries[0].rec, model.Backend
	}
	is := func(a, b llm.Backend) bool { return &a.(llmtest.Script)[0] == &b.(llmtest.Script)[0] }
	rec, backend := open()
	again, same := open()
	if rec == again || rec.Schema != again.Schema || !is(backend, same) {
		t.Error("the same record is read or opened again")
	}
	for _, change := range [][2]string{
		{`"one"`, `"two"`}, {`"$.t"`, `"$.u"`}, {`,"model_id"`, `,"fallbacks":["b"],"model_id"`}, {`,"model_id"`, `,"cache_seconds":3,"model_id"`},
	} {
		before := backend
		text = strings.Replace(text, change[0], change[1], 1)
		m["01.json"] = &fstest.MapFile{Data: []byte(text)}
		if _, backend = open(); is(before, backend) {
			t.Errorf("%s: the backend of before is used", change)
		}
	}
	m["02.json"] = &fstest.MapFile{Data: []byte(group("a.x", ""))}
	before := backend
	if _, backend = open(); is(before, backend) {
		t.Error("the backend of another record is used")
	}
}

// Local records in addition to the source's: the source's take precedence by name, and
// remote records come from the source only.
func TestLocalRecordsBesideTheSource(t *testing.T) {
	starters := fstest.MapFS{"abc/weights": {Data: []byte("abc")}, "novels/weights": {Data: []byte("novels")}}
	local := records().FS.(fstest.MapFS)
	local["z.json"] = &fstest.MapFile{Data: []byte(group("inside", ""))}
	all := local["all-models.json"]
	all.Data = bytes.Replace(all.Data, []byte("]"), []byte(`,{"model_name":"lost","model_family":"bedrock"},{"model_name":"inside.y","model_family":"bedrock"}]`), 1)
	c := New(Config{
		Source: files(rows("a", "inside.x"), group("a", ""), `{"pk":"models","sk":"local-abc","description":"the table's","schema":{"checkpoint":"abc"}}`),
		Local:  Files{local}, Roots: []Root{{"starters", starters, true}}, Loader: &loader{},
		Openers: map[string]Opener{Bedrock: remotes(nil).cfg.Openers[Bedrock]},
	})
	if got := names(t, c); !slices.Equal(got, []string{"abc", "novels", "a"}) {
		t.Error(got)
	}
	m, err := c.Open(t.Context(), "abc")
	if err != nil || m.Description != "the table's" {
		t.Errorf("%+v, %v", m, err)
	}
	if got := say(t, c, "novels-5hr"); got != "novels" {
		t.Error(got)
	}
	for name, want := range map[string]string{"lost": "does not exist", "inside.y": "does not exist", "inside.x": "is listed"} {
		if got := say(t, c, name); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
