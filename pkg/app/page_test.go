package app

import (
	"net/http"
	"strings"
	"testing"

	"glossa/pkg/account"
)

// The page is public, keys or not, and is served with Alpha's own routes. With only those
// it may send requests to another server for the rest.
func TestPage(t *testing.T) {
	a := golden(t, Config{Auth: true, Keys: keys(t)})
	for family, want := range map[string]struct {
		status    int
		elsewhere bool
	}{
		"": {200, false}, "alpha": {200, true}, "openai": {404, false}, "alephalpha": {404, false},
	} {
		var families []string
		if family != "" {
			families = []string{family}
		}
		h := a.Handler(families...)
		for _, path := range []string{"/", "/docs", "/page/js/main.js"} {
			for _, key := range []string{"", secrets[account.Monitor]} {
				res := ask(h, "GET", path, key, nil)
				policy := res.Header.Get("Content-Security-Policy")
				if res.StatusCode != want.status || strings.Contains(policy, "https:") != want.elsewhere || res.StatusCode == http.StatusOK != strings.Contains(policy, "default-src 'none'") {
					t.Errorf("%q: %s: %d, policy %q", family, path, res.StatusCode, policy)
				}
			}
		}
	}
}
