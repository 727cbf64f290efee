package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// addKey adds an API key to a store and returns its secret.
func addKey(t *testing.T, store Store, name string, role Role, expires time.Time) (secret, id string) {
	t.Helper()
	secret, key, err := NewAPIKey(name, role, expires)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return secret, key.ID
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	store := NewFile(path)
	if _, err := store.Get(t.Context(), User, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	addUser(t, store, "b", Client)
	addUser(t, store, "a", Admin)
	secret, id := addKey(t, store, "a", Monitor, time.Now().Add(time.Hour))
	other := NewFile(path) // as another process sees it
	for _, s := range []Store{store, other} {
		users, err := s.List(t.Context(), User)
		if err != nil || len(users) != 2 || users[0].Name != "a" || users[0].Role != Admin {
			t.Errorf("%v, %v", users, err)
		}
		key, err := s.Get(t.Context(), APIKey, id)
		if err != nil || key.Last4 != secret[len(secret)-4:] || key.Role != Monitor || key.Expires.IsZero() {
			t.Errorf("%v, %v", key, err)
		}
		if _, err := s.Get(t.Context(), APIKey, "a"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the name is no id: %v", err)
		}
		if err := s.Add(t.Context(), users[0]); !errors.Is(err, ErrExists) {
			t.Errorf("a user twice: %v", err)
		}
		if err := s.Delete(t.Context(), User, "c"); !errors.Is(err, ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
		if err := s.Add(t.Context(), Credential{Kind: User, ID: "x", Name: "x"}); err == nil {
			t.Error("half a user is added")
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), secret) || strings.Contains(string(b), password) {
		t.Errorf("the file has secrets: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A credential that another process revokes is invalid at once; if the file system
// does not show the change, within 5 seconds.
func TestRevokedKeyStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "accounts.json")
		operator := NewFile(path)
		first, id := addKey(t, operator, "first", Client, time.Time{})
		second, _ := addKey(t, operator, "second", Client, time.Time{})
		a := New(Config{Store: NewFile(path)})
		try := func(when, secret string, want llm.Code) {
			t.Helper()
			if got := ask(a.Guard, httpx.Inference, "Bearer "+secret); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		try("first", first, "")
		try("second", second, "")
		if err := operator.Delete(t.Context(), APIKey, id); err != nil {
			t.Fatal(err)
		}
		try("first, revoked", first, llm.Unauthenticated)
		try("second, when first is revoked", second, "")

		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		blank := strings.Repeat(" ", len(b)-len(`{"version":1}`))
		if err := os.WriteFile(path, []byte(`{"version":1}`+blank), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		try("second, revoked unseen", second, llm.Unauthenticated)
	})
}

func TestExpiredKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewFile(filepath.Join(t.TempDir(), "accounts.json"))
		a := New(Config{Store: store})
		secret, _ := addKey(t, store, "k", Client, time.Now().Add(time.Hour))
		time.Sleep(time.Hour - time.Nanosecond)
		if got := ask(a.Guard, httpx.Inference, secret); got != "" {
			t.Errorf("before: %s", got)
		}
		time.Sleep(time.Nanosecond)
		if got := ask(a.Guard, httpx.Inference, secret); got != llm.Unauthenticated {
			t.Errorf("after: %s", got)
		}
	})
}

