package httpx

import (
	"bytes"
	"cmp"
	"net/http"
)

// A Pick returns the index of the route that a request is for, among those that share
// a path. It is called with a nil body for the error shape before the body was read,
// and then with the body. Its error is for the client, in the shape of the route that
// it picks.
type Pick func(header http.Header, body []byte) (int, error)

// Shared combines several routes of the same method and path into one: the body is
// read once, within the limit, and passed to the route that pick names, which may be a combined one too. The
// dialect of a route without one is that of the combined route.
func Shared(pick Pick, routes ...Route) Route {
	shared := routes[0]
	shared.Shares = nil
	for _, route := range routes {
		shared.Streams = shared.Streams || route.Streams
		if len(route.Shares) > 0 {
			shared.Shares = append(shared.Shares, route.Shares...)
		} else {
			shared.Shares = append(shared.Shares, route)
		}
	}
	shared.errorsOf = func(header http.Header) Errors {
		i, _ := pick(header, nil) // errors recur when the body is there
		return routes[i].shape(header)
	}
	shared.Handle = func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(r)
		if err != nil {
			return err
		}
		i, err := pick(r.Header, body)
		rec := RecordOf(r.Context())
		rec.Dialect, rec.errors = cmp.Or(routes[i].Dialect, rec.Dialect), routes[i].Errors
		if err != nil {
			return err
		}
		return routes[i].Handle(w, withBody(r, body))
	}
	return shared
}

// withBody returns r with a body that was already read and decompressed.
func withBody(r *http.Request, body []byte) *http.Request {
	read := *r
	read.Header = r.Header.Clone()
	read.Header.Del("Content-Encoding")
	read.Body, read.ContentLength = &bodyInMemory{bytes.NewReader(body), body}, int64(len(body))
	return &read
}
