package app

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "10B": 10, "2kB": 2000, "2KiB": 2048, "1.5GiB": 3 << 29, "3 MB": 3e6, " 800MiB ": 800 << 20, "1e3": 1000,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "-1", "GiB", "8 apples", "NaN", "Inf", "1e30", "9000000000GiB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
}

func TestMemTotal(t *testing.T) {
	for s, want := range map[string]int64{
		"MemTotal:       24680 kB\nMemFree: 1 kB\n": 24680 << 10, "": math.MaxInt64, "MemTotal:": math.MaxInt64,
		"MemTotal: x kB": math.MaxInt64, "MemTotal: -5 kB": math.MaxInt64,
	} {
		if got := memTotal(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestTotalMemory(t *testing.T) {
	whole, small := totalMemory(""), totalMemory("100")
	if small != 100<<20 {
		t.Errorf("a function of 100 MB: %d", small)
	}
	if whole != 0 && whole < small {
		t.Errorf("this machine: %d", whole)
	}
}

func TestBodyMemory(t *testing.T) {
	for total, want := range map[int64]int64{0: 0, 512 << 20: 32 << 20, 4 << 30: 128 << 20, 24 << 30: 256 << 20} {
		if got := bodyMemory(total); got != want {
			t.Errorf("of %d: %d, want %d", total, got, want)
		}
	}
}

func TestRequestMemory(t *testing.T) {
	for _, test := range []struct {
		total, weights int64
		workers        int
		want           int64
	}{
		{0, 0, 3, 0}, {24 << 30, 18 << 30, 3, 1 << 30}, {2 << 30, 3 << 29, 3, (2<<30 - 3<<29) / 2 / 3},
		{1 << 30, 1 << 30, 3, minRequest}, {1 << 30, 2 << 30, 3, minRequest}, {1 << 40, 0, 1, maxRequest},
	} {
		if got := requestMemory(test.total, test.weights, test.workers); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// The heap grows lazily while the process is a gateway alone.
func TestBallast(t *testing.T) {
	a := golden(t, Config{})
	a.growLazily()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	runtime.GC()
	if metrics.Read(goal); goal[0].Value.Uint64() < 2*ballast {
		t.Errorf("the heap is collected from %d bytes on", goal[0].Value.Uint64())
	}
	if res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(`{"model":"golden","prompt":"a","max_tokens":1}`)); res.StatusCode != 200 {
		t.Fatal(text(t, res))
	}
	if a.ballast.Load() != nil {
		t.Error("a model has weights in memory, and the ballast is still there")
	}
}
