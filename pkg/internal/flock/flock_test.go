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

// Those who share a file keep others from having it alone, and the one that had it alone shares it.
func TestShare(t *testing.T) {
	path := t.TempDir() + "/lock"
	var files []*os.File
	for range 3 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		files = append(files, f)
	}
	if err := Try(files[0]); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("files cannot be locked here")
	} else if err != nil {
		t.Fatal(err)
	}
	for _, f := range files[:2] {
		if err := Share(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files[:2] {
		if err := Try(files[2]); !errors.Is(err, ErrLocked) {
			t.Errorf("%v", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Try(files[2]); err != nil {
		t.Error(err)
	}
}
