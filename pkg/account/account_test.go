package account

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

var secrets = map[Role]string{Admin: "key-a", Worker: "key-w", Client: "key-c", Monitor: "key-m"}

func keys(t *testing.T, roles ...Role) (list []Key) {
	t.Helper()
	for _, role := range roles {
		key, err := NewKey(string(role), role, secrets[role])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, key)
	}
	return list
}

// ask returns the code of the guard's rejection, "" if it lets the request pass.
func ask(guard func(*http.Request, *httpx.Route) (*http.Request, error), p httpx.Permission, authorization string) llm.Code {
	r := httptest.NewRequest("GET", "/", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	out, err := guard(r, &httpx.Route{Permission: p})
	if err != nil {
		return llm.AsError(err).Code
	}
	if out == nil {
		return "no request"
	}
	return ""
}

func TestGuardOfEachRole(t *testing.T) {
	const no, who = llm.Forbidden, llm.Unauthenticated
	all := []httpx.Permission{httpx.Public, httpx.Listing, httpx.Metrics, httpx.Inference, httpx.Upload, "", "typo"}
	tests := []struct {
		open bool
		role Role // "" sends no key, "wrong" an unknown one
		want [7]llm.Code
	}{
		{false, Admin, [7]llm.Code{"", "", "", "", "", no, no}},
		{false, Worker, [7]llm.Code{"", "", no, "", "", no, no}},
		{false, Client, [7]llm.Code{"", "", no, "", no, no, no}},
		{false, Monitor, [7]llm.Code{"", "", "", no, no, no, no}},
		{false, "wrong", [7]llm.Code{"", who, who, who, who, who, who}},
		{false, "", [7]llm.Code{"", who, who, who, who, who, who}},
		{true, Admin, [7]llm.Code{"", "", "", "", "", no, no}},
		{true, Worker, [7]llm.Code{"", "", "", "", "", no, no}},
		{true, Client, [7]llm.Code{"", "", "", "", no, no, no}},
		{true, Monitor, [7]llm.Code{"", "", "", "", no, no, no}},
		{true, "wrong", [7]llm.Code{"", "", "", "", who, who, who}},
		{true, "", [7]llm.Code{"", "", "", "", who, who, who}},
	}
	list := keys(t, Admin, Worker, Client, Monitor)
	for _, test := range tests {
		guard := New(Config{Open: test.open, Keys: list}).Guard
		for i, p := range all {
			header := ""
			if test.role != "" {
				header = "Bearer " + secrets[test.role]
				if test.role == "wrong" {
					header += "key-"
				}
			}
			if got := ask(guard, p, header); got != test.want[i] {
				t.Errorf("open %v, role %q, permission %q: %q, want %q", test.open, test.role, p, got, test.want[i])
			}
		}
	}
}

// A secret that the configuration gives to two roles has the permissions of both.
func TestSecretOfTwoRoles(t *testing.T) {
	list := keys(t, Monitor, Client)
	list[1].hash = list[0].hash
	for p, want := range map[httpx.Permission]llm.Code{httpx.Metrics: "", httpx.Inference: "", httpx.Upload: llm.Forbidden} {
		if got := ask(New(Config{Keys: list, Store: broken{}}).Guard, p, secrets[Monitor]); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

func TestUploadNeedsAKeyThatMay(t *testing.T) {
	for _, open := range []bool{true, false} {
		for _, list := range [][]Key{nil, keys(t, Client, Monitor)} {
			guard := New(Config{Open: open, Keys: list}).Guard
			r := httptest.NewRequest("POST", "/api/upload", nil)
			_, err := guard(r, &httpx.Route{Permission: httpx.Upload})
			if e := llm.AsError(err); e.Code != llm.Forbidden || !strings.HasPrefix(e.Message, "UPLOAD_SECRET not configured: ") {
				t.Errorf("open %v, keys %d: %v", open, len(list), err)
			}
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc": "abc", "bearer abc": "abc", "BEARER   abc  ": "abc", "Bearer\tabc": "abc", "abc": "abc",
		"": "", "Bearer": "", "bearer ": "", "Basic abc": "", "Bearer a b": "",
	} {
		if got := bearer(http.Header{"Authorization": {header}}); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// A key comes in either header; Authorization has priority.
func TestSecretOf(t *testing.T) {
	for want, h := range map[string]http.Header{
		"":  {},
		"a": {"X-Api-Key": {" a "}},
		"b": {"Authorization": {"Bearer b"}, "X-Api-Key": {"a"}},
		"c": {"Authorization": {"Bearer"}, "X-Api-Key": {"c"}},
	} {
		if got := secretOf(h); got != want {
			t.Errorf("%v: %q, want %q", h, got, want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	list, err := ParseKeys(" client:k:1, ,monitor: k2 ,")
	if err != nil || len(list) != 2 || list[0].Role != Client || list[1].Role != Monitor {
		t.Fatalf("%v, %v", list, err)
	}
	for secret, want := range map[string]Principal{"k:1": {Kind: "configured", Name: "1", Role: Client, ID: list[0].principal().ID}, "k2": {Kind: "configured", Name: "3", Role: Monitor, ID: list[1].principal().ID}} {
		if got := lookup(list, secret); len(got) != 1 || got[0] != want {
			t.Errorf("%s is of %v", secret, got)
		}
	}
	for _, bad := range []string{"hunter2", "root:hunter2", "client:", "client:hunter2 hunter2", "hunter2:client"} {
		_, err := ParseKeys("client:x," + bad)
		if err == nil || !strings.Contains(err.Error(), "key 2") {
			t.Errorf("%q: %v", bad, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the key: %v", bad, err)
		}
	}
}

func TestKeyShowsNothing(t *testing.T) {
	list := keys(t, Admin)
	if s := fmt.Sprintf("%v %+v %#v", list, list, list); strings.Contains(s, secrets[Admin]) {
		t.Error(s)
	}
}

// The owner of what is kept of a request is its principal; an open server has none, whatever
// the sender's address is.
func TestOwner(t *testing.T) {
	a := New(Config{Keys: keys(t, Admin, Client)})
	owner := func(a *Accounts, secret string) string {
		r := httptest.NewRequest("GET", "/", nil)
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		out, err := a.Guard(r, &httpx.Route{Permission: httpx.Inference})
		if err != nil {
			t.Fatal(err)
		}
		return llm.OwnerOf(out.Context())
	}
	if admin, client := owner(a, secrets[Admin]), owner(a, secrets[Client]); admin == client || admin == "" || client == "" {
		t.Errorf("owners %q and %q", admin, client)
	}
	configured := func(list string) *Accounts {
		keys, err := ParseKeys(list)
		if err != nil {
			t.Fatal(err)
		}
		return New(Config{Keys: keys})
	}
	both, rest := configured("client:first,client:second"), configured("worker:second")
	if first, second := owner(both, "first"), owner(both, "second"); first == second || owner(rest, "second") != second {
		t.Errorf("owners %q and %q, after the first key was removed %q", first, second, owner(rest, "second"))
	}
	if got := owner(New(Config{Open: true}), ""); got != "" {
		t.Errorf("the owner of an open server is %q", got)
	}
}
