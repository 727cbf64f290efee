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

// weightShare of the memory there is goes to weights by default; requests, the
// caches of files and everybody else have the rest.
const weightShare = 0.75

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

// defaultMemory is the share of the machine's memory that weights may take, 0 if the
// system does not tell. lambda is the size of the function in MB, if this is one.
func defaultMemory(lambda string) int64 {
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
	return int64(weightShare * float64(total))
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
