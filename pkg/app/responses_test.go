package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/table/tabletest"
)

// storedCalls sends the requests about stored responses, and checks their answers against the
// document.
func storedCalls(t *testing.T, a *App, h http.Handler, doc *openapi3.T, answered map[string]bool) {
	t.Helper()
	const one = "/v1/responses/{response_id}"
	var made struct{ ID string }
	res := ask(h, "POST", "/v1/responses", secrets[account.Client], strings.NewReader(`{"model":"golden","input":"a","max_output_tokens":2}`))
	if err := json.Unmarshal([]byte(text(t, res)), &made); err != nil {
		t.Fatal(err)
	}
	path := "/v1/responses/" + made.ID
	whole := text(t, ask(h, "GET", path, secrets[account.Client], nil))
	stopped := "resp_" + strings.Repeat("c", 24)
	text := `{"response":` + strings.Replace(strings.ReplaceAll(whole, made.ID, stopped), `"status":"incomplete"`, `"status":"cancelled"`, 1) + `}`
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+secrets[account.Client])
	r, err := a.accounts.Guard(r, &httpx.Route{Permission: httpx.Inference})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.archive.Put(t.Context(), owner(r.Context()), stopped, []byte(text), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"golden","input":"b","max_output_tokens":1,"truncation":"auto","previous_response_id":`
	for _, c := range []call{
		{"POST", "/v1/responses", "", account.Client, body + `"` + made.ID + `"}`, 200},
		{"POST", "/v1/responses", "", account.Client, body + `"resp_1"}`, 400},
		{"POST", "/v1/responses", "", account.Client, `{"input":[{"type":"item_reference","id":"msg_1"}]}`, 404},
		{"GET", path, one, account.Client, "", 200},
		{"GET", path + "?stream=true", one, account.Client, "", 400},
		{"GET", path + "/input_items?limit=1&order=asc", one + "/input_items", account.Client, "", 200},
		{"GET", path + "/input_items?limit=0", one + "/input_items", account.Client, "", 400},
		{"POST", path + "/cancel", one + "/cancel", account.Client, "", 400},
		{"POST", "/v1/responses/" + stopped + "/cancel", one + "/cancel", account.Client, "", 200},
		{"GET", path, one, account.Admin, "", 404}, // another owner
		{"DELETE", path, one, account.Worker, "", 404},
		{"DELETE", path, one, account.Client, "", 200},
		{"GET", path, one, account.Client, "", 404},
		{"DELETE", path, one, account.Client, "", 404},
		{"GET", path + "/input_items", one + "/input_items", account.Client, "", 404},
		{"POST", path + "/cancel", one + "/cancel", account.Client, "", 404},
	} {
		c.check(t, h, doc)
		answered[fmt.Sprint(c.method, " ", c.pattern, " ", c.status)] = true
	}
}

// TestOwnerOfConfiguredKeys: what a key has stored stays its own if keys before it are removed.
func TestOwnerOfConfiguredKeys(t *testing.T) {
	owners := func(list string, secrets ...string) (names []string) {
		keys, err := account.ParseKeys(list)
		if err != nil {
			t.Fatal(err)
		}
		accounts := account.New(account.Config{Keys: keys})
		for _, secret := range secrets {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			r, err := accounts.Guard(r, &httpx.Route{Permission: httpx.Inference})
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, owner(r.Context()))
		}
		return names
	}
	before, after := owners("client:first,client:second", "first", "second"), owners("client:second", "second")
	if before[0] == before[1] || after[0] != before[1] {
		t.Errorf("the owners were %q and are %q", before, after)
	}
}

// TestResponsesInTheTable: servers that share a table share its responses, and only the key
// that made one reads it.
func TestResponsesInTheTable(t *testing.T) {
	s := tabletest.New(t)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": s.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"} {
		t.Setenv(name, value)
	}
	var servers []http.Handler
	for range 2 {
		a := golden(t, Config{Auth: true, Keys: keys(t), Table: "glossa"})
		servers = append(servers, a.Handler())
	}
	var made struct {
		ID    string
		Store bool
	}
	first := text(t, ask(servers[0], "POST", "/v1/responses", secrets[account.Client], strings.NewReader(`{"model":"golden","input":"a","max_output_tokens":2}`)))
	if err := json.Unmarshal([]byte(first), &made); err != nil || !made.Store {
		t.Fatalf("%v: %s", err, first)
	}
	if got := text(t, ask(servers[1], "GET", "/v1/responses/"+made.ID, secrets[account.Client], nil)); got != first {
		t.Errorf("got %s, want %s", got, first)
	}
	if res := ask(servers[1], "GET", "/v1/responses/"+made.ID, secrets[account.Admin], nil); res.StatusCode != 404 {
		t.Errorf("another key: %d %s", res.StatusCode, text(t, res))
	}
}

// TestResponsesAreOff: without days nothing is stored, and answers say so.
func TestResponsesAreOff(t *testing.T) {
	cfg, err := FromEnv(func(name string) string {
		return map[string]string{"GLOSSA_RESPONSE_DAYS": "0", "GLOSSA_OPEN": "true"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	h := golden(t, Config{KeepResponses: cfg.KeepResponses}).Handler()
	if got := text(t, ask(h, "POST", "/v1/responses", "", strings.NewReader(`{"model":"golden","input":"a","store":true,"max_output_tokens":2}`))); !strings.Contains(got, `"store":false`) {
		t.Error(got)
	}
	if got := text(t, ask(h, "GET", "/v1/responses/resp_1", "", nil)); !strings.Contains(got, "does not store") {
		t.Error(got)
	}
	if _, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_RESPONSE_DAYS": "soon"}[name] }); err == nil {
		t.Error("soon is a number")
	}
}
