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

// What a request brings in a window of [Config.Stall] must not be less than this, bytes,
// or the same is asked beside it; one that brings as little for so many windows is given
// up.
const (
	least    = 64 << 10
	hopeless = 5
)

var errStalled = errors.New("the store is too slow")

// An object is one version of it.
type object struct {
	fs   *FS
	key  string
	size int64
	etag ETag
}

func (o *object) url() string { return Scheme + o.fs.cfg.Bucket + "/" + o.key }

// read fills p from a byte on and returns how many bytes came. What came before a failure
// is not asked for again.
func (o *object) read(ctx context.Context, p []byte, at int64) (done int64, err error) {
	for done < int64(len(p)) && err == nil {
		before := done
		err = o.fs.client.again(ctx, func() error {
			n, err := o.stretch(ctx, p[done:], at+done)
			if done += n; err != nil && done-before >= least {
				return nil // it got on: the attempts are counted anew
			}
			return err
		})
	}
	return done, err
}

// stretch fills p by one request, or by one that is asked beside it while it stalls.
func (o *object) stretch(ctx context.Context, p []byte, at int64) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := o.begin(ctx, p, at)
	window := time.NewTicker(o.fs.client.stall)
	defer window.Stop()
	var beside *search
	defer func() { leave(beside) }()
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
			case idle%2 == 1: // and instead of one that brought nothing for two windows
				leave(beside)
				beside = o.beside(ctx, p, at, got)
			}
		case s := <-beside.spare():
			beside = nil
			if s.err != nil || d.got.Load()-s.from >= int64(len(s.head)) { // no better
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

// A download fills a slice with an answer. Its goroutine ends with the answer or with its
// context.
type download struct {
	cancel context.CancelFunc
	got    atomic.Int64  // bytes
	done   chan struct{} // closed when the goroutine has ended
	err    error         // set then
}

// begin asks for what fills p.
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

// follow goes on with an answer whose head p has.
func follow(s spare, p []byte) *download {
	d := &download{done: make(chan struct{}), cancel: s.cancel}
	d.got.Store(s.from + int64(len(s.head)))
	go func() {
		defer close(d.done)
		defer d.cancel()
		d.err = d.fill(s.body, p)
	}()
	return d
}

// fill reads into p from where it got to, and closes body.
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

// stop ends the download, which writes nothing any more then.
func (d *download) stop() {
	d.cancel()
	<-d.done
}

// A spare is an answer that was asked for beside another, with its first bytes.
type spare struct {
	cancel context.CancelFunc
	body   io.ReadCloser // nil if it failed
	from   int64         // where head belongs
	head   []byte
	err    error
}

func (s spare) close() {
	s.cancel()
	if s.body != nil {
		s.body.Close()
	}
}

// A search is a spare that is on its way; nil: none is.
type search struct {
	cancel context.CancelFunc
	found  chan spare
}

func (s *search) spare() chan spare {
	if s == nil {
		return nil
	}
	return s.found
}

// leave gives up a search.
func leave(s *search) {
	if s != nil {
		s.cancel()
		go func() { (<-s.found).close() }() // soon: its context has ended
	}
}

// beside asks for what is missing of p.
func (o *object) beside(ctx context.Context, p []byte, at, from int64) *search {
	ctx, cancel := context.WithCancel(ctx)
	rest, found := int64(len(p))-from, make(chan spare, 1)
	s := spare{cancel: cancel, from: from}
	go func() { // it ends with ctx at the latest
		if s.body, s.err = o.ask(ctx, at+from, rest); s.err == nil {
			s.head = make([]byte, min(least, rest))
			_, s.err = io.ReadFull(s.body, s.head)
		}
		found <- s
	}()
	return &search{cancel, found}
}

// ask sends the request for n bytes of this version, and checks that the answer has them.
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

// check refuses an answer that is not n bytes of this version.
func (o *object) check(r *http.Response, at, n int64) error {
	tag := r.Header.Get("Etag")
	_, size, _ := strings.Cut(r.Header.Get("Content-Range"), "/")
	switch r.StatusCode {
	case http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		o.fs.Forget()
		return &replaced{o.fs.client.refused(o.key, r)}
	case http.StatusPartialContent:
		if tag != "" && tag != string(o.etag) || size != "*" && size != fmt.Sprint(o.size) {
			o.fs.Forget()
			return &replaced{fmt.Errorf("it is %s of %s bytes, not %s of %d", tag, size, o.etag, o.size)}
		}
		if got := r.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", at, at+n-1)) {
			return fmt.Errorf("the store answers with the range %.80q where bytes %d to %d were asked for", got, at, at+n-1)
		}
		return nil
	case http.StatusOK:
		return errors.New("the store sends no ranges")
	}
	return o.fs.client.refused(o.key, r)
}

// replaced is [ErrReplaced] with what the store says.
type replaced struct{ error }

func (r *replaced) Error() string { return ErrReplaced.Error() + ": " + r.error.Error() }

// Is implements what [errors.Is] asks.
func (r *replaced) Is(target error) bool { return target == ErrReplaced || target == fs.ErrNotExist }

// cut says of an answer that it has ended too early.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
