package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Bounds of a hub's answers.
const (
	maxAnswer  = 32 << 20 // bytes of an API answer
	maxPages   = 1000     // of a listing
	maxFiles   = 100_000
	maxSize    = 1 << 44 // bytes of a file; 100,000 such files do not overflow
	blobDigits = 40
	shaDigits  = 64
)

// List returns the files of a revision's commit; the default revision is "main".
func (c *Client) List(ctx context.Context, repo, revision string) (*Snapshot, error) {
	if revision == "" {
		revision = "main"
	}
	if err := CheckRepo(repo); err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	if err := checkRevision(revision); err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	s := &Snapshot{Repo: repo, Revision: revision}
	r, err := c.requester(s)
	if err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	if s.Commit, err = r.commit(ctx); err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	if s.Files, err = r.tree(ctx, s.Commit); err != nil {
		return nil, fmt.Errorf("hub: listing %s: %w", repo, err)
	}
	return s, nil
}

// commit resolves the revision.
func (r *requester) commit(ctx context.Context) (string, error) {
	body, _, err := r.api(ctx, r.url("api/models/"+r.repo+"/revision/"+url.PathEscape(r.revision)))
	if err != nil {
		return "", err
	}
	var info struct {
		SHA string `json:"sha"`
	}
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("%s: %w", r.base.Host, notAHub(err))
	}
	if !isHex(info.SHA, blobDigits) {
		return "", fmt.Errorf("%s: revision %q: the answer's sha %.80q is not a commit", r.base.Host, r.revision, info.SHA)
	}
	return info.SHA, nil
}

func notAHub(err error) error {
	return fmt.Errorf("the answer is not from a Hugging Face hub: %w", err)
}

// tree lists the files of a commit, page after page.
func (r *requester) tree(ctx context.Context, commit string) ([]File, error) {
	first := r.url("api/models/" + r.repo + "/tree/" + commit)
	query := url.Values{"recursive": {"true"}}.Encode()
	var files []File
	for range maxPages {
		page := *first
		page.RawQuery = query
		body, header, err := r.api(ctx, &page)
		if err != nil {
			return nil, err
		}
		more, err := parseTree(body)
		if err != nil {
			return nil, err
		}
		if files = append(files, more...); len(files) > maxFiles {
			return nil, fmt.Errorf("more than %d files", maxFiles)
		}
		next, ok := nextQuery(header)
		if !ok {
			return files, nil
		}
		if next == query {
			return nil, fmt.Errorf("the page %.200q leads to itself", next)
		}
		query = next
	}
	return nil, fmt.Errorf("more than %d pages", maxPages)
}

// parseTree parses a page of a listing; it omits directories.
func parseTree(body []byte) ([]File, error) {
	var entries []struct {
		Type string `json:"type"`
		Path string `json:"path"`
		OID  string `json:"oid"`
		Size int64  `json:"size"`
		LFS  *struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		} `json:"lfs"`
	}
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, notAHub(err)
	}
	var files []File
	for _, e := range entries {
		if e.Type != "file" {
			continue
		}
		f := File{Path: e.Path, Size: e.Size, Blob: e.OID}
		if e.LFS != nil {
			f.Size, f.SHA256 = e.LFS.Size, e.LFS.OID
			if !isHex(f.SHA256, shaDigits) {
				return nil, fmt.Errorf("file %.200q: lfs.oid %.80q is not a SHA-256", e.Path, f.SHA256)
			}
		}
		if !isHex(f.Blob, blobDigits) {
			return nil, fmt.Errorf("file %.200q: oid %.80q is not a SHA-1", e.Path, f.Blob)
		}
		if f.Size < 0 || f.Size > maxSize {
			return nil, fmt.Errorf("file %.200q: size %d is not in 0..%d", e.Path, f.Size, int64(maxSize))
		}
		files = append(files, f)
	}
	return files, nil
}

// An entry of the Link header: <URL>; rel="next".
var link = regexp.MustCompile(`<([^<>]*)>\s*((?:;[^,;]*)*)`)

// nextQuery returns the query of the next page. Only the query is used: the page is
// requested from the endpoint, even if a mirror forwards the hub's own links.
func nextQuery(header http.Header) (string, bool) {
	for _, value := range header.Values("Link") {
		for _, match := range link.FindAllStringSubmatch(value, -1) {
			for parameter := range strings.SplitSeq(match[2], ";") {
				key, rel, _ := strings.Cut(strings.TrimSpace(parameter), "=")
				if !strings.EqualFold(key, "rel") || strings.Trim(rel, `"`) != "next" {
					continue
				}
				if u, err := url.Parse(match[1]); err == nil {
					return u.RawQuery, true
				}
			}
		}
	}
	return "", false
}

// api requests a JSON document, with retries.
func (r *requester) api(ctx context.Context, u *url.URL) (body []byte, header http.Header, err error) {
	err = r.retry(ctx, func(a *attempt) (bool, error) {
		res, _, err := r.get(a, u, nil)
		if err != nil {
			return false, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return false, r.refusal(res, "")
		}
		body, err = io.ReadAll(io.LimitReader(a.reader(res.Body), maxAnswer+1))
		if err != nil {
			return false, &connectionError{err}
		}
		if len(body) > maxAnswer {
			return false, fmt.Errorf("%s answered with more than %d bytes", u.Host, maxAnswer)
		}
		header = res.Header
		return true, nil
	})
	return body, header, err
}

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if !('0' <= s[i] && s[i] <= '9' || 'a' <= s[i] && s[i] <= 'f') {
			return false
		}
	}
	return true
}
