package account

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

const password = "correct horse battery staple"

// withUsers returns accounts with a file store that has a user of each role,
// role@example.org.
func withUsers(t *testing.T) (*Accounts, Store) {
	t.Helper()
	return withUsersIn(t, NewFile(filepath.Join(t.TempDir(), "accounts.json")))
}

func withUsersIn(t *testing.T, store Store) (*Accounts, Store) {
	t.Helper()
	for _, role := range []Role{Admin, Worker, Client, Monitor} {
		addUser(t, store, string(role)+"@example.org", role)
	}
	a := New(Config{Store: store})
	a.passwords.decoy.cost = cheap
	return a, store
}

func addUser(t *testing.T, store Store, name string, role Role) {
	t.Helper()
	user, err := newUser(name, role, password, cheap)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), user); err != nil {
		t.Fatal(err)
	}
}

// from returns the context of a request from an address.
func from(t *testing.T, a *Accounts, remote string) context.Context {
	t.Helper()
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = remote
	r, err := a.Guard(r, &httpx.Route{Permission: httpx.Public})
	if err != nil {
		t.Fatal(err)
	}
	return r.Context()
}

func TestLogin(t *testing.T) {
	a, _ := withUsers(t)
	for _, role := range []Role{Admin, Worker, Client, Monitor} {
		grant, err := a.Login(t.Context(), " "+strings.ToUpper(string(role))+"@Example.org", password)
		if err != nil || grant.Role != role || grant.Expires.Before(time.Now()) {
			t.Fatalf("%s: %v, %v", role, grant.Role, err)
		}
		for _, p := range []httpx.Permission{httpx.Public, httpx.Listing, httpx.Metrics, httpx.Inference, httpx.Upload, "typo"} {
			want := llm.Code("")
			if !role.May(p) {
				want = llm.Forbidden
			}
			if got := ask(a.Guard, p, "Bearer "+grant.Token); got != want {
				t.Errorf("%s, %s: %q, want %q", role, p, got, want)
			}
		}
	}
}

// A failed login gives the same error for existing and unknown users.
func TestFailedLogins(t *testing.T) {
	a, _ := withUsers(t)
	var costs []uint32
	derive := a.passwords.derive
	a.passwords.derive = func(password, salt []byte, passes, memory uint32, threads uint8, n uint32) []byte {
		costs = append(costs, passes*memory*uint32(threads))
		return derive(password, salt, passes, memory, threads, n)
	}
	for name, password := range map[string]string{
		"client@example.org": "wrong horse", "nobody@example.org": password, "worker@example.org": "", "": password,
	} {
		_, err := a.Login(t.Context(), name, password)
		if e := llm.AsError(err); e.Code != llm.Unauthenticated || e.Message != errBadLogin().Error() || e.Err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(costs) != 4 || len(slices.Compact(costs)) != 1 {
		t.Errorf("costs %v", costs)
	}
	if New(Config{}).passwords.decoy.cost != defaultCost {
		t.Error("somebody unknown costs another sum than a new user")
	}
	if _, err := a.Login(t.Context(), "client@example.org", strings.Repeat("x", maxPassword+1)); llm.AsError(err).Code != llm.Unauthenticated || len(costs) != 4 {
		t.Errorf("a huge password: %v", err)
	}
	if _, err := New(Config{}).Login(t.Context(), "a", password); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("no store: %v", err)
	}
}

// separateBuckets reseeds a limit until keys share no bucket; by chance a few do.
func separateBuckets(l *limit, keys ...string) {
	for {
		used := map[*Bucket]bool{}
		for _, key := range keys {
			used[l.bucket(key)] = true
		}
		if len(used) == len(keys) {
			return
		}
		l.seed = maphash.MakeSeed()
	}
}

// tried asserts the result of a login from an address.
func tried(t *testing.T, a *Accounts, remote, name, password string, want llm.Code) {
	t.Helper()
	if _, err := a.Login(from(t, a, remote), name, password); err == nil && want != "" || err != nil && llm.AsError(err).Code != want {
		t.Fatalf("%s from %s: %v, want %q", name, remote, err, want)
	}
}

