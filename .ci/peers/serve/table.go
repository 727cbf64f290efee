package main

import (
	"fmt"
	"time"
)

const heading = `| clients | prompts | glossa tokens/s | llama.cpp | ratio | first token, median (ms) | llama.cpp | p99 (ms) | llama.cpp | between tokens, median (ms) | llama.cpp | p99 (ms) | llama.cpp |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|`

// row returns the line of a load.
func row(clients int, prompts string, ours, theirs *result) string {
	line := fmt.Sprintf("| %d | %s | %.0f | %.0f | %.2f |", clients, prompts, ours.rate(), theirs.rate(), ours.rate()/theirs.rate())
	for _, of := range []func(*result) []time.Duration{func(r *result) []time.Duration { return r.first }, func(r *result) []time.Duration { return r.gaps }} {
		for _, share := range []float64{0.5, 0.99} {
			for _, r := range []*result{ours, theirs} {
				line += fmt.Sprintf(" %.1f |", float64(quantile(of(r), share).Microseconds())/1000)
			}
		}
	}
	return line
}
