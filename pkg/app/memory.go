package app

import (
	"fmt"
	"math"
	"os"
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

// totalMemory is the memory that this process can have, 0 if the system does not tell.
// lambda is the size of the function in MB, if this is one.
func totalMemory(lambda string) int64 {
	total := int64(math.MaxInt64)
	if mb, err := strconv.ParseInt(lambda, 10, 64); err == nil && mb > 0 {
		total = mb << 20
	}
	for _, name := range []string{cgroup2, cgroup1} {
		if b, err := os.ReadFile(name); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // "max" is none
				total = min(total, n)
			}
		}
	}
	if b, err := os.ReadFile(meminfo); err == nil {
		total = min(total, memTotal(string(b)))
	}
	if total == math.MaxInt64 {
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
