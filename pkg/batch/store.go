package batch

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A Store keeps objects that are written once. S3 with conditional writes is one, and a
// directory is another.
type Store interface {
	// Create writes an object whole or not at all. If the key exists, it returns ErrExists
	// and leaves the object as it is.
	Create(ctx context.Context, key string, body io.Reader) error
	// Open reads n bytes of an object from offset; n < 0: to its end. A missing object is
	// ErrNotFound.
	Open(ctx context.Context, key string, offset, n int64) (io.ReadCloser, error)
	// List returns the keys with a prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete deletes an object. A missing object is not an error.
	Delete(ctx context.Context, key string) error
}

// room returns the prefix of an owner's objects. The name of an owner can have any bytes.
func room(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:16]) + "/"
}

// newID returns an id. Later ids sort after earlier ones.
func newID(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%s%012x%x", prefix, time.Now().UnixMilli(), b[:10])
}

// timeOf returns when an id was made; the zero value if it has not the form of [newID].
func timeOf(prefix, id string) time.Time {
	if !validID(prefix, id) {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(id[len(prefix):][:12], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// validID reports whether id has the form of [newID], so that it can be part of a key.
func validID(prefix, id string) bool {
	digits, ok := strings.CutPrefix(id, prefix)
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

func (b *Batches) createJSON(ctx context.Context, key string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.cfg.Store.Create(ctx, key, bytes.NewReader(body))
}

func (b *Batches) readJSON(ctx context.Context, key string, v any) error {
	r, err := b.cfg.Store.Open(ctx, key, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := json.NewDecoder(r).Decode(v); err != nil {
		return fmt.Errorf("object %s: %w", key, err)
	}
	return nil
}
