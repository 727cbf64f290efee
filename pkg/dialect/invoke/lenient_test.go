package invoke

import (
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/httpx"
)

// page holds the keys that the web page of the API layer's project sends with every request.
// The page cannot send ignore_unmapped.
const page = `{"prompt":"a","max_new_tokens":50,"temprature":0.5,"repetition_penalty":null,"stop":[],"do_sample":true}`

// serving returns a handler with settings.
func serving(cfg Config) http.Handler {
	cfg.Models = testModels()
	return (&httpx.Mux{Routes: Routes(cfg), Fallback: Errors}).Handler()
}

// The request, else the record, else the server decides whether unmapped keys are dropped.
// The header names dropped keys whose values were not empty.
func TestIgnoreUnmapped(t *testing.T) {
	const refused = "refused"
	for _, test := range []struct {
		name    string
		server  bool
		request string // in addition to body
		want    string // the header, or refused
	}{
		{"anthropic.claude-v2:1", false, ``, refused},
		{"anthropic.claude-v2:1", true, ``, "do_sample, max_new_tokens, temprature"},
		{"anthropic.claude-v2:1", true, `,"ignore_unmapped":null`, "do_sample, max_new_tokens, temprature"},
		{"anthropic.claude-v2:1", true, `,"ignore_unmapped":false`, refused},
		{"anthropic.claude-v2:1", false, `,"ignore_unmapped":true`, "do_sample, max_new_tokens, temprature"},
		{"lenient", false, ``, "do_sample, max_new_tokens, temprature"},
		{"lenient", false, `,"ignore_unmapped":false`, refused},
		{"strict", true, ``, refused},
		{"strict", true, `,"ignore_unmapped":true`, "do_sample, max_new_tokens, temprature"},
	} {
		h := serving(Config{IgnoreUnmapped: test.server})
		for _, target := range []string{"/invoke", "/invoke_stream"} {
			w := ask(h, "POST", target, `{"model_family":"bedrock","model_name":"`+test.name+`","body":`+page+test.request+`}`)
			got := w.Header().Get(IgnoredHeader)
			if strings.HasPrefix(w.Body.String(), `{"error":"An error occurred: do_sample: this model does not support it`) {
				got += refused
			}
			if got != test.want || got != refused && !strings.Contains(w.Body.String(), `"{\"prompt\":\"a\"}"`) {
				t.Errorf("%s %s%s: %q, want %q: %s", target, test.name, test.request, got, test.want, w.Body)
			}
		}
	}
	local := ask(serving(Config{IgnoreUnmapped: true}), "POST", "/invoke", to("local", "org/story:1", page))
	if got := local.Header().Get(IgnoredHeader); got != "do_sample, temprature" || !strings.Contains(local.Body.String(), "Once upon") {
		t.Errorf("in the process: %q %s", got, local.Body)
	}
	if w := ask(serving(Config{IgnoreUnmapped: true}), "POST", "/invoke", to("bedrock", "strict", `{"prompt":"a","x":null}`)); len(w.Header().Values(IgnoredHeader)) > 0 {
		t.Errorf("only empty values were dropped: %q", w.Header())
	}
}

// Clients choose the names: in a header they are short and escaped.
func TestIgnoredNamesAreEscaped(t *testing.T) {
	body := `{"prompt":"a","\r\nSet-Cookie: x":1,"é, ü":1,"` + strings.Repeat("y", 100) + `":1`
	for range 2 {
		w := ask(serving(Config{IgnoreUnmapped: true}), "POST", "/invoke", to("bedrock", "lenient", body+`}`))
		got := w.Header().Get(IgnoredHeader)
		if !strings.HasPrefix(got, "%0D%0ASet-Cookie%3A+x, ") || strings.ContainsAny(got, "\r\né") || len(got) > maxIgnored*(3*maxKey+5)+3 {
			t.Errorf("%q", got)
		}
		for i := range 200 {
			body += `,"z` + strings.Repeat("z", i) + `":1`
		}
	}
	if got := list(make([]string, maxIgnored+1)); !strings.HasSuffix(got, ", , ...") {
		t.Errorf("%q", got)
	}
}

// The request, else the server decides whether events without keys are lines.
func TestEmptyLines(t *testing.T) {
	for _, test := range []struct {
		server  bool
		request string
		want    bool
	}{
		{false, ``, false}, {false, `,"empty_lines":true`, true}, {true, ``, true}, {true, `,"empty_lines":null`, true}, {true, `,"empty_lines":false`, false},
	} {
		w := ask(serving(Config{EmptyLines: test.server}), "POST", "/invoke_stream", `{`+claude+`,"body":{"prompt":"a"}`+test.request+`}`)
		if got := strings.Contains(w.Body.String(), "\n{}\n"); got != test.want || strings.Count(w.Body.String(), "\n") < 2 {
			t.Errorf("%t%s: %s", test.server, test.request, w.Body)
		}
	}
	w := ask(serving(Config{}), "POST", "/invoke_stream", `{`+claude+`,"body":{"prompt":"a"},"empty_lines":"yes"}`)
	if !strings.Contains(w.Body.String(), "empty_lines: must be a boolean") {
		t.Error(w.Body)
	}
}
