//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// withdrawn removes one statement after another from a function, and sends new instances a
// request that needs it. The client must get an error in its own dialect, and no process
// may end.
func withdrawn(t *testing.T, w *World, key string) (told []string) {
	for _, test := range []struct {
		family, sid string
		r           request
		status      int
		says        string
	}{
		{"openai", "Items", request{url: w.api("/v1/models")}, 503, `"error":{"message":"`},
		{"openai", "Lists", w.asks("openai", "anthropic.claude-v2"), 503, `"error":{"message":"`},
		{"openai", "Counts", w.asks("openai", "novels"), 200, `"choices"`},
		{"openai", "Checkpoints", w.asks("openai", "novels"), 502, `S3 denied this server access`},
		{"openai", "Runs", w.asks("openai", "novels"), 502, `"error":{"message":"`},
		{"openai", "Bedrock", w.asks("openai", "anthropic.claude-v2"), 502, `"error":{"message":"`},
		{"openai", "SageMaker", w.asks("openai", "tgi.llama"), 502, `"error":{"message":"`},
		{"embeddings", "Checkpoints", w.asks("embeddings", "novels"), 502, `S3 denied this server access`},
		{"embeddings", "Bedrock", w.asks("embeddings", amazonRanker), 502, `"error":{"message":"`},
		{"embeddings", "SageMaker", w.asks("embeddings", teiEncoder), 502, `"error":{"message":"`},
		{"textsynth", "Bedrock", w.asks("textsynth", "eu.anthropic.claude-v2"), 502, `{"error":"`},
		{"openai", "Secrets", w.asks("openai", farChats[0]), 502, `"error":{"message":"`},
		{"messages", "Parameters", w.asks("messages", farChats[1]), 502, `"error":{"`},
		{"lamini", "SageMaker", w.asks("lamini", "tgi.llama"), 502, `{"detail":`},
		{"alpha", "Checkpoints", w.asks("alpha", "novels"), 502, `{"error":"`},
		{"alephalpha", "Runs", w.asks("alephalpha", "novels"), 502, `{"error":"`},
		{"invoke", "Bedrock", w.asks("invoke", "anthropic.claude-v2"), 200, `{"error":"`}, // its protocol sends errors with status 200
		{"alephalpha", "LogIn", request{method: "POST", url: w.api("/get_token"), body: `{"email": "ann@example.org", "password": "correct horse battery"}`}, 503, `{"error":"`},
	} {
		w.fresh(t)
		f := w.Fleets[test.family]
		before := f.Starts()
		giveBack := w.Proxy.Withdraw(f.Principal, test.sid)
		if test.r.key == "" && !strings.Contains(test.r.url, "get_token") {
			test.r.key = key
		}
		a := w.ask(t, test.r)
		refused := giveBack()
		if a.status != test.status || !strings.Contains(a.body, test.says) || !json.Valid([]byte(a.body)) {
			t.Errorf("%s without %s: %s, want %d %s", test.family, test.sid, a, test.status, test.says)
		}
		if strings.Contains(a.body, account) || strings.Contains(a.body, w.Table) {
			t.Errorf("%s without %s tells names: %s", test.family, test.sid, a)
		}
		if len(refused) == 0 && test.sid != "Counts" { // which happens later
			t.Errorf("%s does not need %s for %s", test.family, test.sid, test.r.url)
		}
		if f.Starts() != before+1 {
			t.Errorf("%s without %s: %d processes", test.family, test.sid, f.Starts()-before)
		}
		told = append(told, fmt.Sprintf("%s without %s: %d %.160s", test.family, test.sid, a.status, a.body))
	}
	w.fresh(t)
	return told
}

// asks returns the first request of a dialect to a model.
func (w *World) asks(family, model string) request {
	c := asked(family, model)[0]
	return request{method: "POST", url: w.url(family, c.path), body: c.body}
}
