package httpx

import (
	"net/http"
	"strings"
)

// IgnoredHeader names what was left out of a request.
const IgnoredHeader = "X-Glossa-Ignored"

// Ignore adds names to [IgnoredHeader].
func Ignore(h http.Header, names ...string) {
	if before := h.Get(IgnoredHeader); before != "" {
		names = append([]string{before}, names...)
	}
	if len(names) > 0 {
		h.Set(IgnoredHeader, strings.Join(names, ", "))
	}
}
