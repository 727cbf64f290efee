package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Key is a secret from the configuration, with its role. It holds only a hash of the
// secret, so printing it reveals nothing.
type Key struct {
	Name string // in the log; another key may have it tomorrow
	Role Role
	hash [sha256.Size]byte
}

// NewKey returns a key with a role; spaces around the secret are ignored.
func NewKey(name string, role Role, secret string) (Key, error) {
	secret = strings.TrimSpace(secret)
	switch {
	case role.permissions() == nil:
		return Key{}, noRole(role)
	case secret == "":
		return Key{}, fmt.Errorf("the key with the role %q is empty", role)
	case strings.ContainsAny(secret, " \t\r\n"):
		return Key{}, fmt.Errorf("the key with the role %q contains a space, which clients cannot send", role)
	}
	return Key{Name: name, Role: role, hash: sha256.Sum256([]byte(secret))}, nil
}

func noRole(role Role) error {
	return fmt.Errorf("unknown role %q: it must be admin, worker, client or monitor", role)
}

// ParseKeys parses a list such as "client:k1,monitor:k2"; the keys are named by their
// positions. Its errors name the position and never the contents.
func ParseKeys(list string) ([]Key, error) {
	var keys []Key
	var errs []error
	for i, item := range strings.Split(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		role, secret, ok := strings.Cut(item, ":")
		if !ok || Role(role).permissions() == nil {
			errs = append(errs, fmt.Errorf("key %d: must be role:key with the role admin, worker, client or monitor", i+1))
			continue
		}
		key, err := NewKey(strconv.Itoa(i+1), Role(role), secret)
		if err != nil {
			errs = append(errs, fmt.Errorf("key %d: %w", i+1, err))
			continue
		}
		keys = append(keys, key)
	}
	return keys, errors.Join(errs...)
}

// lookup returns the principals of a secret. It compares the secret with every key,
// each in constant time.
func lookup(keys []Key, secret string) (list []Principal) {
	if secret == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	for i := range keys {
		if subtle.ConstantTimeCompare(hash[:], keys[i].hash[:]) == 1 {
			list = append(list, keys[i].principal())
		}
	}
	return list
}

// principal returns the holder of the key. Data belong to the key itself, not to its name or role.
func (k Key) principal() Principal {
	return Principal{Kind: "configured", Name: k.Name, Role: k.Role, ID: hex.EncodeToString(k.hash[:8])}
}
