package app

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
)

var roles = slices.Sorted(maps.Keys(secrets))

// apiKey adds a key to the accounts in a file and returns its secret and its id.
func apiKey(t *testing.T, path, name string, role account.Role, expires time.Time) (secret, id string) {
	t.Helper()
	secret, key, err := account.NewAPIKey(name, role, expires)
	if err == nil {
		err = account.NewFile(path).Add(t.Context(), key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret, key.ID
}

// newToken adds a user and returns the token of a login.
func newToken(t *testing.T, store account.Store, a *App, name string, role account.Role) string {
	t.Helper()
	err := store.Add(t.Context(), account.Credential{
		Kind: account.User, ID: name, Name: name, Role: role, Created: time.Now(),
		Password: "$argon2id$v=19$m=8,t=1,p=1$WP/SqPjO3C6eJDlVhXnqaw$bCwz1RFoKPdV3RvF2AX8eop3MsSQpJaL3iVwV8ZyASk",
	})
	if err != nil {
		t.Fatal(err)
	}
	body := text(t, ask(a.Handler(), "POST", "/users/me/token", "", strings.NewReader(`{"email":"`+name+`","password":"correct horse battery staple"}`)))
	var grant struct{ Token, Role string }
	if err := json.Unmarshal([]byte(body), &grant); err != nil || grant.Token == "" || grant.Role != string(role) {
		t.Fatalf("%s, %v", body, err)
	}
	return grant.Token
}

// A sender is the sender of a request, with its credentials.
type sender struct {
	name   string
	secret string
	role   account.Role // "" has no permissions
}

// senders lists all kinds of senders: of each role a key of the configuration, a key
// and a user of the accounts, an expired key, a revoked one and a deleted user. The
// invalid ones were all valid before.
func senders(t *testing.T, path string, a *App) []sender {
	t.Helper()
	list := []sender{{name: "no key"}, {name: "a wrong key", secret: "wrong"}}
	store := account.NewFile(path)
	h := a.Handler()
	var gone []sender
	for _, role := range roles {
		kept, _ := apiKey(t, path, string(role), role, time.Now().Add(time.Hour))
		expired, _ := apiKey(t, path, string(role)+"-expired", role, time.Now())
		revoked, id := apiKey(t, path, string(role)+"-revoked", role, time.Time{})
		tokens := map[string]string{}
		for _, name := range []string{string(role), string(role) + "-gone"} {
			tokens[name] = newToken(t, store, a, name, role)
		}
		list = append(list,
			sender{string(role) + " of the configuration", secrets[role], role},
			sender{string(role) + " by a key", kept, role},
			sender{string(role) + " who logged in", tokens[string(role)], role},
			sender{string(role) + " whose key expired", expired, ""})
		gone = append(gone, sender{string(role) + " whose key is revoked", revoked, ""},
			sender{string(role) + " who was removed", tokens[string(role)+"-gone"], ""})
		for _, s := range gone[len(gone)-2:] {
			if res := ask(h, "GET", "/v1/models", s.secret, nil); res.StatusCode != http.StatusOK {
				t.Errorf("%s, before: %d", s.name, res.StatusCode)
			}
		}
		if err := store.Delete(t.Context(), account.APIKey, id); err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(t.Context(), account.User, string(role)+"-gone"); err != nil {
			t.Fatal(err)
		}
	}
	return append(list, gone...)
}

// emptyAccounts returns the path of an empty file of accounts.
func emptyAccounts(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accounts.json")
	if err := os.WriteFile(path, []byte(`{"version":1,"credentials":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every route admits the roles with its permission, and nobody else.
func TestRoutesOfSenders(t *testing.T) {
	path := emptyAccounts(t)
	a := golden(t, Config{Auth: true, Keys: keys(t), Accounts: path})
	h := a.Handler()
	for _, s := range senders(t, path, a) {
		for _, route := range a.Routes() {
			want := 0
			switch {
			case route.Permission == httpx.Public:
			case s.role == "":
				want = http.StatusUnauthorized
			case !s.role.May(route.Permission):
				want = http.StatusForbidden
			}
			try(t, h, route, s, want)
		}
		for method, path := range map[string]string{"GET": "/nope", "POST": "/v1/nope"} {
			if res := ask(h, method, path, s.secret, nil); res.StatusCode != http.StatusNotFound || !strings.Contains(text(t, res), "no such path: "+method+" "+path+"; GET /docs lists all") {
				t.Errorf("%s as %s: %d", path, s.name, res.StatusCode)
			}
		}
		if res := ask(h, "OPTIONS", "/v1/chat/completions", s.secret, nil); res.StatusCode != http.StatusNoContent {
			t.Errorf("OPTIONS as %s: %d", s.name, res.StatusCode)
		}
	}
}

// try sends a request to a route, and also a HEAD for a GET. The model is unknown, so
// that no request has an effect, whoever sends it.
func try(t *testing.T, h http.Handler, route httpx.Route, s sender, want int) {
	t.Helper()
	path := strings.NewReplacer("{id...}", "golden", "{engine_id...}", "golden", "{$}", "").Replace(route.Pattern)
	methods := []string{route.Method}
	if route.Method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	for _, method := range methods {
		body := strings.NewReader(`{"model":"none","messages":[{"role":"user","content":"a"}]}`)
		res := ask(h, method, path+"?model=none&name=none", s.secret, body)
		if got := res.StatusCode; want != 0 && got != want || want == 0 && (got == 401 || got == 403 || got >= 500) {
			t.Errorf("%s %s as %s: %d, want %d: %s", method, path, s.name, got, want, text(t, res))
		}
	}
}

// Without auth no credentials are required, except for uploads.
func TestRoutesOfSendersWithoutAuth(t *testing.T) {
	path := emptyAccounts(t)
	a := golden(t, Config{Keys: keys(t), Accounts: path})
	h := a.Handler()
	for _, s := range senders(t, path, a) {
		for _, route := range a.Routes() {
			want := 0
			switch {
			case route.Permission != httpx.Upload:
			case s.role == "":
				want = http.StatusUnauthorized
			case !s.role.May(route.Permission):
				want = http.StatusForbidden
			}
			try(t, h, route, s, want)
		}
	}
}

// TestPublicRoutes lists the public routes: adding one must be deliberate.
func TestPublicRoutes(t *testing.T) {
	var got []string
	for _, route := range golden(t, Config{Auth: true, Accounts: emptyAccounts(t)}).Routes() {
		if route.Permission == httpx.Public {
			got = append(got, route.Method+" "+route.Pattern)
		}
	}
	want := []string{"POST /users/me/token", "POST /get_token", "GET /version", "GET /v1/version", "GET /ping", "GET /health", "GET /ready", "GET /api/version", "GET /openapi.json", "GET /{$}", "GET /docs", "GET /page/{file...}"}
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("public: %q, want %q", got, want)
	}
}

// Too many logins are rejected in the shape of the dialect.
func TestLimitedLogins(t *testing.T) {
	a := golden(t, Config{Auth: true, Accounts: emptyAccounts(t)})
	for name, shape := range map[string]httpx.Errors{"openai": openai.Errors, "alpha": alpha.Errors, "textsynth": textsynth.Errors} {
		mux := httpx.Mux{Guard: a.accounts.Guard, Routes: []httpx.Route{{
			Method: "POST", Pattern: "/token", Permission: httpx.Public, Errors: shape,
			Handle: func(_ http.ResponseWriter, r *http.Request) error {
				_, err := a.accounts.Login(r.Context(), name+strings.Repeat("x", 2000), strings.Repeat("y", 2000))
				return err
			},
		}}}
		h := mux.Handler()
		res := &http.Response{}
		for range 100 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/token", nil)
			r.RemoteAddr = "192.0.2.1:9"
			if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
				res = w.Result()
				break
			}
		}
		body := text(t, res)
		var answer struct{ Error any }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error == nil {
			t.Errorf("%s: %s, %v", name, body, err)
		}
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || strings.Contains(body, "xxx") {
			t.Errorf("%s: %d, %v, %s", name, res.StatusCode, res.Header, body)
		}
	}
}

func TestAccountsThatAreWrong(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"cut": `{"version":1,`, "new": `{"version":9}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"none": "glossa user add", "cut": "unexpected end", "new": "version 9 is not supported", ".": ""} {
		if _, err := New(Config{Accounts: filepath.Join(dir, file)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
