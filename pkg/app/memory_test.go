package app

import (
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
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
	whole, small := totalMemory(0), totalMemory(100<<20)
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

// The least bound counts of a function and of containers of either kind.
func TestBoundMemory(t *testing.T) {
	for _, test := range []struct {
		lambda, v2, v1 string
		want           int64
	}{
		{"", "", "", 0}, {"", "max\n", "", 0}, {"", "", "9223372036854771712\n", 0}, {"x", "y", "-1", 0},
		{"512", "", "", 512 << 20}, {"", "1073741824\n", "", 1 << 30}, {"", "", "1073741824\n", 1 << 30},
		{"512", "1073741824\n", "", 512 << 20}, {"2048", "max\n", "1073741824\n", 1 << 30},
	} {
		got := boundMemory(test.lambda, func(name string) ([]byte, error) {
			text := map[string]string{cgroup2: test.v2, cgroup1: test.v1}[name]
			if text == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		})
		if got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// The limit of the heap leaves room beside it, is set when there is one, and is nobody
// else's where GOMEMLIMIT says it.
func TestHeapLimit(t *testing.T) {
	for total, want := range map[int64]int64{0: 0, 64 << 20: 32 << 20, 128 << 20: 64 << 20, 512 << 20: 448 << 20, 8 << 30: 7 << 30} {
		if got := goLimit(total); got != want {
			t.Errorf("%d: %d, want %d", total, got, want)
		}
	}
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	env := map[string]string{"GLOSSA_OPEN": "true", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "100"}
	for _, test := range []struct {
		own  string
		want int64
	}{{"3GiB", was}, {"", 50 << 20}} {
		env["GOMEMLIMIT"] = test.own
		cfg, err := FromEnv(func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(cfg); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != test.want {
			t.Errorf("GOMEMLIMIT %q: %d, want %d", test.own, got, test.want)
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
