package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
)

// TestDifferences lists and demonstrates the differences of /invoke over remote models
// from API layer's documentation and its server, each with the reason. The dialect's own list has the
// rest.
func TestDifferences(t *testing.T) {
	claude, tgi := remoteModels[0], remoteModels[2]
	claude.schema = shipped(t, "bedrock-anthropic.claude-v2")
	claude.whole, claude.first, claude.next, claude.last = `{"completion":TEXT}`, "", `{"completion":TEXT}`, `{"completion":""}`
	dots, chat := tgi, tgi
	dots.name, dots.path = "tgi.llama.v2", "/endpoints/llama.v2/invocations"
	chat.record, chat.next, chat.last = "sagemaker-tgi-chat", `data: {"choices":[{"delta":{"content":TEXT}}]}`, `data: [DONE]`
	for _, test := range []struct {
		original, reason string
		m                *remoteModel
		path, body       string
		status           int
		has, sent        string // in the answer, and in the provider's request
	}{
		{
			"the default of stop is its example's word", "who sends no stop asks for none",
			&tgi, "/invoke", `{"prompt":"a"}`, 200, `"generated_text":"bc"`, `"stop":[]`,
		},
		{
			"an endpoint is what is between the first two dots of a name", "the rest of the name would be lost; a name without a dot is one too",
			&dots, "/invoke", `{"prompt":"a"}`, 200, `"generated_text":"bc"`, "/endpoints/llama.v2/invocations",
		},
		{
			"[DONE] ends a stream with an error", "it is the end of a stream of many servers: the record leaves it out",
			&chat, "/invoke_stream", `{"prompt":"a"}`, 200, "{\"generated_text\":\"b\"}\n{\"generated_text\":\"c\"}\n", `"stream":true`,
		},
		{
			"a last line without its end is waited for without an end", "it is a line",
			&tgi, "/invoke_stream", `{"prompt":"without an end"}`, 200, `{"generated_text":"d"`, `"stream":true`,
		},
		{
			"a provider that throttles is status 200", "clients and proxies wait by status 429 and Retry-After",
			&claude, "/invoke", `{"prompt":"throttle"}`, 429, `{"error":"An error occurred: `, `"prompt":"throttle"`,
		},
		{
			"what the SDK says of a failure is the answer", "it names accounts, roles and addresses",
			&claude, "/invoke", `{"prompt":"deny"}`, 200, `denies access to the model: User: ... is not authorized`, `"prompt":"deny"`,
		},
	} {
		a, service := remoteApp(t, test.m, Config{}, func(i int, r *backendtest.Request, w *backendtest.Reply) {
			switch fmt.Sprint(r.Body["prompt"], r.Body["inputs"]) {
			case "throttle<nil>":
				w.Header().Set("Retry-After", "30")
				w.Fail(429, "ThrottlingException", `{"message":"slow down"}`)
			case "deny<nil>":
				w.Fail(403, "AccessDeniedException", `{"message":"User: arn:aws:sts::123456789012:assumed-role/r is not authorized"}`)
			case "<nil>without an end":
				w.Part([]byte(`data:{"token":{"text":"d"}}`))
			default:
				test.m.says(w, r.Stream, "b", "c")
			}
		})
		body := test.m.fill(`{"model_family":"FAMILY","model_name":"MODEL","body":` + test.body + `}`)
		res := ask(a.Handler(), "POST", test.path, "", strings.NewReader(body))
		got, sent := text(t, res), ""
		for _, r := range service.Requests() {
			b, _ := json.Marshal(r.Body)
			sent += r.Path + string(b)
		}
		if res.StatusCode != test.status || !strings.Contains(got, test.has) || !strings.Contains(sent, test.sent) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s of %s", test.original, test.reason, res.StatusCode, got, sent)
		}
	}
}
