// Package issuer accepts the tokens of OpenID Connect providers, such as Cognito, Okta or
// Keycloak: signed JWTs, of which rules turn claims into roles and limits. It knows neither
// routes nor the Authorization header, and issues nothing.
//
// Sources: RFC 7519 (JWT), 7515 (JWS), 7517 (JWK), 8414 and OpenID Connect Discovery 1.0 (where
// the keys are), 8725 (algorithms, checks), 9068 (access tokens); OpenID Connect Core 1.0,
// section 10.1.1 (rotation of keys); Amazon Cognito Developer Guide, "Verifying JSON web tokens"
// (access tokens with client_id and without aud).
package issuer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"glossa/pkg/account"
)

// An Issuer is a provider whose tokens are accepted, as a file of settings has it.
type Issuer struct {
	// Label begins the names of its users: "okta/ann@example.org".
	Label string `json:"label"`
	// URL is what the tokens and the discovery document call the issuer, to the letter.
	URL string `json:"issuer"`
	// Audiences are those that tokens may be for: values of aud or, in tokens without it, of
	// client_id.
	Audiences []string `json:"audiences"`
	// Name is the claim that names a user; "": sub.
	Name string `json:"name,omitempty"`
	// Rules give roles. The first that applies to a token counts; without one it is refused.
	Rules []Rule `json:"rules"`
}

// A Rule applies to tokens with a claim that is a text, has it as a word, or is a list with it.
type Rule struct {
	Claim  string         `json:"claim,omitempty"` // "": the rule applies to all tokens
	Is     string         `json:"is,omitempty"`
	Role   account.Role   `json:"role"`
	Limits account.Limits `json:"limits,omitzero"` // of each user
}

const (
	maxIssuers = 20
	maxRules   = 100
)

// Parse reads the JSON list of issuers.
func Parse(text []byte) ([]Issuer, error) {
	var list []Issuer
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("issuers: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("issuers: there is more after the list")
	}
	if len(list) == 0 || len(list) > maxIssuers {
		return nil, fmt.Errorf("issuers: the list must have 1 to %d issuers", maxIssuers)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("issuers: %d: %w", i+1, err)
		}
		same := func(other Issuer) bool { return other.Label == list[i].Label || other.URL == list[i].URL }
		if slices.ContainsFunc(list[:i], same) {
			return nil, fmt.Errorf("issuers: %d: another issuer has the same label or URL", i+1)
		}
	}
	return list, nil
}

func (i *Issuer) check() error {
	switch {
	case i.Label == "" || len(i.Label) > 40 || strings.Trim(i.Label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("label must have 1 to 40 lower-case letters, digits and -")
	case len(i.Audiences) == 0 || slices.Contains(i.Audiences, ""):
		return errors.New("audiences must name what tokens are for, such as a client id: tokens for other services would be accepted")
	case len(i.Rules) == 0 || len(i.Rules) > maxRules:
		return fmt.Errorf("rules must have 1 to %d rules: without one no token has a role", maxRules)
	}
	if err := checkURL(i.URL); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	for k, r := range i.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d: %w", k+1, err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	switch {
	case (r.Claim == "") != (r.Is == ""):
		return errors.New("claim and is belong together")
	case !r.Role.Known():
		return fmt.Errorf("unknown role %.40q: it must be admin, worker, client or monitor", r.Role)
	}
	return r.Limits.Check()
}

// checkURL accepts URLs whose answers nobody between can change: https, or this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%.200q must be a URL such as https://login.example.com", text)
	case u.Scheme == "https":
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%.200q must begin with https://", text)
}

// Issuers identify the senders of tokens. They implement [account.Tokens], and are safe for
// concurrent use.
type Issuers struct {
	list []*provider
	now  func() time.Time
}

// New returns the issuers of a list that [Parse] has read. It makes no request yet. client makes
// them; nil: one with a timeout.
func New(list []Issuer, client *http.Client) *Issuers {
	if client == nil {
		client = &http.Client{Timeout: fetchTimeout}
	}
	all := &Issuers{now: time.Now}
	for _, i := range list {
		all.list = append(all.list, &provider{Issuer: i, keys: keys{url: i.URL, client: client, now: func() time.Time { return all.now() }}})
	}
	return all
}

// A provider is an issuer with its keys.
type provider struct {
	Issuer
	keys keys
}
