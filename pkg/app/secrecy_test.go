package app

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm/llmtest"
)

// marked is a prompt, an answer, a secret, a name: a text that must not appear afterwards.
const marked = "marked-7d1f"

// markedRequests returns requests of all dialects with the marked text where texts, keys, models
// and paths are.
func markedRequests() (list []*http.Request) {
	for _, q := range asked {
		if !slices.Contains([]string{"", "form"}, q.needs) {
			continue // the scripted model lacks it; rejected requests are tested below
		}
		texts := strings.NewReplacer(`:"a"`, `:"`+marked+`"`, `["a"]`, `["`+marked+`"]`, "query=a", "query="+marked)
		model := strings.NewReplacer("MODEL", "script", "FAMILY", "elsewhere")
		for _, body := range []string{
			model.Replace(texts.Replace(q.body)),
			strings.NewReplacer("MODEL", marked, "FAMILY", "elsewhere").Replace(q.body),
			strings.NewReplacer("MODEL", marked, "FAMILY", marked).Replace(q.body),
			model.Replace(strings.Replace(q.body, "{", `{"`+marked+`":1,`, 1)),
			model.Replace(strings.Replace(q.body, `"a"`, `{"`+marked+`":"`+marked+`"}`, 1)),
			model.Replace(strings.Replace(q.body, "{", `{"stream":true,`, 1)),
			`{"` + marked,
		} {
			for _, path := range []string{model.Replace(texts.Replace(q.path)), strings.ReplaceAll(q.path, "MODEL", marked)} {
				list = append(list, httptest.NewRequest(q.method, path, strings.NewReader(body)))
			}
		}
	}
	for _, path := range []string{"/" + marked, "/v1/models/" + marked, "/health?" + marked} {
		list = append(list, httptest.NewRequest("GET", path, nil))
	}
	return list
}

// Neither the log nor the metrics contain prompts, answers, secrets or other input of
// clients, whatever the dialect, and whether the request is served or rejected.
func TestSecrecy(t *testing.T) {
	var log, lines bytes.Buffer
	a, model := scripted(t)
	model.Script = llmtest.Script{marked, marked}
	a.cfg.Log = slog.New(slog.NewJSONHandler(&log, nil))
	served, n := map[string]int{}, 0
	for _, metrics := range []io.Writer{nil, &lines} {
		a.cfg.Metrics = metrics
		h := a.Handler()
		for _, r := range markedRequests() {
			r.Header.Set("Authorization", "Bearer "+marked)
			r.Header.Set("Traceparent", marked)
			r.Header.Set("X-Amzn-Trace-Id", "Root="+marked)
			r.Header.Set("User-Agent", marked)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if n++; w.Code == http.StatusOK && strings.Contains(w.Body.String(), marked) {
				served[r.URL.Path]++
			}
		}
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if got := bytes.Count(log.Bytes(), []byte("\n")); got != n/2 {
		t.Errorf("%d log lines of %d requests", got, n/2)
	}
	if got := bytes.Count(lines.Bytes(), []byte("\n")); got != n/2+1 { // and the line of /metrics
		t.Errorf("%d lines of metrics of %d requests", got, n/2)
	}
	for name, text := range map[string]string{"log": log.String(), "EMF": lines.String(), "Prometheus": w.Body.String()} {
		if i := strings.Index(text, marked); i >= 0 {
			t.Errorf("%s: ...%s...", name, text[max(0, i-200):min(len(text), i+100)])
		}
		if !strings.Contains(text, "script") {
			t.Errorf("%s: nothing of the model", name)
		}
	}
	for _, q := range asked {
		path, _ := url.PathUnescape(strings.ReplaceAll(strings.Split(q.path, "?")[0], "MODEL", "script"))
		if q.needs == "" && served[path] == 0 {
			t.Errorf("%s: the model's text came with no answer", path)
		}
	}
}

// Each request to a model is counted once, under the dialect that answered it, with its
// model and its tokens.
func TestMetricsOfDialects(t *testing.T) {
	a, _ := scripted(t)
	for _, q := range asked {
		if q.needs != "" || q.method != "POST" {
			continue
		}
		var lines bytes.Buffer
		a.cfg.Metrics, a.cfg.Namespace = &lines, "N"
		replace := strings.NewReplacer("MODEL", "script", "FAMILY", "elsewhere")
		res := ask(a.Handler(), q.method, replace.Replace(q.path), "", strings.NewReader(replace.Replace(q.body)))
		var line struct {
			AWS struct {
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
				}
			} `json:"_aws"`
			Invocations, Errors    int
			In                     int     `json:"tokens_in"`
			Out                    int     `json:"tokens_out"`
			First                  float64 `json:"time_to_first_token"`
			Model, Family, Dialect string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %s, %v", q.path, res.StatusCode, lines.Bytes(), err)
		}
		metrics := line.AWS.CloudWatchMetrics
		if len(metrics) != 1 || metrics[0].Namespace != "N" || len(metrics[0].Dimensions) != 4 || line.Invocations != 1 || line.Errors != 0 ||
			line.In != 1 || line.Out == 0 || line.First == 0 || line.Model != "script" || line.Family != "elsewhere" || line.Dialect != dialectOf(q.path, q.body) {
			t.Errorf("%s: %s", q.path, lines.Bytes())
		}
	}
}

// dialectOf returns the dialect of a request, by its path, and by its key if two dialects have the
// path.
func dialectOf(path, body string) string {
	switch {
	case strings.Contains(body, "model_name") && !strings.HasPrefix(path, "/invoke"):
		return "lamini"
	case strings.HasPrefix(path, "/v1/engines"):
		return "textsynth"
	case strings.HasPrefix(path, "/v1/messages"):
		return "anthropic"
	case strings.HasPrefix(path, "/v1/responses"):
		return "responses"
	case strings.HasPrefix(path, "/v1"), strings.HasPrefix(path, "/vllm"), path == "/chat/completions":
		return "openai"
	case strings.HasPrefix(path, "/api/embed"), strings.HasPrefix(path, "/api") && strings.Contains(body, `"options"`):
		return "ollama"
	case strings.HasPrefix(path, "/api"):
		return "alpha"
	case strings.HasPrefix(path, "/invoke"):
		return "invoke"
	}
	return "alephalpha"
}
