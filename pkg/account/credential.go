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
	APIKey Kind = "key"   // a secret without a fixed lifetime
	Token  Kind = "token" // a secret from a login
	Team   Kind = "team"  // no means of authentication: a name, and limits that its members share
)

// A Credential is a means of authentication. It holds no secret, only the hashes that
// secrets are compared with.
type Credential struct {
	Kind Kind `json:"kind"`
	// ID is the lookup key: the name of a user or a team; the SHA-256 of a key or a token, in
	// hexadecimal.
	ID       string    `json:"id"`
	Name     string    `json:"name"`               // of the user or the key; for a token, its user's name
	Role     Role      `json:"role,omitempty"`     // empty for a token, which has its user's role, and for a team
	Password string    `json:"password,omitempty"` // of a user: an argon2id hash in the PHC string format
	Last4    string    `json:"last4,omitempty"`    // of a key: its last four characters
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"` // zero: never
	Limits   Limits    `json:"limits,omitzero"`  // of a user, a key or a team; empty for a token, which has its user's limits
}

// A Store keeps credentials. They are added and deleted; only their limits ever
// change. Its answers may be 5 seconds old.
type Store interface {
	// Get returns the credential, or [ErrNotFound].
	Get(ctx context.Context, kind Kind, id string) (Credential, error)
	// Add stores c. If there is already one of its kind and ID, it returns [ErrExists].
	Add(ctx context.Context, c Credential) error
	// Delete deletes a credential. It returns [ErrNotFound] if there is none.
	Delete(ctx context.Context, kind Kind, id string) error
	// SetLimits changes the limits of a credential. It returns [ErrNotFound] if there is none.
	SetLimits(ctx context.Context, kind Kind, id string, limits Limits) error
	// List returns the credentials of a kind, sorted by name.
	List(ctx context.Context, kind Kind) ([]Credential, error)
}

// Errors of a [Store].
var (
	ErrNotFound = errors.New("no such credential")
	ErrExists   = errors.New("the credential already exists")
)

// Prefixes of secrets, by which scanners of repositories recognise them.
const (
	keyPrefix   = "gls_"
	tokenPrefix = "glt_"
)

// secretBytes is the number of random bytes of a secret. They cannot be guessed, so a
// fast hash is safe.
const secretBytes = 32

// newSecret returns 256 random bits in base64 after a prefix.
func newSecret(prefix string) string {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

// secretKind returns the kind that a secret's prefix names, "" if it has none.
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

// secretID returns the ID of a key or a token.
func secretID(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}

// NewUser returns a user with a hash of the password. Names are case-insensitive.
func NewUser(name string, role Role, password string) (Credential, error) {
	return newUser(name, role, password, defaultCost)
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

// CheckUser returns an error if the name or the role of a user is invalid. Call it
// before asking for a password.
func CheckUser(name string, role Role) error {
	if role.permissions() == nil {
		return noRole(role)
	}
	return checkName(fold(name))
}

// NewAPIKey returns a key and its secret, which is stored nowhere. With a zero time
// the key never expires.
func NewAPIKey(name string, role Role, expires time.Time) (secret string, key Credential, err error) {
	secret = newSecret(keyPrefix)
	key = Credential{
		Kind: APIKey, ID: secretID(secret), Name: fold(name), Role: role,
		Last4: secret[len(secret)-4:], Created: now(), Expires: expires.UTC(),
	}
	return secret, key, key.check()
}

// newToken returns a token of a user, and its secret.
func newToken(user string) (secret string, token Credential) {
	secret = newSecret(tokenPrefix)
	created := now()
	return secret, Credential{
		Kind: Token, ID: secretID(secret), Name: user, Created: created, Expires: created.Add(TokenLifetime),
	}
}

// now returns the time in the form in which it is stored.
func now() time.Time { return time.Now().UTC().Round(0) }

// fold returns the one spelling of names that differ only in case.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func (c *Credential) expired(now time.Time) bool {
	return !c.Expires.IsZero() && !now.Before(c.Expires)
}

// maxName is the longest name in bytes: that of an email address (RFC 5321, 4.5.3.1.3,
// without the brackets).
const maxName = 254

// checkName rejects names that could break a log, a table or a command line.
func checkName(name string) error {
	const may = "abcdefghijklmnopqrstuvwxyz0123456789.@_+-"
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("a name must have 1 to %d characters", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(may, r) }):
		return fmt.Errorf("invalid name %.40q: use letters a to z, digits and . @ _ + -", name)
	case name[0] == '-':
		return fmt.Errorf("invalid name %.40q: it must not begin with a hyphen", name)
	}
	return nil
}

// check returns an error if a credential, which may have been written by hand, is
// invalid. The error contains no hash.
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
			return errors.New("the id of a user must be the name")
		}
		if _, err := parseHash(c.Password); err != nil {
			return err
		}
	case Team:
		if c.ID != c.Name || c.Role != "" || c.Password != "" || c.Limits.Team != "" {
			return errors.New("a team has a name, which is its id, and limits, but no role and no team of its own")
		}
		return c.Limits.Check()
	case APIKey, Token:
		if b, err := hex.DecodeString(c.ID); err != nil || len(b) != sha256.Size || strings.ToLower(c.ID) != c.ID {
			return errors.New("the id is not a SHA-256 in lower-case hexadecimal")
		}
	default:
		return fmt.Errorf("unknown kind %.40q: it must be user, key, token or team", c.Kind)
	}
	if err := c.Limits.Check(); err != nil {
		return err
	}
	if c.Kind == Token {
		if c.Expires.IsZero() || c.Role != "" || c.Limits != (Limits{}) {
			return errors.New("a token must expire and takes its role and limits from its user")
		}
		return nil
	}
	if c.Role.permissions() == nil {
		return noRole(c.Role)
	}
	return nil
}
