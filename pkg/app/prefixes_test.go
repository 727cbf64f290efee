package app

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/account"
)

// cachedTokens returns the cached tokens that an answer of OpenAI's API reports.
func cachedTokens(t *testing.T, a *App, key, model, prompt string) int {
	t.Helper()
	body := text(t, ask(a.Handler(), "POST", "/v1/completions", key, strings.NewReader(`{"model":"`+model+`","prompt":"`+prompt+`","max_tokens":1}`)))
	var answer struct {
		Usage *struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Usage == nil {
		t.Fatalf("%s, %v", body, err)
	}
	return answer.Usage.Details.Cached
}

// A key's prompt begins with what the key has had computed, and with what others have only if
// the model's record says that prompts are public.
func TestPrefixOwners(t *testing.T) {
	var keys []account.Key
	for _, name := range []string{"ann", "bob"} {
		key, err := account.NewKey(name, account.Client, name+"-secret")
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for schema, shared := range map[string]int{`"prefixes":"public"`: 2, `"prefixes":"private"`: 0, `"aliases":[]`: 0} {
		a := golden(t, Config{Auth: true, Keys: keys, Records: fstest.MapFS{"m.json": {Data: []byte(
			`{"pk":"models","sk":"local-m","schema":{"checkpoint":"golden",` + schema + `}}`)}}})
		for i, step := range []struct {
			key  string
			want int
		}{{"ann-secret", 0}, {"ann-secret", 2}, {"bob-secret", shared}, {"bob-secret", 2}} {
			if got := cachedTokens(t, a, step.key, "m", "aba"); got != step.want {
				t.Errorf("%s, request %d: %d cached tokens, want %d", schema, i, got, step.want)
			}
		}
	}
}

// Without accounts there is one owner, and the memory of prefixes is what models leave.
func TestPrefixMemory(t *testing.T) {
	const gib = 1 << 30
	a := golden(t, Config{Memory: 8 * gib, RequestMemory: gib})
	before := a.prefixMemory()
	for _, want := range []int{0, 2} {
		if got := cachedTokens(t, a, "", "golden", "aba"); got != want {
			t.Errorf("%d cached tokens, want %d", got, want)
		}
	}
	if after := a.prefixMemory(); before != 2*gib || after >= before || after < gib {
		t.Errorf("%d bytes for prefixes, with an open model %d", before, after)
	}
	if got := golden(t, Config{}).prefixMemory(); got != gib/8 {
		t.Errorf("%d bytes without a bound of models", got)
	}
}
