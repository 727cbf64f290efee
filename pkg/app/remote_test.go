package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/backendtest"
	"glossa/schemas"
)

// A remoteModel is a provider's model and its wire format.
type remoteModel struct {
	family, name, kind string
	record, schema     string // shipped ones by sk, or its own
	whole              string // an answer; TEXT stands for its text
	first, next, last  string // the events of a stream
	counts             bool   // it reports tokens: 5 in, 3 out
	chats              bool   // it accepts chats
	tools              bool   // it can be told to call functions
	path               string // path of the call; a suffix of it streams
}

var remoteModels = []remoteModel{
	{
		family: "bedrock", name: "anthropic.claude-3-haiku-20240307-v1:0", kind: "Claude", record: "bedrock-anthropic",
		whole:  `{"content":[{"type":"text","text":TEXT}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":3}}`,
		first:  `{"type":"message_start","message":{"role":"assistant","content":[]}}`,
		next:   `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":TEXT}}`,
		last:   `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"amazon-bedrock-invocationMetrics":{"inputTokenCount":5,"outputTokenCount":3}}`,
		counts: true, chats: true, tools: true, path: "/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke",
	},
	{
		family: "bedrock", name: "meta.llama3-8b-instruct-v1:0", kind: "Llama3", record: "bedrock-meta",
		whole:  `{"generation":TEXT,"prompt_token_count":5,"generation_token_count":3,"stop_reason":"stop"}`,
		first:  `{"generation":"","prompt_token_count":5,"generation_token_count":1,"stop_reason":null}`,
		next:   `{"generation":TEXT,"prompt_token_count":null,"generation_token_count":2,"stop_reason":null}`,
		last:   `{"generation":"","prompt_token_count":null,"generation_token_count":3,"stop_reason":"stop"}`,
		counts: true, chats: true, path: "/model/meta.llama3-8b-instruct-v1%3A0/invoke",
	},
	{
		family: "sagemaker", name: "tgi.llama-2-13b", kind: "Llama2", record: "sagemaker-tgi",
		whole: `[{"generated_text":TEXT,"details":{"finish_reason":"eos_token","generated_tokens":3,"seed":null}}]`,
		next:  `data:{"token":{"id":1,"text":TEXT,"logprob":-0.5,"special":false},"generated_text":null,"details":null}`,
		last:  `data:{"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true},"generated_text":"x","details":{"finish_reason":"eos_token","generated_tokens":3,"seed":null}}`,
		path:  "/endpoints/llama-2-13b/invocations",
	},
	{
		family: "sagemaker", name: "lmi.mistral-7b", kind: "Mistral", record: "sagemaker-lmi",
		whole: `{"generated_text":TEXT,"details":{"finish_reason":"eos_token","generated_tokens":3}}`,
		next:  `{"token":{"id":1,"text":TEXT,"log_prob":-0.5}}`,
		last:  `{"token":{"id":2,"text":"","log_prob":-0.5},"generated_text":"x","details":{"finish_reason":"eos_token","generated_tokens":3}}`,
		path:  "/endpoints/mistral-7b/invocations",
	},
}

// says writes the texts, an event each.
func (m *remoteModel) says(w *backendtest.Reply, stream bool, texts ...string) {
	spoken := func(payload, text string) string {
		quoted, _ := json.Marshal(text)
		return strings.ReplaceAll(payload, "TEXT", string(quoted))
	}
	if !stream {
		w.Whole(spoken(m.whole, strings.Join(texts, "")))
		return
	}
	if m.first != "" {
		w.Event(m.first)
	}
	for _, text := range texts {
		w.Event(spoken(m.next, text))
	}
	w.Event(m.last)
}

// converses answers b and c, or a value of the requested schema.
func (m *remoteModel) converses(_ int, r *backendtest.Request, w *backendtest.Reply) {
	asked, _ := json.Marshal(r.Body)
	if strings.Contains(string(asked), "JSON Schema") {
		m.says(w, r.Stream, "Here it is:\n```json\n{\"a\"", ": 7}\n```")
		return
	}
	m.says(w, r.Stream, "b", "c")
}

