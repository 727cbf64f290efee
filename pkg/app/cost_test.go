package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
)

// pricedRecords are records of the test's models, with prices that tell kinds of tokens apart.
func pricedRecords(names ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, name := range names {
		files["local-"+name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil,
			`{"pk":"models","sk":"local-%s","schema":{"checkpoint":"%[1]s"},"prices":{"input":0.000003,"cached_input":0.000002,"output":1.5,"request":0.25}}`, name)}
	}
	return files
}

var requestID = regexp.MustCompile(`req_[0-9a-f]{24}`)

var costMember = regexp.MustCompile(`"cost":([^,}]+)`)

// costs returns the costs in a body, whole or of a stream.
func costs(body string) (list []string) {
	for _, m := range costMember.FindAllStringSubmatch(body, -1) {
		list = append(list, m[1])
	}
	return list
}

// withoutCost are the paths whose answers have no usage: their cost is in the header alone.
var withoutCost = []string{"/v1/embedding", "/api/embeddings", "/v2/completions", "/explain", "/api/inference", "/v1/completions model_name", "/embed inputs", "/embed_all", "/similarity", "/predict", "/"}

// In every dialect the cost of an answer is its tokens at the prices of the model, in the
// answer, in the header and in the record.
func TestCostInEveryDialect(t *testing.T) {
	seen := &observed{}
	a := golden(t, Config{Records: pricedRecords("golden", "translator", "ranker", "encoder")})
	a.meter = seen
	addTranslator(t, a)
	addRanker(t, a)
	addEncoder(t, a)
	h, answered := a.Handler(), 0
	for _, name := range []string{"golden", "translator", "ranker", "encoder"} {
		for _, c := range asked {
			seen.list = nil
			path, body := strings.ReplaceAll(c.path, "MODEL", name), strings.NewReplacer("MODEL", name, "FAMILY", "local").Replace(c.body)
			res := ask(h, c.method, path, "", strings.NewReader(body))
			got, used := text(t, res), seen.list[0].Usage
			if res.StatusCode != 200 || seen.list[0].Err != nil || strings.Contains(got, `"error":"`) || used.Input+used.Output == 0 {
				continue
			}
			answered++
			calls := (int64(used.Cost.USD) - 3*int64(used.Input) - 1_500_000*int64(used.Output)) / 25e10
			want := llm.USD(3*int64(used.Input) + 1_500_000*int64(used.Output) + calls*25e10)
			ranks := strings.HasSuffix(path, "/rerank") || strings.HasSuffix(path, "/score") || path == "/" && strings.Contains(body, "texts")
			several := strings.HasPrefix(path, "/explain") || name == "encoder" && ranks // calls of the model
			if !used.Cost.Known || used.Cost.USD != want || calls != 1 && !several || calls < 1 {
				t.Errorf("%s %s: %+v costs %v", name, path, used, used.Cost)
			}
			if header := res.Header.Get(httpx.CostHeader); header != want.String() && !strings.HasPrefix(path, "/api/inference") { // a stream
				t.Errorf("%s %s: the header has %q, want %s", name, path, header, want)
			}
			if list := costs(got); len(list) == 0 && !headerOnly(c.path, c.body) || len(list) > 0 && list[0] != want.String() {
				t.Errorf("%s %s: %q in %s, want %s", name, path, list, got, want)
			}
		}
	}
	if answered < 30 {
		t.Errorf("only %d requests were answered", answered)
	}
}

func headerOnly(path, body string) bool {
	if path == "/v1/completions" && strings.Contains(body, "model_name") {
		path += " model_name"
	}
	if path == "/embed" && strings.Contains(body, "inputs") {
		path += " inputs"
	}
	for _, p := range withoutCost {
		if p == path || strings.HasPrefix(path, p+"?") {
			return true
		}
	}
	return false
}

