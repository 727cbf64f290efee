package app

import (
	"encoding/json"
	"runtime"
	"testing"
)

// Every family has the version, without a key.
func TestVersion(t *testing.T) {
	for _, cfg := range []Config{{}, {Auth: true, Accounts: emptyAccounts(t)}} {
		for _, families := range [][]string{nil, {"openai"}} {
			h := golden(t, cfg).Handler(families...)
			var got struct{ Version, Revision, Go string }
			if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/api/version", "", nil))), &got); err != nil {
				t.Fatal(err)
			}
			if got.Version != "devel" || got.Revision != "" || got.Go != runtime.Version() { // a test's program has no stamp
				t.Errorf("%v: %+v", families, got)
			}
			var doc struct{ Info struct{ Version string } }
			if err := json.Unmarshal([]byte(text(t, ask(h, "GET", "/openapi.json", "", nil))), &doc); err != nil || doc.Info.Version != got.Version {
				t.Errorf("%v: the document is of %q, %v", families, doc.Info.Version, err)
			}
		}
	}
}
