package functions_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/app"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/host/runtimeapi"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
	"glossa/schemas"
)

// A warmFunction is a deployed function with its table and a provider that streams until its
// client disconnects.
type warmFunction struct {
	binary   string
	service  *tabletest.Service
	key      string // of a client with a budget
	provider *endlessProvider
	stdout   lines
}

// budgetOf is the budget of the client's key, tokens a day.
const budgetOf = 1_000_000

func newWarm(t *testing.T, binary string) *warmFunction {
	t.Helper()
	w := &warmFunction{binary: binary, service: tabletest.New(t), provider: &endlessProvider{disconnected: make(chan struct{}, 100), together: make(chan struct{})}}
	w.provider.url = backendtest.NewService(t, "bedrock", w.provider.answer).URL
	record, err := fs.ReadFile(schemas.Files(), "bedrock-anthropic.claude-v2.json")
	if err != nil {
		t.Fatal(err)
	}
	var item struct{ Schema json.RawMessage }
	if err := json.Unmarshal(record, &item); err != nil {
		t.Fatal(err)
	}
	for _, it := range []table.Item{
		{"pk": "models", "sk": "all-models", "models": `[{"model_type":"Claude","model_name":"anthropic.claude-v2","model_family":"bedrock","streaming":true}]`},
		{"pk": "models", "sk": "bedrock-anthropic.claude-v2", "schema": string(item.Schema)},
	} {
		if err := w.service.Table().Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	secret, c, err := account.NewAPIKey("rich", account.Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c.Limits = account.Limits{TokensPerDay: budgetOf}
	if err := account.NewTable(w.service.Table()).Add(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.key = secret
	return w
}

// environment returns the variables of a program that uses the table and the provider.
func (w *warmFunction) environment() []string {
	return []string{
		"GLOSSA_TABLE=glossa", "AWS_ENDPOINT_URL_DYNAMODB=" + w.service.URL, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=" + w.provider.url,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret",
	}
}

// start starts the function.
func (w *warmFunction) start(t *testing.T, o runtimeapi.Options) *runtimeapi.Function {
	t.Helper()
	o.Binary, o.Stdout, o.Stderr = w.binary, &w.stdout, t.Output()
	o.Env = append(w.environment(), "GLOSSA_STREAM_URL=true")
	f, err := runtimeapi.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// event returns a function URL's event for a completion.
func (w *warmFunction) event(prompt string, stream bool) []byte {
	body, _ := json.Marshal(map[string]any{"model": "anthropic.claude-v2", "prompt": prompt, "stream": stream, "max_tokens": 4000})
	event, _ := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": "/v1/completions", "body": string(body),
		"headers":        map[string]string{"content-type": "application/json", "authorization": "Bearer " + w.key},
		"requestContext": map[string]any{"domainName": "x.lambda-url.us-east-1.on.aws", "http": map[string]any{"method": "POST"}},
	})
	return event
}

// finishReason reports whether a stream has its dialect's end, and returns its finish reason.
func finishReason(body string) (reason string, ok bool) {
	for _, reason := range []string{"length", "stop"} {
		if strings.Contains(body, `"finish_reason":"`+reason+`"`) && strings.HasSuffix(body, "data: [DONE]\n\n") {
			return reason, true
		}
	}
	return "", false
}

// A warm function serves concurrent requests, ends streams before Lambda's deadline, and
// releases everything when it is stopped.
func TestWarm(t *testing.T) {
	binary := build(t, "openai")
	for name, test := range map[string]func(*testing.T, *warmFunction){
		"concurrency": concurrency, "deadline": deadline, "gone": gone, "cut": cutOff, "stopped": stopped,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWarm(t, binary)) })
	}
}

// concurrency: as many streams run at once as Lambda allows, each gets only its own words,
// and each is counted.
func concurrency(t *testing.T, w *warmFunction) {
	const n = 8
	f := w.start(t, runtimeapi.Options{Timeout: time.Minute, MemoryMB: 512, Concurrency: n})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			got := invoke(t, f, w.event(fmt.Sprintf("together %d name=n%d.", n, i), true))
			for j := range 20 {
				if !strings.Contains(got.body, fmt.Sprintf(`n%d-%d"`, i, j)) {
					t.Errorf("stream %d lacks its word %d:\n%s", i, j, got.body)
					return
				}
			}
			if reason, ok := finishReason(got.body); !ok || reason != "stop" || strings.Count(got.body, "-") < 20 {
				t.Errorf("stream %d:\n%s", i, got.body)
			}
			for other := range n {
				if other != i && strings.Contains(got.body, fmt.Sprintf("n%d-", other)) {
					t.Errorf("stream %d has words of %d", i, other)
				}
			}
		})
	}
	group.Wait()
	if f.Starts() != 1 {
		t.Errorf("%d processes", f.Starts())
	}
	w.stdout.metrics(t, n)
}

