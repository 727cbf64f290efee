package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc: USER_HZ, 100 on all of Linux's platforms.
const tick = 10 * time.Millisecond

// processorTime returns the processor time that a process has taken.
func processorTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(b)
}

// parseStat reads utime and stime, the fields 14 and 15 of /proc/PID/stat. The second
// field is a name in parentheses, which may hold both spaces and parentheses.
//
// Source: proc_pid_stat(5).
func parseStat(b []byte) (time.Duration, error) {
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat: %d fields after the name", len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("/proc/PID/stat: %q and %q", fields[11], fields[12])
	}
	return time.Duration(user+system) * tick, nil
}

// memoryOf returns a process's current memory and its peak since the last [resetPeak],
// bytes.
func memoryOf(pid int) (now, peak int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	if now, err = statusField(b, "VmRSS"); err != nil {
		return 0, 0, err
	}
	peak, err = statusField(b, "VmHWM")
	return now, peak, err
}

// statusField reads a number of kB in /proc/PID/status.
func statusField(b []byte, name string) (int64, error) {
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", name)
}

// resetPeak resets the peak of memory.
//
// Source: proc_pid_clear_refs(5), value 5.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
