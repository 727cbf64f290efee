package hub

import (
	"crypto/sha1" // git's object names
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// sum is what the content of f must have: "sha256:HEX", or "git:HEX" of a file that
// git itself holds.
func (f File) sum() string {
	if f.SHA256 != "" {
		return "sha256:" + f.SHA256
	}
	return "git:" + f.Blob
}

// digest returns a hash of the kind of f's sum, which takes the content.
func (f File) digest() hash.Hash {
	if f.SHA256 != "" {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.Size) // a hash returns no errors
	return h
}

// check compares what h has seen with f's sum.
func (f File) check(h hash.Hash) error {
	kind, want, _ := strings.Cut(f.sum(), ":")
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("its checksum (%s) is %s, not %s as listed", kind, got, want)
	}
	return nil
}
