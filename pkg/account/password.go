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

// Lengths of a password in bytes. The minimum is that of NIST SP 800-63B, 5.1.1.2; the
// maximum bounds the work of hashing.
const (
	minPassword = 8
	maxPassword = 1024
)

func checkPassword(password string) error {
	if n := len(password); n < minPassword || n > maxPassword {
		return fmt.Errorf("a password must have %d to %d bytes, not %d", minPassword, maxPassword, n)
	}
	return nil
}

// cost is the cost of an argon2id hash.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

// defaultCost is the first option of the OWASP Password Storage Cheat Sheet: 46 MiB and
// one thread, which leaves most of a small function's memory to models. It takes about
// 50 ms.
var defaultCost = cost{memory: 46 << 10, passes: 1, threads: 1}

// maxCost bounds the cost of stored hashes, so that no hash can exhaust the memory of the
// process.
var maxCost = cost{memory: 256 << 10, passes: 16, threads: 16}

// Lengths of new salts and hashes in bytes (RFC 9106, section 4).
const (
	saltBytes = 16
	hashBytes = 32
)

// A passwordHash is the stored hash of a password.
type passwordHash struct {
	cost
	salt, hash []byte
}

// hashPassword hashes a password with a new salt.
func hashPassword(password string, c cost) passwordHash {
	h := passwordHash{cost: c, salt: make([]byte, saltBytes)}
	rand.Read(h.salt) // never fails
	h.hash = argon2.IDKey([]byte(password), h.salt, c.passes, c.memory, c.threads, hashBytes)
	return h
}

// String returns h in the PHC string format.
func (h passwordHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.memory, h.passes, h.threads, b64(h.salt), b64(h.hash))
}

// errHash does not contain the hash.
var errHash = errors.New("the password is not an argon2id hash in the PHC string format")

// parseHash parses the output of String, in the same spelling.
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
	case h.memory > maxCost.memory || h.passes > maxCost.passes || h.threads > maxCost.threads:
		return h, fmt.Errorf("the password's hash costs more than m=%d,t=%d,p=%d", maxCost.memory, maxCost.passes, maxCost.threads)
	case len(h.salt) < 8 || len(h.salt) > 64 || len(h.hash) < 16 || len(h.hash) > 64:
		return h, errHash
	}
	return h, nil
}

// Bounds on verifications: each needs the memory of a hash.
const (
	verifyAtOnce = 2
	verifyQueue  = 32 // waiting
)

// A verifier compares passwords with hashes, a few at a time.
type verifier struct {
	running chan struct{}
	waiting chan struct{} // including the running ones
	decoy   passwordHash  // compared with the password of an unknown user
	derive  func(password, salt []byte, passes, memory uint32, threads uint8, length uint32) []byte
}

func newVerifier() *verifier {
	v := &verifier{
		running: make(chan struct{}, verifyAtOnce),
		waiting: make(chan struct{}, verifyAtOnce+verifyQueue),
		decoy:   passwordHash{cost: defaultCost, salt: make([]byte, saltBytes), hash: make([]byte, hashBytes)},
		derive:  argon2.IDKey,
	}
	rand.Read(v.decoy.salt)
	rand.Read(v.decoy.hash) // no known password has this hash
	return v
}

// verify reports whether h is the hash of password. With a nil h, for an unknown user,
// it takes as long.
func (v *verifier) verify(ctx context.Context, h *passwordHash, password string) (bool, error) {
	if h == nil {
		h = &v.decoy
	}
	select {
	case v.waiting <- struct{}{}:
		defer func() { <-v.waiting }()
	default:
		return false, &llm.Error{Code: llm.Overloaded, Message: "too many logins at once", RetryAfter: time.Second}
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
