package issuer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"glossa/pkg/account"
	"glossa/pkg/llm"
)

// A fake is an issuer on this machine.
type fake struct {
	t       *testing.T
	server  *httptest.Server
	keys    []jose.JSONWebKey // with private parts
	header  string            // Cache-Control
	issuer  string            // of the document; "": the server
	broken  bool
	fetches int // of keys
	now     time.Time
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", f.header)
		switch {
		case f.broken:
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == discoveryPath:
			issuer := f.issuer
			if issuer == "" {
				issuer = f.server.URL
			}
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, f.server.URL+"/keys")
		default:
			f.fetches++
			set := jose.JSONWebKeySet{}
			for _, k := range f.keys {
				set.Keys = append(set.Keys, k.Public())
			}
			if err := json.NewEncoder(w).Encode(set); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(f.server.Close)
	f.add("first", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))
	return f
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// add adds a key.
func (f *fake) add(id string, private any) {
	f.keys = append(f.keys, jose.JSONWebKey{Key: private, KeyID: id, Use: "sig"})
}

// accept returns issuers that accept the fake's tokens.
func (f *fake) accept() *Issuers {
	list, err := Parse(fmt.Appendf(nil, `[{"label":"local","issuer":%q,"audiences":["glossa","other"],"name":"email","rules":[
		{"claim":"groups","is":"admins","role":"admin"},
		{"claim":"scope","is":"models","role":"client","limits":{"requests":"10/s","models":"novels"}},
		{"claim":"robot","is":"true","role":"monitor"}]}]`, f.server.URL))
	if err != nil {
		f.t.Fatal(err)
	}
	all := New(list, f.server.Client())
	all.now = func() time.Time { return f.now }
	return all
}

type object map[string]any

