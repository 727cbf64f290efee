// Package secret reads secrets that a record names: from the environment, AWS Secrets
// Manager or the parameters of AWS Systems Manager. It refuses to know what they open, and
// how the services are called.
package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Reference says where a secret is. Its zero value is none.
type Reference struct {
	Kind string // Env, Manager or Parameter
	Name string // of the variable, the secret or the parameter, or its ARN
	Key  string // the member of a secret that is a JSON object; "": the whole
}

// Where secrets are.
const (
	Env       = "env"            // a variable of the environment
	Manager   = "secretsmanager" // AWS Secrets Manager
	Parameter = "ssm"            // AWS Systems Manager, Parameter Store
)

// names are what may stand for a secret, by kind.
//
// Sources: POSIX.1, 8.1, for variables; AWS Secrets Manager API Reference, CreateSecret; AWS
// Systems Manager API Reference, PutParameter.
var names = map[string]*regexp.Regexp{
	Env:       regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`),
	Manager:   regexp.MustCompile(`^[A-Za-z0-9/_+=.@:-]{1,512}$`),
	Parameter: regexp.MustCompile(`^[A-Za-z0-9/_.:-]{1,1000}$`),
}

// Parse reads env:NAME, secretsmanager:NAME, secretsmanager:NAME#MEMBER or ssm:NAME. Its error
// does not quote the text, which may be a secret that stands in the wrong place.
func Parse(text string) (Reference, error) {
	kind, name, ok := strings.Cut(text, ":")
	r := Reference{Kind: kind, Name: name}
	if kind == Manager {
		r.Name, r.Key, _ = strings.Cut(name, "#")
	}
	if form := names[kind]; !ok || form == nil || !form.MatchString(r.Name) {
		return Reference{}, errors.New("it must say where the key is and never be the key itself: env:NAME, secretsmanager:NAME, secretsmanager:NAME#MEMBER or ssm:NAME")
	}
	if kind == Env && ownVariable(r.Name) {
		return Reference{}, errors.New("variables that begin with AWS_ or GLOSSA_, UPLOAD_SECRET and HF_TOKEN are this server's own: no endpoint gets them")
	}
	if looksLikeKey(r.Name) {
		return Reference{}, errors.New("it looks like a key: replace that key at its provider, because this record has shown it, and write where the new one is")
	}
	return r, nil
}

// ownVariable reports whether a variable may hold credentials of the server itself, which a
// record must not send to its endpoint.
func ownVariable(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GLOSSA_") || name == "UPLOAD_SECRET" || name == "HF_TOKEN"
}

// keyLike matches the keys of common providers, and long texts without words.
var keyLike = regexp.MustCompile(`^(sk|gsk|hf|xai|nvapi|r8|pplx|fw|csk)[-_][A-Za-z0-9_-]{12,}$|^AIza|^[A-Za-z0-9+=]{32,}$`)

// looksLikeKey reports whether the name of a place is rather a key. Names of words have no
// digits.
func looksLikeKey(name string) bool {
	return keyLike.MatchString(name) && strings.ContainsAny(name, "0123456789")
}

// String returns the text that [Parse] reads.
func (r Reference) String() string {
	if r.Key != "" {
		return r.Kind + ":" + r.Name + "#" + r.Key
	}
	return r.Kind + ":" + r.Name
}

// A Store reads secrets and keeps each for [Keep]. Its fields must be set.
type Store struct {
	Getenv func(name string) string
	// Fetch returns the text of a secret or a parameter of AWS.
	Fetch func(ctx context.Context, r Reference) (string, error)

	mu   sync.Mutex
	kept map[Reference]*kept
}

// Keep is the time after which a secret is read again. One that an endpoint rejects is read
// again at once, see [Value.Forget].
const Keep = 5 * time.Minute

// Pause is the least time between two reads of a secret that cannot be read, or that an endpoint
// rejects, so that not each request costs a call of its service.
const Pause = 10 * time.Second

// kept is a secret that was read, or is being read.
type kept struct {
	mu    sync.Mutex
	value string
	err   error // of the last read
	until time.Time
	read  time.Time // when the last read ended; zero: never
	again time.Time // before this time, a rejection does not make it read again
}

// A Value is one secret of a store.
type Value struct {
	store *Store
	ref   Reference
}

// Value returns the secret that r names. It reads nothing yet.
func (s *Store) Value(r Reference) *Value { return &Value{s, r} }

// Get returns the secret. Its error names the reference and never the secret.
func (v *Value) Get(ctx context.Context) (string, error) {
	if v.ref.Kind == Env {
		return v.clean(v.store.Getenv(v.ref.Name))
	}
	k := v.store.slot(v.ref)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value != "" && time.Now().Before(k.until) {
		return k.value, nil
	}
	if k.err != nil && time.Since(k.read) < Pause {
		return "", k.err
	}
	text, err := v.fetch(ctx)
	if err != nil && ctx.Err() != nil {
		return "", err // the next caller may have more time
	}
	now := time.Now()
	k.value, k.err, k.read, k.until = text, err, now, now.Add(Keep)
	return text, err
}

// fetch reads the secret from AWS.
func (v *Value) fetch(ctx context.Context) (string, error) {
	text, err := v.store.Fetch(ctx, v.ref)
	if err != nil {
		return "", fmt.Errorf("the key %s cannot be read: %w", v.ref, err)
	}
	if v.ref.Key != "" {
		if text, err = member(text, v.ref.Key); err != nil {
			return "", fmt.Errorf("the key %s: %w", v.ref, err)
		}
	}
	return v.clean(text)
}

// Forget makes the next [Value.Get] read the secret again, unless it has changed from old
// or was forgotten within [Pause]: it may have been rotated.
func (v *Value) Forget(old string) {
	if v.ref.Kind == Env {
		return
	}
	k := v.store.slot(v.ref)
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); k.value == old && !now.Before(k.again) {
		k.value, k.again = "", now.Add(Pause)
	}
}

func (s *Store) slot(r Reference) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[Reference]*kept{}
	}
	if s.kept[r] == nil {
		s.kept[r] = &kept{}
	}
	return s.kept[r]
}

// clean removes the space around a secret, which files and consoles add, and rejects what no
// header can hold.
func (v *Value) clean(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("the key %s is not set", v.ref)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("the key %s has characters that no key has", v.ref)
	}
	return text, nil
}

// member returns a text of a secret that is an object.
func member(text, name string) (string, error) {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return "", errors.New("the secret is not a JSON object")
	}
	value, ok := object[name].(string)
	if !ok {
		return "", errors.New("the secret has no such member that is a string")
	}
	return value, nil
}
