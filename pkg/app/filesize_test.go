//go:build unix

package app

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"glossa/pkg/account"
)

// If no file may grow to the size of a model, as on a full disk, an upload is 507 in the
// dialect's shape, and the process survives.
func TestUploadWhereFilesMayNotGrow(t *testing.T) {
	const child = "APP_FILES_MAY_NOT_GROW"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUploadWhereFilesMayNotGrow$")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	a := golden(t, Config{Keys: keys(t)})
	h := a.Handler()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 10, Max: 1 << 10}); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{upload(t, "sent"), strings.Repeat(" ", 4<<10)} {
		res := ask(h, "POST", "/api/upload", secrets[account.Worker], strings.NewReader(body))
		if got := text(t, res); res.StatusCode != http.StatusInsufficientStorage || !strings.HasPrefix(got, `{"error":"the server's disk is full`) {
			t.Errorf("%d %s", res.StatusCode, got)
		}
	}
	entries, err := os.ReadDir(a.cfg.Checkpoints)
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), ".upload") {
			t.Errorf("%s is left", e.Name())
		}
	}
}
