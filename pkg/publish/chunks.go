package publish

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"regexp"
	"time"

	"glossa/pkg/llm"
)

// maxChunks bounds the chunks of one file.
const maxChunks = 10_000

var (
	validChunked = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	// The form of [chunkedID], which ends with the owner.
	validChunks = regexp.MustCompile(`^chunks-[0-9a-f]{64}-([0-9a-f]{16})$`)
)

// chunkedID returns the prefix of the chunks of an upload whose id the client chose.
// Two owners may choose the same id.
func chunkedID(ctx context.Context, id string) (string, error) {
	if !validChunked.MatchString(id) {
		return "", invalid("uploadId", nil, "%.140q: 1 to 128 letters, digits, dots, underscores and hyphens", id)
	}
	return fmt.Sprintf("chunks-%x-%s", sha256.Sum256([]byte(id)), owner(ctx)), nil
}

// Chunk stores one of total pieces of a file, in any order, under an id that the client
// chose. The first chunk after such an upload was published begins a new one.
func (s *Store) Chunk(ctx context.Context, id string, index, total int, body io.Reader) error {
	dir, err := chunkedID(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case total < 1 || total > maxChunks:
		return invalid("totalChunks", nil, "%d is not in 1..%d", total, maxChunks)
	case index < 0 || index >= total:
		return invalid("chunkIndex", nil, "%d is not below %d", index, total)
	}
	list, err := s.blobs.list(ctx, dir+"/")
	if err != nil {
		return internal(ctx, err)
	}
	if done, ok := find(list, path.Join(dir, doneFile)); ok {
		if err := s.blobs.remove(ctx, done.key); err != nil {
			return internal(ctx, err)
		}
	} else if err := closed(list, dir); err != nil {
		return err
	}
	if err := s.admit(ctx, dir, 0); err != nil {
		return internal(ctx, err)
	}
	q, err := s.begin(ctx)
	if err != nil {
		return internal(ctx, err)
	}
	defer q.end()
	if err := s.blobs.put(ctx, partKey(dir, index), &countedReader{q, body}, anySize, false); err != nil {
		return internal(ctx, err)
	}
	return nil
}

// Assemble publishes the file of an upload in total chunks. u.Checkpoint is ignored. It may
// be repeated, like [Store.Complete].
func (s *Store) Assemble(ctx context.Context, id string, total int, u Upload) error {
	dir, err := chunkedID(ctx, id)
	if err != nil {
		return err
	}
	u.Checkpoint = &joined{}
	if err := u.check(); err != nil {
		return err
	}
	if total < 1 || total > maxChunks {
		return invalid("totalChunks", nil, "%d is not in 1..%d", total, maxChunks)
	}
	list, err := s.blobs.list(ctx, dir+"/")
	switch {
	case err != nil:
		return internal(ctx, err)
	case len(list) == 0:
		return &llm.Error{Code: llm.NotFound, Param: "uploadId", Message: fmt.Sprintf("no upload %.80q: uploads expire after a day", id)}
	}
	sizes := make([]int64, total)
	for i := range sizes {
		sizes[i] = -1
	}
	if b, ok := find(list, partKey(dir, total)); ok {
		return invalid("totalChunks", nil, "%d, but the upload has more: %s", total, path.Base(b.key))
	}
	if done, ok := find(list, path.Join(dir, doneFile)); ok {
		var was record
		if err := s.readJSON(done, &was); err != nil {
			return internal(ctx, err)
		}
		if was.Name != u.Name || was.Step != u.Step {
			return invalid("uploadId", nil, "its chunks were published as %s at step %d: send them again for another model", was.Name, was.Step)
		}
		return nil
	}
	r := &record{
		Name: u.Name, Step: u.Step, Config: u.Config, Metrics: u.Metrics, TrainingData: u.TrainingData, Quant: u.Quant, Begun: time.Now().UTC(),
	}
	return s.complete(ctx, dir, list, r, sizes)
}