// Processes that change a file at the same time lose nothing, and concurrent readers
// see a whole file.
func TestFileOfManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	addUser(t, NewFile(path), "first", Client)
	var wg sync.WaitGroup
	for w := range 4 {
		store := NewFile(path)
		wg.Go(func() {
			for i := range 10 {
				_, key, err := NewAPIKey(fmt.Sprintf("k%d-%d", w, i), Client, time.Time{})
				if err == nil {
					err = store.Add(t.Context(), key)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 100 {
				if _, err := store.Get(t.Context(), User, "first"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := NewFile(path).List(t.Context(), APIKey)
	if err != nil || len(list) != 40 {
		t.Errorf("%d keys, %v", len(list), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("%v, %v", entries, err)
	}
}

// Leftovers of a killed process cause no harm; a lock that is never released is
// reported.
func TestFileOfKilledAndHungWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounts.json")
	if err := os.WriteFile(path+".new", []byte("half a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	store := NewFile(path)
	addUser(t, store, "a", Client)
	synctest.Test(t, func(t *testing.T) {
		unlock, err := lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(t.Context(), User, "a"); !errors.Is(err, errLocked) {
			t.Errorf("locked: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), lockPatience/2)
		defer cancel()
		if err := store.Delete(ctx, User, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("locked, in less time: %v", err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Delete(t.Context(), User, "a"); err != nil {
		t.Error(err)
	}
}

func TestFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "accounts.json"), filepath.Join(dir, "link")
	addUser(t, NewFile(path), "a", Client)
	if err := os.Symlink(path, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	addUser(t, NewFile(link), "b", Client)
	if list, err := NewFile(path).List(t.Context(), User); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is a file now: %v", err)
	}
}

func TestTokensOfAUserAreBounded(t *testing.T) {
	user, err := newUser("a", Client, password, cheap)
	if err != nil {
		t.Fatal(err)
	}
	list := credentials{{User, "a"}: user}
	oldest := ""
	for i := range maxTokens + 1 {
		_, token := newToken("a")
		token.Created = user.Created.Add(time.Duration(i))
		list[reference{Token, token.ID}] = token
		if i == 0 {
			oldest = token.ID
		}
	}
	list.prune(time.Now())
	if _, ok := list[reference{Token, oldest}]; ok || len(list.ofKind(Token)) != maxTokens {
		t.Errorf("%d tokens", len(list.ofKind(Token)))
	}
}

// valid is the JSON of a document with a user, a key and a token.
func valid(t testing.TB) string {
	t.Helper()
	user, err := newUser("a@example.org", Admin, password, cheap)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := NewAPIKey("ci", Client, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, token := newToken(user.Name)
	b, err := json.Marshal(document{version, []Credential{user, key, token}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHostileFiles(t *testing.T) {
	if _, err := decode([]byte(valid(t))); err != nil {
		t.Fatal(err)
	}
	for name, test := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "accounts.json")
			if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, path, test.says)
		})
	}
}

// hostile lists invalid contents of a file, with the errors that they cause.
func hostile(t *testing.T) map[string]struct{ file, says string } {
	t.Helper()
	good := valid(t)
	change := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	doc := func(one string) string { return `{"version":1,"credentials":[` + one + `]}` }
	return map[string]struct{ file, says string }{
		"empty":            {"", "unexpected end"},
		"truncated":        {good[:len(good)/2], "unexpected end"},
		"no JSON":          {"admin:hunter2", "invalid JSON"},
		"an array":         {"[]", "not array"},
		"null":             {"null", "version"},
		"two documents":    {good + good, "data after the document"},
		"a later version":  {change(`"version":1`, `"version":2`), "version 2 is not supported"},
		"an unknown key":   {change(`"role":"admin"`, `"rule":"admin"`), "unknown field"},
		"a wrong type":     {change(`"role":"admin"`, `"role":7`), "must be"},
		"a wrong list":     {`{"version":1,"credentials":{"hunter2":1}}`, "must be"},
		"unknown role":     {change(`"role":"admin",`, ``), "unknown role"},
		"another role":     {change(`"role":"admin"`, `"role":"root"`), "unknown role"},
		"another kind":     {change(`"kind":"key"`, `"kind":"door"`), "unknown kind"},
		"a plain password": {change(`$argon2id$`, `hunter2`), "not an argon2id hash"},
		"a costly hash":    {change(`m=8,`, `m=1048576,`), "costs more"},
		"a wild name":      {change(`"name":"ci"`, `"name":"c\u001b[31mi"`), "letters"},
		"a long name":      {change(`"name":"ci"`, `"name":"`+strings.Repeat("c", 300)+`"`), "1 to 254"},
		"another's id":     {change(`"id":"a@example.org"`, `"id":"b@example.org"`), "the name"},
		"a short hash":     {doc(`{"kind":"key","id":"00","name":"ci","role":"admin","created":"2026-01-01T00:00:00Z"}`), "SHA-256"},
		"no time":          {doc(`{"kind":"key","id":"` + strings.Repeat("0", 64) + `","name":"ci","role":"admin"}`), "created"},
		"no date":          {change(`"created":"20`, `"created":"tomorrow 20`), "parsing time"},
		"an eternal token": {doc(`{"kind":"token","id":"` + strings.Repeat("0", 64) + `","name":"ci","created":"2026-01-01T00:00:00Z"}`), "must expire"},
		"twice":            {doc(strings.Repeat(`{"kind":"key","id":"`+strings.Repeat("0", 64)+`","name":"ci","role":"admin","created":"2026-01-01T00:00:00Z"},`, 2) + "null"), "duplicate"},
		"a null":           {doc("null"), "credential 1"},
		"huge":             {good + strings.Repeat(" ", maxFile), "larger"},
	}
}

// refused checks that an invalid file admits nobody and is never written.
func refused(t *testing.T, path, says string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	store := NewFile(path)
	_, err := store.List(t.Context(), User)
	if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v, want %q", err, says)
	}
	user, err := newUser("new", Admin, password, cheap)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), user); err == nil {
		t.Error("somebody is added")
	}
	a := New(Config{Store: store})
	if got := ask(a.Guard, httpx.Listing, newSecret(keyPrefix)); got != llm.Internal {
		t.Errorf("a key: %q", got)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func TestFilesOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "accounts.json")
	addUser(t, NewFile(path), "a", Client)
	for _, mode := range []fs.FileMode{0o604, 0o640, 0o620, 0o602, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		refused(t, path, "chmod 600")
	}
	refused(t, filepath.Dir(path), "")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFile(path).Get(t.Context(), User, "a"); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	good := valid(f)
	for _, seed := range []string{good, good[:100], "{}", "null", `{"version":1,"credentials":[null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(b)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "a")
		out, err := list.encode()
		if err == nil {
			err = replace(path, out)
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(path)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d of %d, %v", len(again), len(list), err)
		}
	})
}
