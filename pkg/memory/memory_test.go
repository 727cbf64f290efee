package memory

import (
	"io/fs"
	"math"
	"testing"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1B": 1, "10B": 10, "2kB": 2000, "2KiB": 2048, "1.5GiB": 3 << 29, "3 MB": 3e6, " 800MiB ": 800 << 20, "1e6": 1e6,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "-1", "GiB", "8 apples", "NaN", "Inf", "1e30", "9000000000GiB", "999999"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
	if _, err := ParseSize("8"); err == nil || err.Error() != `"8" is a size of 8 bytes: did you mean 8GB?` {
		t.Error(err)
	}
}

func TestParseMeminfo(t *testing.T) {
	for s, want := range map[string]int64{
		"MemTotal:       24680 kB\nMemFree: 1 kB\n": 24680 << 10, "": math.MaxInt64, "MemTotal:": math.MaxInt64,
		"MemTotal: x kB": math.MaxInt64, "MemTotal: -5 kB": math.MaxInt64,
	} {
		if got := parseMeminfo(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestTotal(t *testing.T) {
	machine := func(name string) ([]byte, error) {
		if name != meminfo {
			return nil, fs.ErrNotExist
		}
		return []byte("MemTotal: 1048576 kB\n"), nil
	}
	unknown := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for _, test := range []struct {
		bound int64
		read  func(string) ([]byte, error)
		want  int64
	}{{0, machine, 1 << 30}, {100 << 20, machine, 100 << 20}, {2 << 30, machine, 1 << 30}, {0, unknown, 0}, {100 << 20, unknown, 100 << 20}} {
		if got := totalOf(test.bound, test.read); got != test.want {
			t.Errorf("bound %d: %d, want %d", test.bound, got, test.want)
		}
	}
}

// Detect applies the bound of a function to the machine's memory.
func TestDetect(t *testing.T) {
	if got := Detect("100"); got.Bound == 0 || got.Bound > 100<<20 || got.Total != got.Bound {
		t.Errorf("a function of 100 MB: %+v", got)
	}
}

// Prefixes yield their memory to models.
func TestPrefixes(t *testing.T) {
	for _, test := range []struct{ weights, open, request, want int64 }{
		{0, 0, 1 << 30, 0}, {8 << 30, 0, 1 << 30, 2 << 30}, {8 << 30, 4 << 30, 1 << 30, 1 << 30},
		{8 << 30, 8 << 30, 1 << 30, 128 << 20}, {8 << 30, 9 << 30, 64 << 20, 8 << 20}, {8 << 30, 8 << 30, 0, 0},
	} {
		if got := Prefixes(test.weights, test.open, test.request); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

func TestBodies(t *testing.T) {
	for total, want := range map[int64]int64{0: 0, 512 << 20: 32 << 20, 4 << 30: 128 << 20, 24 << 30: 256 << 20} {
		if got := (Limits{Total: total}).Bodies(); got != want {
			t.Errorf("of %d: %d, want %d", total, got, want)
		}
	}
}

// The least bound counts of a function and of containers of either kind.
func TestBound(t *testing.T) {
	for _, test := range []struct {
		lambda, v2, v1 string
		want           int64
	}{
		{"", "", "", 0}, {"", "max\n", "", 0}, {"", "", "9223372036854771712\n", 0}, {"x", "y", "-1", 0},
		{"512", "", "", 512 << 20}, {"", "1073741824\n", "", 1 << 30}, {"", "", "1073741824\n", 1 << 30},
		{"512", "1073741824\n", "", 512 << 20}, {"2048", "max\n", "1073741824\n", 1 << 30},
	} {
		got := boundOf(test.lambda, func(name string) ([]byte, error) {
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

// The limit of the heap leaves room for memory outside the heap.
func TestHeap(t *testing.T) {
	for bound, want := range map[int64]int64{0: 0, 64 << 20: 32 << 20, 128 << 20: 64 << 20, 512 << 20: 448 << 20, 8 << 30: 7 << 30} {
		if got := (Limits{Bound: bound}).Heap(); got != want {
			t.Errorf("%d: %d, want %d", bound, got, want)
		}
	}
}

func TestRequest(t *testing.T) {
	for _, test := range []struct {
		total, weights int64
		workers        int
		want           int64
	}{
		{0, 0, 3, 0}, {24 << 30, 18 << 30, 3, 1 << 30}, {2 << 30, 3 << 29, 3, (2<<30 - 3<<29) / 2 / 3},
		{1 << 30, 1 << 30, 3, minRequest}, {1 << 30, 2 << 30, 3, minRequest}, {1 << 40, 0, 1, maxRequest},
	} {
		if got := (Limits{Total: test.total}).Request(test.weights, test.workers); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}
