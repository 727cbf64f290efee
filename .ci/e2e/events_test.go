//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/host/runtimeapi"
	"glossa/pkg/table"
	"glossa/schemas"
)

// golden stores the events' model in the bucket.
func (w *World) golden(t *testing.T) {
	t.Helper()
	var ck bytes.Buffer
	if err := checkpoint.WriteALPH(&ck, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`{"modelConfig": %s, "trainConfig": {}, "configHash": "00000000", "runId": "r1"}`, checkpointtest.Golden().ModelConfigRaw)
	w.put("golden/metrics.jsonl", []byte(`{"step":1,"lr":0.001}`+"\n"+`{"step":7,"lr":0.002}`+"\n"+`{"step":8,`))
	w.put("golden/config.json", []byte(config))
	w.put("golden/checkpoint-7.json", ck.Bytes())
}

// model stores the files of a directory in the bucket as a model, or deletes them.
func (w *World) model(t *testing.T, name, dir string, there bool) {
	t.Helper()
	dir = filepath.Join(root, dir)
	if err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		key := name + "/" + filepath.ToSlash(below)
		if !there {
			w.Store.Delete(checkpoints + key)
			return nil
		}
		content, err := os.ReadFile(file)
		if err == nil {
			w.put(key, content)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Directories of models that the tests store.
const (
	translator = "functions/testdata/translator"
	encoder    = "pkg/engine/testdata/encoders/bert"
	ranker     = "pkg/engine/testdata/rerankers/bert"
	m3         = "pkg/engine/testdata/vectors/bge-m3"
	late       = "pkg/engine/testdata/vectors/pylate"
)

// item writes an item of the table, as the operator.
func (w *World) item(t *testing.T, text string) {
	t.Helper()
	var it table.Item
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode((*map[string]any)(&it)); err != nil {
		t.Fatal(err)
	}
	if err := w.Items.Put(t.Context(), it); err != nil {
		t.Fatal(err)
	}
}

// record returns a built-in record under another name.
func record(t *testing.T, file, name string) string {
	t.Helper()
	text, err := fs.ReadFile(schemas.Files(), file+".json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), `"`+file+`"`, `"`+name+`"`, 1)
}

// events sends every dialect's events through the API and the function URLs, with the models
// of their recording: some with a translator, with encoders and a reranker, or with remote
// models.
func events(t *testing.T, w *World) {
	w.model(t, "translator", translator, true)
	time.Sleep(1100 * time.Millisecond) // S3's times have seconds, and the newest model is the default
	w.golden(t)
	key := w.glossa(t, "key", "create", "events", "--role", "admin", "--table-name", w.Table)
	for _, family := range []string{"textsynth", "alephalpha"} {
		w.family(t, family, key)
	}
	w.model(t, "translator", translator, false)
	encoders := map[string]string{"encoder": encoder, "ranker": ranker, "m3": m3, "late": late}
	for name, dir := range encoders {
		w.model(t, name, dir, true)
	}
	w.fresh(t)
	w.family(t, "embeddings", key)
	for name, dir := range encoders {
		w.model(t, name, dir, false)
	}
	w.fresh(t)
	for _, family := range []string{"openai", "responses", "messages", "ollama", "alpha", "lamini"} {
		w.family(t, family, key)
	}
	w.item(t, `{"pk":"models","sk":"all-models","models":[
		{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock","streaming":true},
		{"model_type":"Llama2","model_name":"tgi.llama-2-13b","model_family":"sagemaker","streaming":true}]}`)
	w.item(t, record(t, "bedrock-anthropic.claude-v2", "bedrock-anthropic.claude-v2"))
	w.item(t, record(t, "sagemaker-tgi", "sagemaker-tgi.llama-2-13b"))
	w.fresh(t)
	w.family(t, "invoke", key)
}

// family sends the events of one family.
func (w *World) family(t *testing.T, family, key string) {
	files, err := filepath.Glob(filepath.Join(root, "events", family, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no events of %s: %v", family, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if other := elsewhere[family+"/"+name]; other != "" {
			t.Logf("%s/%s is not asked here: %s", family, name, other)
			continue
		}
		t.Run(family+"/"+name, func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			for door, base := range map[string]string{"REST": w.api(""), "function URL": w.url(family, "")} {
				if got := w.sendEvent(t, file, base, key); !runtimeapi.Alike(got, steady(string(want))) {
					t.Errorf("%s gives\n%s\nwant\n%s", door, got, steady(string(want)))
				}
			}
		})
	}
}

// elsewhere lists events whose answers require a server without keys or bucket.
var elsewhere = map[string]string{
	"alephalpha/no-login":           "there are users",
	"alephalpha/no-route":           "there are users, and so more paths to name",
	"openai/no-route":               "the paths of its function URL are fewer",
	"alpha/upload-without-key":      "there is a key",
	"alpha/upload-part-without-key": "there is a key",
	"responses/previous":            "responses are stored",
}

// sendEvent sends an event's request, with its headers, to a base URL.
func (w *World) sendEvent(t *testing.T, file, base, key string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		RawPath, RawQueryString, Body string
		Headers                       map[string]string
		RequestContext                struct{ HTTP struct{ Method string } }
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	for name, value := range e.Headers {
		if !strings.HasPrefix(name, "x-forwarded") && name != "host" {
			header.Set(name, value)
		}
	}
	url := base + e.RawPath
	if e.RawQueryString != "" {
		url += "?" + e.RawQueryString
	}
	w.Edge.api.limit.refill()
	a := w.ask(t, request{e.RequestContext.HTTP.Method, url, key, e.Body, header})
	if a.err != nil {
		t.Error(a.err)
	}
	return steady(fmt.Sprintf("%d %s\n\n%s\n", a.status, a.header.Get("Content-Type"), a.body))
}

// volatile matches parts that differ between runs or deployments, and last digits that
// differ between instruction sets.
var volatile = regexp.MustCompile(`(chatcmpl|cmpl|rerank|score|embed)-[0-9a-f]{24}|(resp|msg|req)_[0-9a-f]{24,32}|"store":(?:true|false)|"id":"req_[0-9a-f]{24}"|` +
	`"(?:created|created_at|completed_at|modified_at|mtime|\w+_duration)":(?:\d+|"[^"]*")|,"cost":[^,}]+|"cost":[^,}]+,|,"prompt_tokens_details":\{"cached_tokens":\d+\}|(-?\d+\.\d{5})\d+`)

func steady(body string) string {
	return volatile.ReplaceAllStringFunc(body, func(s string) string {
		switch {
		case strings.Contains(s, `"cost":`): // of the time that a call took
			return ""
		case strings.Contains(s, `"cached_tokens":`): // by earlier events
			return ""
		case strings.HasPrefix(s, `"store"`): // stored where there is a table
			return `"store":any`
		case strings.HasPrefix(s, `"id"`):
			return `"id":"req_ID"`
		case strings.HasPrefix(s, `"`):
			return s[:strings.IndexByte(s, ':')] + ":0"
		}
		if i := strings.IndexByte(s, '_'); i >= 0 {
			return s[:i] + "_ID"
		}
		if i := strings.IndexByte(s, '.'); i >= 0 {
			return s[:i+6]
		}
		return s[:strings.IndexByte(s, '-')] + "-ID"
	})
}
