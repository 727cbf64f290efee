package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"glossa/pkg/estimate"
	"glossa/pkg/fit"
	"glossa/pkg/llm"
)

// print prints an estimate for people.
func (out *estimated) print(w io.Writer, e *estimate.Estimator, o *estimateOptions) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s in %s: weights of %s; a request of %d and %d tokens takes %s more\n", out.Model, out.Format, fit.Bytes(e.Model.Weights),
		out.Request.Prompt, out.Request.Answer, fit.Bytes(e.Model.Row(out.Request.Prompt+out.Request.Answer)))
	fmt.Fprintln(&b, out.speed(e, o))
	out.printFunctions(&b)
	out.printServers(&b)
	out.printDays(&b, o)
	fmt.Fprintf(&b, "\nPrices are those of us-east-1, on demand, without free tiers, API Gateway and transfer; --json lists them.\n")
	_, err := w.Write(b.Bytes())
	return err
}

// speed says whose measurements the estimate is from.
func (out *estimated) speed(e *estimate.Estimator, o *estimateOptions) string {
	machine := "this machine"
	if o.machine != "" {
		machine = "the machine of " + o.machine
	}
	text := fmt.Sprintf("speed: that of %s on %s, with up to %d %s", out.Measured, machine, out.Threads, plural("thread", out.Threads))
	if out.Scaled {
		text += ", scaled"
	}
	text += "; more are extrapolated, and AWS's processors may be slower or faster"
	if gain, threads := e.Speed.Gain(); threads > 1 && gain < 1+(threads-1)/4 {
		text += fmt.Sprintf("\nmore threads were only %.1f times as fast there: if the machine was busy, measure again", gain)
	}
	return text
}

// table writes rows of cells in columns, with a heading before it.
func table(w io.Writer, heading string, rows [][]string) {
	fmt.Fprintf(w, "\n%s\n", heading)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range rows {
		for _, cell := range cells {
			fmt.Fprint(t, cell, "\t")
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // into memory
}

// printFunctions prints Lambda's sizes.
func (out *estimated) printFunctions(w io.Writer) {
	rows := [][]string{{"MEMORY", "VCPUS", "FIRST TOKEN", "COLD", "ANSWER", "TOKENS/S", "$ A REQUEST", "$ A MILLION", "OF OTHER"}}
	var notes []string
	for _, f := range out.Functions {
		size := fmt.Sprintf("%d MB", f.MemoryMB)
		if f.Plan.Reason != "" {
			notes = append(notes, fmt.Sprintf("%s: %s", size, f.Plan.Reason))
		}
		if !f.Plan.Fits {
			continue
		}
		if f.TooLong {
			notes = append(notes, size+": a request takes longer than Lambda allows")
		}
		rows = append(rows, []string{
			size, fmt.Sprintf("%.1f", f.Processors), seconds(f.FirstToken), seconds(f.ColdFirstToken), seconds(f.Latency), speed(f.TokensPerSecond),
			money(f.Request), money(f.Million), multiple(f.OfOther),
		})
	}
	if len(rows) > 1 {
		table(w, "Lambda, "+out.Arch+": a million tokens of prompts and answers; cold is the first token of a new instance", rows)
	}
	for _, n := range notes {
		fmt.Fprintf(w, "%s\n", n)
	}
}

// onLambda reports whether a size of Lambda can answer the request.
func (out *estimated) onLambda() bool {
	return slices.ContainsFunc(out.Functions, func(f *estimate.Function) bool { return f.Plan.Fits && !f.TooLong })
}

// printServers prints what is paid by the hour.
func (out *estimated) printServers(w io.Writer) {
	rows := [][]string{{"MACHINES", "N", "$ AN HOUR", "FIRST TOKEN", "TOKENS/S", "REQUESTS/MIN", "$ A MILLION", "BEATS LAMBDA", "BEATS OTHER"}}
	var notes []string
	for _, s := range out.Servers {
		if s.Plan.Reason != "" {
			notes = append(notes, s.Name+": "+s.Plan.Reason)
		}
		if !s.Plan.Fits {
			continue
		}
		beatsLambda, beatsOther := "-", "-"
		if out.onLambda() {
			beatsLambda = from(s.BreakEvenLambda)
		}
		if out.OtherMillion > 0 {
			beatsOther = from(s.BreakEven)
		}
		rows = append(rows, []string{
			s.Name, strconv.Itoa(s.Instances), money(s.Hour), seconds(s.FirstToken), speed(s.TokensPerSecond), speed(s.Capacity), money(s.Million),
			beatsLambda, beatsOther,
		})
	}
	if len(rows) > 1 {
		table(w, "Paid by the hour: a million tokens at capacity; from so many requests a minute it is cheaper", rows)
	}
	for _, n := range notes {
		fmt.Fprintf(w, "%s\n", n)
	}
	if out.OtherMillion > 0 {
		fmt.Fprintf(w, "the other model: $ %s a million tokens of such requests\n", money(out.OtherMillion))
	}
}

// printDays prints the simulated traffic.
func (out *estimated) printDays(w io.Writer, o *estimateOptions) {
	if len(out.Days) == 0 {
		return
	}
	rows := [][]string{{"ON", "AT ONCE", "COLD", "WAITED", "THROTTLED", "FIRST P50", "P99", "ANSWER P50", "P99", "BILL, $", "OTHER, $"}}
	for _, d := range out.Days {
		name := d.Name
		if d.MemoryMB > 0 {
			name = fmt.Sprintf("%s %d MB", d.Name, d.MemoryMB)
		}
		other := "-"
		if d.Other > 0 {
			other = money(d.Other)
		}
		rows = append(rows, []string{
			name, strconv.Itoa(d.Instances), strconv.Itoa(d.Cold), strconv.Itoa(d.Waited), strconv.Itoa(d.Throttled),
			seconds(d.First.P50), seconds(d.First.P99), seconds(d.Latency.P50), seconds(d.Latency.P99), money(d.Bill), other,
		})
	}
	heading := fmt.Sprintf("A day of %v requests a minute, seed %d: %d requests", o.rate, o.seed, out.Days[0].Requests)
	if o.trace != "" {
		heading = fmt.Sprintf("The requests of %s: %d", o.trace, out.Days[0].Requests)
	}
	table(w, heading, rows)
}

// seconds formats a time with three digits: 12.3 ms, 1.23 s, 12.3 min.
func seconds(v float64) string {
	switch d := time.Duration(v * float64(time.Second)); {
	case d < time.Second:
		return strconv.FormatFloat(v*1e3, 'g', 3, 64) + " ms"
	case d < 10*time.Minute:
		return strconv.FormatFloat(v, 'f', 2, 64) + " s"
	}
	return strconv.FormatFloat(v/60, 'f', 1, 64) + " min"
}

// money formats dollars with at least three digits: 0.0000123, 12.35.
func money(usd llm.USD) string {
	v := float64(usd) / float64(llm.Dollar)
	if v == 0 || v >= 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	digits := 2
	for scaled := v; scaled < 1 && digits < 12; digits++ {
		scaled *= 10
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func multiple(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f×", *v)
}

func from(v *float64) string {
	if v == nil {
		return "never"
	}
	return speed(*v)
}
