package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/schemas"
)

// records returns the shipped schemas of remote models, by sk.
func records(t testing.TB) map[string]*Schema {
	names, err := fs.Glob(schemas.Files(), "*.json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Schema{}
	for _, name := range names {
		var item struct {
			PK, SK, Description string
			Schema              json.RawMessage
		}
		b, err := fs.ReadFile(schemas.Files(), name)
		if err == nil {
			err = json.Unmarshal(b, &item)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if !strings.HasPrefix(name, "bedrock-") && !strings.HasPrefix(name, "sagemaker-") && !strings.HasPrefix(name, "openai-") {
			continue
		}
		if item.PK != "models" || item.SK+".json" != name || item.Description == "" {
			t.Errorf("%s is the item %q %q, %q", name, item.PK, item.SK, item.Description)
		}
		s, err := Parse(item.Schema)
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		if out, _ := json.Marshal(s); !same(t, json.RawMessage(out), item.Schema) {
			t.Errorf("%s becomes %s", name, out)
		}
		all[item.SK] = s
	}
	return all
}

// fixture holds documented examples of a provider: canonical bodies with their
// requests, and answers and events with their keys.
type fixture struct {
	Source   []string
	Models   []string // model names of the record, which pkg/catalog tests
	Requests []struct {
		Model   string // its id; default: of the last way to reason
		Body    map[string]any
		Request json.RawMessage
	}
	Answers, Events []struct {
		Payload json.RawMessage // a string is the text itself
		Keys    json.RawMessage
	}
	Alternative *fixture
}

func TestRecords(t *testing.T) {
	all := records(t)
	for sk, s := range all {
		var f fixture
		readTest(t, "records/"+sk+".json", &f)
		if len(f.Models) == 0 || (s.Alternative == nil) != (f.Alternative == nil) {
			t.Errorf("%s: something is not shown", sk)
		}
		for _, w := range s.Warnings() {
			t.Errorf("%s warns: %v", sk, w)
		}
		testRecord(t, sk, s, &f)
		if s.Alternative != nil {
			testRecord(t, sk+" alternative", s.Alternative, f.Alternative)
		}
	}
	fixtures, err := os.ReadDir("testdata/records")
	if err != nil || len(fixtures) != len(all) {
		t.Errorf("%d fixtures for %d records: %v", len(fixtures), len(all), err)
	}
}

// testRecord tests a schema by the examples of its provider.
func testRecord(t *testing.T, sk string, s *Schema, f *fixture) {
	if len(f.Source) == 0 || len(f.Requests) == 0 || len(f.Answers) == 0 || (s.Stream != nil) != (len(f.Events) > 0) {
		t.Errorf("%s: something is not shown", sk)
	}
	shown := map[string]bool{}
	for _, c := range f.Requests {
		body, err := s.For(c.Model).ReasonKeys(c.Body)
		if got := s.Request(body); err != nil || !same(t, got, c.Request) {
			b, _ := json.Marshal(got)
			t.Errorf("%s: %v, %v\n got %s\nwant %s", sk, c.Body, err, b, c.Request)
		}
		for name := range c.Body {
			shown[name] = true
		}
	}
	for _, slot := range s.slots {
		if !shown[slot.name] {
			t.Errorf("%s: no fixture sends %s", sk, slot.name)
		}
	}
	testRead(t, sk+" answer", s.Response, f.Answers)
	testRead(t, sk+" event", s.Stream, f.Events)
}

// testRead decodes payloads, and checks that each key occurs.
func testRead(t *testing.T, what string, r *Response, cases []struct{ Payload, Keys json.RawMessage }) {
	seen := map[string]bool{}
	for _, c := range cases {
		payload := []byte(c.Payload)
		var text string
		if json.Unmarshal(payload, &text) == nil {
			payload = []byte(text)
		}
		got, err := r.Read(payload)
		if err != nil || !same(t, got, c.Keys) {
			t.Errorf("%s %s\n got %v %v\nwant %s", what, payload, got, err, c.Keys)
		}
		for name := range got {
			seen[name] = true
		}
	}
	if r == nil {
		return
	}
	if r.calls != nil && !seen["tool_calls"] {
		t.Errorf("%s: no fixture has calls", what)
	}
	for _, k := range r.keys {
		if !seen[k.name] && !strings.HasPrefix(what, "sagemaker-tgi answer") { // the seed maps a token's keys, which only streams have
			t.Errorf("%s: no fixture has %s", what, k.name)
		}
	}
}

// Records of different models differ; equal ones are meant to be equal.
func TestSeedRecords(t *testing.T) {
	all := records(t)
	for sk, seed := range map[string]string{
		"bedrock-anthropic.claude-v2": "seed-claude.json", "bedrock-anthropic.claude-instant": "seed-claude.json", "sagemaker-tgi": "seed-tgi.json",
	} {
		var want json.RawMessage
		readTest(t, seed, &want)
		want = bytes.ReplaceAll(want, []byte(`"photographer"`), nil) // the stop word of its example, which nobody needs
		if all[sk] == nil || !same(t, json.RawMessage(all[sk].text), want) {
			t.Errorf("%s is not the schema of API layer's documentation", sk)
		}
	}
}

// Every record with chats accepts llm's messages.
func TestRecordsChat(t *testing.T) {
	chat := []llm.Message{
		{Role: "system", Parts: []llm.Part{{Text: "Be terse."}}},
		{Role: "user", Parts: []llm.Part{{Text: "Hi"}}},
	}
	plain := `[{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hi"}]`
	all := records(t)
	claude, converse := `[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]`, `[{"role": "user", "content": [{"text": "Hi"}]}]`
	for sk, want := range map[string]string{
		"bedrock-anthropic": claude, "bedrock-amazon.nova": converse, "bedrock-amazon.nova-2": converse, "bedrock-openai": converse, "bedrock-deepseek": converse,
		"bedrock-mistral": plain, "bedrock-ai21.jamba": plain, "sagemaker-tgi-chat": plain, "sagemaker-lmi-chat": plain, "openai-chat": plain, "openai-vllm": plain,
	} {
		body, err := all[sk].Chat(chat)
		if err != nil {
			t.Errorf("%s: %v", sk, err)
			continue
		}
		if got := all[sk].Request(body)["messages"]; !same(t, got, json.RawMessage(want)) {
			t.Errorf("%s: %v", sk, got)
		}
		delete(all, sk)
	}
	for sk, s := range all {
		if _, err := s.Chat(chat); err == nil {
			t.Errorf("%s takes chats, and is not tested", sk)
		}
	}
}
