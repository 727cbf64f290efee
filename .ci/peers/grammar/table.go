package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A row is a line of the table: a value of a result, and its goal.
type row struct {
	name string
	of   func(*result) string
	goal string
}

var rows = []row{
	{"schemas accepted", func(r *result) string { return fmt.Sprintf("%d of %d", r.Accepted, r.Schemas) }, ""},
	{"valid instances", func(r *result) string { return fmt.Sprint(r.Instances) }, ""},
	{"valid instances that are not generated", func(r *result) string { return fmt.Sprint(r.Outside) }, ""},
	{"valid instances that a mask stopped", func(r *result) string { return fmt.Sprint(r.Wrong) }, "0"},
	{"vocabulary made ready, once (ms)", func(r *result) string { return fmt.Sprintf("%.0f", r.Once/1e3) }, ""},
	{"compile p50", func(r *result) string { return at(r.Compile, 50) }, "200"},
	{"compile p99", func(r *result) string { return at(r.Compile, 99) }, ""},
	{"first mask, with compiling, p50", func(r *result) string { return at(r.First, 50) }, ""},
	{"first mask, with compiling, p99", func(r *result) string { return at(r.First, 99) }, ""},
	{"masks", func(r *result) string { return fmt.Sprint(len(r.Mask)) }, ""},
	{"mask average", func(r *result) string { return mean(r.Mask) }, "20"},
	{"mask p50", func(r *result) string { return at(r.Mask, 50) }, "5"},
	{"mask p90", func(r *result) string { return at(r.Mask, 90) }, ""},
	{"mask p99", func(r *result) string { return at(r.Mask, 99) }, "500"},
	{"mask longest", func(r *result) string { return at(r.Mask, 100) }, ""},
	{"mask and taking a token, average", func(r *result) string { return mean(r.Step) }, ""},
	{"mask and taking a token, p99", func(r *result) string { return at(r.Step, 99) }, ""},
	{"mask with few tokens left, average", func(r *result) string { return mean(r.Tight) }, ""},
	{"mask with few tokens left, p99", func(r *result) string { return at(r.Tight, 99) }, ""},
}

// table prints results side by side.
func table(out io.Writer, files []string) error {
	var results []*result
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r := &result{}
		if err := json.Unmarshal(raw, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, r)
	}
	fmt.Fprintf(out, "# Masks of MaskBench's schemas\n\n")
	fmt.Fprintf(out, "Written by `make bench-grammar`. %d tokens (%s), one processor, %s; microseconds of CPU time where nothing else is said.\n", results[0].Tokens, results[0].Vocabulary, processor())
	fmt.Fprintf(out, "Every engine takes the same tokens of the same instances, in the form that glossa writes; one that does not accept a schema skips it.\n\n|")
	for _, r := range results {
		fmt.Fprintf(out, " | %s", r.Engine)
	}
	fmt.Fprintf(out, " | goal |\n|---%s|---:|\n", strings.Repeat("|---:", len(results)))
	for _, line := range rows {
		fmt.Fprintf(out, "| %s", line.name)
		for _, r := range results {
			fmt.Fprintf(out, " | %s", line.of(r))
		}
		fmt.Fprintf(out, " | %s |\n", line.goal)
	}
	return nil
}

// at returns a percentile of times.
func at(times []float64, percent int) string {
	if len(times) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(times))
	return digits(sorted[(len(sorted)-1)*percent/100])
}

func mean(times []float64) string {
	if len(times) == 0 {
		return "-"
	}
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	return digits(sum / float64(len(times)))
}

func digits(t float64) string {
	if t < 10 {
		return fmt.Sprintf("%.1f", t)
	}
	return fmt.Sprintf("%.0f", t)
}

// processor returns the CPU's name from /proc/cpuinfo.
func processor() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown CPU"
}