// claims returns those of a valid token, changed.
func (f *fake) claims(change object) object {
	c := object{
		"iss": f.server.URL, "sub": "u1", "aud": "glossa", "exp": f.now.Add(time.Hour).Unix(), "iat": f.now.Unix(), "scope": "openid models", "email": "ann@example.org",
	}
	for name, value := range change {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

// sign signs claims with a key.
func sign(t *testing.T, key jose.JSONWebKey, algorithm jose.SignatureAlgorithm, claims object) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return must(must(signer.Sign(must(json.Marshal(claims)))).CompactSerialize())
}

func (f *fake) token(change object) string {
	return sign(f.t, f.keys[len(f.keys)-1], jose.ES256, f.claims(change))
}

// A token of the issuer has the role and the limits of the first rule that applies, and the name
// of the claim.
func TestIdentify(t *testing.T) {
	f := newFake(t)
	all := f.accept()
	for name, test := range map[string]struct {
		change object
		role   account.Role
		name   string
	}{
		"scope":             {nil, account.Client, "local/ann@example.org"},
		"list":              {object{"groups": []string{"staff", "admins"}}, account.Admin, "local/ann@example.org"},
		"text":              {object{"groups": "admins"}, account.Admin, "local/ann@example.org"},
		"bool":              {object{"scope": nil, "robot": true}, account.Monitor, "local/ann@example.org"},
		"audiences":         {object{"aud": []string{"x", "other"}}, account.Client, "local/ann@example.org"},
		"client":            {object{"aud": nil, "client_id": "glossa"}, account.Client, "local/ann@example.org"},
		"subject":           {object{"email": nil}, account.Client, "local/u1"},
		"name with a space": {object{"email": "ann b"}, account.Client, "local/u1"},
		"name of a number":  {object{"email": 7}, account.Client, "local/u1"},
		"long":              {object{"email": strings.Repeat("x", 300), "sub": strings.Repeat("é", 300)}, account.Client, "local/eb45fc9cbf23ed9d"},
		"just expired":      {object{"exp": f.now.Add(-30 * time.Second).Unix()}, account.Client, "local/ann@example.org"},
	} {
		p, known, err := all.Identify(t.Context(), f.token(test.change))
		if err != nil || !known || p.Role != test.role || p.Kind != kind || p.ID == "" {
			t.Errorf("%s: %+v, %t, %v", name, p, known, err)
		}
		if test.name != p.Name && name != "long" || len(p.Name) > maxName+len("local/") {
			t.Errorf("%s: the name is %s", name, p.Name)
		}
		if again, ok := all.Again(p.Grant); !ok || again != p {
			t.Errorf("%s: again %+v, %t", name, again, ok)
		}
	}
	p, _, err := all.Identify(t.Context(), f.token(nil))
	if err != nil || p.Limits.Models != "novels" || p.Limits.Requests.N != 10 {
		t.Errorf("limits %+v, %v", p.Limits, err)
	}
	other, _, err := all.Identify(t.Context(), f.token(object{"sub": "u2"}))
	if err != nil || other.ID == p.ID {
		t.Errorf("two subjects with the id %s, %v", p.ID, err)
	}
}

// Tokens that a client must not have made up, or that are not for this server, are refused.
func TestRefused(t *testing.T) {
	f := newFake(t)
	all := f.accept()
	_, err := all.list[0].keys.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	stranger := jose.JSONWebKey{Key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), KeyID: "first"}
	public := must(f.keys[0].Public().MarshalJSON())
	secret := jose.JSONWebKey{Key: public, KeyID: "first"}
	valid := f.token(nil)
	parts := strings.Split(valid, ".")
	none := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	for name, test := range map[string]struct {
		token string
		code  llm.Code
	}{
		"expired":           {f.token(object{"exp": f.now.Add(-2 * time.Minute).Unix()}), llm.Unauthenticated},
		"never expires":     {f.token(object{"exp": nil}), llm.Unauthenticated},
		"not yet":           {f.token(object{"nbf": f.now.Add(time.Hour).Unix()}), llm.Unauthenticated},
		"audience":          {f.token(object{"aud": "else"}), llm.Unauthenticated},
		"no audience":       {f.token(object{"aud": nil}), llm.Unauthenticated},
		"client of another": {f.token(object{"aud": "else", "client_id": "glossa"}), llm.Unauthenticated},
		"no subject":        {f.token(object{"sub": nil}), llm.Unauthenticated},
		"types":             {f.token(object{"exp": "tomorrow"}), llm.Unauthenticated},
		"no role":           {f.token(object{"scope": "openid"}), llm.Forbidden},
		"part of a word":    {f.token(object{"scope": "openid modelsx"}), llm.Forbidden},
		"stranger's key":    {sign(t, stranger, jose.ES256, f.claims(nil)), llm.Unauthenticated},
		"public as secret":  {sign(t, secret, jose.HS256, f.claims(nil)), llm.Unauthenticated},
		"no signature":      {none, llm.Unauthenticated},
		"changed":           {parts[0] + "." + strings.Split(f.token(object{"groups": "admins"}), ".")[1] + "." + parts[2], llm.Unauthenticated},
	} {
		p, known, err := all.Identify(t.Context(), test.token)
		e, ok := errors.AsType[*llm.Error](err)
		if !known || !ok || e.Code != test.code || p != (account.Principal{}) {
			t.Errorf("%s: %+v, %t, %v", name, p, known, err)
		}
		if err != nil && strings.Contains(err.Error(), test.token) {
			t.Errorf("%s: the error has the token", name)
		}
	}
	for _, text := range []string{"", "gls_x", "a.b.c", "..", valid + ".x", f.token(object{"iss": "https://else"}), parts[0] + "." + strings.Repeat("A", maxToken) + ".x"} {
		if _, known, err := all.Identify(t.Context(), text); known || err != nil {
			t.Errorf("%.60q is known: %v", text, err)
		}
	}
	if f.fetches != 1 {
		t.Errorf("the keys were fetched %d times", f.fetches)
	}
}

// All algorithms with public keys work, but not with small RSA keys.
func TestAlgorithms(t *testing.T) {
	f := newFake(t)
	f.keys = nil
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large := must(rsa.GenerateKey(rand.Reader, 2048))
	t.Setenv("GODEBUG", "rsa1024min=0")
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	for id, key := range map[string]any{
		"RS256": large, "PS384": large, "RS512": small, "EdDSA": edwards, "ES384": must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
	} {
		f.add(id, key)
	}
	all := f.accept()
	for _, key := range f.keys {
		_, _, err := all.Identify(t.Context(), sign(t, key, jose.SignatureAlgorithm(key.KeyID), f.claims(nil)))
		if (err == nil) != (key.Key != any(small)) {
			t.Errorf("%s: %v", key.KeyID, err)
		}
		key.KeyID, key.Algorithm = "", key.KeyID
		if _, _, err := all.Identify(t.Context(), sign(t, key, jose.SignatureAlgorithm(key.Algorithm), f.claims(nil))); (err == nil) != (key.Key != any(small)) {
			t.Errorf("%s without a key id: %v", key.Algorithm, err)
		}
	}
}

