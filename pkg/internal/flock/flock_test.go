package flock

import (
	"errors"
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	path := t.TempDir() + "/lock"
	first, second := open(path), open(path) // locks belong to open files
	if err := Try(first); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("files cannot be locked here")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := Try(second); !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Try(second); err != nil {
		t.Error(err)
	}
}
