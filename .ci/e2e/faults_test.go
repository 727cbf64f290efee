//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// of matches the functions' calls of a service.
func of(service string) func(*Call) bool {
	return func(c *Call) bool { return c.Service == service && !c.By.all }
}

// reading matches reads of objects whose key contains a text.
func reading(key string) func(*Call) bool {
	return func(c *Call) bool {
		return c.Is("s3:GetObject") && strings.Contains(c.Accesses[0].Resource, key) && !c.By.all
	}
}

// hangUp closes the connection before an answer.
func hangUp(http.ResponseWriter, *http.Request, *Call) { panic(http.ErrAbortHandler) }

// completion requests a completion in OpenAI's dialect.
func (w *World) completion(t *testing.T, model, key string) answer {
	t.Helper()
	return w.ask(t, request{method: "POST", url: w.api("/v1/completions"), key: key,
		body: fmt.Sprintf(`{"model": %q, "prompt": "a", "max_tokens": 3, "temperature": 0}`, model)})
}

// isError reports whether an answer is an error in OpenAI's shape with a status.
func (a answer) isError(status int) bool {
	var e struct {
		Error struct{ Message string }
	}
	return a.status == status && json.Unmarshal([]byte(a.body), &e) == nil && e.Error.Message != ""
}

// message returns the message of an error in OpenAI's shape.
func (a answer) message() string {
	var e struct {
		Error struct{ Message string }
	}
	_ = json.Unmarshal([]byte(a.body), &e)
	return fmt.Sprintf("%d %s", a.status, e.Error.Message)
}

// killed kills the function in the middle of a stream.
func killed(t *testing.T, w *World, key string) string {
	f := w.Fleets["openai"]
	starts := f.Starts()
	res := w.open(t, request{method: "POST", url: w.api("/v1/completions"), key: key,
		body: `{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`})
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), " one") {
	}
	f.Kill()
	rest := ""
	for lines.Scan() {
		rest += lines.Text()
	}
	if lines.Err() == nil || strings.Contains(rest, "[DONE]") {
		t.Errorf("the stream ends well: %q", rest)
	}
	if a := w.completion(t, "anthropic.claude-v2", key); a.status != 200 {
		t.Errorf("the next request: %s", a)
	}
	if f.Starts() == starts {
		t.Error("nothing was started anew")
	}
	return "the stream is cut, the next request is answered by a new instance"
}

// outOfTime checks a stream beyond Lambda's timeout: the function ends it earlier.
func outOfTime(t *testing.T, w *World, key string) string {
	f := w.Fleets["openai"]
	w.fresh(t)
	f.options.Timeout = 3 * time.Second
	defer func() {
		f.options.Timeout = f.Timeout
		w.fresh(t)
	}()
	a := w.ask(t, request{method: "POST", url: w.api("/v1/completions"), key: key,
		body: `{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`})
	if a.err != nil || !strings.Contains(a.body, " one") || !strings.HasSuffix(strings.TrimSpace(a.body), "[DONE]") {
		t.Errorf("%s", a)
	}
	return "what was there is delivered, with an end"
}

