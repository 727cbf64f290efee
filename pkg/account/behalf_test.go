package account

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
)

// TestOnBehalf: requests of the server itself have the role and the limits that their principal
// has now, and none of one that is gone.
func TestOnBehalf(t *testing.T) {
	store := NewFile(t.TempDir() + "/accounts.json")
	secret, key, err := NewAPIKey("ci", Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, old, err := NewAPIKey("old", Admin, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	user, err := NewUser("ann@example.org", Monitor, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Credential{key, old, user} {
		if err := store.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	configured, err := NewKey("boss", Admin, "the-boss")
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := NewKey("watcher", Monitor, "the-boss") // the same key, with a role that may not
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Keys: []Key{watcher, configured}, Store: store})
	var seen Principal
	var sender string
	mux := &httpx.Mux{Guard: a.Guard, Routes: []httpx.Route{{Method: "GET", Pattern: "/x", Permission: httpx.Inference, Handle: func(_ http.ResponseWriter, r *http.Request) error {
		seen, _ = PrincipalOf(r.Context())
		sender = Sender(r.Context())
		return nil
	}}}}
	ask := func(sender, secret string) int {
		seen = Principal{}
		r := httptest.NewRequest("GET", "/x", nil)
		if sender != "" {
			r = r.WithContext(OnBehalf(r.Context(), sender))
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		mux.Handler().ServeHTTP(w, r)
		return w.Code
	}
	if got := ask("", secret); got != 200 || sender != "key "+key.instance() || strings.Contains(sender, secret) {
		t.Fatalf("%d from %q", got, sender)
	}
	ann := "user " + user.instance()
	again := user
	again.Created = user.Created.Add(time.Hour) // deleted and made anew
	for _, c := range []struct {
		sender string
		status int
		name   string
	}{
		{"key " + key.instance(), 200, "key ci"}, {configured.principal().owner(), 200, "configured boss"}, {"configured boss", 401, ""}, {ann, 403, ""},
		{"key " + old.instance(), 401, ""}, {"user " + again.instance(), 401, ""}, {"user " + key.instance(), 401, ""}, {"token " + key.instance(), 401, ""},
		{"key ci", 401, ""}, {"user ann@example.org", 401, ""}, {"configured ci", 401, ""}, {"key boss", 401, ""}, {"ci", 401, ""}, {"key", 401, ""}, {"key 1 ", 401, ""},
	} {
		if got := ask(c.sender, "wrong"); got != c.status || got == 200 && (seen.String() != c.name || sender != c.sender) {
			t.Errorf("%q: %d as %q", c.sender, got, seen)
		}
	}
	if got := ask(ann, secret); got != 403 {
		t.Errorf("the secret of another counts: %d", got)
	}
	limits := Limits{Models: "novels"}
	if err := store.SetLimits(t.Context(), APIKey, key.ID, limits); err != nil {
		t.Fatal(err)
	}
	if got := ask("key "+key.instance(), ""); got != 200 || seen.Limits != limits {
		t.Errorf("%d with %+v", got, seen.Limits)
	}
	if err := store.Delete(t.Context(), APIKey, key.ID); err != nil {
		t.Fatal(err)
	}
	if got := ask("key "+key.instance(), ""); got != 401 {
		t.Errorf("after its deletion: %d", got)
	}
}
