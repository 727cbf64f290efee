package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Kind is a kind of credential.
type Kind string

// The kinds.
const (
	User   Kind = "user"  // a name and a password
	APIKey Kind = "key"   // a secret that lasts
	Token  Kind = "token" // a secret that a login gave
)

// A Credential is a way to show who one is. It holds no secret, only what one is
// compared with.
type Credential struct {
	Kind Kind `json:"kind"`
	// ID is what it is found by: the name of a user; the SHA-256 of a key or a
	// token, in hexadecimal.
	ID       string    `json:"id"`
	Name     string    `json:"name"`               // of the user or the key; of a token, its user's
	Role     Role      `json:"role,omitempty"`     // a token has its user's
	Password string    `json:"password,omitempty"` // of a user: argon2id in the PHC string format
	Last4    string    `json:"last4,omitempty"`    // of a key: its last four characters
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"` // zero: never
	Limits   Limits    `json:"limits,omitzero"`  // of a user or a key; a token has its user's
}

// A Store keeps credentials. They are added and deleted; nothing but the limits of one
// changes. What it returns may be 5 seconds old.
type Store interface {
	// Get returns the credential, or [ErrNotFound].
	Get(ctx context.Context, kind Kind, id string) (Credential, error)
	// Add keeps c unless there is one of its kind and ID: [ErrExists].
	Add(ctx context.Context, c Credential) error
	// Delete returns [ErrNotFound] if there is none.
	Delete(ctx context.Context, kind Kind, id string) error
	// SetLimits changes the limits of a credential; [ErrNotFound] if there is none.
	SetLimits(ctx context.Context, kind Kind, id string, limits Limits) error
	// List returns the credentials of a kind by name.
	List(ctx context.Context, kind Kind) ([]Credential, error)
}

// Errors of a [Store].
var (
	ErrNotFound = errors.New("no such credential")
	ErrExists   = errors.New("the credential exists")
)

// What secrets begin with: a scanner of repositories can know them by it.
const (
	keyPrefix   = "gls_"
	tokenPrefix = "glt_"
)

// secretBytes is the length of what follows the prefix before it is encoded: it
// cannot be guessed, so that a fast hash keeps it safe.
const secretBytes = 32

// newSecret returns 256 random bits in base64 behind a prefix.
func newSecret(prefix string) string {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

// secretKind returns what a secret may be one of, "" if it was not made here.
func secretKind(secret string) Kind {
	if len(secret) != len(keyPrefix)+base64.RawURLEncoding.EncodedLen(secretBytes) {
		return ""
	}
	switch secret[:len(keyPrefix)] {
	case keyPrefix:
		return APIKey
	case tokenPrefix:
		return Token
	}
	return ""
}

// secretID is what a key or a token is found by.
func secretID(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}

// NewUser returns a user, whose password it hashes. Names have no case.
func NewUser(name string, role Role, password string) (Credential, error) {
	return newUser(name, role, password, standard)
}

func newUser(name string, role Role, password string, c cost) (Credential, error) {
	if err := CheckUser(name, role); err != nil {
		return Credential{}, err
	}
	if err := checkPassword(password); err != nil {
		return Credential{}, err
	}
	name = fold(name)
	hash := hashPassword(password, c).String()
	return Credential{Kind: User, ID: name, Name: name, Role: role, Password: hash, Created: now()}, nil
}

// CheckUser tells what is wrong with the name and the role of a user, before
// somebody is asked for a password.
func CheckUser(name string, role Role) error {
	if role.may() == nil {
		return noRole(role)
	}
	return checkName(fold(name))
}

// NewAPIKey returns a key and its secret, which nothing keeps. A zero time never
// comes.
func NewAPIKey(name string, role Role, expires time.Time) (secret string, key Credential, err error) {
	secret = newSecret(keyPrefix)
	key = Credential{
		Kind: APIKey, ID: secretID(secret), Name: fold(name), Role: role,
		Last4: secret[len(secret)-4:], Created: now(), Expires: expires.UTC(),
	}
	return secret, key, key.check()
}

// newToken returns a token of a user and its secret.
func newToken(user string) (secret string, token Credential) {
	secret = newSecret(tokenPrefix)
	created := now()
	return secret, Credential{
		Kind: Token, ID: secretID(secret), Name: user, Created: created, Expires: created.Add(TokenLifetime),
	}
}

// now is the time as it can be written.
func now() time.Time { return time.Now().UTC().Round(0) }

// fold gives names that differ in case alone one spelling.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func (c *Credential) expired(now time.Time) bool {
	return !c.Expires.IsZero() && !now.Before(c.Expires)
}

// maxName is the longest name in bytes: that of an address of mail (RFC 5321,
// 4.5.3.1.3, without the brackets).
const maxName = 254

// checkName holds names to what cannot break a log, a table or a command line.
func checkName(name string) error {
	const may = "abcdefghijklmnopqrstuvwxyz0123456789.@_+-"
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("a name has 1 to %d characters", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(may, r) }):
		return fmt.Errorf("the name %.40q: letters a to z, digits and . @ _ + - make names", name)
	case name[0] == '-':
		return fmt.Errorf("the name %.40q begins as a flag does", name)
	}
	return nil
}

// check tells what is wrong with a credential that somebody may have written by
// hand. It shows none of the hashes.
func (c *Credential) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.Created.IsZero() {
		return errors.New("created is missing")
	}
	switch c.Kind {
	case User:
		if c.ID != c.Name {
			return errors.New("the id of a user is the name")
		}
		if _, err := parseHash(c.Password); err != nil {
			return err
		}
	case APIKey, Token:
		if b, err := hex.DecodeString(c.ID); err != nil || len(b) != sha256.Size || strings.ToLower(c.ID) != c.ID {
			return errors.New("the id is no SHA-256 in lower-case hexadecimal")
		}
	default:
		return fmt.Errorf("there is no kind %.40q: user, key and token are", c.Kind)
	}
	if err := c.Limits.Check(); err != nil {
		return err
	}
	if c.Kind == Token {
		if c.Expires.IsZero() || c.Role != "" || c.Limits != (Limits{}) {
			return errors.New("a token expires and has the role and the limits of its user")
		}
		return nil
	}
	if c.Role.may() == nil {
		return noRole(c.Role)
	}
	return nil
}