// An attacker who guesses a user's password locks out himself, not the user, whether the
// user exists or not. Successful logins are not counted. After the reported time one more
// attempt is allowed.
func TestLoginLimitOfANameAndAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := withUsers(t)
		names := []string{"client@example.org", "nobody@example.org", "worker@example.org"}
		separateBuckets(a.failures.names, names...)
		var pairs []string
		for _, from := range []string{"192.0.2.1", "198.51.100.1", "203.0.113.1"} {
			for _, name := range names {
				pairs = append(pairs, from+"\n"+name)
			}
		}
		separateBuckets(a.failures.pairs, pairs...)
		for _, name := range names[:2] {
			right := llm.Code("")
			if strings.HasPrefix(name, "nobody") {
				right = llm.Unauthenticated
			}
			for range pairBurst {
				tried(t, a, "192.0.2.1:9", name, "wrong horse", llm.Unauthenticated)
			}
			for range 3 * nameBurst { // rejected logins are not counted
				tried(t, a, "192.0.2.1:9", name, password, llm.Overloaded)
			}
			tried(t, a, "198.51.100.1:9", name, password, right) // from elsewhere
			tried(t, a, "192.0.2.1:9", "worker@example.org", password, "")
			_, err := a.Login(from(t, a, "192.0.2.1:9"), name, password)
			if e := llm.AsError(err); e.Code != llm.Overloaded || e.RetryAfter <= 0 || e.RetryAfter > pairPause {
				t.Fatalf("%s: %v, %v", name, err, e.RetryAfter)
			}
			time.Sleep(llm.AsError(err).RetryAfter)
			tried(t, a, "192.0.2.1:9", name, password, right)
		}
		for range 10 * pairBurst {
			tried(t, a, "203.0.113.1:9", "worker@example.org", password, "") // successful logins are not counted
		}
	})
}

// A password that is guessed from very many addresses is protected too.
func TestLoginLimitOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := withUsers(t)
		separateBuckets(a.failures.names, "client@example.org", "worker@example.org")
		address := func(i int) string { return fmt.Sprintf("10.0.%d.%d:9", i/250, i%250) }
		for i := range nameBurst {
			tried(t, a, address(i), "client@example.org", "wrong horse", llm.Unauthenticated)
		}
		_, err := a.Login(from(t, a, address(nameBurst)), "client@example.org", password)
		if e := llm.AsError(err); e.Code != llm.Overloaded || e.RetryAfter <= 0 || e.RetryAfter > namePause {
			t.Fatalf("%v, %v", err, e.RetryAfter)
		}
		tried(t, a, address(nameBurst), "worker@example.org", password, "")
		time.Sleep(namePause)
		tried(t, a, address(nameBurst), "client@example.org", password, "")
	})
}

func TestLoginLimitOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := withUsers(t)
		for i := range addressBurst {
			remote := "[2001:db8::" + strconv.Itoa(i) + "]:9" // one network
			if _, err := a.Login(from(t, a, remote), strconv.Itoa(i), "wrong horse"); llm.AsError(err).Code != llm.Unauthenticated {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		_, err := a.Login(from(t, a, "[2001:db8::ffff]:9"), "client@example.org", password)
		if e := llm.AsError(err); e.Code != llm.Overloaded || e.RetryAfter <= 0 || e.RetryAfter > addressPause {
			t.Errorf("%v, %v", err, e.RetryAfter)
		}
		if _, err := a.Login(from(t, a, "[2001:db8:0:1::1]:9"), "client@example.org", password); err != nil {
			t.Errorf("another network: %v", err)
		}
	})
}

func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "": "", "pipe": "pipe",
	} {
		if got := Address(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestTokensEnd(t *testing.T) {
	for _, store := range []Store{NewFile(filepath.Join(t.TempDir(), "accounts.json")), memory{}} {
		t.Run(fmt.Sprintf("%T", store), func(t *testing.T) { tokensEnd(t, store) })
	}
}

func tokensEnd(t *testing.T, store Store) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := withUsersIn(t, store)
		login := func() string {
			grant, err := a.Login(t.Context(), "client@example.org", password)
			if err != nil {
				t.Fatal(err)
			}
			return grant.Token
		}
		try := func(when, token string, want llm.Code) {
			t.Helper()
			if got := ask(a.Guard, httpx.Inference, "Bearer "+token); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		first := login()
		time.Sleep(TokenLifetime - time.Second)
		try("before it expires", first, "")
		second := login()
		time.Sleep(time.Second)
		try("expired", first, llm.Unauthenticated)
		try("not expired", second, "")
		if err := store.Delete(t.Context(), User, "client@example.org"); err != nil {
			t.Fatal(err)
		}
		try("the user is removed", second, llm.Unauthenticated)
		addUser(t, store, "client@example.org", Admin)
		try("there is another user of the name", second, llm.Unauthenticated)
		try("and a login of that one", login(), "")
		if _, ok := store.(*File); !ok {
			return
		}
		if list, err := store.List(t.Context(), Token); err != nil || len(list) != 1 {
			t.Errorf("tokens that are of no use are kept: %v, %v", list, err)
		}
	})
}