// deadline: an answer that exceeds the function's timeout ends in its dialect's shape, in
// time to be delivered, and the process survives.
func deadline(t *testing.T, w *warmFunction) {
	f := w.start(t, runtimeapi.Options{Timeout: 1500 * time.Millisecond, MemoryMB: 512})
	got := invoke(t, f, w.event("drip", true))
	if reason, ok := finishReason(got.body); !ok || reason != "length" || got.status != http.StatusOK {
		t.Errorf("%d, %s", got.status, got.body)
	}
	w.provider.waitDisconnected(t)
	for _, stream := range []bool{true, false} {
		if got := invoke(t, f, w.event("silence", stream)); got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, `"error":{"message":`) {
			t.Errorf("no word, stream %v: %d, %s", stream, got.status, got.body)
		}
	}
	if f.Starts() != 1 {
		t.Errorf("%d processes: Lambda ended one", f.Starts())
	}
	w.stdout.metrics(t, 3)
}

// gone: Lambda does not notify a function that its client has disconnected. The answer
// ends at the deadline at the latest, and the next request is served.
func gone(t *testing.T, w *warmFunction) {
	f := w.start(t, runtimeapi.Options{Timeout: 1500 * time.Millisecond, MemoryMB: 512})
	r, err := f.Invoke(t.Context(), w.event("drip", true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	w.provider.waitDisconnected(t)
	if got := invoke(t, f, w.event("silence", true)); got.status != http.StatusGatewayTimeout || f.Starts() != 1 {
		t.Errorf("the next: %d, %d processes", got.status, f.Starts())
	}
	w.stdout.metrics(t, 2)
}

// cutOff: a platform that closes the connection of an answer stops the generation.
func cutOff(t *testing.T, w *warmFunction) {
	taken := make(chan struct{})
	var once sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(rw http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if !first {
			<-r.Context().Done()
			return
		}
		rw.Header().Set("Lambda-Runtime-Aws-Request-Id", "one")
		rw.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = rw.Write(w.event("drip", true))
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/one/response", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = bufio.NewReader(r.Body).ReadString('\n')
		connection, _, err := rw.(http.Hijacker).Hijack() // without Hijack a server would read on for a while
		if err != nil || connection.Close() != nil {
			t.Error(err)
		}
		close(taken)
	})
	platform := httptest.NewServer(mux)
	defer platform.Close()
	cmd := exec.CommandContext(t.Context(), w.binary)
	cmd.Env = append(w.environment(), "GLOSSA_STREAM_URL=true", "AWS_LAMBDA_RUNTIME_API="+platform.Listener.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-taken
	w.provider.waitDisconnected(t)
	_ = cmd.Process.Kill() // the client of the Runtime API may have ended it
	_ = cmd.Wait()
}

// stopped: on SIGTERM a running stream ends properly, its metrics are written, and the
// leased budget of its key is returned.
func stopped(t *testing.T, w *warmFunction) {
	f := w.start(t, runtimeapi.Options{Timeout: time.Minute, MemoryMB: 512, StopGrace: 10 * time.Second})
	r, err := f.Invoke(t.Context(), w.event("drip", true))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(r)
	head, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	left := w.left(t)
	if left == budgetOf {
		t.Error("nothing of the budget is leased while a stream runs")
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Close() }() // SIGTERM
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Errorf("the stream: %v", err)
	}
	if _, ok := finishReason(head + string(rest)); !ok {
		t.Errorf("the stream has no end: %s", rest)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.provider.waitDisconnected(t)
	w.stdout.metrics(t, 1)
	if after, used := w.left(t), w.used(t); after+used != budgetOf || used == 0 {
		t.Errorf("%d tokens are left and %d used of %d; %d were left before", after, used, budgetOf, left)
	}
}

// usage returns the used and the remaining budget, as another process reports them.
func (w *warmFunction) usage(t *testing.T) (u struct {
	Days []struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	}
	Limits []struct{ Tokens []struct{ Left int64 } }
}) {
	t.Helper()
	for _, variable := range w.environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	monitor, c, err := account.NewAPIKey(fmt.Sprint("monitor", time.Now().UnixNano()), account.Monitor, time.Time{})
	if err == nil {
		err = account.NewTable(w.service.Table()).Add(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(app.Config{Table: "glossa", Auth: true})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/usage", nil)
	r.Header.Set("Authorization", "Bearer "+monitor)
	rec := httptest.NewRecorder()
	a.Handler("openai").ServeHTTP(rec, r)
	if err := json.Unmarshal(rec.Body.Bytes(), &u); err != nil || len(u.Limits) != 1 || len(u.Limits[0].Tokens) != 1 {
		t.Fatalf("%s, %v", rec.Body, err)
	}
	return u
}

func (w *warmFunction) left(t *testing.T) int64 { return w.usage(t).Limits[0].Tokens[0].Left }

func (w *warmFunction) used(t *testing.T) (n int64) {
	for _, d := range w.usage(t).Days {
		n += d.Input + d.Output
	}
	return n
}
