package e2e

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

// A signature of a request, in its header or in its query.
type signature struct {
	key, day, region, service string
	headers                   []string // that are signed
	value                     string
	time                      time.Time
	expires                   time.Duration // of one in the query; 0: it is in the header
}

// codeExpired is what S3 says of a signature in a query that is too old.
const codeExpired = "AccessDenied"

const signatureTime = "20060102T150405Z"

// readSignature finds the signature of a request. Source: AWS IAM User Guide, "AWS
// Signature Version 4 for API requests".
func readSignature(r *http.Request) (*signature, error) {
	s, at := &signature{}, r.Header.Get("X-Amz-Date")
	scope, q := "", r.URL.Query()
	if q.Has("X-Amz-Signature") {
		scope, s.value, at = q.Get("X-Amz-Credential"), q.Get("X-Amz-Signature"), q.Get("X-Amz-Date")
		s.headers = strings.Split(q.Get("X-Amz-SignedHeaders"), ";")
		seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
		if err != nil || seconds < 1 || seconds > 7*24*3600 {
			return nil, fmt.Errorf("X-Amz-Expires is %q", q.Get("X-Amz-Expires"))
		}
		s.expires = time.Duration(seconds) * time.Second
	} else {
		rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
		if !ok {
			return nil, errors.New("it is not signed")
		}
		for part := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "Credential":
				scope = value
			case "SignedHeaders":
				s.headers = strings.Split(value, ";")
			case "Signature":
				s.value = value
			}
		}
	}
	parts := strings.Split(scope, "/")
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return nil, fmt.Errorf("the scope %q", scope)
	}
	s.key, s.day, s.region, s.service = parts[0], parts[1], parts[2], parts[3]
	var err error
	s.time, err = time.Parse(signatureTime, at)
	return s, err
}

// verify tells why a request is not what its signer signed, "" if it is: the code of the
// services' error.
func (s *signature) verify(r *http.Request, body []byte, secret string, now time.Time) (code string) {
	const skew = 15 * time.Minute
	switch age := now.Sub(s.time); {
	case s.expires > 0 && age > s.expires:
		return codeExpired
	case age < -skew, s.expires == 0 && age > skew, s.time.Format("20060102") != s.day:
		return "RequestTimeTooSkewed"
	}
	hash := r.Header.Get("X-Amz-Content-Sha256")
	own := hexHash(body)
	switch {
	case s.expires > 0 && hash == "":
		hash = "UNSIGNED-PAYLOAD"
	case hash == "" && s.service != "s3":
		hash = own
	case hash != own && hash != "UNSIGNED-PAYLOAD":
		return "XAmzContentSHA256Mismatch"
	}
	if hmac.Equal([]byte(s.value), []byte(hex.EncodeToString(s.sign(r, hash, secret)))) {
		return ""
	}
	return "SignatureDoesNotMatch"
}

func (s *signature) sign(r *http.Request, hash, secret string) []byte {
	mac := func(key []byte, text string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.day, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	scope := strings.Join([]string{s.day, s.region, s.service, "aws4_request"}, "/")
	return mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", s.time.Format(signatureTime), scope, hexHash([]byte(s.canonical(r, hash)))}, "\n"))
}

// canonical is the request as it is signed.
func (s *signature) canonical(r *http.Request, hash string) string {
	path := r.URL.EscapedPath()
	if s.service != "s3" { // all others escape what is escaped
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
	for _, name := range s.headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.Join(strings.Fields(value), " "))
	}
	return strings.Join([]string{r.Method, path, strings.Join(query, "&"), headers.String(), strings.Join(s.headers, ";"), hash}, "\n")
}

// escaped has all but the unreserved characters of RFC 3986 in hexadecimal.
func escaped(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func hexHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
