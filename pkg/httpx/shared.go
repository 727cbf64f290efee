package httpx

import (
	"bytes"
	"net/http"
)

// A Pick says which of the routes that share a path a request is for. It is asked
// with the header alone, when body is nil, for the shape of errors that come before
// the body was read, and then with the body. Its error is for the client, in the
// shape of the route that it picks.
type Pick func(header http.Header, body []byte) (int, error)

// Shared makes one route of several of the same method and path: the body is read
// once, within the limit, and given to the route that pick names.
func Shared(pick Pick, routes ...Route) Route {
	shared := routes[0]
	shared.Shares = routes
	for _, route := range routes {
		shared.Streams = shared.Streams || route.Streams
	}
	shared.errorsOf = func(header http.Header) Errors {
		i, _ := pick(header, nil) // what is wrong shows with the body
		return routes[i].Errors
	}
	shared.Handle = func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(r)
		if err != nil {
			return err
		}
		i, err := pick(r.Header, body)
		rec := RecordOf(r.Context())
		rec.Dialect, rec.errors = routes[i].Dialect, routes[i].Errors
		if err != nil {
			return err
		}
		return routes[i].Handle(w, withBody(r, body))
	}
	return shared
}

// withBody returns r with a body that was read and decompressed.
func withBody(r *http.Request, body []byte) *http.Request {
	read := *r
	read.Header = r.Header.Clone()
	read.Header.Del("Content-Encoding")
	read.Body, read.ContentLength = &bodyInMemory{bytes.NewReader(body), body}, int64(len(body))
	return &read
}
