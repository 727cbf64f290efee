package local

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"glossa/pkg/bucket/buckettest"
)

// peakVar configures the measured process of TestS3Peak: the address of the store, and
// whether the models are listed before one is opened.
const peakVar = "GLOSSA_TEST_PEAK"

// Loading a model of 100 MB in S3 takes at most 1.3 times its size, including all other
// memory of the process, with prefetching or without.
func TestS3Peak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the highest memory of a process is read from Linux's /proc")
	}
	if raced {
		t.Skip("the race detector takes several times the memory of the program")
	}
	if how := os.Getenv(peakVar); how != "" {
		loadAlone(t, how)
		return
	}
	s := &buckettest.Store{}
	s.Put("root/m.safetensors", packOf(t, wide(t, 64, 8), "m"))
	size := len(packOf(t, wide(t, 64, 8), "m"))
	server := httptest.NewServer(s)
	defer server.Close()
	for _, first := range []string{"open", "list"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestS3Peak$")
		cmd.Env = append(os.Environ(), peakVar+"="+first+" "+server.URL)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var before, after int
		if _, err := fmt.Sscanf(string(out), "peak %d %d", &before, &after); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		ratio := float64(after-before) / float64(size)
		t.Logf("%s first: from %.1f MB to %.1f MB, %.2f times the model's %.1f MB", first, float64(before)/1e6, float64(after)/1e6, ratio, float64(size)/1e6)
		if ratio > 1.3 || ratio < 0.9 {
			t.Errorf("%s first: loading takes %.2f times the weights", first, ratio)
		}
		ranges := map[string]int{}
		for _, key := range s.Asked() {
			ranges[key]++
		}
		for key, n := range ranges {
			if n > 1 && strings.Contains(key, "bytes=") {
				t.Errorf("%s first: %s was asked for %d times", first, key, n)
			}
		}
	}
}

// loadAlone loads the model and returns the highest memory before and after.
func loadAlone(t *testing.T, how string) {
	first, url, _ := strings.Cut(how, " ")
	p := startAt(t, url)
	before := highest(t)
	if first == "list" {
		if list, err := p.List(context.Background()); err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
	}
	firstToken(t, p)
	fmt.Printf("peak %d %d\n", before, highest(t))
}

// highest returns the peak memory of this process, in bytes.
func highest(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
