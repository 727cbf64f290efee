package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate fails when the generator was changed but not run.
func TestUpToDate(t *testing.T) {
	list, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range list {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./pkg/engine/kernel (%v)", name, err)
		}
	}
}
