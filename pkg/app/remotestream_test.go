package app

import (
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
)

// A streamed is a request of a dialect that streams, and its output for b and c. The
// parts between < and > are omitted for a model that does not report tokens.
type streamed struct {
	method, path, body string
	want               string
	broken             string // the end if the provider breaks off, with MESSAGE
}

var streams = []streamed{
	{
		"POST", "/v1/chat/completions", `{"model":"MODEL","stream":true,"messages":[{"role":"user","content":"a"}]}`,
		`data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}

data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"c"},"finish_reason":null}]}

data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]<,"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}>}

data: [DONE]

`,
		`data: {"error":{"message":"MESSAGE","type":"server_error","param":null,"code":"upstream_error"}}

`,
	},
	{
		"POST", "/v1/completions", `{"model":"MODEL","stream":true,"prompt":"a","echo":true,"stream_options":{"include_usage":true}}`,
		`data: {"object":"text_completion","choices":[{"text":"a","index":0,"logprobs":null,"finish_reason":null}],"usage":null}

data: {"object":"text_completion","choices":[{"text":"b","index":0,"logprobs":null,"finish_reason":null}],"usage":null}

data: {"object":"text_completion","choices":[{"text":"c","index":0,"logprobs":null,"finish_reason":null}],"usage":null}

data: {"object":"text_completion","choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}],"usage":null}

<data: {"object":"text_completion","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}

>data: [DONE]

`,
		`data: {"error":{"message":"MESSAGE","type":"server_error","param":null,"code":"upstream_error"}}

`,
	},
	{
		"POST", "/v1/engines/MODEL/completions", `{"stream":true,"prompt":"a"}`,
		`{"text":"b","reached_end":false}

{"text":"c","reached_end":false}

{"text":"","reached_end":true,"finish_reason":"stop"<,"input_tokens":5,"output_tokens":3,"total_tokens":8>}

`,
		`{"error":"MESSAGE"}

`,
	},
	{
		"POST", "/complete", `{"model":"MODEL","stream":true,"prompt":"a","maximum_tokens":9}`,
		`data: {"type":"stream_chunk","index":0,"completion":"b"}

data: {"type":"stream_chunk","index":0,"completion":"c"}

data: {"type":"stream_summary","index":0,"finish_reason":"end_of_text"}

data: {"type":"completion_summary","num_tokens_prompt_total":null,"num_tokens_generated":3}

`,
		`data: {"error":"MESSAGE","code":"UPSTREAM"}

`,
	},
	{
		"GET", "/api/inference?query=a&model=MODEL", "",
		`data: {"token":"a"}

data: {"token":"b"}

data: {"token":"c"}

data: [DONE]

`,
		`data: {"error":"MESSAGE"}

`,
	},
	{
		"POST", "/api/chat", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]}`,
		"bc", "\n[error: MESSAGE]\n",
	},
}

var (
	// changing matches the parts that differ between runs and models.
	changing = regexp.MustCompile(`"(id|created|model|model_version)":("[^"]*"|\d+),`)
	untold   = regexp.MustCompile(`(?s)<.*?>`)
)

// expect returns the expected stream of m.
func (c *streamed) expect(m *remoteModel) string {
	if !m.counts {
		return untold.ReplaceAllString(c.want, "")
	}
	return strings.NewReplacer("<", "", ">", "", "null,\"num_tokens_g", "5,\"num_tokens_g").Replace(c.want)
}

// Every dialect streams a provider's stream, and reports the tokens if the provider does.
func TestRemoteStreams(t *testing.T) {
	for i := range remoteModels {
		m := &remoteModels[i]
		a, service := remoteApp(t, m, Config{}, m.converses)
		h := a.Handler()
		doc := load(t, h)
		for _, c := range streams {
			if strings.Contains(c.body, "messages") && !m.chats {
				continue
			}
			res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
			body := text(t, res)
			pattern, _, _ := strings.Cut(strings.ReplaceAll(c.path, "MODEL", "{engine_id}"), "?")
			if err := fits(doc, c.method, pattern, res, body); err != nil {
				t.Errorf("%s: %s: %v", m.name, c.path, err)
			}
			if got, want := changing.ReplaceAllString(body, ""), c.expect(m); res.StatusCode != 200 || got != want {
				t.Errorf("%s: %s: %d\n%s\nwant\n%s", m.name, c.path, res.StatusCode, got, want)
			}
		}
		for _, r := range service.Requests() {
			if !r.Stream {
				t.Errorf("%s was not to be streamed", r.Path)
			}
		}
	}
}

// A stream that breaks off ends with an error of the dialect.
func TestRemoteStreamsThatBreak(t *testing.T) {
	for i := range remoteModels {
		m := &remoteModels[i]
		for name, end := range map[string]func(w *backendtest.Reply){
			"the remote model failed": func(w *backendtest.Reply) {
				w.Exception("ModelStreamErrorException", `{"message":"a secret of theirs"}`)
			},
			"the remote model cannot be reached, or it closed the connection": (*backendtest.Reply).Break,
		} {
			a, _ := remoteApp(t, m, Config{}, func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
				w.Event(strings.ReplaceAll(m.next, "TEXT", `"b"`))
				end(w)
			})
			h := a.Handler()
			for _, c := range append(streams, streamed{
				"POST", "/invoke_stream", `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a"}}`, "",
				`{"error":"An error occurred: MESSAGE","stacktrace":""}` + "\n",
			}) {
				if strings.Contains(c.body, "messages") && !m.chats {
					continue
				}
				res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
				got, end := text(t, res), strings.ReplaceAll(c.broken, "MESSAGE", name)
				if res.StatusCode != 200 || !strings.HasSuffix(got, end) || got == end {
					t.Errorf("%s: %s: %d\n%s\nwant at its end\n%s", m.name, c.path, res.StatusCode, got, end)
				}
			}
		}
	}
}
