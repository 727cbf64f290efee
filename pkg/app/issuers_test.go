package app

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
)

// named gives all tokens the same name.
type named struct{}

func (named) Identify(_ context.Context, token string) (account.Principal, bool, error) {
	return account.Principal{Kind: "subject", Name: "corp/ann", Role: account.Client, ID: token, Grant: "grant of " + token}, token != "", nil
}

func (named) Again(grant string) (account.Principal, bool) {
	return account.Principal{Kind: "subject", Name: "corp/ann", Role: account.Monitor}, grant == "grant of a"
}

// What a subject of a token has stored is not that of another with the same name. Its batches
// run with the rights of now.
func TestIssuer(t *testing.T) {
	accounts := account.New(account.Config{Tokens: named{}})
	route := &httpx.Route{Permission: httpx.Inference}
	owners := map[string]bool{}
	for _, token := range []string{"a", "b", "a"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r, err := accounts.Guard(r, route)
		if err != nil {
			t.Fatal(err)
		}
		owners[owner(r.Context())] = true
		again := httptest.NewRequest("GET", "/", nil)
		again = again.WithContext(account.OnBehalf(again.Context(), account.Sender(r.Context())))
		if _, err := accounts.Guard(again, route); err == nil || strings.Contains(err.Error(), "monitor") != (token == "a") {
			t.Errorf("token %s again: %v", token, err)
		}
	}
	if len(owners) != 2 {
		t.Errorf("the owners are %v", owners)
	}
}

// Issuers are read from the environment, as JSON or by the name of a file.
func TestReadIssuers(t *testing.T) {
	for _, list := range []string{"[]", "/no/such/file", ` [{"label":"x"}]`} {
		_, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_ISSUERS": list}[name] })
		if err == nil || !strings.Contains(err.Error(), "GLOSSA_ISSUERS") {
			t.Errorf("%s: %v", list, err)
		}
	}
	cfg, err := FromEnv(func(name string) string {
		return map[string]string{"GLOSSA_ISSUERS": `[{"label":"a","issuer":"https://x.example","audiences":["c"],"rules":[{"role":"client"}]}]`}[name]
	})
	if err != nil || len(cfg.Issuers) != 1 {
		t.Fatal(err)
	}
	if _, err := New(Config{Auth: true, Issuers: cfg.Issuers}); err != nil {
		t.Errorf("issuers without keys: %v", err)
	}
}
