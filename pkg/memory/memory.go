// Package memory divides the memory of a process among weights, requests, the bodies of
// requests and Go's heap. It refuses to know what a model or a request is.
//
// Source: cgroups(7) and proc(5) of Linux; sysctl(3) of macOS, hw.memsize;
// GlobalMemoryStatusEx of Windows; Go's runtime/debug, SetMemoryLimit.
package memory

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Files of Linux with the bounds of a process's memory.
const (
	cgroup2 = "/sys/fs/cgroup/memory.max"
	cgroup1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	meminfo = "/proc/meminfo"
)

// weightShare of the memory holds weights by default. Half of the rest is for requests,
// the other half for the system's file cache and other processes.
const (
	weightShare  = 0.75
	requestShare = 0.5
)

// prefixShare of the memory for weights that no open model takes holds computed prompts. Go's
// heap may have as much garbage again.
const prefixShare = 0.25

// Bounds of the memory of one request, bytes.
const (
	minRequest = 64 << 20
	maxRequest = 4 << 30
)

// The bodies of requests may take this part of the memory, because decoding a body takes
// several times its size. The minimum has room for three of the largest bodies of most
// routes. Bytes.
const (
	bodyShare = 32
	minBodies = 32 << 20
	maxBodies = 256 << 20
)

// Limits are the bounds of a process's memory, in bytes.
type Limits struct {
	Total int64 // memory that the process can have; 0: unknown
	Bound int64 // memory of its container or function; 0: there is none
}

// Detect returns the limits of this process. lambda is the size of the Lambda function in
// MB, "" outside of Lambda.
func Detect(lambda string) Limits {
	bound := boundOf(lambda, os.ReadFile)
	return Limits{Total: cmp.Or(totalOf(bound, os.ReadFile), physical()), Bound: bound}
}

// Weights returns the default bound of the weights of open models, 0 if the total is
// unknown.
func (l Limits) Weights() int64 { return int64(weightShare * float64(l.Total)) }

// Request returns the memory of each of so many concurrent requests, if weights take so
// many bytes. It returns 0, the engine's default, if the total is unknown.
func (l Limits) Request(weights int64, workers int) int64 {
	if l.Total == 0 {
		return 0
	}
	return min(max(int64(requestShare*float64(l.Total-weights))/int64(max(1, workers)), minRequest), maxRequest)
}

// Prefixes returns the memory of computed prompts for other prompts that begin as they do: a
// quarter of what open models leave of the memory for weights, and at least an eighth of the
// memory of a request. It returns 0, the engine's default, if weights has no bound.
func Prefixes(weights, open, request int64) int64 {
	if weights == 0 {
		return 0
	}
	return max(int64(prefixShare*float64(weights-open)), request/8)
}

// Bodies returns the memory of the bodies of all requests together. It returns 0, the
// default, if the total is unknown.
func (l Limits) Bodies() int64 {
	if l.Total == 0 {
		return 0
	}
	return min(max(l.Total/bodyShare, minBodies), maxBodies)
}

// Heap returns the limit of the memory of Go's runtime in a container or a function, 0
// without a bound. An eighth remains, and 64 MiB where the bound is at least twice that,
// for the program itself, the system's stacks and the file cache. The rest has room for all
// weights and requests on the heap. Mapped weights are not on the heap. Requests are, with
// as much garbage again: a quarter of the bound.
func (l Limits) Heap() int64 { return l.Bound - max(l.Bound/8, min(64<<20, l.Bound/2)) }

// units are the endings of a size.
var units = []struct {
	name  string
	bytes float64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1},
}

// leastBare is the smallest size without a unit, bytes: below it, the unit was forgotten.
const leastBare = 1e6

// ParseSize parses a number of bytes: 8GiB, 1.5GB, 800MiB, 1000000.
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
		if u.name == "" && v < leastBare {
			return 0, fmt.Errorf("%q is a size of %.0f bytes: did you mean %sGB?", s, v, strings.TrimSpace(number))
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 8GiB", s)
}

// totalOf returns the memory that this process can have, 0 if it is unknown. bound is
// that of its container or function, 0 if there is none.
func totalOf(bound int64, read func(name string) ([]byte, error)) int64 {
	total := int64(math.MaxInt64)
	if b, err := read(meminfo); err == nil {
		total = parseMeminfo(string(b))
	}
	if bound > 0 {
		total = min(total, bound)
	}
	if total == math.MaxInt64 {
		return 0
	}
	return total
}

// boundOf returns the memory of the container or the function of this process, 0 if it is
// in neither. lambda is the size of the function in MB.
func boundOf(lambda string, read func(name string) ([]byte, error)) int64 {
	const unlimited = 1 << 60 // cgroup v1 writes a number above it
	bound := int64(unlimited)
	if mb, err := strconv.ParseInt(lambda, 10, 64); err == nil && mb > 0 {
		bound = mb << 20
	}
	for _, name := range []string{cgroup2, cgroup1} {
		if b, err := read(name); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // "max": no bound
				bound = min(bound, n)
			}
		}
	}
	if bound >= unlimited {
		return 0
	}
	return bound
}

// parseMeminfo parses the first line of /proc/meminfo: "MemTotal:  24680 kB". It returns
// [math.MaxInt64] if the line does not say the total.
func parseMeminfo(info string) int64 {
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
