package buckettest

import (
	"cmp"
	"net/http"

	"glossa/pkg/backend/awsrest/sigv4test"
)

// unsigned returns the error code of a request without a valid signature, "" if it is
// valid.
func (s *Store) unsigned(r *http.Request) string {
	if s.Keys == nil {
		return ""
	}
	g, err := sigv4test.Read(r)
	switch {
	case err != nil:
		return "AccessDenied"
	case s.Keys[g.Key] == "":
		return "InvalidAccessKeyId"
	case cmp.Or(r.URL.Query().Get("X-Amz-Security-Token"), r.Header.Get("X-Amz-Security-Token")) != s.Tokens[g.Key]:
		return "InvalidToken"
	}
	return g.Verify(r, nil, s.Keys[g.Key], s.now()) // its hash is verified when the body is read
}
