package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"glossa/pkg/llm"
)

// Lengths of a password in bytes. The least is that of NIST SP 800-63B, 5.1.1.2;
// the most bounds what is hashed.
const (
	minPassword = 8
	maxPassword = 1024
)

func checkPassword(password string) error {
	if n := len(password); n < minPassword || n > maxPassword {
		return fmt.Errorf("a password has %d to %d bytes, this one has %d", minPassword, maxPassword, n)
	}
	return nil
}

// cost is what argon2id takes for a hash.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

// standard is the first option of the OWASP Password Storage Cheat Sheet: 46 MiB
// and one thread, which leaves the rest of a small function to models. It takes
// about 50 ms.
var standard = cost{memory: 46 << 10, passes: 1, threads: 1}

// most bounds the costs that are taken from a store, so that no hash in it can
// take the memory of the process.
var most = cost{memory: 256 << 10, passes: 16, threads: 16}

// Lengths of new salts and hashes in bytes (RFC 9106, section 4).
const (
	saltBytes = 16
	hashBytes = 32
)

// A passwordHash is what is kept of a password.
type passwordHash struct {
	cost
	salt, hash []byte
}

// hashPassword hashes a password with a salt of its own.
func hashPassword(password string, c cost) passwordHash {
	h := passwordHash{cost: c, salt: make([]byte, saltBytes)}
	rand.Read(h.salt) // never fails
	h.hash = argon2.IDKey([]byte(password), h.salt, c.passes, c.memory, c.threads, hashBytes)
	return h
}

// String is h in the PHC string format.
func (h passwordHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.memory, h.passes, h.threads, b64(h.salt), b64(h.hash))
}

// errHash does not show the hash.
var errHash = errors.New("the password is no argon2id hash in the PHC string format")

// parseHash reads what String wrote, spelt in the same way.
func parseHash(s string) (passwordHash, error) {
	var h passwordHash
	var salt, hash string
	fields := strings.Split(s, "$")
	if len(fields) != 6 {
		return h, errHash
	}
	salt, hash = fields[4], fields[5]
	if _, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.threads); err != nil {
		return h, errHash
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.DecodeString(salt)
	h.hash, err2 = base64.RawStdEncoding.DecodeString(hash)
	switch {
	case err1 != nil || err2 != nil || h.String() != s:
		return h, errHash
	case h.threads == 0 || h.passes == 0 || h.memory < 8*uint32(h.threads): // RFC 9106, 3.1
		return h, errHash
	case h.memory > most.memory || h.passes > most.passes || h.threads > most.threads:
		return h, fmt.Errorf("the password's hash costs more than m=%d,t=%d,p=%d", most.memory, most.passes, most.threads)
	case len(h.salt) < 8 || len(h.salt) > 64 || len(h.hash) < 16 || len(h.hash) > 64:
		return h, errHash
	}
	return h, nil
}

// Bounds of verifications: each takes the memory of a hash.
const (
	verifyAtOnce = 2
	verifyQueue  = 32 // that wait
)

// A verifier compares passwords with hashes, few at once.
type verifier struct {
	running chan struct{}
	waiting chan struct{} // those that run among them
	decoy   passwordHash  // what nobody's password is compared with
	derive  func(password, salt []byte, passes, memory uint32, threads uint8, length uint32) []byte
}

func newVerifier() *verifier {
	v := &verifier{
		running: make(chan struct{}, verifyAtOnce),
		waiting: make(chan struct{}, verifyAtOnce+verifyQueue),
		decoy:   passwordHash{cost: standard, salt: make([]byte, saltBytes), hash: make([]byte, hashBytes)},
		derive:  argon2.IDKey,
	}
	rand.Read(v.decoy.salt)
	rand.Read(v.decoy.hash) // the hash of no password that anybody can find
	return v
}

// verify tells whether password is what h was made of. It takes as long with h nil,
// for somebody who does not exist.
func (v *verifier) verify(ctx context.Context, h *passwordHash, password string) (bool, error) {
	if h == nil {
		h = &v.decoy
	}
	select {
	case v.waiting <- struct{}{}:
		defer func() { <-v.waiting }()
	default:
		return false, &llm.Error{Code: llm.Overloaded, Message: "too many log in at once", RetryAfter: time.Second}
	}
	select {
	case v.running <- struct{}{}:
		defer func() { <-v.running }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	got := v.derive([]byte(password), h.salt, h.passes, h.memory, h.threads, uint32(len(h.hash)))
	return subtle.ConstantTimeCompare(got, h.hash) == 1, nil
}
