package app

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/llm"
	"glossa/pkg/meter/budget"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// tabled sets the environment to a fake cloud with one table.
func tabled(t *testing.T) *tabletest.Service {
	t.Helper()
	service := tabletest.New(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": service.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing",
		"AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return service
}

// limited adds a key with limits and returns its secret.
func limited(t *testing.T, store account.Store, name string, role account.Role, limits account.Limits) string {
	t.Helper()
	secret, c, err := account.NewAPIKey(name, role, time.Time{})
	if err == nil {
		c.Limits = limits
		err = store.Add(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// paths has a request for a few tokens in each dialect.
var paths = map[string]string{
	"/v1/chat/completions":           `{"model":"golden","max_tokens":2,"messages":[{"role":"user","content":"a"}]}`,
	"/api/embed":                     `{"model":"golden","input":"a"}`,
	"/v1/messages":                   `{"model":"golden","max_tokens":2,"messages":[{"role":"user","content":"a"}]}`,
	"/v1/responses":                  `{"model":"golden","input":"a","max_output_tokens":2}`,
	"/v1/engines/golden/completions": `{"prompt":"a","max_tokens":2}`,
	"/v1/engines/golden/logprob":     `{"context":"a","continuation":"b"}`,
	"/complete":                      `{"model":"golden","prompt":"a","maximum_tokens":2}`,
	"/v2/completions":                `{"model_name":"golden","prompt":"a","max_new_tokens":2}`,
	"/api/generate":                  `{"model":"golden","prompt":"a","max_tokens":2}`,
	"/invoke":                        `{"model_family":"local","model_name":"golden","body":{"prompt":"a","max_new_tokens":2}}`,
	"/v1/embeddings":                 `{"model":"golden","input":"a"}`,
}

// Accounts and budgets are the same in a file and in a table, in every dialect.
func TestBudgetsOfDialects(t *testing.T) {
	service := tabled(t)
	file := emptyAccounts(t)
	for name, cfg := range map[string]Config{"file": {Accounts: file}, "table": {Table: "glossa"}} {
		store := account.Store(account.NewFile(file))
		if cfg.Table != "" {
			store = account.NewTable(service.Table())
		}
		poor := limited(t, store, "poor", account.Client, account.Limits{TokensPerDay: 1})
		rich := limited(t, store, "rich", account.Client, account.Limits{TokensPerDay: 1e6, TokensPerMonth: 1e6})
		fast := limited(t, store, "fast", account.Client, account.Limits{Requests: account.Rate{N: 1, Per: time.Minute}})
		monitor := limited(t, store, "monitor", account.Monitor, account.Limits{})
		cfg.Auth = true
		a := golden(t, cfg)
		h := a.Handler()
		ask(h, "POST", "/v1/engines/golden/completions", fast, strings.NewReader(`{"prompt":"a"}`)).Body.Close()
		ask(h, "POST", "/v1/embeddings", poor, strings.NewReader(paths["/v1/embeddings"])).Body.Close()
		for path, body := range paths {
			res := ask(h, "POST", path, rich, strings.NewReader(body))
			if text := text(t, res); res.StatusCode != 200 || res.Header.Get("X-Ratelimit-Limit-Tokens") != "1000000" || strings.Contains(strings.ReplaceAll(text, `"error":null`, ""), `"error"`) {
				t.Errorf("%s %s: %d, %v, %s", name, path, res.StatusCode, res.Header, text)
			}
			for _, secret := range []string{poor, fast} {
				res := ask(h, "POST", path, secret, strings.NewReader(body))
				text := text(t, res)
				if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !json.Valid([]byte(text)) {
					t.Errorf("%s %s: %d, %v, %s", name, path, res.StatusCode, res.Header, text)
				}
			}
		}
		a.Close()
		usageOf(t, name, h, monitor)
	}
	items, err := service.Table().Query(t.Context(), "usage", "")
	if err != nil || len(items) < 3 {
		t.Errorf("%v, %v", items, err)
	}
	if _, err := os.Stat(file + ".usage"); err != nil {
		t.Error(err)
	}
}

// usageOf checks the usage of the three keys.
func usageOf(t *testing.T, name string, h http.Handler, monitor string) {
	t.Helper()
	var usage struct {
		Days   []budget.Usage
		Limits []struct{ Principal string }
	}
	if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/usage", monitor, nil))), &usage); err != nil || len(usage.Days) != 3 || len(usage.Limits) != 3 {
		t.Errorf("%s: %+v, %v", name, usage, err)
	}
	for _, u := range usage.Days {
		if u.Principal == "key rich" && (u.Requests != int64(len(paths)) || u.Input < 8 || u.Output < 6) {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// Users of a table log in.
func TestLoginOfATable(t *testing.T) {
	service := tabled(t)
	a := golden(t, Config{Auth: true, Table: "glossa"})
	if token := newToken(t, account.NewTable(service.Table()), a, "ann@example.org", account.Client); ask(a.Handler(), "GET", "/v1/models", token, nil).StatusCode != 200 {
		t.Error("the token is good for nothing")
	}
}

// An unavailable table is 503 with the time to wait, in the shape of each dialect, and
// the log has the cause.
func TestAccountsThatCannotBeAsked(t *testing.T) {
	service := tabled(t)
	service.Fault(func(string) (int, string) { return 500, "InternalServerError" })
	secret, _, err := account.NewAPIKey("k", account.Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	h := golden(t, Config{Auth: true, Table: "glossa"}).Handler()
	for path, body := range paths {
		res, status := ask(h, "POST", path, secret, strings.NewReader(body)), http.StatusServiceUnavailable
		if path == "/v1/messages" {
			status = 529 // Anthropic's
		}
		if text := text(t, res); res.StatusCode != status || res.Header.Get("Retry-After") != "5" || !json.Valid([]byte(text)) || strings.Contains(text, "dynamodb") {
			t.Errorf("%s: %d, %v, %s", path, res.StatusCode, res.Header, text)
		}
	}
	if status, _ := invoke.Errors.Body(&llm.Error{Code: llm.Unavailable}); status != 503 {
		t.Error(status)
	}
}

// Without auth there are no budgets, and usage is that of the process.
func TestUsageWithoutAuth(t *testing.T) {
	h := golden(t, Config{}).Handler()
	ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(paths["/v1/chat/completions"])).Body.Close()
	var usage struct {
		Since time.Time
		Days  []budget.Usage
	}
	if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/usage", "", nil))), &usage); err != nil ||
		len(usage.Days) != 1 || usage.Days[0].Principal != "" || usage.Days[0].Model != "golden" || usage.Days[0].Output != 2 || usage.Since.IsZero() {
		t.Errorf("%+v, %v", usage, err)
	}
}

func TestTable(t *testing.T) {
	tabled(t)
	if tab, err := (Config{}).OpenTable("glossa"); err != nil || tab.Put(t.Context(), table.Item{"pk": "a", "sk": "b"}, table.Absent()) != nil {
		t.Error(tab, err)
	}
}
