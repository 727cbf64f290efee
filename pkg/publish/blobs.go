package publish

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/llm"
)

// blobs stores the data of uploads in progress, by keys such as "upload/part".
type blobs interface {
	// put stores size bytes in one step, or all of body if size is [anySize]. If isNew is
	// set and the key exists, the error is [fs.ErrExist].
	put(ctx context.Context, key string, body io.Reader, size int64, isNew bool) error
	list(ctx context.Context, prefix string) ([]blob, error) // by key
	open(b blob) io.ReaderAt                                 // that version
	remove(ctx context.Context, key string) error
	// url returns a URL for a PUT of a blob of a size; "" if the store has none.
	url(ctx context.Context, key string, size int64, lasts time.Duration) (string, error)
	// spool is [Store.Spool].
	spool(ctx context.Context, body io.Reader, most int64) (*Spool, error)
}

// anySize is the size of a body of any size.
const anySize = -1

var errExist = fs.ErrExist

// A blob is a stored piece of data.
type blob struct {
	key  string
	size int64
	time time.Time
	info bucket.Info // of an object
}

// objectBlobs implements [blobs] in a bucket.
type objectBlobs struct {
	b *bucket.Bucket
	s *Store
}

// maxThrough bounds a blob that passes through the server into the bucket, in bytes. It
// is in memory meanwhile; API Gateway's limit is lower.
const maxThrough = 16 << 20

func (o *objectBlobs) put(ctx context.Context, key string, body io.Reader, size int64, isNew bool) error {
	if size > maxThrough {
		return llm.Errorf(llm.Invalid, "%d bytes are more than the %d that this server accepts: PUT them to the part's url", size, maxThrough)
	}
	most := size
	if size == anySize {
		most = maxThrough
	}
	claim, err := take(ctx, &o.s.memory.bodies, most, o.s.share(maxBodies))
	if err != nil {
		return err
	}
	defer claim.Release()
	var p pieces
	if err := copyPart(&p, body, size, maxThrough); err != nil {
		return err
	}
	_, err = o.b.Put(ctx, key, &p, p.size, bucket.PutOptions{IfNone: isNew})
	return err
}

func (o *objectBlobs) list(ctx context.Context, prefix string) (list []blob, err error) {
	found, err := o.b.List(ctx, prefix)
	for _, i := range found {
		list = append(list, blob{i.Key, i.Size, i.Time, i})
	}
	return list, err
}

func (o *objectBlobs) open(b blob) io.ReaderAt { return o.b.Open(b.info).(io.ReaderAt) }

func (o *objectBlobs) remove(ctx context.Context, key string) error { return o.b.Delete(ctx, key) }

func (o *objectBlobs) url(ctx context.Context, key string, size int64, lasts time.Duration) (string, error) {
	return o.b.Presign(ctx, key, size, lasts)
}

// copyPart copies a body of a size or, with [anySize], of up to most bytes.
func copyPart(to io.Writer, body io.Reader, size, most int64) error {
	limit := size
	if size == anySize {
		limit = most
	}
	n, err := copyTo(to, io.LimitReader(body, limit+1))
	early, ended := errors.AsType[cut](err)
	switch {
	case ended && n <= limit:
		return invalid("", early, "the part ended early after %d bytes", n)
	case err != nil && !ended:
		return err
	case size == anySize && n > limit:
		return invalid("", nil, "the part has more than %d bytes, the maximum", limit)
	case size != anySize && n != size:
		return invalid("", nil, "the part must have %d bytes, but more or fewer arrived", size)
	}
	return nil
}

// fileBlobs implements [blobs] in a directory below that of the models.
type fileBlobs struct {
	root  *os.Root
	files *files
	dirs  sync.Mutex // held while a directory is removed with its last file, or created with its first
}

func (f *fileBlobs) put(_ context.Context, key string, body io.Reader, size int64, isNew bool) (err error) {
	name := path.Join(uploadsDir, key)
	temporary := path.Join(path.Dir(name), "."+rand.Text())
	var file file
	unlock, err := f.files.locked(temporary, func() (err error) {
		file, err = f.create(temporary)
		return err
	})
	if err != nil {
		return err
	}
	defer unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, f.root.Remove(temporary))
		}
	}()
	if err = copyPart(file, body, size, math.MaxInt64-1); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if !isNew {
		return f.root.Rename(temporary, name)
	}
	if err := f.root.Link(temporary, name); err != nil { // unlike Rename, it never replaces a file
		return err
	}
	return f.root.Remove(temporary)
}

// protect protects a file from [Open] until letGo is called or this process ends. Without file
// locks, or if the file is gone already, it does nothing: the file is removed by its age.
func (f *fileBlobs) protect(key string) (letGo func()) {
	held, err := f.root.Open(path.Join(uploadsDir, key))
	if err != nil {
		return func() {}
	}
	_ = flock(held, false)
	return func() { _ = held.Close() }
}

// create creates a file, and its directory if necessary.
func (f *fileBlobs) create(name string) (file, error) {
	f.dirs.Lock()
	defer f.dirs.Unlock()
	if err := f.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return f.files.open(name)
}

func (f *fileBlobs) list(_ context.Context, prefix string) (list []blob, err error) {
	dir, _ := path.Split(prefix)
	err = fs.WalkDir(f.root.FS(), path.Join(uploadsDir, dir), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there are none, or it was deleted meanwhile
		}
		key := strings.TrimPrefix(name, uploadsDir+"/")
		if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(key, prefix) {
			return err
		}
		if info, err := e.Info(); err == nil {
			list = append(list, blob{key: key, size: info.Size(), time: info.ModTime()})
		}
		return nil
	})
	return list, err
}

func (f *fileBlobs) open(b blob) io.ReaderAt { return &blobFile{f.root, b} }

func (f *fileBlobs) remove(_ context.Context, key string) error {
	f.dirs.Lock()
	defer f.dirs.Unlock()
	name := path.Join(uploadsDir, key)
	err := f.root.Remove(name)
	_ = f.root.Remove(path.Dir(name)) // if it is empty
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *fileBlobs) url(context.Context, string, int64, time.Duration) (string, error) {
	return "", nil
}

// A blobFile opens its file for each read, because there may be many.
type blobFile struct {
	root *os.Root
	blob
}

// ReadAt implements [io.ReaderAt].
func (b *blobFile) ReadAt(p []byte, at int64) (n int, err error) {
	file, err := b.root.Open(path.Join(uploadsDir, b.key))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() != b.size || !info.ModTime().Equal(b.time) {
		return 0, fmt.Errorf("%s: %w", b.key, bucket.ErrReplaced)
	}
	n, err = file.ReadAt(p, at)
	if n == len(p) {
		err = nil
	}
	return n, err
}
