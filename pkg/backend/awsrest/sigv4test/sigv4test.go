// Package sigv4test checks signatures of requests as AWS does, for the fake services of tests.
// It refuses to know services, keys and the purpose of a request, and signs nothing.
package sigv4test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Signature is the signature of a request, from its header or its query.
type Signature struct {
	Key, Day, Region, Service string
	Headers                   []string      // the signed headers
	Expires                   time.Duration // of a signature in the query; 0: it is in the header

	value string
	time  time.Time
}

// Error codes of the services.
const (
	Expired    = "AccessDenied" // S3's code for an expired signature in a query
	TooSkewed  = "RequestTimeTooSkewed"
	OtherBody  = "XAmzContentSHA256Mismatch"
	NoMatch    = "SignatureDoesNotMatch"
	noBodySum  = "UNSIGNED-PAYLOAD"
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
)

// Read finds the signature of a request, which may have only one. Source: AWS IAM User
// Guide, "AWS Signature Version 4 for API requests".
func Read(r *http.Request) (*Signature, error) {
	s, at := &Signature{}, r.Header.Get("X-Amz-Date")
	scope, q := "", r.URL.Query()
	if (r.Header.Get("Authorization") != "") == q.Has("X-Amz-Signature") {
		return nil, errors.New("it has no signature, or two")
	}
	if q.Has("X-Amz-Signature") {
		scope, s.value, at = q.Get("X-Amz-Credential"), q.Get("X-Amz-Signature"), q.Get("X-Amz-Date")
		s.Headers = strings.Split(q.Get("X-Amz-SignedHeaders"), ";")
		seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
		if err != nil || seconds < 1 || seconds > 7*24*3600 || q.Get("X-Amz-Algorithm") != algorithm {
			return nil, fmt.Errorf("X-Amz-Expires is %q", q.Get("X-Amz-Expires"))
		}
		s.Expires = time.Duration(seconds) * time.Second
	} else {
		rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), algorithm+" ")
		if !ok {
			return nil, errors.New("it is not signed")
		}
		for part := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "Credential":
				scope = value
			case "SignedHeaders":
				s.Headers = strings.Split(value, ";")
			case "Signature":
				s.value = value
			}
		}
	}
	parts := strings.Split(scope, "/")
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return nil, fmt.Errorf("the scope %q", scope)
	}
	s.Key, s.Day, s.Region, s.Service = parts[0], parts[1], parts[2], parts[3]
	var err error
	s.time, err = time.Parse(timeFormat, at)
	return s, err
}

// Verify returns the service's error code if the request differs from the signed one or was
// signed at another time, "" if it is valid. A nil body is not checked: its hash is taken
// from the header.
func (s *Signature) Verify(r *http.Request, body []byte, secret string, now time.Time) (code string) {
	const skew = 15 * time.Minute
	switch age := now.Sub(s.time); {
	case s.Expires > 0 && age > s.Expires:
		return Expired
	case age < -skew, s.Expires == 0 && age > skew, s.time.Format("20060102") != s.Day:
		return TooSkewed
	}
	hash := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case s.Expires > 0 && hash == "":
		hash = noBodySum
	case hash == "" && s.Service != "s3":
		hash = hexHash(body)
	case body != nil && hash != hexHash(body) && hash != noBodySum:
		return OtherBody
	}
	if !slices.Contains(s.Headers, "host") || !hmac.Equal([]byte(s.value), []byte(hex.EncodeToString(s.sign(r, hash, secret)))) {
		return NoMatch
	}
	return ""
}

func (s *Signature) sign(r *http.Request, hash, secret string) []byte {
	mac := func(key []byte, text string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.Day, s.Region, s.Service, "aws4_request"} {
		key = mac(key, part)
	}
	scope := strings.Join([]string{s.Day, s.Region, s.Service, "aws4_request"}, "/")
	return mac(key, strings.Join([]string{algorithm, s.time.Format(timeFormat), scope, hexHash([]byte(s.canonical(r, hash)))}, "\n"))
}

// canonical returns the canonical form of the request.
func (s *Signature) canonical(r *http.Request, hash string) string {
	path := r.URL.EscapedPath()
	if s.Service != "s3" { // all others escape twice
		parts := strings.Split(path, "/")
		for i := range parts {
			parts[i] = escaped(parts[i])
		}
		path = strings.Join(parts, "/")
	}
	var query []string
	for name, values := range r.URL.Query() {
		for _, v := range values {
			if name != "X-Amz-Signature" {
				query = append(query, escaped(name)+"="+escaped(v))
			}
		}
	}
	slices.Sort(query)
	var headers strings.Builder
	for _, name := range s.Headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.Join(strings.Fields(value), " "))
	}
	return strings.Join([]string{r.Method, path, strings.Join(query, "&"), headers.String(), strings.Join(s.Headers, ";"), hash}, "\n")
}

// escaped percent-encodes all but the unreserved characters of RFC 3986.
func escaped(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
