// Package hub downloads models by the public URL layout of the Hugging Face hub: it
// lists the files of one commit, chooses those that the engine reads, and fetches them
// into a directory, with checksums and resumption. It refuses to know the meaning of
// files and the origin of tokens.
//
// Source: the behaviour of the hub's own client, huggingface_hub (file_download.py,
// hf_api.py, utils/_http.py, utils/_pagination.py), and the hub's documentation of rate
// limits. It relies on these facts:
//
//   - GET /api/models/REPO/revision/REVISION gives an object whose sha is the commit;
//     the revision is one escaped path element;
//   - GET /api/models/REPO/tree/COMMIT?recursive=true gives an array of {type, path,
//     size, oid, lfs: {oid, size}}: oid is git's SHA-1 of the blob, lfs.oid the SHA-256
//     of a file in large file storage; the Link header's rel="next" differs from the
//     first page's URL in its query;
//   - GET /REPO/resolve/COMMIT/PATH gives the file, or redirects: of a renamed model
//     within the host, of a stored file to another host, whose URL is signed and needs
//     no token. X-Linked-Etag (the SHA-256), X-Linked-Size and X-Repo-Commit are on
//     the redirect, not on what it leads to, whose ETag is another one;
//   - X-Error-Code is RepoNotFound, RevisionNotFound, EntryNotFound or GatedRepo, and
//     401 without it stands for models that are private or do not exist;
//   - 429 says when to come back: Retry-After, or RateLimit: "name";r=0;t=SECONDS.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// DefaultEndpoint is the public hub.
const DefaultEndpoint = "https://huggingface.co"

// DefaultConnections is the number of files that are fetched at once.
const DefaultConnections = 4

// Client is a client of a hub for one user. The zero value uses the public hub without
// an account. Its methods are safe for concurrent use.
type Client struct {
	Endpoint    string            // "": [DefaultEndpoint]
	Token       Token             // sent only to the endpoint's own scheme, host and port
	Connections int               // files fetched at once; 0: [DefaultConnections]
	Transport   http.RoundTripper // nil: [http.DefaultTransport]
	// Retrying is called before the wait for another attempt with the error of the last one, also
	// concurrently. It may be nil.
	Retrying func(err error, wait time.Duration)

	// For tests; zero values are the defaults.
	sleep func(context.Context, time.Duration) error // between two attempts
	free  func(dir string) (int64, error)            // bytes on the disk
}

// Token is a secret that does not print.
type Token string

// String hides the token.
func (t Token) String() string {
	if t == "" {
		return ""
	}
	return "[token]"
}

// GoString hides the token.
func (t Token) GoString() string { return fmt.Sprintf("%q", t.String()) }

// maxToken is the largest length of a token, in bytes.
const maxToken = 4096

// Check returns an error if t cannot be a token. The error does not contain it.
func (t Token) Check() error {
	if len(t) > maxToken {
		return fmt.Errorf("the token has more than %d bytes", maxToken)
	}
	for i := range len(t) {
		if t[i] <= ' ' || t[i] > '~' {
			return fmt.Errorf("byte %d of the token is not a printable ASCII character", i)
		}
	}
	return nil
}

// File is a file of a commit.
type File struct {
	Path   string // with slashes, of the repository's root; of a chosen file, in the directory
	Source string // its path in the repository, if that differs from Path
	Size   int64  // bytes
	SHA256 string // of the content, hexadecimal; "" unless it is in large file storage
	Blob   string // git's object name: SHA-1 of "blob SIZE\0" and the content, hexadecimal
}

// Snapshot is the contents of a commit.
type Snapshot struct {
	Repo     string // as requested
	Revision string // as requested
	Commit   string // 40 hexadecimal digits
	Files    []File // as listed: names are unchecked, see [CheckPath]
}

// A repository's name has one element (old models) or two.
var validRepo = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,95})?$`)

// CheckRepo returns an error if a repository cannot have a name: it is OWNER/NAME, or
// NAME of a model from before there were owners.
func CheckRepo(repo string) error {
	switch {
	case !validRepo.MatchString(repo):
		return fmt.Errorf("%.200q is not OWNER/NAME: use letters, digits, dots, underscores and hyphens", repo)
	case strings.Contains(repo, ".."), strings.Contains(repo, "--"):
		return fmt.Errorf("%q: a name must not have two dots or hyphens in a row", repo)
	}
	for element := range strings.SplitSeq(repo, "/") {
		if err := checkElement(element); err != nil {
			return fmt.Errorf("%q: %w", repo, err)
		}
	}
	return nil
}

// maxRevision is the largest length of a revision's name, in bytes.
const maxRevision = 255

func checkRevision(revision string) error {
	if revision == "" || len(revision) > maxRevision {
		return fmt.Errorf("a revision must have 1 to %d bytes, not %d", maxRevision, len(revision))
	}
	for _, r := range revision {
		if r <= ' ' || r == 0x7f || r == '\ufffd' {
			return fmt.Errorf("%q is not the name of a revision", revision)
		}
	}
	return nil
}

// endpoint checks the caller's settings and returns the parsed endpoint.
func (c *Client) endpoint() (*url.URL, error) {
	text := c.Endpoint
	if text == "" {
		text = DefaultEndpoint
	}
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil:
		return nil, errors.New("the endpoint is not a URL") // it may contain a password
	case u.User != nil:
		return nil, errors.New("the endpoint contains a user or password: use a token instead")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.RawQuery != "", u.Fragment != "", u.Opaque != "":
		return nil, fmt.Errorf("the endpoint %q is not of the form https://HOST", text)
	}
	if err := c.Token.Check(); err != nil {
		return nil, err
	}
	if c.Token != "" && u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("the endpoint %s is not encrypted: the token is not sent there", u)
	}
	return u, nil
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
