package hub

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// minProgress is the number of bytes of an attempt that count as progress and reset the
// count of failures.
const minProgress = 1 << 20

// part is a file that is being fetched.
type part struct {
	File
	d      *Download
	file   *os.File
	hash   hash.Hash // of the first size bytes
	size   int64     // bytes present
	etag   string    // of the server that sent the bytes
	faults int       // number of complete downloads with a wrong sum
}

// fetch makes the part of f complete and checks it.
func (d *Download) fetch(ctx context.Context, f File) error {
	p, err := d.openPart(ctx, f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	defer p.file.Close()
	if p.hash == nil { // checked by an earlier download
		return nil
	}
	err = d.retry(ctx, func(a *attempt) (bool, error) {
		from := p.size
		err := p.receive(a)
		return p.size-from >= minProgress, err
	})
	if _, ok := errors.AsType[*StatusError](err); ok || err == nil || ctx.Err() != nil {
		return err // it names the file
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}

// openPart opens the part of f and hashes the bytes present.
func (d *Download) openPart(ctx context.Context, f File) (*part, error) {
	name := partName(f.Path)
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	there := d.partSize(f)
	file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &part{File: f, d: d, file: file, hash: f.digest()}
	d.mu.Lock()
	known := d.manifest.Parts[f.Path]
	d.mu.Unlock()
	if info, err := file.Stat(); err == nil && there == f.Size && known.checked(info) {
		p.hash = nil
		d.done.Add(f.Size)
		d.complete.Add(1)
		return p, nil
	}
	if err = file.Truncate(there); err == nil {
		p.etag = known.ETag
		p.size, err = io.Copy(p.hash, &interruptible{ctx, file})
		d.done.Add(p.size)
	}
	if err == nil && there == 0 {
		err = p.note(record{Size: f.Size, Sum: f.sum()})
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// note records the state of the part.
func (p *part) note(r record) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	r.Source = p.Source
	p.d.manifest.Parts[p.Path] = r
	return p.d.manifest.write(p.d.root, false)
}

// restart empties the part.
func (p *part) restart() error {
	p.d.done.Add(-p.size)
	p.size, p.hash, p.etag = 0, p.digest(), ""
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

// receive requests the missing bytes of the part, and checks it when it is complete.
func (p *part) receive(a *attempt) error {
	if p.size < p.Size {
		if err := p.request(a); err != nil {
			return err
		}
	}
	err := p.check(p.hash)
	if err == nil {
		return p.finish()
	}
	if p.faults++; p.faults > 1 {
		return err
	}
	// Earlier bytes may be of another version, or damaged in transit.
	if err := p.restart(); err != nil {
		return err
	}
	return &connectionError{err}
}

// finish records that the part is complete and checked.
func (p *part) finish() error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.d.complete.Add(1)
	return p.note(record{Size: p.Size, Sum: p.sum(), Modified: info.ModTime()})
}

// request requests the bytes from p.size on and appends them.
func (p *part) request(a *attempt) error {
	header := http.Header{}
	if p.size > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		if p.etag != "" {
			header.Set("If-Range", p.etag) // if it differs, the server sends the whole file
		}
	}
	res, l, err := p.d.get(a, p.d.fileURL(p.d.snapshot.Commit, p.source()), header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusPartialContent {
		if err := p.sameFile(l); err != nil {
			return err
		}
	}
	if err := p.place(res); err != nil {
		return err
	}
	if n := res.ContentLength; n >= 0 && n != p.Size-p.size {
		return &connectionError{fmt.Errorf("%s sent %d bytes instead of the missing %d", res.Request.URL.Host, n, p.Size-p.size)}
	}
	if etag := strong(res.Header.Get("ETag")); etag != p.etag {
		p.etag = etag
		if err := p.note(record{Size: p.Size, Sum: p.sum(), ETag: etag}); err != nil {
			return err
		}
	}
	return p.append(a.reader(res.Body))
}

// place positions the part for the bytes of the answer.
func (p *part) place(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
		if p.size > 0 { // the file has changed, or the server does not support ranges
			return p.restart()
		}
		return nil
	case http.StatusPartialContent:
		what := res.Header.Get("Content-Range")
		etag := strong(res.Header.Get("ETag"))
		if p.size > 0 && what == fmt.Sprintf("bytes %d-%d/%d", p.size, p.Size-1, p.Size) && (p.etag == "" || etag == "" || etag == p.etag) {
			return nil
		}
		if err := p.restart(); err != nil {
			return err
		}
		return &connectionError{fmt.Errorf("%s answered with the range %.80q of another file", res.Request.URL.Host, what)}
	case http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed:
		if err := p.restart(); err != nil {
			return err
		}
		return &connectionError{fmt.Errorf("%s has a file of another length", res.Request.URL.Host)}
	}
	return p.d.refusal(res, p.source())
}

// append appends a body to the part.
func (p *part) append(body io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if int64(n) > p.Size-p.size {
			return &connectionError{errors.Join(errors.New("more bytes than the file has"), p.restart())}
		}
		if n > 0 {
			if _, err := p.file.Write(buffer[:n]); err != nil {
				return err
			}
			p.hash.Write(buffer[:n])
			p.size += int64(n)
			p.d.done.Add(int64(n))
		}
		switch {
		case err == io.EOF && p.size == p.Size:
			return nil
		case err == io.EOF:
			return &connectionError{fmt.Errorf("after %d of %d bytes: %w", p.size, p.Size, io.ErrUnexpectedEOF)}
		case err != nil:
			return &connectionError{fmt.Errorf("after %d of %d bytes: %w", p.size, p.Size, err)}
		}
	}
}

// sameFile compares the endpoint's headers for the file with its listing.
func (p *part) sameFile(l linked) error {
	etag := strings.Trim(strings.TrimPrefix(l.etag, "W/"), `"`)
	size, err := strconv.ParseInt(l.size, 10, 64)
	switch {
	case l.commit != "" && l.commit != p.d.snapshot.Commit:
		return fmt.Errorf("it comes from commit %.80q, not %s: pull again", l.commit, p.d.snapshot.Commit)
	case isHex(etag, shaDigits) && p.SHA256 != "" && etag != p.SHA256,
		isHex(etag, blobDigits) && p.SHA256 == "" && etag != p.Blob,
		err == nil && p.SHA256 != "" && size != p.Size:
		return fmt.Errorf("the hub's content differs from its listing (%.80q, %d bytes): pull again", etag, size)
	}
	return nil
}

// An entity tag that guarantees equal bytes.
var strongTag = regexp.MustCompile(`^"[!#-~]{0,256}"$`)

// strong returns a strong entity tag, and "" for any other.
func strong(etag string) string {
	if strongTag.MatchString(etag) {
		return etag
	}
	return ""
}
