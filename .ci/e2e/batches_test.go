//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A batchState is a batch as its owner sees it.
type batchState struct {
	ID            string
	Status        string
	Output        string                                 `json:"output_file_id"`
	Errors        string                                 `json:"error_file_id"`
	RequestCounts struct{ Total, Completed, Failed int } `json:"request_counts"`
}

// orderBatch uploads lines and orders their batch.
func (w *World) orderBatch(t *testing.T, key, endpoint string, lines []string) (b batchState) {
	t.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if err := parts.WriteField("purpose", "batch"); err != nil {
		t.Fatal(err)
	}
	file, err := parts.CreateFormFile("file", "in.jsonl")
	if err == nil {
		_, err = file.Write([]byte(strings.Join(lines, "\n")))
	}
	if err != nil || parts.Close() != nil {
		t.Fatal(err)
	}
	a := w.patient(t, request{method: "POST", url: w.api("/v1/files"), key: key, body: form.String(), header: http.Header{"Content-Type": {parts.FormDataContentType()}}})
	var uploaded struct{ ID string }
	if a.status != 200 || json.Unmarshal([]byte(a.body), &uploaded) != nil {
		t.Fatalf("the upload: %s", a)
	}
	a = w.patient(t, request{method: "POST", url: w.url("batches", "/v1/batches"), key: key,
		body: fmt.Sprintf(`{"input_file_id": %q, "endpoint": %q, "completion_window": "24h"}`, uploaded.ID, endpoint)})
	if a.status != 200 || json.Unmarshal([]byte(a.body), &b) != nil {
		t.Fatalf("the order: %s", a)
	}
	return b
}

// batch returns the state of a batch. Clients try again when they are throttled.
func (w *World) batch(t *testing.T, key, id string) (b batchState) {
	t.Helper()
	a := w.patient(t, request{url: w.api("/v1/batches/" + id), key: key})
	if a.status != 200 || json.Unmarshal([]byte(a.body), &b) != nil {
		t.Fatal(a)
	}
	return b
}

