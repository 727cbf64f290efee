package bucket

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"sync"
)

// Multipart objects. The store accepts ten thousand parts, and all but the last have at
// least five MiB.
const (
	DefaultPart     = 16 << 20 // bytes
	leastPart       = 5 << 20
	maxParts        = 10_000
	concurrentParts = 4 // concurrent parts
)

// WriterOptions configure how an object is written.
type WriterOptions struct {
	PutOptions
	Part   int64 // bytes; 0: [DefaultPart]
	Resume bool  // resume the parts of an earlier attempt, and keep those of this one for a later attempt
}

// A Writer writes an object of unknown size, in any order. It buffers incomplete parts and
// those in transit. It implements [io.WriterAt]; each byte may be written once.
type Writer struct {
	b    *Bucket
	ctx  context.Context // of all requests, because io.WriterAt has no context
	key  string
	opt  WriterOptions
	slot chan struct{} // limits the parts in transit

	begin sync.Mutex       // guards id and there, which do not change once set
	id    string           // of the multipart upload; "": none yet
	there map[int]sentPart // of an earlier attempt

	group sync.WaitGroup
	mu    sync.Mutex
	parts map[int]*openPart
	sent  map[int]sentPart
	err   error
}

// An openPart is an incomplete part. Its buffer ends at the last byte written.
type openPart struct {
	data  []byte
	count int64 // bytes written
}

// A sentPart is a stored part.
type sentPart struct {
	number int // from 1
	etag   string
	sum    string // CRC-32C in base64
	size   int64  // bytes
}

// Create returns a writer of an object, which appears only when Close succeeds. ctx
// bounds all requests.
func (b *Bucket) Create(ctx context.Context, key string, opt WriterOptions) *Writer {
	if opt.Part == 0 {
		opt.Part = DefaultPart
	}
	opt.Part = max(opt.Part, leastPart)
	return &Writer{
		b: b, ctx: ctx, key: key, opt: opt, slot: make(chan struct{}, concurrentParts),
		parts: map[int]*openPart{}, sent: map[int]sentPart{},
	}
}

