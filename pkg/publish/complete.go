package publish

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/llm"
)

// lockLasts is the age at which the lock of a completion is stale: no function runs
// longer than 15 minutes.
const lockLasts = 20 * time.Minute

func completing() error {
	return &llm.Error{Code: llm.Overloaded, Param: "id", Message: "the upload is being completed: try again", RetryAfter: retryAfter}
}

// Complete publishes an upload whose parts have all arrived, and returns its name and
// step. It may be repeated: a client that missed the first answer gets it again.
func (s *Store) Complete(ctx context.Context, id string) (name string, step int, err error) {
	r, list, err := s.kept(ctx, id)
	if err != nil {
		return "", 0, err
	}
	parts := make([]int64, 0, maxParts)
	for at := int64(0); at < r.Size; at += r.PartSize {
		parts = append(parts, min(r.PartSize, r.Size-at))
	}
	return r.Name, r.Step, s.complete(ctx, id, list, r, parts)
}

// complete joins the parts, which have the given sizes, publishes the file and deletes
// the parts.
func (s *Store) complete(ctx context.Context, id string, list []blob, r *record, parts []int64) error {
	if _, ok := find(list, path.Join(id, doneFile)); ok {
		return nil
	}
	file, err := s.join(list, id, parts)
	if err != nil {
		// A list is not of one moment: another call may have published the upload and deleted
		// parts while it was read.
		if done, failed := s.completed(ctx, id); done || failed != nil {
			return internalOrNil(ctx, failed)
		}
		return err
	}
	unlock, err := s.lockCompletion(ctx, list, id)
	if err != nil {
		return internal(ctx, err)
	}
	defer unlock()
	if done, err := s.completed(ctx, id); done || err != nil {
		return internalOrNil(ctx, err) // another call was faster
	}
	if err := s.publish(ctx, file, r); err != nil {
		if errors.Is(err, bucket.ErrReplaced) {
			return invalid("id", err, "a part of the upload was sent again while it was completed: complete it again")
		}
		return err
	}
	raw, err := json.Marshal(r.receipt())
	if err == nil {
		err = s.blobs.put(ctx, path.Join(id, doneFile), bytes.NewReader(raw), int64(len(raw)), false)
	}
	if err != nil {
		return internal(ctx, err)
	}
	s.log(s.sweep(ctx, list, id+"/", doneFile)) // what stays is deleted by age
	return nil
}

// completed reports whether an upload is published.
func (s *Store) completed(ctx context.Context, id string) (bool, error) {
	found, err := s.blobs.list(ctx, path.Join(id, doneFile))
	return len(found) > 0, err
}

func internalOrNil(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return internal(ctx, err)
}

// receipt returns the part of a record that is kept after the model is published.
func (r *record) receipt() *record {
	return &record{Name: r.Name, Step: r.Step, Size: r.Size, PartSize: r.PartSize, Begun: r.Begun}
}

// publish checks the file and stores it.
func (s *Store) publish(ctx context.Context, file *joined, r *record) error {
	if err := r.compare(ctx, file); err != nil {
		return internal(ctx, err)
	}
	u := Upload{
		Name: r.Name, Step: r.Step, Config: r.Config, Metrics: r.Metrics, TrainingData: r.TrainingData, Quant: r.Quant,
		Checkpoint: file, Size: file.size,
	}
	unzipped, err := s.unzip(ctx, file)
	if err != nil {
		return internal(ctx, err)
	}
	if unzipped != nil {
		defer func() { s.log(unzipped.Close()) }()
		u.Checkpoint, u.Size = unzipped, unzipped.Size()
	}
	return s.Put(ctx, u)
}