// shipped returns the schema of a shipped record.
func shipped(t testing.TB, sk string) string {
	t.Helper()
	b, err := fs.ReadFile(schemas.Files(), sk+".json")
	var item struct{ Schema json.RawMessage }
	if err == nil {
		err = json.Unmarshal(b, &item)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(item.Schema)
}

// catalogue returns the records of models.
func catalogue(t testing.TB, models ...remoteModel) fs.FS {
	t.Helper()
	const row = `{"model_type":%q,"model_name":%q,"model_family":%q,"streaming":true}`
	const item = `{"pk":"models","sk":%q,"context":4096,"description":"of a provider","schema":%s}`
	files, rows := fstest.MapFS{}, []string{}
	for i, m := range models {
		rows = append(rows, fmt.Sprintf(row, m.kind, m.name, m.family))
		schema := cmp.Or(m.schema, shipped(t, m.record))
		files[fmt.Sprintf("model-%d.json", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, item, m.family+"-"+m.name, schema)}
	}
	files["all-models.json"] = &fstest.MapFile{Data: []byte(`{"pk":"models","sk":"all-models","models":[` + strings.Join(rows, ",") + `]}`)}
	return files
}

// signer returns made-up credentials.
func signer() (aws.Config, error) {
	return aws.Config{Region: "us-east-1", Credentials: backendtest.Credentials()}, nil
}

// remoteApp returns an app with one model, whose provider is a fake.
func remoteApp(t testing.TB, m *remoteModel, cfg Config, answer func(i int, r *backendtest.Request, w *backendtest.Reply)) (*App, *backendtest.Service) {
	t.Helper()
	service := backendtest.NewService(t, m.family, answer)
	cfg.Endpoints = Endpoints{Bedrock: service.URL, SageMaker: service.URL}
	if cfg.Records == nil {
		cfg.Records = catalogue(t, *m)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close) // stores its usage before the services that it uses close
	a.cloud.load = signer
	return a, service
}

// fill inserts a model into a request.
func (m *remoteModel) fill(text string) string {
	return strings.NewReplacer("MODEL", m.name, "FAMILY", m.family).Replace(text)
}

// Every dialect serves a remote model as far as possible: it has texts, checked formats
// and calls, but no scores, vectors and tokens.
func TestAnyDialectOverRemoteModels(t *testing.T) {
	for i := range remoteModels {
		m := &remoteModels[i]
		a, service := remoteApp(t, m, Config{}, m.converses)
		h := a.Handler()
		doc := load(t, h)
		for _, c := range asked {
			before := len(service.Requests())
			res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
			got, sent := text(t, res), len(service.Requests())-before
			pattern, _, _ := strings.Cut(strings.ReplaceAll(c.path, "MODEL", "{engine_id}"), "?")
			if err := fits(doc, c.method, pattern, res, got); err != nil {
				t.Errorf("%s: %s: %v", m.name, c.path, err)
			}
			can, member, status := c.needs == "" || c.needs == "form" || c.needs == "tools" && m.tools, c.answer, 200
			if c.path == "/invoke" && c.needs == "form" || isChat(c.path, c.body) && !m.chats {
				can = false // its record maps no schema, or no chat
			}
			if !can {
				member, status = c.refusal, refusedAs(c.path, c.body)
			}
			if res.StatusCode != status || member != "" && !has(got, member) || can != (sent > 0) {
				t.Errorf("%s: %s %s: %d %s after %d calls, want %d with %s", m.name, c.method, c.path, res.StatusCode, got, sent, status, member)
			}
			if guarantee := res.Header.Get("X-Glossa-Guarantee"); (guarantee == "validated") != (can && c.needs == "form") {
				t.Errorf("%s: %s: guarantee %q", m.name, c.path, guarantee)
			}
			for _, r := range service.Requests()[before:] {
				if r.Path != m.path {
					if suffix, ok := strings.CutPrefix(r.Path, m.path); !ok || suffix != "-with-response-stream" && suffix != "-response-stream" {
						t.Errorf("%s: %s", m.name, r.Path)
					}
				}
			}
		}
	}
}
