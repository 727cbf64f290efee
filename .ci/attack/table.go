package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A row is an attack and its result.
type row struct {
	attack
	measured
	failures []string
}

const layout = "%-24s %6v  %-26s %5v %7v %7v %7v %7v %7v %6v %7v %7v  %s\n"

// printHead prints the names of the columns.
func printHead(w io.Writer) {
	fmt.Fprintf(w, "The bystander's answer must begin within %s; waits are to its first byte and to its end; calm: on a server that is not attacked.\n", brief(goalWait))
	fmt.Fprintf(w, layout, "", "sent", "answers", "by-", "calm", "median", "p90", "longest", "end", "cpu", "peak", "grown", "verdict")
	fmt.Fprintf(w, layout, "attack", "", "", "stand", "longest", "", "", "", "longest", "s", "MB", "MB", "")
}

// printRow prints a row.
func printRow(w io.Writer, r row) {
	sent := 0
	for _, n := range r.answers {
		sent += n
	}
	verdict := "ok"
	if len(r.failures) > 0 {
		verdict = "FAIL"
	}
	var by [6]any
	if r.alone {
		by = [6]any{"-", "-", "-", "-", "-", "-"}
	} else {
		by = [6]any{r.waits.n, brief(r.calm.first), brief(r.waits.median), brief(r.waits.p90), brief(r.waits.first), brief(r.waits.end)}
	}
	fmt.Fprintf(w, layout, r.name, sent, formatCounts(r.answers), by[0], by[1], by[2], by[3], by[4], by[5],
		fmt.Sprintf("%.2f", r.cpu.Seconds()), r.peak>>20, r.grown(), verdict)
}

// printSamples prints a sample of each kind of answer.
func printSamples(w io.Writer, r row) {
	for _, outcome := range slices.Sorted(maps.Keys(r.samples)) {
		fmt.Fprintf(w, "    %s %s\n", outcome, r.samples[outcome])
	}
}

// printEnd prints the failures and the totals.
func printEnd(w io.Writer, failed []row, n int, took time.Duration) {
	for _, r := range failed {
		fmt.Fprintf(w, "\n%s: %s\n", r.name, r.about)
		for _, f := range r.failures {
			fmt.Fprintf(w, "  %s\n", f)
		}
	}
	fmt.Fprintf(w, "\n%d attacks in %s, %d held\n", n, took.Round(time.Second), n-len(failed))
}

// brief rounds a time to fit a column.
func brief(d time.Duration) string {
	switch {
	case d >= time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", d.Seconds()), ".00") + "s"
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fms", float64(d.Microseconds())/1000)
}
