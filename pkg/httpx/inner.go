package httpx

import (
	"net/http"
	"strings"
)

// inner is a pattern with a wildcard {name...} before its end, which [http.ServeMux]
// does not support: /v1/engines/{id...}/logprob. Its value may hold slashes, as names
// of models do, whether clients and gateways send them literally or as %2F.
type inner struct{ prefix, suffix string }

// innerOf returns the inner wildcard of a pattern and the pattern for ServeMux, where
// the wildcard is one segment.
func innerOf(pattern string) (in inner, plain string, ok bool) {
	before, after, ok := strings.Cut(pattern, "...}/")
	if !ok {
		return in, pattern, false
	}
	open := strings.LastIndexByte(before, '{')
	return inner{pattern[:open], "/" + after}, before + "}/" + after, true
}

// value returns the value of the wildcard in an escaped path.
func (in inner) value(path string) (string, bool) {
	value, ok := strings.CutPrefix(path, in.prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(value, in.suffix)
}

// fold makes one segment of the value of an inner wildcard: its slashes become %2F.
func fold(list []inner, next http.Handler) http.Handler {
	if len(list) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		for _, in := range list {
			value, ok := in.value(path)
			if !ok || !strings.Contains(value, "/") {
				continue
			}
			folded, url := *r, *r.URL // as http.StripPrefix does
			url.RawPath = in.prefix + strings.ReplaceAll(value, "/", "%2F") + in.suffix
			folded.URL, r = &url, &folded
			break
		}
		next.ServeHTTP(w, r)
	})
}