// The last event of a stream has the same cost as the record. Its header has none.
func TestCostOfStreams(t *testing.T) {
	seen := &observed{}
	a := golden(t, Config{Records: pricedRecords("golden")})
	a.meter = seen
	h := a.Handler()
	for path, body := range map[string]string{
		"/v1/chat/completions":           `{"model":"golden","messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true}`,
		"/chat/completions":              `{"model":"golden","messages":[{"role":"user","content":"a"}],"maximum_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`,
		"/v1/completions":                `{"model":"golden","prompt":"a","max_tokens":3,"n":2,"stream":true,"stream_options":{"include_usage":true}}`,
		"/v1/responses":                  `{"model":"golden","input":"a","max_output_tokens":3,"stream":true}`,
		"/v1/engines/golden/completions": `{"prompt":"a","max_tokens":3,"stream":true}`,
		"/complete":                      `{"model":"golden","prompt":"a","maximum_tokens":3,"stream":true}`,
		"/invoke_stream":                 `{"model_family":"local","model_name":"golden","body":{"prompt":"a","max_new_tokens":3}}`,
	} {
		seen.list = nil
		res := ask(h, "POST", path, "", strings.NewReader(body))
		got, rec := text(t, res), seen.list[0]
		want := llm.USD(3*int64(rec.Usage.Input) + 1_500_000*int64(rec.Usage.Output) + 25e10)
		list := costs(got)
		if rec.Err != nil || rec.Usage.Output < 3 || rec.Usage.Cost != llm.KnownCost(want) || len(list) != 1 || list[0] != want.String() {
			t.Errorf("%s: %+v, want %s: %s", path, rec.Usage, want, got)
		}
		if header := res.Header.Get(httpx.CostHeader); header != "" {
			t.Errorf("%s: the header of a stream has %s", path, header)
		}
	}
}

// The model that answers has the price, and a model without one has no cost at all.
func TestCostOfFallbacks(t *testing.T) {
	seen := &observed{}
	files := pricedRecords("golden")
	files["local-spoilt.json"] = &fstest.MapFile{Data: []byte(`{"pk":"models","sk":"local-spoilt","schema":{"checkpoint":"spoilt"},"fallbacks":["golden"],"prices":{"input":99999,"output":99999}}`)}
	a := golden(t, Config{Records: files})
	a.meter = seen
	goldenRun(t, a.cfg.Checkpoints, "spoilt")
	if err := os.Truncate(filepath.Join(a.cfg.Checkpoints, "spoilt", "checkpoint-7.json"), 1100); err != nil { // in the middle of its weights
		t.Fatal(err)
	}
	res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(`{"model":"spoilt","prompt":"a","max_tokens":2,"seed":1}`))
	got, rec := text(t, res), seen.list[0]
	want := llm.USD(3*int64(rec.Usage.Input) + 1_500_000*int64(rec.Usage.Output) + 25e10)
	if rec.Model != "golden" || rec.Usage.Cost.USD != want || len(costs(got)) != 1 || costs(got)[0] != want.String() {
		t.Errorf("%+v of %s: %s, want %s", rec.Usage, rec.Model, got, want)
	}
	seen.list = nil
	a = golden(t, Config{})
	a.meter = seen
	res = ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(`{"model":"golden","prompt":"a","max_tokens":2}`))
	if got := text(t, res); strings.Contains(got, "cost") || res.Header.Get(httpx.CostHeader) != "" || seen.list[0].Usage.Cost.Known {
		t.Errorf("%v %s", res.Header, got)
	}
}

