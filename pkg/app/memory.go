package app

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// The bounds of a process's memory, where the system tells them.
const (
	cgroup2 = "/sys/fs/cgroup/memory.max"
	cgroup1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	meminfo = "/proc/meminfo"
)

// weightShare of the memory there is goes to weights by default. Half of the rest is
// for requests, the other for the system's cache of files and everybody else.
const (
	weightShare  = 0.75
	requestShare = 0.5
)

// The least and the most that one request may have, bytes.
const (
	minRequest = 64 << 20
	maxRequest = 4 << 30
)

// Bodies of requests may have a part of the memory, as what is made of them takes several
// times as much: the least has room for three of the largest of most routes. Bytes.
const (
	bodyShare = 32
	minBodies = 32 << 20
	maxBodies = 256 << 20
)

// ballast is memory that is never touched, so that no page of it is real, and that the
// collector takes for live: the heap of a gateway, which has a few MB, grows by 64 MB
// between two collections and not by 4, which took a fifth of the time of a request.
// What is live in a burst of streams counts as before, twice. Bytes.
const ballast = 32 << 20

// growLazily gives the process its ballast, until weights are in memory: these make the
// heap large enough, and need what there is.
func (a *App) growLazily() {
	b := make([]byte, ballast)
	a.ballast.Store(&b)
}

// growCloser takes the ballast away.
func (a *App) growCloser() { a.ballast.Store(nil) }

// requestMemory is what each of the requests at once may take beside weights of so
// many bytes, 0 (the engine's default) if the system does not tell how much there is.
func requestMemory(total, weights int64, workers int) int64 {
	if total == 0 {
		return 0
	}
	return min(max(int64(requestShare*float64(total-weights))/int64(max(1, workers)), minRequest), maxRequest)
}

// bodyMemory is what the bodies of all requests may take together, 0 (the default) if the
// system does not tell how much there is.
func bodyMemory(total int64) int64 {
	if total == 0 {
		return 0
	}
	return min(max(total/bodyShare, minBodies), maxBodies)
}

// units are the endings of a size.
var units = []struct {
	name  string
	bytes float64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1},
}

// ParseSize reads a number of bytes: 8GiB, 1.5GB, 800MiB, 1000000.
func ParseSize(s string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(s), u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v > 0) || v*u.bytes > math.MaxInt64/2 {
			break
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is no size such as 8GiB", s)
}

// goLimit is the limit of the memory of Go's runtime in a container or a function of so many
// bytes; 0 if total is. An eighth is left, and 64 MiB where there are two of them, for the
// program itself, stacks of the system and the cache of files. The rest has room for all
// weights and requests on the heap. Mapped weights are on no heap: the requests beside them
// are, with as much garbage again, a quarter of the total.
func goLimit(total int64) int64 { return total - max(total/8, min(64<<20, total/2)) }

// limitHeap has the collector keep the process within a limit, instead of letting the heap
// grow to twice of what is live, unless GOMEMLIMIT says so itself.
func limitHeap(cfg Config) {
	if cfg.HeapLimit > 0 {
		debug.SetMemoryLimit(cfg.HeapLimit)
	}
}

// totalMemory is the memory that this process can have, 0 if the system does not tell.
// bound is that of its container or function, 0 if there is none.
func totalMemory(bound int64) int64 {
	total := int64(math.MaxInt64)
	if b, err := os.ReadFile(meminfo); err == nil {
		total = memTotal(string(b))
	}
	if bound > 0 {
		total = min(total, bound)
	}
	if total == math.MaxInt64 {
		return 0
	}
	return total
}

// boundMemory is the memory of the container or the function that this process is in, 0 if
// it is in none. lambda is the size of the function in MB.
func boundMemory(lambda string, read func(name string) ([]byte, error)) int64 {
	const unlimited = 1 << 60 // as cgroup v1 spells it, and more
	total := int64(unlimited)
	if mb, err := strconv.ParseInt(lambda, 10, 64); err == nil && mb > 0 {
		total = mb << 20
	}
	for _, name := range []string{cgroup2, cgroup1} {
		if b, err := read(name); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // "max" is none
				total = min(total, n)
			}
		}
	}
	if total >= unlimited {
		return 0
	}
	return total
}

// memTotal reads the first line of /proc/meminfo: "MemTotal:  24680 kB".
func memTotal(info string) int64 {
	fields := strings.Fields(info)
	if len(fields) < 2 || fields[0] != "MemTotal:" {
		return math.MaxInt64
	}
	kb, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || kb <= 0 || kb > math.MaxInt64>>10 {
		return math.MaxInt64
	}
	return kb << 10
}
