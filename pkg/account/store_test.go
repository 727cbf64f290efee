package account

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/table"
	"glossa/pkg/table/tabletest"
)

// stores opens each kind of store, empty, twice: as two processes would.
func stores(t *testing.T) map[string][2]Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accounts.json")
	tab := tabletest.New(t).Table()
	return map[string][2]Store{
		"file": {NewFile(path), NewFile(path)}, "table": {NewTable(tab), NewTable(tab)},
	}
}

// TestStores is the contract of a [Store].
func TestStores(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) { contract(t, s[0], s[1]) })
	}
}

func contract(t *testing.T, a, b Store) {
	ctx := t.Context()
	addUser(t, a, "b", Client)
	addUser(t, a, "a", Admin)
	secret, id := addKey(t, a, "a", Monitor, time.Now().Add(time.Hour))
	_, token := newToken("b")
	if err := a.Add(ctx, token); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Store{a, b} {
		users, err := s.List(ctx, User)
		if err != nil || len(users) != 2 || users[0].Name != "a" || users[0].Role != Admin || users[0].Password == "" {
			t.Errorf("%v, %v", users, err)
		}
		key, err := s.Get(ctx, APIKey, id)
		if err != nil || key.Last4 != secret[len(secret)-4:] || key.Role != Monitor || key.Expires.IsZero() {
			t.Errorf("%v, %v", key, err)
		}
		if got, err := s.Get(ctx, Token, token.ID); err != nil || got != token {
			t.Errorf("%v, %v, want %v", got, err, token)
		}
		if _, err := s.Get(ctx, APIKey, "a"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the name is no id: %v", err)
		}
		if _, err := s.Get(ctx, User, strings.Repeat("x", 3000)); !errors.Is(err, ErrNotFound) {
			t.Errorf("a long name: %v", err)
		}
		if err := s.Add(ctx, users[0]); !errors.Is(err, ErrExists) {
			t.Errorf("a user twice: %v", err)
		}
		if err := s.Delete(ctx, User, "c"); !errors.Is(err, ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
		if err := s.SetLimits(ctx, APIKey, token.ID, Limits{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("the limits of nobody: %v", err)
		}
		if err := s.SetLimits(ctx, User, "a", Limits{TokensPerDay: -1}); err == nil {
			t.Error("limits below zero")
		}
		if err := s.Add(ctx, Credential{Kind: User, ID: "x", Name: "x"}); err == nil {
			t.Error("half a user is added")
		}
	}
	changes(t, a, b, id)
}

// changes changes the limits of a key and deletes it.
func changes(t *testing.T, a, b Store, id string) {
	ctx, limits := t.Context(), Limits{Rate{600, time.Minute}, 1e6, maxTokenSum, 2_500_000_000_001, maxUSD, "novels,us.anthropic.*", "shop"}
	for _, want := range []Limits{limits, {Requests: Rate{10, time.Second}}, {}} {
		if err := a.SetLimits(ctx, APIKey, id, want); err != nil {
			t.Error(err)
		}
		if key, err := a.Get(ctx, APIKey, id); err != nil || key.Limits != want || key.Last4 == "" {
			t.Errorf("%+v, %v", key, err)
		}
		if list, err := b.List(ctx, APIKey); err != nil || len(list) != 1 || list[0].Limits != want {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if err := a.Delete(ctx, APIKey, id); err != nil {
		t.Error(err)
	}
	if _, err := a.Get(ctx, APIKey, id); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if err := a.SetLimits(ctx, APIKey, id, limits); !errors.Is(err, ErrNotFound) {
		t.Errorf("limits of a deleted key: %v", err)
	}
	if list, err := b.List(ctx, APIKey); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// clocked returns a table with a clock that the caller sets.
func clocked(tab *table.Table, now *time.Time) *Table {
	s := NewTable(tab)
	s.known.now = func() time.Time { return *now }
	return s
}

// A process sees the changes of another within 5 seconds, and most requests read
// nothing.
func TestTableIsFiveSecondsOld(t *testing.T) {
	service, now := tabletest.New(t), time.Now()
	store, operator := clocked(service.Table(), &now), NewTable(service.Table())
	a := New(Config{Store: store})
	secret, id := addKey(t, operator, "k", Client, time.Time{})
	try := func(when string, want llm.Code) {
		t.Helper()
		if got := ask(a.Guard, httpx.Inference, secret); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	for range 1000 {
		try("a key", "")
	}
	if n := service.Requests("GetItem"); n != 1 {
		t.Errorf("%d reads", n)
	}
	if err := operator.SetLimits(t.Context(), APIKey, id, Limits{TokensPerDay: 7}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(maxAge)
	if c, err := store.Get(t.Context(), APIKey, id); err != nil || c.Limits.TokensPerDay != 7 {
		t.Errorf("%v, %v", c, err)
	}
	if err := operator.Delete(t.Context(), APIKey, id); err != nil {
		t.Fatal(err)
	}
	now = now.Add(maxAge)
	for range 1000 {
		try("revoked", llm.Unauthenticated)
	}
	if n := service.Requests("GetItem"); n != 3 {
		t.Errorf("%d reads", n)
	}
}

// While the table fails, in whatever way, cached credentials are admitted for some
// minutes, and no others.
func TestTableThatFails(t *testing.T) {
	faults := map[string]func(string) (int, string){
		"throttled": func(string) (int, string) { return 400, "ThrottlingException" },
		"failing":   func(string) (int, string) { return 500, "InternalServerError" },
		"gone":      func(string) (int, string) { return tabletest.Close, "" },
	}
	for name, fault := range faults {
		service, now := tabletest.New(t), time.Now()
		a := New(Config{Store: clocked(service.Table(), &now)})
		known, _ := addKey(t, NewTable(service.Table()), "known", Client, time.Time{})
		other, _ := addKey(t, NewTable(service.Table()), "other", Client, time.Time{})
		wrong := newSecret(keyPrefix)
		try := func(when, secret string, want llm.Code) {
			t.Helper()
			if got := ask(a.Guard, httpx.Inference, secret); got != want {
				t.Errorf("%s, %s: %q, want %q", name, when, got, want)
			}
		}
		try("before", known, "")
		try("before", wrong, llm.Unauthenticated)
		service.Fault(fault)
		now = now.Add(maxAge)
		before := service.Requests("")
		for range 100 {
			try("known", known, "")
			try("other", other, llm.Unavailable)
			try("wrong", wrong, llm.Unavailable)
		}
		if n := service.Requests("") - before; n > 3*3 {
			t.Errorf("%s: %d requests in one moment", name, n)
		}
		now = now.Add(Patience - 2*maxAge)
		try("known, in the last moment", known, "")
		now = now.Add(maxAge)
		try("known, too long ago", known, llm.Unavailable)
		service.Fault(nil)
		now = now.Add(retryPause)
		try("known, again", known, "")
		try("other, again", other, "")
		try("wrong, again", wrong, llm.Unauthenticated)
	}
	if status := httpx.Status(llm.Unavailable); status != http.StatusServiceUnavailable {
		t.Error(status)
	}
}

// Concurrent requests for one credential make one read, and made-up keys evict no real ones.
func TestTableIsAskedOnce(t *testing.T) {
	service, now := tabletest.New(t), time.Now()
	store := clocked(service.Table(), &now)
	_, id := addKey(t, NewTable(service.Table()), "k", Client, time.Time{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := store.Get(t.Context(), APIKey, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := service.Requests("GetItem"); n != 1 {
		t.Errorf("%d reads", n)
	}
	for i := range maxUnknown + 100 {
		store.known.keep(reference{APIKey, fmt.Sprint(i)}, &answer{})
	}
	if n := len(store.known.unknown); n != maxUnknown {
		t.Errorf("%d unknown ids are remembered", n)
	}
	if _, err := store.Get(t.Context(), APIKey, id); err != nil || service.Requests("GetItem") != 1 {
		t.Errorf("%v, %d reads", err, service.Requests("GetItem"))
	}
}

func TestTableBoundsTokens(t *testing.T) {
	service := tabletest.New(t)
	store := NewTable(service.Table())
	addUser(t, store, "a", Client)
	var ids []string
	for i := range maxTokens + pruneEvery + 1 {
		name := "a"
		if i%pruneEvery == 0 { // the log-ins that check are of another
			name = "b"
		}
		_, token := newToken(name)
		token.Created = token.Created.Add(time.Duration(i))
		ids = append(ids, token.ID)
		if err := store.Add(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(t.Context(), Token)
	if err != nil || len(list) > maxTokens+pruneEvery || slices.ContainsFunc(list, func(c Credential) bool { return c.ID == ids[1] }) {
		t.Errorf("%d tokens, %v", len(list), err)
	}
	if item, err := service.Table().Get(t.Context(), itemKey(Token, ids[len(ids)-1])); err != nil || item["expires"] == nil || item["until"] == nil {
		t.Errorf("the table does not know when a token ends: %v, %v", item, err)
	}
	if item, err := service.Table().Get(t.Context(), itemKey(User, "a")); err != nil || item["expires"] != nil {
		t.Errorf("the table would delete a user: %v, %v", item, err)
	}
}

// A log-in succeeds although the check for too many tokens fails, and the next one checks again.
func TestTableThatCannotBoundTokens(t *testing.T) {
	service := tabletest.New(t)
	store := NewTable(service.Table())
	broken := itemKey(Token, "broken")
	if err := service.Table().Put(t.Context(), table.Item{"pk": broken.PK, "sk": broken.SK}); err != nil {
		t.Fatal(err)
	}
	add := func() {
		_, token := newToken("a")
		if err := store.Add(t.Context(), token); err != nil {
			t.Error(err)
		}
		if _, err := store.Get(t.Context(), Token, token.ID); err != nil {
			t.Error(err)
		}
	}
	service.Fault(func(op string) (int, string) {
		if op != "Query" {
			return 0, ""
		}
		return http.StatusBadRequest, "AccessDeniedException"
	})
	add()
	service.Fault(nil)
	for range 3 {
		add()
	}
	if n := service.Requests("Query"); n != 2 {
		t.Errorf("%d checks", n)
	}
}

// An invalid item admits nobody, and its hashes are not shown.
func TestHostileItems(t *testing.T) {
	service := tabletest.New(t)
	_, key, err := NewAPIKey("ci", Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(table.Item){
		"role":    func(i table.Item) { i["role"] = "root" },
		"number":  func(i table.Item) { i["role"] = 7 },
		"kind":    func(i table.Item) { i["kind"] = "user" },
		"name":    func(i table.Item) { i["name"] = "c\x1b[31mi" },
		"limits":  func(i table.Item) { i["limits"] = map[string]any{"tokens_per_day": -1} },
		"rate":    func(i table.Item) { i["limits"] = map[string]any{"requests": "0/s"} },
		"another": func(i table.Item) { i["id"] = strings.Repeat("0", 64) },
		"empty":   func(i table.Item) { clear(i) },
	} {
		item, err := toItem(key)
		if err != nil {
			t.Fatal(err)
		}
		k := item.Key()
		change(item)
		item["pk"], item["sk"] = k.PK, k.SK
		if err := service.Table().Put(t.Context(), item); err != nil {
			t.Fatal(err)
		}
		store := NewTable(service.Table())
		if c, err := store.Get(t.Context(), APIKey, key.ID); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		if _, err := store.List(t.Context(), APIKey); err == nil {
			t.Errorf("%s: it is listed", name)
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]Rate{"10/s": {10, time.Second}, "600/m": {600, time.Minute}, "1000000/s": {1e6, time.Second}} {
		if r, err := ParseRate(text); err != nil || r != want || r.String() != text {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "10", "/s", "0/s", "-1/s", "1/h", "1.5/s", "1000001/m", "1/s/s", " 1/s"} {
		if r, err := ParseRate(text); err == nil {
			t.Errorf("%q: %v", text, r)
		}
	}
	if s := (Limits{Rate{1, time.Second}, 2, 3, 4e11, 5e12, "a,b*", "shop"}).String(); s != "1/s, 2 tokens a day, 3 tokens a month, 0.4 US dollars a day, 5 US dollars a month, only the models a,b*, those of the team shop" {
		t.Error(s)
	}
}

func TestBucket(t *testing.T) {
	var b Bucket
	now := time.Unix(0, 0).Add(1000 * time.Hour)
	for i := range 5 {
		if wait := b.Take(now, 5, time.Second); wait != 0 {
			t.Errorf("%d: %v", i, wait)
		}
		if n, full := b.Left(now, 5, time.Second); n != 4-i || full != time.Duration(i+1)*time.Second {
			t.Errorf("%d left, full after %v", n, full)
		}
	}
	if wait := b.Take(now, 5, time.Second); wait != time.Second {
		t.Error(wait)
	}
	if wait := b.Take(now.Add(time.Second), 5, time.Second); wait != 0 {
		t.Error(wait)
	}
}
