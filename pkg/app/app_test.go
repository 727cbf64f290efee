package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/account"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/llm"
	"glossa/pkg/meter/prom"
)

const goldenConfig = `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0},` +
	`"trainConfig":{"iters":7},"configHash":"00000000","runId":"gold-run","domain":"abc"}`

// goldenRun writes the golden checkpoint as the run name of dir.
func goldenRun(t testing.TB, dir, name string) {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WriteALPH(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, name)
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"config.json": goldenConfig, "checkpoint-7.json": b.String(),
		"metrics.jsonl": `{"step":7,"loss":1.5,"valLoss":1.25}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(run, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var secrets = map[account.Role]string{
	account.Admin: "key-a", account.Worker: "key-w", account.Client: "key-c", account.Monitor: "key-m",
}

func keys(t testing.TB) (list []account.Key) {
	t.Helper()
	for role, secret := range secrets {
		key, err := account.NewKey(string(role), role, secret)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, key)
	}
	return list
}

// golden returns an app that serves the golden run, with metrics for Prometheus and the
// activity of the last minutes.
func golden(t testing.TB, cfg Config) *App {
	t.Helper()
	cfg.Checkpoints = t.TempDir()
	goldenRun(t, cfg.Checkpoints, "golden")
	cfg.Uploads, cfg.Activity = true, true
	cfg.Meter = func(m Measured) Meter {
		return prom.New(prom.Config(m))
	}
	if cfg.Records == nil {
		cfg.Records = fstest.MapFS{}
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close) // stores its usage before the services that it uses close
	return a
}

// ask sends one request; body may be nil.
func ask(h http.Handler, method, path, key string, body io.Reader) *http.Response {
	r := httptest.NewRequest(method, path, body)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// greedy is the text that follows "a": tokens 0, 1, 0 of the golden checkpoint.
const greedy = "\na\n"

func TestGoldenChat(t *testing.T) {
	h := golden(t, Config{}).Handler()
	for _, name := range []string{"", "golden", "local/golden", "gold-run"} {
		body := `{"model":"` + name + `","temperature":0,"max_tokens":3,"messages":[{"role":"user","content":"a"}]}`
		res := ask(h, "POST", "/v1/chat/completions", "not-needed", strings.NewReader(body))
		var answer struct {
			Model   string
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if answer.Model != "golden" || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != greedy {
			t.Errorf("%q: %d, %+v", name, res.StatusCode, answer)
		}
	}
}

// TestCapOfARecord checks the text that a cap of the record changes: the golden
// checkpoint has no cap, and a tiny one makes all scores equal.
func TestCapOfARecord(t *testing.T) {
	logprob := func(cap string) float64 {
		record := `{"pk":"models","sk":"local-capped","schema":{"checkpoint":"golden","cap":"` + cap + `"}}`
		a := golden(t, Config{Records: fstest.MapFS{"local-capped.json": {Data: []byte(record)}}})
		m, err := a.Models().Open(t.Context(), "capped")
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Prompts: []llm.Prompt{llm.Text("ab")}, Params: llm.Params{MaxTokens: new(1), Temperature: new(0.0), Logprobs: new(0)}}
		rows, _, err := llm.Collect(m.Generate(t.Context(), req), 1)
		if err != nil {
			t.Fatal(err)
		}
		return rows[0].Tokens[0].Logprob
	}
	// log softmax of the logits of wire.md: [a b] without a cap and with tanh 30.
	for cap, want := range map[string]float64{"none": -0.8657911, "tanh30": -0.8656670} {
		if got := logprob(cap); got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s: %v, want %v", cap, got, want)
		}
	}
	if a, b, c := logprob("none"), logprob("tanh30"), logprob("1e-6"); a == b || a == c || b == c {
		t.Errorf("the cap changes nothing: %v, %v, %v", a, b, c)
	}
}

func TestEachFamilyIsAPartOfTheTable(t *testing.T) {
	a := golden(t, Config{})
	all := map[string]bool{}
	for _, route := range a.Routes() {
		all[route.Method+" "+route.Pattern] = true
	}
	for _, family := range Families() {
		routes := a.Routes(family)
		if len(routes) < 4 {
			t.Errorf("%s has %d routes", family, len(routes))
		}
		for _, route := range routes {
			if !all[route.Method+" "+route.Pattern] {
				t.Errorf("%s: %s %s is not in the whole table", family, route.Method, route.Pattern)
			}
		}
		a.Handler(family) // clashes panic
	}
}

func TestUnknownModelsAreNoLabels(t *testing.T) {
	h := golden(t, Config{}).Handler()
	for _, name := range []string{"golden", "hostile-name"} {
		ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"`+name+`","messages":[{"role":"user","content":"a"}]}`))
	}
	got := text(t, ask(h, "GET", "/metrics", "", nil))
	if !strings.Contains(got, `model="golden"`) || strings.Contains(got, "hostile-name") {
		t.Error(got)
	}
}

