package main

import (
	"fmt"
	"slices"
	"time"
)

// held returns a chat whose answer must match a schema.
func held(schema string) call {
	return post("/v1/chat/completions", fmt.Sprintf(`{"model": "forms", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100,
		"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": %s}}}`, schema))
}

// formAttacks send schemas that are hard to compile (point 3): each alone, to measure its
// cost, and then many at the same time, with a bystander.
func formAttacks() []attack {
	var list []attack
	schemas := hardSchemas()
	for _, h := range schemas {
		g := goalsOfForm
		g.only = h.answers
		list = append(list, attack{
			name: "forms/" + h.name, about: h.about, alone: true, lasts: 10 * time.Second, goals: g,
			calls: repeat(1, func() call { return held(h.of(1)) }),
		})
	}
	together := goals{only: []string{"200", "400", "429", "503", cut}, grown: 3 * goalsOfForm.grown}
	left := together
	left.cpu = time.Duration(len(schemas)) * 150 * time.Millisecond
	return append(list, attack{
		name: "forms/eight", about: "eight clients send one hard schema after the other, each new", lasts: 8 * time.Second,
		goals: together, calls: func() []call { return slices.Concat(newSchemas(2), newSchemas(3), newSchemas(4)) }, run: repeatCalls(8),
	}, attack{
		name: "forms/left", about: "eight clients send hard schemas and disconnect after 100 ms", lasts: 10 * time.Second,
		goals: left, calls: func() []call { return newSchemas(2) }, run: cancelCalls(100 * time.Millisecond),
	})
}

// newSchemas returns a call for each hard schema.
func newSchemas(seed int) (calls []call) {
	for _, h := range hardSchemas() {
		calls = append(calls, held(h.of(seed)))
	}
	return calls
}
