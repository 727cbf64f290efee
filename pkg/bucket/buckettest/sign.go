package buckettest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	isoTime   = "20060102T150405Z"
	maxSkew   = 15 * time.Minute
	maxExpiry = 7 * 24 * time.Hour
)

// A signature is what a request says of how it was signed.
type signature struct {
	scope   []string // access key, day, region, service, "aws4_request"
	headers []string
	value   string
	time    string
	hash    string        // of the body
	lasts   time.Duration // of a URL; 0: the headers are signed
}

// unsigned returns the code of the error of a request that is not signed as it should be,
// "" if it is.
func (s *Store) unsigned(r *http.Request) string {
	if s.Keys == nil {
		return ""
	}
	g, ok := signatureOf(r)
	if !ok {
		return "AccessDenied"
	}
	key := g.scope[0]
	signed, err := time.Parse(isoTime, g.time)
	switch age := s.now().Sub(signed); {
	case s.Keys[key] == "":
		return "InvalidAccessKeyId"
	case err != nil || !strings.HasPrefix(g.time, g.scope[1]):
		return "AuthorizationQueryParametersError"
	case g.lasts == 0 && (age > maxSkew || age < -maxSkew):
		return "RequestTimeTooSkewed"
	case g.lasts > 0 && (age > g.lasts || age < -maxSkew || g.lasts > maxExpiry):
		return "AccessDenied" // "Request has expired"
	case cmp.Or(r.URL.Query().Get("X-Amz-Security-Token"), r.Header.Get("X-Amz-Security-Token")) != s.Tokens[key]:
		return "InvalidToken"
	case !slices.Contains(g.headers, "host") || g.value != s.sign(r, g):
		return "SignatureDoesNotMatch"
	}
	return ""
}

// signatureOf reads the signature of a request, which has one place.
func signatureOf(r *http.Request) (g signature, ok bool) {
	query := r.URL.Query()
	header := r.Header.Get("Authorization")
	if (header != "") == query.Has("X-Amz-Signature") {
		return g, false
	}
	if header == "" {
		seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
		g = signature{
			strings.Split(query.Get("X-Amz-Credential"), "/"), strings.Split(query.Get("X-Amz-SignedHeaders"), ";"),
			query.Get("X-Amz-Signature"), query.Get("X-Amz-Date"), "UNSIGNED-PAYLOAD", time.Duration(seconds) * time.Second,
		}
		return g, err == nil && seconds > 0 && query.Get("X-Amz-Algorithm") == algorithm && len(g.scope) == 5
	}
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	g.time, g.hash = r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Content-Sha256")
	for part := range strings.SplitSeq(rest, ", ") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "Credential":
			g.scope = strings.Split(value, "/")
		case "SignedHeaders":
			g.headers = strings.Split(value, ";")
		case "Signature":
			g.value = value
		}
	}
	return g, ok && len(g.scope) == 5 && g.hash != ""
}

// sign computes the signature that the request should have.
func (s *Store) sign(r *http.Request, g signature) string {
	var headers strings.Builder
	for _, name := range g.headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	query := r.URL.Query()
	query.Del("X-Amz-Signature")
	canonical := strings.Join([]string{
		r.Method, escapePath(r.URL.Path), strings.ReplaceAll(query.Encode(), "+", "%20"), headers.String(), strings.Join(g.headers, ";"), g.hash,
	}, "\n")
	hash := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, g.time, strings.Join(g.scope[1:], "/"), hex.EncodeToString(hash[:])}, "\n")
	key := []byte("AWS4" + s.Keys[g.scope[0]])
	for _, part := range append(slices.Clone(g.scope[1:]), text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// escapePath escapes all but unreserved characters and slashes.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
	}
	return strings.Join(parts, "/")
}
