package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
)

// A tensor that is dropped leaves the memory of the process, but for pages that it shares.
func TestDropFrees(t *testing.T) {
	const size = 8 << 20
	name := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(name, newPack(t, 64, size, 64).data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := checkpoint.Open(os.DirFS(filepath.Dir(name)), "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Fetch(nil, func(tensor int) bool { return tensor == 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	for range 2 {
		if err := got.Check(1); err != nil {
			t.Fatal(err)
		}
		if n := resident(t, name); n < size {
			t.Errorf("%d bytes of the file are in memory after a tensor of %d was read", n, size)
		}
		got.Drop(1)
		if n := resident(t, name); n > 64<<10 {
			t.Errorf("%d bytes of the file are in memory after it was dropped", n)
		}
	}
}

// resident returns the bytes of a mapped file in the memory of the process.
func resident(t *testing.T, name string) (bytes int64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	mapped := false
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); strings.Contains(fields[0], "-") {
			mapped = strings.HasSuffix(strings.TrimSpace(line), name)
		}
		var kib int64
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); mapped && n == 1 {
			bytes += kib << 10
		}
	}
	return bytes
}
