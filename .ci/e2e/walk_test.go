//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/app"
	"time"
)

// fresher is the longest delay of a change of a record or of the bucket: the design's 5
// seconds, and one more for a busy machine.
const fresher = 6 * time.Second

// firstAnswer follows the README from newly deployed stacks to an answer.
func firstAnswer(t *testing.T, w *World) (key string) {
	w.seed(t)
	key = w.glossa(t, "key", "create", "first", "--role", "admin", "--table-name", w.Table)
	begun, first := time.Now(), time.Duration(0)
	res := w.open(t, request{url: w.api("/v1/chat/completions"), key: key, method: http.MethodPost,
		body: `{"model": "novels", "messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": 40, "temperature": 0, "stream": true}`})
	tokens, done := 0, false
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"delta":{"content"`) {
			if tokens++; tokens == 1 {
				first = time.Since(begun)
			}
		}
		done = done || lines.Text() == "data: [DONE]"
	}
	if res.StatusCode != 200 || tokens < 20 || !done {
		t.Fatalf("the first answer: %s, %d tokens, ended: %v", res.Status, tokens, done)
	}
	w.say(t, "%-38s the first token after %d ms, the last of %d after %d ms", "first answer, of a cold function", first.Milliseconds(), tokens, time.Since(begun).Milliseconds())
	return key
}

// strangers tests requests without a key, with a wrong key, and with a key without
// permission.
func strangers(t *testing.T, w *World) {
	monitor := w.glossa(t, "key", "create", "watcher", "--role", "monitor", "--table-name", w.Table)
	for _, test := range []struct {
		name, method, path, key string
		status                  int
	}{
		{"without a key", "GET", "/v1/models", "", 401},
		{"with a wrong key", "GET", "/v1/models", "glossa_wrong", 401},
		{"who may not ask", "POST", "/v1/completions", monitor, 403},
		{"who may look", "GET", "/v1/models", monitor, 200},
		{"at a public route", "GET", "/health", "", 200},
		{"at a path of nobody", "GET", "/no/such/path", "", 404},
	} {
		r := request{method: test.method, url: w.api(test.path), key: test.key}
		if test.method == "POST" {
			r.body = `{"model":"novels","prompt":"a","max_tokens":1}`
		}
		if a := w.ask(t, r); a.status != test.status || test.status != 200 && !json.Valid([]byte(a.body)) {
			t.Errorf("%s: %s, want %d", test.name, a, test.status)
		}
	}
}

// Remote models of Bedrock and SageMaker that embed or rank texts.
const (
	titan, amazonRanker, teiEncoder = "amazon.titan-embed-text-v2:0", "amazon.rerank-v1:0", "tei.minilm"
)

// remote adds models of Bedrock, one with an inference profile, and of SageMaker.
func remote(t *testing.T, w *World) {
	for _, m := range [][3]string{
		{"anthropic.claude-v2", "bedrock", "Claude"}, {"eu.anthropic.claude-v2", "bedrock", "Claude"}, {"tgi.llama", "sagemaker", "Llama"},
		{titan, "bedrock", "Titan"}, {amazonRanker, "bedrock", "Rerank"}, {teiEncoder, "sagemaker", "BERT"},
	} {
		w.glossa(t, "models", "add", "--name", m[0], "--family", m[1], "--type", m[2], "--with-record", "--table-name", w.Table)
	}
	w.item(t, `{"pk": "models", "sk": "bedrock-eu.anthropic.claude-v2", "guardrail": {"id": "a1", "version": "1"}}`)
	addUpstreams(t, w)
	w.fresh(t)
}

// streamed checks that a token arrives before the next is generated: the model waits until
// the test has read it.
func streamed(t *testing.T, w *World, key string) {
	for name, base := range map[string]string{"REST": w.api(""), "function URL": w.url("openai", "")} {
		var res *http.Response
		until(t, fresher, func() bool { // warm instances list the model with a delay
			res = w.open(t, request{url: base + "/v1/completions", key: key, method: http.MethodPost,
				body: `{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`})
			return res.StatusCode == 200
		})
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), " one") {
		}
		if !strings.Contains(lines.Text(), " one") {
			t.Fatalf("%s: the stream ends before the first token", name)
		}
		w.Models.release(t)
		rest := ""
		for lines.Scan() {
			rest += lines.Text()
		}
		if !strings.Contains(rest, " two") || !strings.HasSuffix(rest, "[DONE]") {
			t.Errorf("%s: after the first token: %s", name, rest)
		}
	}
}

// A call is a request of a dialect.
type call struct{ path, body string }

// asked returns requests of each dialect to a model, whole and streamed.
func asked(family, model string) []call {
	quoted, _ := json.Marshal(model)
	with := func(format string) string { return fmt.Sprintf(format, quoted) }
	switch family {
	case "openai":
		return []call{
			{"/v1/completions", with(`{"model": %s, "prompt": "a", "max_tokens": 2}`)},
			{"/v1/completions", with(`{"model": %s, "prompt": "a", "max_tokens": 2, "stream": true}`)},
		}
	case "embeddings":
		switch model {
		case "novels", titan, teiEncoder, farVectors[0], farVectors[1]:
			return []call{{"/v1/embeddings", with(`{"model": %s, "input": ["a", "once upon"]}`)}}
		case amazonRanker:
			return []call{{"/v1/rerank", with(`{"model": %s, "query": "a", "documents": ["a", "once upon"]}`)}}
		}
		return nil // they write
	case "ollama":
		switch model {
		case "novels", titan, teiEncoder, farVectors[0], farVectors[1]:
			return []call{{"/api/embed", with(`{"model": %s, "input": ["a", "once upon"]}`)}}
		}
		return nil // they do not embed texts
	case "messages":
		if model != "novels" && !slices.Contains(farChats, model) {
			return nil // their records take no chats
		}
		return []call{
			{"/v1/messages", with(`{"model": %s, "messages": [{"role": "user", "content": "a"}], "max_tokens": 2}`)},
			{"/v1/messages", with(`{"model": %s, "messages": [{"role": "user", "content": "a"}], "max_tokens": 2, "stream": true}`)},
		}
	case "responses":
		if model != "novels" && !slices.Contains(farChats, model) {
			return nil // their records take no chats
		}
		return []call{
			{"/v1/responses", with(`{"model": %s, "input": "a", "max_output_tokens": 2}`)},
			{"/v1/responses", with(`{"model": %s, "input": "a", "max_output_tokens": 2, "stream": true}`)},
		}
	case "alpha":
		return []call{
			{"/api/generate", with(`{"model": %s, "prompt": "a", "max_tokens": 2}`)},
			{"/api/inference?query=a&steps=2&model=" + model, ""},
		}
	case "textsynth":
		path := "/v1/engines/" + model + "/completions"
		return []call{{path, `{"prompt": "a", "max_tokens": 2}`}, {path, `{"prompt": "a", "max_tokens": 2, "stream": true}`}}
	case "alephalpha":
		return []call{
			{"/complete", with(`{"model": %s, "prompt": "a", "maximum_tokens": 2}`)},
			{"/complete", with(`{"model": %s, "prompt": "a", "maximum_tokens": 2, "stream": true}`)},
		}
	case "lamini":
		return []call{{"/v2/completions", with(`{"model_name": %s, "prompt": "a", "max_new_tokens": 2}`)}}
	case "invoke":
		of := map[string]string{"novels": "local", "tgi.llama": "sagemaker", farChats[0]: "openai", farChats[1]: "openai"}[model]
		body := fmt.Sprintf(`{"model_family": %q, "model_name": %s, "body": {"prompt": "a", "max_new_tokens": 2}}`, cmp.Or(of, "bedrock"), quoted)
		return []call{{"/invoke", body}, {"/invoke_stream", body}}
	}
	return nil
}

// everywhere calls a local model, one of Bedrock, one with an inference profile and one of
// SageMaker, in all dialects, and remote models that embed or rank.
func everywhere(t *testing.T, w *World, key string) {
	for _, family := range app.Families() {
		models := append([]string{"novels", "anthropic.claude-v2", "eu.anthropic.claude-v2", "tgi.llama"}, farChats...)
		if family == "embeddings" || family == "ollama" {
			models = append(append(models, titan, amazonRanker, teiEncoder), farVectors...)
		}
		for _, model := range models {
			for _, c := range asked(family, model) {
				r := request{method: "POST", url: w.url(family, c.path), key: key, body: c.body}
				if c.body == "" {
					r.method = "GET"
				}
				a := w.ask(t, r)
				if a.status != 200 || a.err != nil || strings.Contains(strings.ReplaceAll(a.body, `"error":null`, ""), `"error"`) || len(a.body) < 2 {
					t.Errorf("%s of %s: %s", c.path, model, a)
				}
			}
		}
	}
}

// added checks that a model appears within seconds after its item, and disappears as fast.
func added(t *testing.T, w *World, key string) string {
	ask := func() int {
		return w.ask(t, request{method: "POST", url: w.api("/v1/completions"), key: key,
			body: `{"model": "novel-by-night", "prompt": "a", "max_tokens": 1}`}).status
	}
	if status := ask(); status != 404 {
		t.Fatalf("before it is there: %d", status)
	}
	const item = `{"pk": "models", "sk": "local-novel-by-night", "schema": {"checkpoint": "s3://%s/%s"}}`
	object, _ := w.object(t, "novels")
	w.item(t, fmt.Sprintf(item, w.Bucket, object))
	list, err := w.Items.Get(t.Context(), keyOf("models", "all-models"))
	if err != nil {
		t.Fatal(err)
	}
	rows, ok := list["models"].([]any)
	if text, isText := list["models"].(string); isText {
		ok = json.Unmarshal([]byte(text), &rows) == nil
	}
	if !ok {
		t.Fatalf("the list of models is a %T", list["models"])
	}
	list["models"] = append(rows, map[string]any{"model_type": "Alpha", "model_name": "novel-by-night", "model_family": "local", "streaming": true})
	if err := w.Items.Put(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	there := until(t, fresher, func() bool { return ask() == 200 })
	if err := w.Items.Delete(t.Context(), keyOf("models", "local-novel-by-night")); err != nil {
		t.Fatal(err)
	}
	gone := until(t, fresher, func() bool { return ask() != 200 })
	return fmt.Sprintf("served after %.1f s, gone after %.1f s", there.Seconds(), gone.Seconds())
}

// published checks a checkpoint that is written to the bucket, and one that is uploaded.
func published(t *testing.T, w *World, key string) string {
	ask := func(model string) int {
		return w.ask(t, request{method: "GET", url: w.api("/api/generate?prompt=a&max_tokens=3&temperature=0&model=" + model), key: key}).status
	}
	w.golden(t)
	there := until(t, fresher, func() bool { return ask("golden") == 200 })
	told := fmt.Sprintf("an object that was put is served after %.1f s", there.Seconds())
	if a := w.upload(t, "sent", key); a.status != 200 {
		t.Fatalf("the upload: %s", a)
	}
	there = until(t, fresher, func() bool { return ask("sent") == 200 })
	return told + fmt.Sprintf("; an upload after %.1f s", there.Seconds())
}

// logsIn checks a user's log-in, and the expiry of the token and of an API key.
func logsIn(t *testing.T, w *World) string {
	w.glossaWith(t, "correct horse battery\n", "user", "add", "ann@example.org", "--role", "client", "--table-name", w.Table)
	login := func(password string) answer {
		return w.ask(t, request{method: "POST", url: w.api("/get_token"), body: `{"email": "ann@example.org", "password": "` + password + `"}`})
	}
	if a := login("wrong horse battery"); a.status != 401 {
		t.Errorf("a wrong password: %s", a)
	}
	var granted struct{ Token, Role string }
	if a := login("correct horse battery"); a.status != 200 || json.Unmarshal([]byte(a.body), &granted) != nil || granted.Role != "client" {
		t.Fatalf("the log-in: %s", a)
	}
	w.secrets = append(w.secrets, granted.Token, "correct horse battery")
	key := w.glossa(t, "key", "create", "short", "--role", "client", "--table-name", w.Table)
	ask := func(secret string) answer { return w.ask(t, request{url: w.api("/v1/models"), key: secret}) }
	for name, secret := range map[string]string{"token": granted.Token, "key": key} {
		if a := ask(secret); a.status != 200 {
			t.Errorf("with the %s: %s", name, a)
		}
	}
	w.expire(t, "short", "ann@example.org")
	w.fresh(t)
	for name, secret := range map[string]string{"token": granted.Token, "key": key} {
		if a := ask(secret); a.status != 401 || !json.Valid([]byte(a.body)) {
			t.Errorf("with the %s that expired: %s", name, a)
		}
	}
	w.many(t, "ann@example.org")
	w.fresh(t)
	if a := login("correct horse battery"); a.status != 200 {
		t.Errorf("the log-in of who has logged in a thousand times: %s", a)
	}
	return "401 for a token and a key that have ended"
}

// page fetches the page and its linked files, below the stage.
func page(t *testing.T, w *World) string {
	a := w.ask(t, request{url: w.api("/")})
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("there is no page: %s", a)
		return ""
	}
	n := 0
	for _, link := range linked.FindAllStringSubmatch(a.body, -1) {
		if path := link[1]; !strings.Contains(path, ":") && !strings.HasPrefix(path, "#") {
			n++
			if strings.HasPrefix(path, "/") {
				t.Errorf("%s leads out of the stage", path)
			} else if got := w.ask(t, request{url: w.api("/" + path)}); got.status != 200 {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	if n < 40 { // its styles and scripts
		t.Errorf("%d links", n)
	}
	return fmt.Sprintf("%d bytes, %d links", len(a.body), n)
}

var linked = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
