package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A request that delivers fewer bytes than this in a window of [Config.Stall] gets an
// equal one as a hedge; after this many such windows it is cancelled.
const (
	least    = 64 << 10
	hopeless = 5
)

var errStalled = errors.New("the store is too slow")

// An object is one version of an object.
type object struct {
	fs   *FS
	key  string
	size int64
	etag ETag
}

func (o *object) url() string { return Scheme + o.fs.cfg.Bucket + "/" + o.key }

// read fills p from offset at and returns the number of bytes read. Bytes that arrived
// before a failure are not requested again.
func (o *object) read(ctx context.Context, p []byte, at int64) (done int64, err error) {
	for done < int64(len(p)) && err == nil {
		before := done
		err = o.fs.client.retry(ctx, func() error {
			n, err := o.readRange(ctx, p[done:], at+done)
			if done += n; err != nil && done-before >= least {
				return nil // progress resets the count of attempts
			}
			return err
		})
	}
	return done, err
}

// readRange fills p with one request, or with its hedge if it stalls.
func (o *object) readRange(ctx context.Context, p []byte, at int64) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := o.begin(ctx, p, at)
	window := time.NewTicker(o.fs.client.stall)
	defer window.Stop()
	var beside *hedge
	defer func() { cancelHedge(beside) }()
	for last, idle := int64(0), 0; ; {
		select {
		case <-d.done:
			return d.got.Load(), d.err
		case <-window.C:
			got := d.got.Load()
			if idle++; got-last >= least {
				idle = 0
			}
			last = got
			switch {
			case idle == hopeless:
				if d.stop(); d.err != nil {
					d.err = &transient{errStalled}
				}
				return d.got.Load(), d.err
			case idle%2 == 1: // replaces a hedge that delivered nothing for two windows
				cancelHedge(beside)
				beside = o.sendHedge(ctx, p, at, got)
			}
		case s := <-beside.answer():
			beside = nil
			if s.err != nil || d.got.Load()-s.from >= int64(len(s.head)) { // the hedge is not ahead
				s.close()
				continue
			}
			if d.stop(); d.err == nil {
				s.close()
				return d.got.Load(), nil
			}
			copy(p[s.from:], s.head)
			d, idle = follow(s, p), 0
			last = d.got.Load()
		}
	}
}

// A download copies an answer into a slice. Its goroutine ends with the answer or with
// its context.
type download struct {
	cancel context.CancelFunc
	got    atomic.Int64  // bytes
	done   chan struct{} // closed when the goroutine has ended
	err    error         // valid after done
}

// begin requests the bytes of p.
func (o *object) begin(ctx context.Context, p []byte, at int64) *download {
	d := &download{done: make(chan struct{})}
	ctx, d.cancel = context.WithCancel(ctx)
	go func() {
		defer close(d.done)
		defer d.cancel()
		var body io.ReadCloser
		if body, d.err = o.ask(ctx, at, int64(len(p))); d.err == nil {
			d.err = d.fill(body, p)
		}
	}()
	return d
}

// follow continues an answer whose first bytes are in p.
func follow(s hedgeAnswer, p []byte) *download {
	d := &download{done: make(chan struct{}), cancel: s.cancel}
	d.got.Store(s.from + int64(len(s.head)))
	go func() {
		defer close(d.done)
		defer d.cancel()
		d.err = d.fill(s.body, p)
	}()
	return d
}

// fill reads into p from the current offset, and closes body.
func (d *download) fill(body io.ReadCloser, p []byte) error {
	defer body.Close()
	for at := d.got.Load(); at < int64(len(p)); {
		n, err := body.Read(p[at:min(at+4*least, int64(len(p)))])
		if at = d.got.Add(int64(n)); err != nil && at < int64(len(p)) {
			return &transient{cut(err)}
		}
	}
	return nil
}

// stop ends the download, which then writes nothing any more.
func (d *download) stop() {
	d.cancel()
	<-d.done
}

// A hedgeAnswer is the answer to a hedge, with its first bytes.
type hedgeAnswer struct {
	cancel context.CancelFunc
	body   io.ReadCloser // nil if it failed
	from   int64         // offset of head
	head   []byte
	err    error
}

func (s hedgeAnswer) close() {
	s.cancel()
	if s.body != nil {
		s.body.Close()
	}
}

// A hedge is a hedge without an answer yet; nil: there is none.
type hedge struct {
	cancel context.CancelFunc
	found  chan hedgeAnswer
}

func (s *hedge) answer() chan hedgeAnswer {
	if s == nil {
		return nil
	}
	return s.found
}

// cancelHedge cancels a hedge, if there is one.
func cancelHedge(s *hedge) {
	if s != nil {
		s.cancel()
		go func() { (<-s.found).close() }() // soon: its context has ended
	}
}

// sendHedge sends a hedge for the missing bytes of p.
func (o *object) sendHedge(ctx context.Context, p []byte, at, from int64) *hedge {
	ctx, cancel := context.WithCancel(ctx)
	rest, found := int64(len(p))-from, make(chan hedgeAnswer, 1)
	s := hedgeAnswer{cancel: cancel, from: from}
	go func() { // ends with ctx at the latest
		if s.body, s.err = o.ask(ctx, at+from, rest); s.err == nil {
			s.head = make([]byte, min(least, rest))
			_, s.err = io.ReadFull(s.body, s.head)
		}
		found <- s
	}()
	return &hedge{cancel, found}
}

// ask requests n bytes of this version, and checks that the answer has them.
func (o *object) ask(ctx context.Context, at, n int64) (io.ReadCloser, error) {
	if n == 0 {
		return http.NoBody, nil
	}
	r, err := o.fs.client.get(ctx, o.key, nil, http.Header{
		"Range": {fmt.Sprintf("bytes=%d-%d", at, at+n-1)}, "If-Match": {string(o.etag)},
	})
	if err != nil {
		return nil, err
	}
	if err := o.check(r, at, n); err != nil {
		r.Body.Close()
		return nil, err
	}
	return r.Body, nil
}

// check rejects an answer that is not n bytes of this version.
func (o *object) check(r *http.Response, at, n int64) error {
	tag := r.Header.Get("Etag")
	_, size, _ := strings.Cut(r.Header.Get("Content-Range"), "/")
	switch r.StatusCode {
	case http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		o.fs.Invalidate()
		return &replaced{o.fs.client.refused(o.key, r)}
	case http.StatusPartialContent:
		if tag != "" && tag != string(o.etag) || size != "*" && size != fmt.Sprint(o.size) {
			o.fs.Invalidate()
			return &replaced{fmt.Errorf("it is %s of %s bytes, not %s of %d", tag, size, o.etag, o.size)}
		}
		if got := r.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", at, at+n-1)) {
			return fmt.Errorf("the store answered with the range %.80q, not bytes %d to %d", got, at, at+n-1)
		}
		return nil
	case http.StatusOK:
		return errors.New("the store does not support ranges")
	}
	return o.fs.client.refused(o.key, r)
}

// replaced is [ErrReplaced] with the store's message.
type replaced struct{ error }

func (r *replaced) Error() string { return ErrReplaced.Error() + ": " + r.error.Error() }

// Is implements the interface of [errors.Is].
func (r *replaced) Is(target error) bool { return target == ErrReplaced || target == fs.ErrNotExist }

// cut returns the error of an answer that ended too early.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
