// Package archive keeps documents of owners for a time: in the [Memory] of one process, or
// in a [Table] that many machines share. It refuses to know what documents and owners are,
// and who may ask for which: only the owner's name finds a document, so nobody can tell
// another owner's document from a missing one.
package archive

import (
	"errors"
	"fmt"
	"time"

	"glossa/pkg/llm"
)

// MaxDocument is the size of the largest document, in bytes.
const MaxDocument = 4 << 20

// A document is a text of an owner. Its id is unique among the owner's documents: a document
// never changes.
type document struct {
	owner, id string
	text      []byte // UTF-8
	expires   time.Time
}

// errMissing is the same for a document that was deleted, has expired, or belongs to
// another owner.
var errMissing = errors.New("no such document")

func notFound() error { return &llm.Error{Code: llm.NotFound, Message: errMissing.Error()} }

// check rejects a document that is too large.
func (d *document) check() error {
	if len(d.text) > MaxDocument {
		return llm.Errorf(llm.Full, "the document has %d bytes: at most %d can be stored", len(d.text), MaxDocument)
	}
	return nil
}

// unavailable returns the error of a table that does not answer.
func unavailable(op string, err error) error {
	return &llm.Error{Code: llm.Unavailable, Message: "stored data cannot be reached now: try again", RetryAfter: time.Second, Err: fmt.Errorf("%s: %w", op, err)}
}