// memory is a minimal in-memory store.
type memory credentials

func (m memory) Get(_ context.Context, kind Kind, id string) (Credential, error) {
	c, ok := m[reference{kind, id}]
	if !ok {
		return Credential{}, ErrNotFound
	}
	return c, nil
}

func (m memory) Add(_ context.Context, c Credential) error {
	m[reference{c.Kind, c.ID}] = c
	return nil
}

func (m memory) Delete(_ context.Context, kind Kind, id string) error {
	delete(m, reference{kind, id})
	return nil
}

func (m memory) SetLimits(_ context.Context, kind Kind, id string, limits Limits) error {
	c, ok := m[reference{kind, id}]
	if !ok {
		return ErrNotFound
	}
	c.Limits = limits
	m[reference{kind, id}] = c
	return nil
}

func (m memory) List(_ context.Context, kind Kind) ([]Credential, error) {
	return credentials(m).ofKind(kind), nil
}

// A broken store admits nobody. Its error goes to the log, not to clients.
func TestBrokenStore(t *testing.T) {
	cause := errors.New("the disk is on fire")
	a := New(Config{Store: broken{cause}, Keys: keys(t, Client)})
	_, login := a.Login(t.Context(), "a", password)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+newSecret(keyPrefix))
	_, guard := a.Guard(r, &httpx.Route{Permission: httpx.Listing})
	for _, err := range []error{login, guard} {
		if e := llm.AsError(err); e.Code != llm.Internal || strings.Contains(e.Message, "fire") || !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
	if got := ask(a.Guard, httpx.Listing, secrets[Client]); got != "" {
		t.Errorf("a configured key: %s", got)
	}
}

// broken is a store whose methods all fail.
type broken struct{ err error }

func (b broken) Get(context.Context, Kind, string) (Credential, error) { return Credential{}, b.err }
func (b broken) Add(context.Context, Credential) error                 { return b.err }
func (b broken) Delete(context.Context, Kind, string) error            { return b.err }
func (b broken) SetLimits(context.Context, Kind, string, Limits) error { return b.err }
func (b broken) List(context.Context, Kind) ([]Credential, error)      { return nil, b.err }

// Handlers and the log see the principal, but no secret.
func TestPrincipal(t *testing.T) {
	a, store := withUsers(t)
	a.cfg.Keys = keys(t, Monitor)
	secret, key, err := NewAPIKey("CI", Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	var grant Grant
	var rec *httpx.Record
	login := httpx.Mux{
		Guard: a.Guard, Observe: func(r *httpx.Record) { rec = r },
		Routes: []httpx.Route{{Method: "POST", Pattern: "/", Permission: httpx.Public, Handle: func(_ http.ResponseWriter, r *http.Request) (err error) {
			grant, err = a.Login(r.Context(), "worker@example.org", password)
			return err
		}}},
	}
	login.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
	if rec.Principal != "user worker@example.org" {
		t.Errorf("the login is of %q", rec.Principal)
	}
	for sent, want := range map[string]string{
		secret: "key ci", grant.Token: "user worker@example.org", secrets[Monitor]: "configured monitor", "": "",
	} {
		var principal, address string
		mux := httpx.Mux{
			Guard: a.Guard, Observe: func(r *httpx.Record) { rec = r },
			Routes: []httpx.Route{{Method: "GET", Pattern: "/", Permission: httpx.Listing, Handle: func(_ http.ResponseWriter, r *http.Request) error {
				p, _ := PrincipalOf(r.Context())
				principal, address = p.String(), callerOf(r.Context()).address
				return nil
			}}},
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", sent)
		mux.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if principal != want || rec.Principal != want || want != "" && address != "192.0.2.1" {
			t.Errorf("context %q, record %q, address %q, want %q", principal, rec.Principal, address, want)
		}
	}
}
