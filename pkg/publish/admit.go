package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// Bounds of uploads in progress. The bounds of one owner leave room for others.
const (
	maxSessions    = 100    // of all
	maxBlobs       = 25_000 // blobs of all, which leaves room for the parts of those in a listing
	maxOwnSessions = 16     // of one owner
	maxOwnBlobs    = 11_000 // blobs of one owner: the chunks of one file, and some parts
)

// owner returns the owner of ctx as it appears in the ids of uploads. It is a digest, so
// that answers contain no names of keys.
func owner(ctx context.Context) string {
	sum := sha256.Sum256([]byte(llm.OwnerOf(ctx)))
	return hex.EncodeToString(sum[:8])
}

type allUploadsKey struct{}

// WithAllUploads returns a context whose sender may list, continue and delete the uploads
// of all senders.
func WithAllUploads(ctx context.Context) context.Context {
	return context.WithValue(ctx, allUploadsKey{}, true)
}

// mayAccess reports whether the sender of ctx may see an upload of an owner.
func mayAccess(ctx context.Context, of string) bool {
	return of == owner(ctx) || ctx.Value(allUploadsKey{}) != nil
}

// A kept upload is an upload as the listing of its blobs shows it.
type kept struct {
	id    string
	files int
	bytes int64     // received
	last  time.Time // when its last blob came
	done  bool
}

// declared returns the announced size of the upload; it exceeds the received bytes of an upload
// that was begun.
func (k *kept) declared() int64 {
	m := validID.FindStringSubmatch(k.id)
	if m == nil || k.done {
		return k.bytes
	}
	n, _ := strconv.ParseInt(m[1], 16, 64) // fits, by its length
	return max(k.bytes, n)
}

// owner returns the owner of the upload.
func (k *kept) owner() string { return k.id[strings.LastIndexByte(k.id, '-')+1:] }

// uploads returns all uploads of a listing, by their ids.
func uploads(list []blob) map[string]*kept {
	all := map[string]*kept{}
	for _, b := range list {
		dir, file := path.Split(b.key)
		id := strings.TrimSuffix(dir, "/")
		k := all[id]
		if k == nil {
			k = &kept{id: id}
			all[id] = k
		}
		k.files++
		k.bytes += b.size
		k.done = k.done || file == doneFile
		if b.time.After(k.last) {
			k.last = b.time
		}
	}
	return all
}

// admit returns an error if there is no room for an upload of a size. It first removes
// uploads that are too old. Other owners' uploads count with their received bytes, and
// those of the same owner with their announced bytes, so that nobody can reserve room
// at others' expense.
func (s *Store) admit(ctx context.Context, id string, size int64) error {
	used, err := s.models.used(ctx)
	if err != nil {
		return err
	}
	list, err := s.blobs.list(ctx, "")
	if err != nil {
		return err
	}
	me, sessions, own, blobs, ownBlobs, begun := owner(ctx), 0, 0, 0, 0, false
	for _, k := range uploads(list) {
		if time.Since(k.last) > Lasts {
			s.log(s.sweep(ctx, list, k.id+"/"))
			continue
		}
		begun = begun || k.id == id
		blobs += k.files
		count := 1
		if k.done {
			count = 0
		}
		sessions += count
		if k.owner() != me {
			used += k.bytes
			continue
		}
		used += k.declared()
		own += count
		ownBlobs += k.files
	}
	if begun {
		sessions, own = 0, 0 // it is one of them
	}
	var message string
	switch {
	case own >= maxOwnSessions || ownBlobs >= maxOwnBlobs:
		message = fmt.Sprintf("you have %d uploads with %d pieces in progress: complete or delete some", own, ownBlobs)
	case sessions >= maxSessions || blobs >= maxBlobs:
		message = fmt.Sprintf("%d uploads with %d pieces are in progress: complete or delete some", sessions, blobs)
	default:
		return s.room(size, used+size)
	}
	return &llm.Error{Code: llm.Overloaded, Message: message, RetryAfter: time.Minute}
}

// Sessions returns the uploads in progress that the sender of ctx may see, the latest
// first. An upload of chunks has no model name yet, and its size is the received bytes.
func (s *Store) Sessions(ctx context.Context) (out []*Session, err error) {
	list, err := s.blobs.list(ctx, "")
	if err != nil {
		return nil, internal(ctx, err)
	}
	var all []*kept
	for _, k := range uploads(list) {
		if mayAccess(ctx, k.owner()) && !k.done && time.Since(k.last) <= Lasts {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *kept) int { return cmp.Or(b.last.Compare(a.last), strings.Compare(a.id, b.id)) })
	for _, k := range all {
		if validChunks.MatchString(k.id) {
			out = append(out, &Session{ID: k.id, Size: k.bytes, Arrived: k.bytes, Expires: k.last.Add(Lasts)})
			continue
		}
		session, err := s.Session(ctx, k.id)
		switch e, _ := errors.AsType[*llm.Error](err); {
		case err == nil && !session.Done:
			out = append(out, session)
		case e != nil && e.Code != llm.NotFound: // except for one that ended meanwhile
			return nil, err
		}
	}
	return out, nil
}
