package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// held is a chat whose answer is held to a schema.
func held(schema string) call {
	return post("/v1/chat/completions", fmt.Sprintf(`{"model": "forms", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100,
		"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": %s}}}`, schema))
}

// formAttacks send schemas that are hard to compile (point 3): each alone, for what it
// takes, and then all sorts at the same time, beside a bystander.
func formAttacks() []attack {
	var list []attack
	schemas := hardSchemas()
	for _, h := range schemas {
		g := goalsOfForm
		g.only = h.answers
		list = append(list, attack{
			name: "forms/" + h.name, about: h.about, alone: true, lasts: 6 * time.Second, goals: g,
			run: func(ctx context.Context, s *scene) { s.send(ctx, held(h.of(1))) },
		})
	}
	busy := goals{only: []string{"200", "400", "429", "503", cut}, grown: 2 * goalsOfForm.grown}
	return append(list, attack{
		name: "forms/eight", about: "eight clients send one hard schema after the other, each new", goals: busy, lasts: 8 * time.Second,
		run: func(ctx context.Context, s *scene) {
			var group sync.WaitGroup
			for client := range 8 {
				group.Go(func() {
					for i := client; i < client+len(schemas) && ctx.Err() == nil; i++ {
						s.send(ctx, held(schemas[i%len(schemas)].of(2+client)))
					}
				})
			}
			group.Wait()
		},
	}, attack{
		name: "forms/left", about: "every hard schema of eight clients that leave after 100 ms", lasts: 10 * time.Second,
		goals: goals{only: busy.only, cpu: time.Duration(len(schemas)) * 300 * time.Millisecond, grown: busy.grown},
		run: func(ctx context.Context, s *scene) {
			var calls []call
			for i, h := range schemas {
				calls = append(calls, held(h.of(20+i)))
			}
			s.leave(ctx, 100*time.Millisecond, calls...)
		},
	})
}