// New keys are found, withdrawn ones are forgotten, and made-up key ids do not make the server
// ask the issuer each time.
func TestRotation(t *testing.T) {
	f := newFake(t)
	all := f.accept()
	check := func(what, token string, want bool) {
		t.Helper()
		if _, _, err := all.Identify(t.Context(), token); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	old := f.token(object{"exp": f.now.Add(100 * time.Hour).Unix()})
	check("the first key", old, true)
	f.add("second", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))
	check("a new key at once", f.token(nil), false)
	f.now = f.now.Add(unknownPause)
	check("a new key", f.token(nil), true)
	fetches := f.fetches
	for i := range 50 {
		made := f.keys[0]
		made.KeyID = fmt.Sprint(i)
		check("a made-up key id", sign(t, made, jose.ES256, f.claims(nil)), false)
	}
	if f.fetches != fetches {
		t.Errorf("%d requests for made-up key ids", f.fetches-fetches)
	}
	f.keys = f.keys[1:]
	f.header = "public, max-age=600"
	check("a withdrawn key at once", old, true)
	f.now = f.now.Add(shortest)
	check("a withdrawn key", old, false)
	fetches = f.fetches
	f.now = f.now.Add(9 * time.Minute)
	check("within the time of the header", f.token(nil), true)
	if f.fetches != fetches {
		t.Error("the keys were fetched in the time for which they may be kept")
	}
	f.broken = true
	f.now = f.now.Add(2 * time.Hour)
	check("the issuer is down", f.token(nil), true)
	f.now = f.now.Add(usable)
	check("it is down for a day", f.token(nil), false)
	_, _, err := all.Identify(t.Context(), f.token(nil))
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Unavailable || strings.Contains(e.Message, f.server.URL) {
		t.Errorf("while it is down: %v", err)
	}
	f.broken = false
	f.now = f.now.Add(failurePause)
	check("it is up again", f.token(nil), true)
}

// Documents of another issuer, or with keys that anybody between could change, are not used.
func TestDocuments(t *testing.T) {
	f := newFake(t)
	f.issuer = "https://else"
	if _, _, err := f.accept().Identify(t.Context(), f.token(nil)); err == nil {
		t.Error("a document of another issuer was used")
	}
}

// Settings that would accept other services' tokens, or nobody's, are refused.
func TestParse(t *testing.T) {
	const good = `{"label":"a","issuer":"https://x.example","audiences":["c"],"rules":[{"role":"client"}]}`
	if list, err := Parse([]byte("[" + good + "]")); err != nil || list[0].Label != "a" {
		t.Error(list, err)
	}
	for _, text := range []string{
		"", "{}", "[]", "[" + good + "," + good + "]", "[" + good + "] x",
		strings.Replace("["+good+"]", "https", "http", 1), strings.Replace("["+good+"]", `"c"`, "", 1), strings.Replace("["+good+"]", "client", "king", 1),
		strings.Replace("["+good+"]", `"label"`, `"lable"`, 1), strings.Replace("["+good+"]", `"a"`, `"A b"`, 1),
		strings.Replace("["+good+"]", `{"role":"client"}`, "", 1), strings.Replace("["+good+"]", `{"role"`, `{"claim":"x","role"`, 1),
		strings.Replace("["+good+"]", "x.example", "u:p@x.example", 1), strings.Replace("["+good+"]", `{"role"`, `{"limits":{"tokens_per_day":-1},"role"`, 1),
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

// What was allowed by a rule that there is no longer is not allowed again.
func TestAgain(t *testing.T) {
	f := newFake(t)
	all := f.accept()
	p, _, err := all.Identify(t.Context(), f.token(nil))
	if err != nil {
		t.Fatal(err)
	}
	all.list[0].Rules[1].Limits.TokensPerDay = 5
	for _, text := range []string{p.Grant, "", "x", p.ID} {
		if got, ok := all.Again(text); ok {
			t.Errorf("%q gives %+v", text, got)
		}
	}
}
