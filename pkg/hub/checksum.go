package hub

import (
	"crypto/sha1" // git's object names
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// sum returns the checksum of f: "sha256:HEX", or "git:HEX" of a file that git itself
// stores.
func (f File) sum() string {
	if f.SHA256 != "" {
		return "sha256:" + f.SHA256
	}
	return "git:" + f.Blob
}

// digest returns the hash function of f's sum, to be fed with the content.
func (f File) digest() hash.Hash {
	if f.SHA256 != "" {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.Size) // a hash returns no errors
	return h
}

// check compares h with f's sum.
func (f File) check(h hash.Hash) error {
	kind, want, _ := strings.Cut(f.sum(), ":")
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("its checksum (%s) is %s, not %s as listed", kind, got, want)
	}
	return nil
}
