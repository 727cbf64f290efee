package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"glossa/pkg/version"
)

const (
	maxRedirects = 10
	stallTime    = time.Minute // time without a byte after which a connection is closed
)

// requester sends requests about one repository.
type requester struct {
	base           *url.URL
	token          Token
	repo, revision string
	agent          string // User-Agent
	client         http.Client
	sleep          func(context.Context, time.Duration) error
	retrying       func(error, time.Duration) // nil: not reported
}

func (c *Client) requester(s *Snapshot) (*requester, error) {
	base, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	r := &requester{base: base, token: c.Token, repo: s.Repo, revision: s.Revision, agent: version.UserAgent(), retrying: c.Retrying}
	r.client.Transport = c.Transport
	// get follows redirects itself: it needs the headers of each, and decides which hosts
	// get the token.
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if r.sleep = c.sleep; r.sleep == nil {
		r.sleep = sleep
	}
	return r, nil
}

// url returns the address of an escaped path below the endpoint.
func (r *requester) url(escaped string) *url.URL {
	u := *r.base
	u.RawPath = r.base.EscapedPath() + "/" + escaped
	u.Path, _ = url.PathUnescape(u.RawPath) // we escaped it ourselves
	return &u
}

// fileURL returns the address of a file of a commit.
func (r *requester) fileURL(commit, path string) *url.URL {
	elements := strings.Split(path, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return r.url(r.repo + "/resolve/" + commit + "/" + strings.Join(elements, "/"))
}

// ours reports whether u is on the endpoint's own server.
func (r *requester) ours(u *url.URL) bool { return u.Scheme == r.base.Scheme && u.Host == r.base.Host }

// linked holds the endpoint's own headers for a file, including those of redirects.
type linked struct {
	etag   string // X-Linked-Etag, or the ETag of a file that the endpoint itself sends
	size   string // X-Linked-Size
	commit string // X-Repo-Commit
}

func (l *linked) add(h http.Header) {
	l.etag = cmp.Or(l.etag, h.Get("X-Linked-Etag"))
	l.size = cmp.Or(l.size, h.Get("X-Linked-Size"))
	l.commit = cmp.Or(l.commit, h.Get("X-Repo-Commit"))
}

// get requests u and follows redirects. The caller closes the body.
func (r *requester) get(a *attempt, u *url.URL, header http.Header) (*http.Response, linked, error) {
	var l linked
	for range maxRedirects {
		res, err := r.send(a, u, header)
		if err != nil {
			return nil, l, err
		}
		ours := r.ours(u)
		if ours {
			l.add(res.Header)
		}
		switch res.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			if ours {
				l.etag = cmp.Or(l.etag, res.Header.Get("ETag"))
			}
			return res, l, nil
		}
		res.Body.Close()
		next, err := res.Location()
		switch {
		case err != nil:
			return nil, l, fmt.Errorf("%s redirects without a location", u.Host)
		case next.Scheme != "https" && (next.Scheme != "http" || u.Scheme != "http"), next.Host == "", next.User != nil:
			return nil, l, fmt.Errorf("%s redirects to %s://%s, which is not allowed", u.Host, next.Scheme, next.Host)
		}
		u = next
	}
	return nil, l, fmt.Errorf("more than %d redirects, the last to %s", maxRedirects, u.Host)
}

// send sends one request. Its errors contain no query, which may be signed.
func (r *requester) send(a *attempt, u *url.URL, header http.Header) (*http.Response, error) {
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}).WithContext(a.ctx)
	for key, values := range header {
		req.Header[key] = values
	}
	req.Header.Set("User-Agent", r.agent)
	req.Header.Set("Accept-Encoding", "identity") // sizes and ranges count bytes of the file
	if r.token != "" && r.ours(u) {
		req.Header.Set("Authorization", "Bearer "+string(r.token))
	}
	res, err := r.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, &connectionError{fmt.Errorf("%s: %w", u.Host, err)}
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		res.Body.Close()
		return nil, fmt.Errorf("%s answered in the encoding %.40q, which was not requested", u.Host, encoding)
	}
	return res, nil
}

// attempt is one attempt of a request. It ends when no bytes arrive for too long.
type attempt struct {
	ctx   context.Context
	timer *time.Timer
}

// reader reads a body and keeps the attempt alive while bytes arrive.
func (a *attempt) reader(body io.Reader) io.Reader { return &watched{a, body} }

type watched struct {
	*attempt
	body io.Reader
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if n > 0 {
		w.timer.Reset(stallTime)
	}
	return n, err
}