// A function without prices in a record has the prices of the function.
func TestCostInAFunction(t *testing.T) {
	a := golden(t, Config{Computer: &meter.Computer{MiB: 1024, GBSecond: llm.Dollar / 1000, Request: 5}})
	res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(`{"model":"golden","prompt":"a","max_tokens":2}`))
	var answer struct{ Usage struct{ Cost llm.USD } }
	if err := json.Unmarshal([]byte(text(t, res)), &answer); err != nil || answer.Usage.Cost%1_000_000 != 5 || answer.Usage.Cost < 1_000_005 {
		t.Errorf("%v, %v", answer, err)
	}
	get := func(values map[string]string) (Config, error) {
		return FromEnv(func(name string) string { return values[name] })
	}
	for prices, want := range map[string]meter.Computer{
		"0.00002,0.0000003": {MiB: 512, GBSecond: 20_000_000, Request: 300_000},
		"0.00002":           {MiB: 512, GBSecond: 20_000_000},
	} {
		cfg, err := get(map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GLOSSA_LAMBDA_PRICES": prices})
		if err != nil || cfg.Computer == nil || *cfg.Computer != want {
			t.Errorf("%s: %v, %v", prices, cfg.Computer, err)
		}
	}
	if cfg, err := get(map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"}); err != nil || cfg.Computer == nil || cfg.Computer.GBSecond < 10_000_000 || cfg.Computer.Request != 200_000 {
		t.Errorf("%v, %v", cfg.Computer, err)
	}
	for _, values := range []map[string]string{{}, {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GLOSSA_LAMBDA_PRICES": "0"}} {
		if cfg, err := get(values); err != nil || cfg.Computer != nil {
			t.Errorf("%v: %v, %v", values, cfg.Computer, err)
		}
	}
	for _, bad := range []string{"-1", "x", "1,2,3", "1e-5,NaN", "2"} {
		if _, err := get(map[string]string{"GLOSSA_LAMBDA_PRICES": bad}); err == nil || !strings.Contains(err.Error(), "GLOSSA_LAMBDA_PRICES") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A key that is bound to models sees no others, in any dialect.
func TestModelsOfAKey(t *testing.T) {
	path := t.TempDir() + "/accounts.json"
	store := account.NewFile(path)
	secrets := map[account.Models]string{}
	for name, models := range map[string]account.Models{"bound": "enc*,nothing", "free": ""} {
		secret, c, err := account.NewAPIKey(name, account.Client, time.Time{})
		c.Limits.Models = models
		if err := errors.Join(err, store.Add(t.Context(), c)); err != nil {
			t.Fatal(err)
		}
		secrets[models] = secret
	}
	free, secret := secrets[""], secrets["enc*,nothing"]
	a := golden(t, Config{Accounts: path, Auth: true})
	addEncoder(t, a)
	h := a.Handler()
	for _, path := range []string{"/v1/models", "/models_available", "/api/models", "/list_models"} {
		all, some := text(t, ask(h, "GET", path, free, nil)), text(t, ask(h, "GET", path, secret, nil))
		if !strings.Contains(all, "golden") || strings.Contains(some, "golden") || strings.Contains(all, "encoder") != strings.Contains(some, "encoder") {
			t.Errorf("%s: %s, of all %s", path, some, all)
		}
	}
	more := slices.Clone(asked)
	for _, path := range []string{
		"/v1/models/MODEL", "/v1/models/local/MODEL", "/tokenizer_info?model=MODEL", "/vllm/MODEL/tokenizer_info", "/api/models/MODEL/metrics",
		"/models/MODEL/tokenizer",
	} {
		c := asked[0]
		c.method, c.path, c.body = "GET", path, ""
		more = append(more, c)
	}
	for _, c := range more {
		fill := func(name string) (string, string) {
			return strings.ReplaceAll(c.path, "MODEL", name), strings.NewReplacer("MODEL", name, "FAMILY", "local").Replace(c.body)
		}
		path, body := fill("golden")
		res := ask(h, c.method, path, secret, strings.NewReader(body))
		status, got := res.StatusCode, text(t, res)
		path, body = fill("missed")
		res = ask(h, c.method, path, secret, strings.NewReader(body))
		want := strings.ReplaceAll(text(t, res), "missed", "golden")
		if got, want = requestID.ReplaceAllString(got, ""), requestID.ReplaceAllString(want, ""); status != res.StatusCode || got != want {
			t.Errorf("%s: %d %s, but a model that does not exist: %d %s", path, status, got, res.StatusCode, want)
		}
	}
}