// A peekingWriter looks at the measurements while an answer is written.
type peekingWriter struct {
	*httptest.ResponseRecorder
	peek        func()
	most, early int // tokens at the end, and with the last write
}

func (w *peekingWriter) Write(b []byte) (int, error) {
	w.peek()
	w.early = w.most
	return w.ResponseRecorder.Write(b)
}

// The activity counts requests of dialects and shows the models in memory. Without the
// setting there is none: a function is one of many.
func TestActivity(t *testing.T) {
	h := golden(t, Config{}).Handler()
	ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"golden","max_tokens":3,"messages":[{"role":"user","content":"a"}]}`))
	ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"none","messages":[]}`))
	ask(h, "GET", "/health", "", nil)
	var got struct {
		Memory struct {
			Models []struct {
				Name  string
				Bytes int64
			}
		}
		Errors    []struct{ Count int }
		Intervals []struct {
			Requests int
			Output   int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/activity", "", nil))), &got); err != nil {
		t.Fatal(err)
	}
	requests, output := 0, 0
	for _, i := range got.Intervals {
		requests, output = requests+i.Requests, output+i.Output
	}
	if requests != 2 || output != 3 || len(got.Errors) != 1 || got.Errors[0].Count != 1 {
		t.Errorf("%+v", got)
	}
	if m := got.Memory.Models; len(m) != 1 || m[0].Name != "golden" || m[0].Bytes <= 0 {
		t.Errorf("%+v", m)
	}
	stream := &peekingWriter{ResponseRecorder: httptest.NewRecorder()}
	stream.peek = func() {
		if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/activity", "", nil))), &got); err != nil {
			t.Fatal(err)
		}
		now := 0
		for _, i := range got.Intervals {
			now += i.Output
		}
		stream.most = max(stream.most, now-output)
	}
	h.ServeHTTP(stream, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"golden","stream":true,"max_tokens":3,"messages":[{"role":"user","content":"a"}]}`)))
	if stream.peek(); stream.Code != 200 || stream.most != 3 || stream.early < 2 {
		t.Errorf("status %d, %d tokens, %d before the end", stream.Code, stream.most, stream.early)
	}
	a, err := New(Config{Records: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	if res := ask(a.Handler(), "GET", "/activity", "", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("without the setting: %d", res.StatusCode)
	}
}

func TestNewErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]Config{
		"GLOSSA_KEYS":   {Auth: true},
		"GLOSSA_KERNEL": {Kernel: "abacus"},
		`GLOSSA_QUANT must be one of stored, f32, bf16, q8_0, q8_128, q6_k, q4_k, q4_0, not "q3_k"`: {Quant: "q3_k"},
		"does not exist: create it": {Checkpoints: filepath.Join(t.TempDir(), "no-such-dir")},
		"it is a file":              {Checkpoints: file},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := New(Config{}); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	getenv := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	cfg, err := FromEnv(getenv(map[string]string{
		"GLOSSA_CHECKPOINTS": "/runs", "GLOSSA_WORKERS": "5", "GLOSSA_KERNEL": "generic", "GLOSSA_KEYS": "client:c,admin:a",
		"UPLOAD_SECRET": "s", "GLOSSA_LOG_LEVEL": "debug", "GLOSSA_STREAM_URL": "1",
	}))
	if err != nil || cfg.Checkpoints != "/runs" || cfg.Workers != 5 || cfg.Kernel != "generic" || len(cfg.Keys) != 3 ||
		cfg.Keys[2].Role != account.Worker || cfg.Level >= 0 || !cfg.Host.StreamURL || cfg.Host.StreamREST || !cfg.Auth {
		t.Errorf("%+v, %v", cfg, err)
	}
	if cfg, err := FromEnv(getenv(map[string]string{"GLOSSA_OPEN": "true", "GLOSSA_HOSTS": "a, b.example", "GLOSSA_ORIGINS": "*"})); err != nil || cfg.Auth ||
		!slices.Equal(cfg.Hosts, []string{"a", "b.example"}) || !slices.Equal(cfg.Origins, []string{"*"}) {
		t.Errorf("%+v, %v", cfg, err)
	}
	bad := map[string]string{
		"GLOSSA_WORKERS": "0", "GLOSSA_KEYS": "hunter2", "UPLOAD_SECRET": "hunter2 hunter2", "GLOSSA_LOG_LEVEL": "loud", "GLOSSA_OPEN": "maybe",
		"GLOSSA_BEDROCK_ENDPOINT": "localhost:1", "GLOSSA_SAGEMAKER_ENDPOINT": "https://", "GLOSSA_DYNAMODB_ENDPOINT": "://", "GLOSSA_S3_ENDPOINT": "s3://bucket", "GLOSSA_RECORDS": "/no-such-dir",
		"GLOSSA_HOSTS": "glossa:8080", "GLOSSA_ORIGINS": "https://app.example.com/",
	}
	_, err = FromEnv(getenv(bad))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatal(err)
	}
	for name := range bad {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in %v", name, err)
		}
	}
}

func TestVariablesAreAllThatIsRead(t *testing.T) {
	known := map[string]bool{}
	for _, v := range Variables() {
		known[v[0]] = true
	}
	read := map[string]bool{}
	if _, err := FromEnv(func(name string) string { read[name] = true; return "" }); err != nil {
		t.Fatal(err)
	}
	for name := range read {
		if !known[name] {
			t.Errorf("%s is read and not listed", name)
		}
	}
	for name := range known {
		if !read[name] {
			t.Errorf("%s is listed and not read", name)
		}
	}
}

func TestListen(t *testing.T) {
	open, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := New(Config{Auth: true, Keys: keys(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		app  *App
		addr string
		open bool
		want string
	}{
		{open, "localhost:0", false, ""}, {open, "127.0.0.1:0", false, ""}, {open, "0.0.0.0:0", true, ""}, {closed, "0.0.0.0:0", false, ""},
		{open, "0.0.0.0:0", false, "other machines"}, {open, ":0", false, "other machines"}, {open, "127.0.0.1:http-nope", false, "cannot listen"},
	} {
		ln, err := test.app.Listen(t.Context(), test.addr, test.open)
		if ln != nil {
			_ = ln.Close()
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, open %v: %v, want %q", test.addr, test.open, err, test.want)
		}
	}
	ln, err := open.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := open.Listen(t.Context(), ln.Addr().String(), false); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the same port twice: %v", err)
	}
}

// TestServeEndsStreams stops the server in the middle of a stream, which must continue
// to its end.
func TestServeEndsStreams(t *testing.T) {
	a := golden(t, Config{})
	ln, err := a.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, ln) }()
	body := `{"temperature":0,"stream":true,"max_tokens":3,"messages":[{"role":"user","content":"a"}]}`
	res, err := http.Post("http://"+ln.Addr().String()+"/v1/chat/completions", "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stop()
	if got := text(t, res); !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Error(got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
