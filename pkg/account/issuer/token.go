package issuer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-jose/go-jose/v4"

	"glossa/pkg/account"
	"glossa/pkg/llm"
)

// algorithms are the ones with public keys: with a shared secret, or none, anybody who can read
// the public keys could sign (RFC 8725, 2.1).
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	maxToken   = 16 << 10 // bytes
	maxName    = 200      // bytes of a user's name
	minRSABits = 2048
	leeway     = time.Minute // between two clocks
	kind       = "subject"   // of the principals
)

// claims are what a token says.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Client    string   `json:"client_id"`
	Expires   *float64 `json:"exp"` // seconds since 1970
	NotBefore float64  `json:"nbf"`

	all map[string]any
}

// An audience is a text or a list of them.
type audience []string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *audience) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*a = audience{""}
		return json.Unmarshal(raw, &(*a)[0])
	}
	return json.Unmarshal(raw, (*[]string)(a))
}

// Identify implements [account.Tokens].
func (all *Issuers) Identify(ctx context.Context, token string) (p account.Principal, known bool, err error) {
	from := all.issuerOf(token)
	if from == nil {
		return p, false, nil
	}
	c, err := from.verify(ctx, token)
	if err == nil {
		err = from.checkTimes(c, all.now())
	}
	if err != nil {
		return p, true, err
	}
	i := slices.IndexFunc(from.Rules, func(r Rule) bool { return r.applies(c.all) })
	if i < 0 {
		return p, true, llm.Errorf(llm.Forbidden, "the token gives no role here: no rule for the issuer %s applies to its claims", from.Label)
	}
	return from.principal(c.Subject, from.nameOf(c), &from.Rules[i]), true, nil
}

// issuerOf returns the provider that a token, which is not verified yet, says it is from; nil
// if it is not a token of one.
func (all *Issuers) issuerOf(token string) *provider {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil
	}
	_, payload, _ := strings.Cut(token, ".")
	payload, _, _ = strings.Cut(payload, ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	for _, p := range all.list {
		if p.URL == c.Issuer {
			return p
		}
	}
	return nil
}

// verify returns the claims of a token that the issuer has signed for one of the audiences.
func (p *provider) verify(ctx context.Context, token string) (*claims, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, invalid("it is not signed with a known algorithm")
	}
	list, err := p.keys.find(ctx, signed.Signatures[0].Protected.KeyID)
	if err != nil {
		return nil, &llm.Error{Code: llm.Unavailable, Message: "tokens cannot be checked now: try again", RetryAfter: failurePause, Err: err}
	}
	var payload []byte
	for i := range list {
		if suits(&list[i], signed.Signatures[0].Protected.Algorithm) {
			if payload, err = signed.Verify(&list[i]); err == nil {
				break
			}
		}
	}
	if payload == nil {
		return nil, invalid("no key of the issuer has signed it")
	}
	c := &claims{}
	if json.Unmarshal(payload, c) != nil || json.Unmarshal(payload, &c.all) != nil {
		return nil, invalid("its claims are of other types")
	}
	to := c.Audience
	if len(to) == 0 && c.Client != "" {
		to = audience{c.Client}
	}
	switch {
	case c.Issuer != p.URL:
		return nil, invalid("it is from another issuer")
	case !slices.ContainsFunc(to, func(a string) bool { return slices.Contains(p.Audiences, a) }):
		return nil, invalid("it is for another audience")
	case c.Subject == "":
		return nil, invalid("it has no subject")
	}
	return c, nil
}

// suits reports whether a key may be used with an algorithm: the one that it names, and RSA keys
// of a safe size.
func suits(key *jose.JSONWebKey, algorithm string) bool {
	if key.Algorithm != "" && key.Algorithm != algorithm {
		return false
	}
	if rsa, ok := key.Key.(interface{ Size() int }); ok && rsa.Size()*8 < minRSABits {
		return false
	}
	return true
}

func (p *provider) checkTimes(c *claims, now time.Time) error {
	at := float64(now.UnixNano()) / 1e9
	switch {
	case c.Expires == nil:
		return invalid("it never expires")
	case at >= *c.Expires+leeway.Seconds():
		return invalid("it has expired")
	case at < c.NotBefore-leeway.Seconds():
		return invalid("it is not valid yet")
	}
	return nil
}

func invalid(why string) error { return llm.Errorf(llm.Unauthenticated, "invalid token: %s", why) }

// applies reports whether a rule applies to claims.
func (r *Rule) applies(claims map[string]any) bool {
	if r.Claim == "" {
		return true
	}
	switch v := claims[r.Claim].(type) {
	case string:
		return v == r.Is || slices.Contains(strings.Fields(v), r.Is) // as scope has them
	case []any:
		return slices.Contains(v, any(r.Is))
	case bool:
		return fmt.Sprint(v) == r.Is
	}
	return false
}

// nameOf returns the name of a user: of the claim, or else the subject.
func (p *provider) nameOf(c *claims) string {
	for _, name := range []any{c.all[p.Name], c.Subject} {
		if s, ok := name.(string); ok && s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) {
			return p.Label + "/" + s
		}
	}
	sum := sha256.Sum256([]byte(c.Subject))
	return p.Label + "/" + hex.EncodeToString(sum[:8])
}

// A grant is what [Issuers.Again] needs to know of a token that may have expired since.
type grant struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Rule    Rule   `json:"rule"`
}

// principal returns the principal of a subject to whose token a rule applied.
func (p *provider) principal(subject, name string, r *Rule) account.Principal {
	id := sha256.Sum256([]byte(p.URL + "\x00" + subject))
	raw, err := json.Marshal(grant{p.URL, subject, name, *r})
	if err != nil {
		panic(err) // all are texts and numbers
	}
	return account.Principal{
		Kind: kind, Name: name, Role: r.Role, Limits: r.Limits, ID: hex.EncodeToString(id[:16]), Grant: base64.RawURLEncoding.EncodeToString(raw),
	}
}

// Again implements [account.Tokens]: the rule that gave the role must still be there.
func (all *Issuers) Again(text string) (account.Principal, bool) {
	var g grant
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &g) != nil {
		return account.Principal{}, false
	}
	for _, p := range all.list {
		if i := slices.Index(p.Rules, g.Rule); i >= 0 && p.URL == g.Issuer {
			return p.principal(g.Subject, g.Name, &p.Rules[i]), true
		}
	}
	return account.Principal{}, false
}