// patient asks as clients do, which try again, for a minute, while the function has no instance
// left: those that work take all of them for a while on a slow machine.
func (w *World) patient(t *testing.T, r request) (a answer) {
	t.Helper()
	for range 600 {
		if a = w.ask(t, r); a.status != 429 && a.status < 500 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return a
}

// answered returns how often each custom_id is in a file.
func (w *World) answered(t *testing.T, key, file string) (times map[string]int, last string) {
	t.Helper()
	times = map[string]int{}
	if file == "" {
		return times, ""
	}
	a := w.patient(t, request{url: w.url("batches", "/v1/files/"+file+"/content"), key: key})
	if a.status != 200 || a.err != nil {
		t.Fatal(a)
	}
	for line := range strings.Lines(a.body) {
		var one struct {
			CustomID string `json:"custom_id"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v in %.200q", err, line)
		}
		times[one.CustomID]++
		last = line
	}
	return times, last
}

// tick sends the events of the schedules, as often as the function can be late, until the
// returned function is called.
func (w *World) tick(t *testing.T, every time.Duration) (stop func()) {
	timer := w.timer(t, "batches")
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(every):
				if err := w.Queue.send(timer.Target, []byte(timer.Event)); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	return func() { close(done) }
}

func batchLine(id, endpoint, body string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":%q,"body":%s}`, id, endpoint, body)
}

// batches runs ten thousand lines while the functions are killed, and S3 and Lambda throttle: each line is answered
// once.
func batches(t *testing.T, w *World, key string) string {
	const lines, endpoint = 10_000, "/v1/completions"
	f := w.Fleets["batches"]
	f.most = 6 // four that work, and some for the client
	var s3, lambda atomic.Int32
	mendS3 := w.Proxy.Break(&Fault{
		Fits: func(c *Call) bool { return c.Service == "s3" && c.By.Name == "batches" && s3.Add(1)%25 == 0 },
		Answer: func(rw http.ResponseWriter, _ *http.Request, _ *Call) {
			refuse(rw, "s3", http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
		},
	})
	defer mendS3()
	mendLambda := w.Proxy.Break(&Fault{
		Fits: func(c *Call) bool { return c.Service == "lambda" && lambda.Add(1)%3 == 1 },
		Answer: func(rw http.ResponseWriter, _ *http.Request, _ *Call) {
			refuse(rw, "lambda", http.StatusTooManyRequests, "TooManyRequestsException", "Rate Exceeded.")
		},
	})
	defer mendLambda()
	defer w.tick(t, 2*time.Second)()
	var text []string
	for i := range lines {
		text = append(text, batchLine(fmt.Sprint("line-", i), endpoint, `{"model":"novels","prompt":"a","max_tokens":1}`))
	}
	text = append(text, "{broken", batchLine("wrong", endpoint, `{"model":"nobody","prompt":"a"}`))
	began := time.Now()
	b := w.orderBatch(t, key, endpoint, text)
	kills := 0
	until(t, 5*time.Minute, func() bool {
		b = w.batch(t, key, b.ID)
		if kills < 3 && b.RequestCounts.Completed > (kills+1)*lines/8 {
			kills++
			f.Kill()
		}
		return b.Status == "completed"
	})
	took := time.Since(began)
	if kills < 3 {
		t.Errorf("only %d kills", kills)
	}
	if c := b.RequestCounts; c.Total != lines+2 || c.Completed != lines || c.Failed != 2 {
		t.Errorf("%+v", b)
	}
	times, last := w.answered(t, key, b.Output)
	for i := range lines {
		if n := times[fmt.Sprint("line-", i)]; n != 1 {
			t.Fatalf("line %d has %d answers", i, n)
		}
	}
	if len(times) != lines || !strings.Contains(last, `"finish_reason":"length"`) {
		t.Errorf("%d answers, the last %s", len(times), last)
	}
	if failed, _ := w.answered(t, key, b.Errors); len(failed) != 2 {
		t.Errorf("failed: %v", failed)
	}
	w.otherOwner(t, b)
	w.batchModels(t, key)
	w.cancelled(t, key)
	return fmt.Sprintf("%d lines in %d s, each answered once, with %d kills and %d of %d calls of S3 throttled", lines, int(took.Seconds()), kills, s3.Load()/25, s3.Load())
}

// otherOwner asks for the batch and its files with another key.
func (w *World) otherOwner(t *testing.T, b batchState) {
	other := w.glossa(t, "key", "create", "batch-neighbour", "--role", "client", "--table-name", w.Table)
	for _, path := range []string{"/v1/batches/" + b.ID, "/v1/files/" + b.Output, "/v1/files/" + b.Output + "/content"} {
		if a := w.patient(t, request{url: w.api(path), key: other}); a.status != 404 {
			t.Errorf("%s of another owner: %s", path, a)
		}
	}
}

// batchModels runs lines for models of each kind, and one that continues a stored response.
func (w *World) batchModels(t *testing.T, key string) {
	var first struct{ ID string }
	a := w.patient(t, request{method: "POST", url: w.url("responses", "/v1/responses"), key: key, body: `{"model":"novels","input":"a","max_output_tokens":2}`})
	if a.status != 200 || json.Unmarshal([]byte(a.body), &first) != nil {
		t.Fatal(a)
	}
	for endpoint, bodies := range map[string][]string{
		"/v1/embeddings":       {`{"model":%q,"input":"a"}`, titan, teiEncoder, farVectors[0], farVectors[1]},
		"/v1/chat/completions": {`{"model":%q,"messages":[{"role":"user","content":"a"}],"max_tokens":2}`, farChats[0], "novels"},
		"/v1/responses":        {`{"model":%q,"previous_response_id":"` + first.ID + `","input":"a","max_output_tokens":2}`, "novels"},
	} {
		var lines []string
		for _, model := range bodies[1:] {
			lines = append(lines, batchLine(model, endpoint, fmt.Sprintf(bodies[0], model)))
		}
		b := w.orderBatch(t, key, endpoint, lines)
		until(t, time.Minute, func() bool { b = w.batch(t, key, b.ID); return b.Status == "completed" })
		if b.RequestCounts.Completed != len(lines) {
			_, last := w.answered(t, key, b.Errors)
			t.Errorf("%s: %+v: %s", endpoint, b, last)
		}
	}
}

// cancelled cancels a batch and deletes its file.
func (w *World) cancelled(t *testing.T, key string) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, batchLine(fmt.Sprint(i), "/v1/completions", `{"model":"novels","prompt":"a","max_tokens":20}`))
	}
	b := w.orderBatch(t, key, "/v1/completions", lines)
	if a := w.patient(t, request{method: "POST", url: w.api("/v1/batches/" + b.ID + "/cancel"), key: key}); a.status != 200 {
		t.Errorf("to cancel: %s", a)
	}
	until(t, time.Minute, func() bool { b = w.batch(t, key, b.ID); return b.Status == "cancelled" })
	if done, failed := w.answered(t, key, b.Output); len(done)+b.RequestCounts.Failed != len(lines) {
		t.Errorf("cancelled: %+v, %d answers %s", b, len(done), failed)
	}
	if a := w.patient(t, request{method: "DELETE", url: w.api("/v1/files/" + b.Errors), key: key}); a.status != 200 {
		t.Errorf("to delete: %s", a)
	}
	var left []string
	for range 100 { // what a batch no longer needs is deleted after its end
		if left = append(w.Store.Keyed("batches/work/"), w.Store.Keyed("batches/open/")...); len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left: %q", left)
}
