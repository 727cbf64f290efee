package app

import (
	"strings"
	"testing"

	"glossa/pkg/account"
)

// How long a model stays in memory is for administrators to say where there are keys, since others use
// it too, and for all where there are none.
func TestKeepAlive(t *testing.T) {
	for _, c := range []struct {
		auth bool
		role account.Role
		sets bool
	}{{true, account.Client, false}, {true, account.Admin, true}, {false, "", true}} {
		cfg := Config{}
		if c.auth {
			cfg = Config{Auth: true, Keys: keys(t)}
		}
		a := golden(t, cfg)
		h := a.Handler()
		key := ""
		if c.auth {
			key = secrets[c.role]
		}
		body := `{"model":"golden","prompt":"a","stream":false,"options":{"num_predict":1},"keep_alive":"1h"}`
		if res := ask(h, "POST", "/api/generate", key, strings.NewReader(body)); res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, text(t, res))
		}
		if held := a.catalog.Held(); len(held) != 1 || held[0].Leaves.IsZero() == c.sets {
			t.Errorf("%+v: %+v", c, held)
		}
		if ps := text(t, ask(h, "GET", "/api/ps", key, nil)); !strings.Contains(ps, `"golden:latest"`) {
			t.Errorf("%+v: %s", c, ps)
		}
	}
}