// left checks a client that disconnects in a stream: the function continues.
func left(t *testing.T, w *World, key string) string {
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", w.api("/v1/completions"),
		strings.NewReader(`{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = res.Body.Close()
	if a := w.completion(t, "novels", key); a.status != 200 {
		t.Errorf("the next client: %s", a)
	}
	w.Models.release(t) // the function still waits for it
	return "the next client is answered by another instance"
}

// withoutTable calls a warm instance with cached key and models, and a new one.
func withoutTable(t *testing.T, w *World, key string, fault *Fault) string {
	w.fresh(t)
	if a := w.completion(t, "novels", key); a.status != 200 {
		t.Fatalf("before: %s", a)
	}
	time.Sleep(fresher) // the caches are no longer fresh
	mend := w.Proxy.Break(fault)
	warm := w.completion(t, "novels", key)
	_ = w.Fleets["openai"].Fresh() // an instance that cannot write its usage is killed
	begun := time.Now()
	cold := w.completion(t, "novels", key)
	took := time.Since(begun)
	mend()
	if warm.status != 200 {
		t.Errorf("an instance that knows the key: %s", warm)
	}
	if !cold.isError(503) || cold.header.Get("Retry-After") == "" {
		t.Errorf("a new instance: %s %v", cold, cold.header)
	}
	until(t, fresher, func() bool { return w.completion(t, "novels", key).status == 200 })
	return fmt.Sprintf("a warm instance answers on, a new one says %s (after %.1f s)", cold.message(), took.Seconds())
}

// throttledTable simulates DynamoDB without capacity.
func throttledTable(t *testing.T, w *World, key string) string {
	return withoutTable(t, w, key, &Fault{Fits: of("dynamodb"), Answer: func(w http.ResponseWriter, _ *http.Request, _ *Call) {
		refuse(w, "dynamodb", 400, "ThrottlingException", "Throughput exceeds the current capacity of your table or index.")
	}})
}

// tableDown simulates an unreachable DynamoDB.
func tableDown(t *testing.T, w *World, key string) string {
	return withoutTable(t, w, key, &Fault{Fits: of("dynamodb"), Answer: hangUp})
}

// tableHangs simulates a DynamoDB that accepts connections and does not answer.
func tableHangs(t *testing.T, w *World, key string) string {
	return withoutTable(t, w, key, &Fault{Fits: of("dynamodb"), Answer: func(_ http.ResponseWriter, r *http.Request, _ *Call) { <-r.Context().Done() }})
}

// stored calls new instances for a model whose object is read with a fault, the given number
// of times.
func stored(t *testing.T, w *World, key string, times int32, fault Fault) (answer, int) {
	t.Helper()
	var n atomic.Int32
	fits := fault.Fits
	fault.Fits = func(c *Call) bool { return fits(c) && n.Add(1) <= times }
	w.fresh(t)
	mend := w.Proxy.Break(&fault)
	defer mend()
	a := w.completion(t, "novels", key)
	return a, int(n.Load())
}

// cutBody ends a body after a number of bytes, with an error.
type cutBody struct {
	io.ReadCloser
	left int
	wait time.Duration // before the end
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		time.Sleep(b.wait)
		return 0, errors.New("cut")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// cutShort simulates S3 objects that are cut in half, for some time.
func cutShort(t *testing.T, w *World, key string) string {
	half := Fault{Fits: reading("/novels"), Body: func(b io.ReadCloser) io.ReadCloser { return &cutBody{ReadCloser: b, left: 200 << 10} }}
	good, reads := stored(t, w, key, 3, half)
	if good.status != 200 {
		t.Errorf("cut three times: %s", good)
	}
	nothing := Fault{Fits: reading("/novels"), Body: func(b io.ReadCloser) io.ReadCloser { return &cutBody{ReadCloser: b} }}
	bad, _ := stored(t, w, key, 1000, nothing)
	if !bad.isError(502) && !bad.isError(503) && !bad.isError(500) {
		t.Errorf("always cut: %s", bad)
	}
	took := until(t, 2*fresher, func() bool { return w.completion(t, "novels", key).status == 200 })
	return fmt.Sprintf("cut three times: served after %d reads; always: %s, and once it is over served after %.1f s", reads, bad.message(), took.Seconds())
}

// slow simulates an object that stalls, once.
func slow(t *testing.T, w *World, key string) string {
	begun := time.Now()
	a, reads := stored(t, w, key, 1, Fault{Fits: reading("/novels"), Body: func(b io.ReadCloser) io.ReadCloser {
		return &cutBody{b, 1 << 10, 30 * time.Second}
	}})
	if a.status != 200 {
		t.Errorf("%s", a)
	}
	return fmt.Sprintf("served after %.1f s and %d reads", time.Since(begun).Seconds(), reads)
}

// storeDown simulates a failing S3: only models in memory are served.
func storeDown(t *testing.T, w *World, key string) string {
	w.fresh(t)
	if a := w.completion(t, "novels", key); a.status != 200 {
		t.Fatalf("before: %s", a)
	}
	mend := w.Proxy.Break(&Fault{Fits: of("s3"), Answer: func(w http.ResponseWriter, _ *http.Request, _ *Call) {
		refuse(w, "s3", 503, "SlowDown", "Please reduce your request rate.")
	}})
	defer mend()
	time.Sleep(fresher)
	if a := w.completion(t, "novels", key); a.status != 200 {
		t.Errorf("a model in memory: %s", a)
	}
	a := w.completion(t, "abc", key)
	if !a.isError(502) && !a.isError(503) && !a.isError(500) {
		t.Errorf("another model: %s", a)
	}
	return "a model in memory is served, another one is " + a.message()
}

// replaced checks a model that is replaced while it is read: the answer must be of one of
// the two versions.
func replaced(t *testing.T, w *World, key string) string {
	name, novels := w.object(t, "novels")
	_, abc := w.object(t, "abc")
	want := map[string]bool{}
	for _, content := range [][]byte{abc, novels} {
		w.Store.Put(name, content)
		w.fresh(t)
		want[w.completion(t, "novels", key).text()] = true
	}
	if len(want) != 2 {
		t.Fatalf("both say %v", want)
	}
	var once atomic.Bool
	w.fresh(t)
	mend := w.Proxy.Break(&Fault{Fits: reading("/novels"), Body: func(b io.ReadCloser) io.ReadCloser {
		if !once.Swap(true) {
			w.Store.Put(name, abc)
		}
		return b
	}})
	first := w.completion(t, "novels", key)
	mend()
	if first.status == 200 && !want[first.text()] {
		t.Errorf("what is said is of neither: %s", first)
	}
	took := until(t, fresher, func() bool { return w.completion(t, "novels", key).text() == w.completion(t, "abc", key).text() })
	w.Store.Put(name, novels)
	time.Sleep(fresher)
	return fmt.Sprintf("the first answer: %d; the new version after %.1f s", first.status, took.Seconds())
}

// text returns the text of a completion.
func (a answer) text() string {
	var c struct{ Choices []struct{ Text string } }
	if json.Unmarshal([]byte(a.body), &c) != nil || len(c.Choices) != 1 {
		return a.String()
	}
	return c.Choices[0].Text
}

// object returns the only object of a model, as the operator.
func (w *World) object(t *testing.T, model string) (key string, content []byte) {
	t.Helper()
	var list struct{ Contents []struct{ Key string } }
	if err := xml.Unmarshal(w.get(t, "?list-type=2&prefix="+checkpoints+model), &list); err != nil || len(list.Contents) != 1 {
		t.Fatalf("the objects of %s: %v, %v", model, list.Contents, err)
	}
	key = list.Contents[0].Key
	return key, w.get(t, "/"+key)
}

// get reads from the bucket, regardless of policies.
func (w *World) get(t *testing.T, what string) []byte {
	t.Helper()
	res, err := http.Get(w.Proxy.services["s3"].String() + "/" + w.Bucket + what)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.Status, err)
	}
	return content
}

// uploadCut checks an upload whose sender disconnects.
func uploadCut(t *testing.T, w *World, key string) string {
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.api("/api/upload"),
		io.MultiReader(strings.NewReader(`{"name":"half","step":7,`), &cutBody{wait: 50 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if res, err := w.Client.Do(req); err == nil {
		t.Errorf("half an upload: %s", res.Status)
	}
	if a := w.completion(t, "half", key); !a.isError(404) {
		t.Errorf("its model: %s", a)
	}
	return "nothing is listed"
}