// WriteAt implements [io.WriterAt]. It waits while too many parts are in transit.
func (w *Writer) WriteAt(p []byte, at int64) (done int, err error) {
	for done < len(p) {
		number := int((at + int64(done)) / w.opt.Part)
		offset := (at + int64(done)) % w.opt.Part
		n := min(int64(len(p)-done), w.opt.Part-offset)
		if number >= maxParts {
			return done, fmt.Errorf("more than %d parts of %d bytes", maxParts, w.opt.Part)
		}
		whole, err := w.fill(number, p[done:done+int(n)], offset)
		if err != nil {
			return done, err
		}
		if done += int(n); whole != nil {
			if err := w.dispatch(number, whole); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// fill copies bytes into a part, and returns it once it is complete.
func (w *Writer) fill(number int, p []byte, offset int64) (whole *openPart, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if _, ok := w.sent[number]; ok {
		return nil, fmt.Errorf("part %d was written before", number)
	}
	o := w.parts[number]
	if o == nil {
		if o = (&openPart{}); number > 0 || len(p) > leastPart { // it will be a complete part
			o.data = make([]byte, 0, w.opt.Part)
		}
		w.parts[number] = o
	}
	if need := offset + int64(len(p)) - int64(len(o.data)); need > 0 {
		o.data = append(o.data, make([]byte, need)...)
	}
	copy(o.data[offset:], p)
	if o.count += int64(len(p)); o.count < w.opt.Part {
		return nil, nil
	}
	delete(w.parts, number)
	w.sent[number] = sentPart{} // until it is stored
	return o, nil
}

// dispatch sends a part in the background.
func (w *Writer) dispatch(number int, o *openPart) error {
	select {
	case w.slot <- struct{}{}:
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
	w.group.Go(func() {
		defer func() { <-w.slot }()
		if err := w.send(number, o); err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.err = errors.Join(w.err, err)
		}
	})
	return nil
}

// send stores a part, unless an earlier attempt has.
func (w *Writer) send(number int, o *openPart) error {
	if err := w.start(); err != nil {
		return err
	}
	crc := make([]byte, 4)
	binary.BigEndian.PutUint32(crc, crc32.Checksum(o.data, crc32.MakeTable(crc32.Castagnoli)))
	part := sentPart{number: number + 1, sum: base64.StdEncoding.EncodeToString(crc), size: int64(len(o.data))}
	if was := w.there[number]; was.sum == part.sum && was.size == part.size {
		part.etag = was.etag
	} else {
		etag, err := w.b.uploadPart(w.ctx, w.key, w.id, part.number, o.data)
		if err != nil {
			return fmt.Errorf("part %d: %w", part.number, err)
		}
		part.etag = etag
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[number] = part
	return nil
}

// start begins the multipart upload, or finds that of an earlier attempt.
func (w *Writer) start() (err error) {
	w.begin.Lock()
	defer w.begin.Unlock()
	if w.id != "" {
		return nil
	}
	if w.opt.Resume {
		if w.id, err = w.b.findMultipart(w.ctx, w.key); err != nil {
			return err
		}
		if w.id != "" {
			w.there, err = w.b.listParts(w.ctx, w.key, w.id)
			return err
		}
	}
	w.id, err = w.b.createMultipart(w.ctx, w.key)
	return err
}

// Close stores the rest, and creates the object.
func (w *Writer) Close() (ETag, error) {
	w.group.Wait()
	if w.err != nil {
		return "", w.err
	}
	last := len(w.sent) + len(w.parts) - 1
	for number, o := range w.parts {
		if o.count != int64(len(o.data)) || number != last && o.count != w.opt.Part {
			return "", fmt.Errorf("part %d has holes: %d bytes of %d", number, o.count, w.opt.Part)
		}
	}
	if first := w.parts[0]; first != nil && last == 0 {
		body, size := bytesAt(first.data)
		return w.b.Put(w.ctx, w.key, body, size, w.opt.PutOptions)
	}
	for number, o := range w.parts {
		if err := w.dispatch(number, o); err != nil {
			return "", err
		}
	}
	w.group.Wait()
	if w.err != nil {
		return "", w.err
	}
	var parts []sentPart
	for number := range last + 1 {
		part, ok := w.sent[number]
		if !ok {
			return "", fmt.Errorf("part %d was not written", number)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "", errors.New("nothing was written")
	}
	return w.complete(parts)
}

// complete creates the object from its parts. If the answer to an attempt was lost, the next one
// finds no upload, or an existing object: its checksum shows whether it is ours.
func (w *Writer) complete(parts []sentPart) (ETag, error) {
	etag, err := w.b.completeMultipart(w.ctx, w.key, w.id, parts, w.opt.PutOptions)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "NoSuchUpload" && !errors.Is(e, fs.ErrExist) {
		return etag, err
	}
	i, missing := w.b.Head(w.ctx, w.key)
	if missing != nil || i.sum == "" || i.sum != composite(parts) {
		return "", err
	}
	return i.ETag, nil
}

// composite returns the checksum of a multipart object: that of its parts' checksums.
func composite(parts []sentPart) string {
	var sums []byte
	for _, p := range parts {
		sum, _ := base64.StdEncoding.DecodeString(p.sum) // our own encoding
		sums = append(sums, sum...)
	}
	all := make([]byte, 4)
	binary.BigEndian.PutUint32(all, crc32.Checksum(sums, crc32.MakeTable(crc32.Castagnoli)))
	return fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(all), len(parts))
}

// Abort deletes unfinished parts, unless a later attempt may resume them. It works
// even if the writer's own context has ended.
func (w *Writer) Abort(ctx context.Context) error {
	w.mu.Lock()
	if w.err == nil {
		w.err = errors.New("the write was aborted")
	}
	w.mu.Unlock()
	w.group.Wait()
	if w.id == "" || w.opt.Resume {
		return nil
	}
	err := w.b.abortMultipart(ctx, w.key, w.id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// newest returns the id of the latest upload of a key.
func newest(list []multipart, key string) string {
	list = slices.DeleteFunc(list, func(m multipart) bool { return m.Key != key })
	slices.SortFunc(list, func(a, b multipart) int { return b.Initiated.Compare(a.Initiated) })
	if len(list) == 0 {
		return ""
	}
	return list[0].UploadID
}
