//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// spent checks a key with a budget in the table that all functions share: the usage is
// complete when instances have ended, and each function rejects a key without budget.
func spent(t *testing.T, w *World, admin string) string {
	key := w.glossa(t, "key", "create", "spender", "--role", "client", "--table-name", w.Table)
	asked, tokens := 0, 0
	for _, family := range []string{"openai", "embeddings", "textsynth", "alephalpha", "lamini", "invoke"} {
		r := w.asks(family, "novels")
		r.key = key
		if a := w.ask(t, r); a.status != 200 {
			t.Fatalf("%s: %s", family, a)
		}
		asked++
	}
	w.fresh(t)
	var usage struct {
		Days []struct {
			Requests int
			In       int `json:"input_tokens"`
			Out      int `json:"output_tokens"`
		}
	}
	a := w.ask(t, request{url: w.api("/usage?principal=" + url.QueryEscape("key spender")), key: admin})
	if a.status != 200 || json.Unmarshal([]byte(a.body), &usage) != nil {
		t.Fatalf("the usage: %s", a)
	}
	requests := 0
	for _, day := range usage.Days {
		requests, tokens = requests+day.Requests, tokens+day.In+day.Out
	}
	if requests != asked || tokens < 2*asked {
		t.Errorf("%d requests with %d tokens are counted of %d: %s", requests, tokens, asked, a)
	}
	w.glossa(t, "key", "limit", "spender", "--tokens-per-day", "40", "--table-name", w.Table)
	w.fresh(t)
	said := ""
	for _, family := range []string{"openai", "textsynth"} { // the second uses the remaining budget
		for n := 0; n < 20; n++ {
			r := w.asks(family, "novels")
			r.key = key
			if a = w.ask(t, r); a.status != 200 {
				break
			}
		}
		if a.status != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s, when the budget must be spent: %s %v", family, a, a.header)
		}
		said = cmp.Or(said, a.message())
		w.fresh(t)
	}
	return fmt.Sprintf("%d tokens of six functions are counted; %s", tokens, said)
}
