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

// peakVar configures the measured process of the tests here: whether the models are listed
// before one is opened, and the directory of the models or the address of their store.
const peakVar = "GLOSSA_TEST_PEAK"

// skipPeak skips a test that measures the peak memory of a process where that is not known.
func skipPeak(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the highest memory of a process is read from Linux's /proc")
	}
	if raced {
		t.Skip("the race detector takes several times the memory of the program")
	}
}

// Loading a model of 100 MB in S3 takes at most 1.3 times its size, including all other
// memory of the process, with prefetching or without.
func TestS3Peak(t *testing.T) {
	skipPeak(t)
	s := &buckettest.Store{}
	data := packOf(t, wide(t, 64, 8), "m")
	s.Put("root/m.safetensors", data)
	server := httptest.NewServer(s)
	defer server.Close()
	for _, first := range []string{"open", "list"} {
		ratio := peakAlone(t, first+" "+server.URL, len(data))
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

// peakAlone loads the model in a process of its own, and returns by how much its peak memory
// grows as a share of the size of the weights.
func peakAlone(t *testing.T, how string, size int) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakAlone$")
	cmd.Env = append(os.Environ(), peakVar+"="+how)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var before, after int
	if _, err := fmt.Sscanf(string(out), "peak %d %d", &before, &after); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	ratio := float64(after-before) / float64(size)
	t.Logf("%s: from %.1f MB to %.1f MB, %.2f times the model's %.1f MB", how, float64(before)/1e6, float64(after)/1e6, ratio, float64(size)/1e6)
	return ratio
}

// TestPeakAlone is the process of [peakAlone].
func TestPeakAlone(t *testing.T) {
	how := os.Getenv(peakVar)
	if how == "" {
		t.Skip("only part of other tests")
	}
	first, place, _ := strings.Cut(how, " ")
	var p *process
	if strings.HasPrefix(place, "http") {
		p = startAt(t, place)
	} else {
		p = start(t, settings{checkpoints: place})
	}
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
