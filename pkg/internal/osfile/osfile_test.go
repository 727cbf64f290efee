package osfile

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestSyncDir(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err := SyncDir(dir, err); err != nil {
		t.Error(err)
	}
	if err := dir.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("it stays open: %v", err)
	}
	if err := SyncDir(os.Open("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestUnmarked(t *testing.T) {
	for text, want := range map[string]string{"": "", "\ufeff": "", "\ufeff{}": "{}", "{}\ufeff": "{}\ufeff", "\ufeff\ufeff": "\ufeff"} {
		if got := Unmarked([]byte(text)); string(got) != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestIsDevice(t *testing.T) {
	for _, name := range []string{"con", "CON", "Nul.txt", "com1", "LPT9.tar.gz", "aux .x", "conin$", "CONOUT$.txt"} {
		if !IsDevice(name) {
			t.Errorf("%q is not a device", name)
		}
	}
	for _, name := range []string{"", "console", "com", "com10", "x.con", "a-nul", "lpt"} {
		if IsDevice(name) {
			t.Errorf("%q is a device", name)
		}
	}
}