// compare rejects a file whose checksum differs from the announced one.
func (r *record) compare(ctx context.Context, file *joined) error {
	if r.SHA256 == "" {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(&source{ctx: ctx, r: file}, 0, file.size)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.SHA256 {
		return invalid("sha256", nil, "the received file has %s", got)
	}
	return nil
}

// Bounds of decompressed files. Weights compress to a quarter, and the zeros of a new
// optimizer's state to a thousandth: a file with nine tenths of zeros has a ratio of about
// 40.
const (
	maxUnzipped = 256 << 20 // bytes
	maxRatio    = 100       // for each compressed byte, beyond the first MiB
)

// unzip decompresses a gzip file; for others the result is nil. The caller closes it.
func (s *Store) unzip(ctx context.Context, file *joined) (*Spool, error) {
	head := make([]byte, 2)
	if n, err := file.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	} else if string(head[:n]) != "\x1f\x8b" {
		return nil, nil
	}
	in := &source{ctx: ctx, r: file}
	z, err := gzip.NewReader(io.NewSectionReader(in, 0, file.size))
	if err != nil {
		return nil, in.blame(fmt.Errorf("gzip: %w", err))
	}
	most := min(cmp.Or(s.unzipped, maxUnzipped), 1<<20+maxRatio*file.size)
	out, err := s.Spool(ctx, io.LimitReader(z, most+1), most+1)
	switch {
	case err != nil && in.first() != nil:
		return nil, in.blame(err)
	case err != nil:
		if early, ok := errors.AsType[cut](err); ok {
			return nil, in.blame(fmt.Errorf("gzip: %w", early.error))
		}
		return nil, err
	case out.Size() > most:
		return nil, errors.Join(invalid("checkpoint", nil, "more than %d bytes when decompressed: send it uncompressed", most), out.Close())
	}
	return out, nil
}

// lockCompletion locks an upload, so that no other process completes it.
func (s *Store) lockCompletion(ctx context.Context, list []blob, id string) (unlock func(), err error) {
	key := path.Join(id, lockFile)
	if b, ok := find(list, key); ok && time.Since(b.time) > lockLasts {
		if err := s.blobs.remove(ctx, key); err != nil {
			return nil, err
		}
	}
	token := rand.Text() // identifies our lock
	err = s.blobs.put(ctx, key, strings.NewReader(token), int64(len(token)), true)
	if errors.Is(err, errExist) {
		return nil, completing()
	}
	if err != nil {
		return nil, err
	}
	letGo := func() {}
	if b, ok := s.blobs.(*fileBlobs); ok {
		letGo = b.protect(key)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		s.log(s.blobs.remove(ctx, key))
		letGo()
	}, nil
}

// joined is the file made of parts. It implements [io.ReaderAt].
type joined struct {
	parts  []io.ReaderAt
	starts []int64 // of parts, and the end
	size   int64
}

// join joins the parts of an upload, or returns an error that lists the missing ones.
func (s *Store) join(list []blob, id string, sizes []int64) (*joined, error) {
	there := map[string]blob{}
	for _, b := range list {
		there[b.key] = b
	}
	j := &joined{starts: []int64{0}}
	var missing []string
	for i, size := range sizes {
		b, ok := there[partKey(id, i)]
		if size < 0 { // any number of parts
			size = b.size
		}
		if !ok || b.size != size {
			missing = append(missing, fmt.Sprint(i))
			continue
		}
		j.parts = append(j.parts, s.blobs.open(b))
		j.size += b.size
		j.starts = append(j.starts, j.size)
	}
	if n := len(missing); n > 0 {
		return nil, invalid("parts", nil, "%d of %d are missing: %.200s", n, len(sizes), strings.Join(missing, ", "))
	}
	return j, nil
}

// ReadAt implements [io.ReaderAt].
func (j *joined) ReadAt(p []byte, at int64) (done int, err error) {
	for done < len(p) && at < j.size && err == nil {
		i := sort.Search(len(j.parts), func(i int) bool { return j.starts[i+1] > at })
		n := min(int64(len(p)-done), j.starts[i+1]-at)
		var k int
		k, err = j.parts[i].ReadAt(p[done:done+int(n)], at-j.starts[i])
		if int64(k) == n {
			err = nil
		}
		done += k
		at += int64(k)
	}
	if err == nil && done < len(p) {
		err = io.EOF
	}
	return done, err
}
