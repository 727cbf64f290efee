package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Bodies that keep the server busy for a long time.
const (
	manyRows = `{"model": "novels", "prompt": "The", "n": 128, "max_tokens": 250}`
	someRows = `{"model": "novels", "prompt": "The", "n": 8, "max_tokens": 250}`
	heldRows = `{"model": "forms", "messages": [{"role": "user", "content": "x"}], "n": 64, "max_tokens": 200,
		"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array", "items": {"type": "string", "pattern": "^[a-z ]*$"}}}}}`
	shortRows = `{"model": "novels", "prompt": "The", "max_tokens": 1}`
)

// fullContext is a text that nearly fills the context of 256 tokens of the model novels.
var fullContext = strings.Repeat("The old lighthouse stood among lonely reeds, far from the river. ", 15)

// fairAttacks try to take more than a fair share of the workers (point 1).
func fairAttacks() []attack {
	const six = 6 * time.Second
	busy := goals{served: 8, busy: 500 * time.Millisecond}
	slow := goals{only: []string{cut, lost, "400", "408", "429", "503"}, grown: 128}
	return []attack{
		{name: "fair/rows", about: "eight requests of 128 rows of 250 tokens each", lasts: six, goals: busy, calls: repeat(8, rows)},
		{name: "fair/keys", about: "the same with principals that have keys", keys: true, goals: busy, calls: repeat(8, rows)},
		{
			name: "fair/many", about: "32 clients of one sender request 128 rows each, again and again",
			goals: goals{served: 1, busy: busy.busy}, calls: repeat(1, rows), run: repeatCalls(32),
		},
		{name: "fair/models", about: "eight requests of 128 rows, two of each model", goals: busy, calls: rowsOfModels, run: repeatCalls(8)},
		{name: "fair/held", about: "eight requests of 64 rows constrained by a schema", goals: busy, calls: repeat(1, rowsHeld), run: repeatCalls(8)},
		{
			name: "fair/readers", about: "eight clients read a stream of 64 rows with log-probabilities, one byte per second",
			lasts: six, goals: goals{only: []string{cut, lost}, grown: 768}, run: readers,
		},
		{
			name: "fair/unread", about: "twelve clients of one sender read nothing of streams of 128 rows with log-probabilities",
			lasts: six, goals: goals{only: []string{cut}, busy: busy.busy, grown: 768}, run: unread,
		},
		{name: "fair/queue", about: "200 requests of one sender wait at the same time", lasts: six, goals: busy, calls: repeat(200, fewRows)},
		{
			name: "fair/short", about: "64 clients of one sender request one token, again and again",
			goals: goals{served: 100, busy: busy.busy}, calls: repeat(1, oneRow), run: repeatCalls(64),
		},
		{name: "fair/prompts", about: "eight requests of 256 prompts, each of which fills the context", goals: busy, calls: repeat(1, fullPrompts), run: repeatCalls(8)},
		{name: "fair/scores", about: "eight requests that score 256 texts", goals: busy, calls: repeat(1, scores), run: repeatCalls(8)},
		{name: "fair/embeddings", about: "eight requests of 256 embeddings", goals: busy, calls: repeat(1, fullEmbeddings), run: repeatCalls(8)},
		{name: "fair/translations", about: "eight requests of 64 sentences that five beams translate", goals: busy, calls: repeat(1, translations), run: repeatCalls(8)},
		{name: "fair/slow-headers", about: "300 connections send one byte of their headers per second", goals: slow, run: slowHeaders},
		{name: "fair/slow-bodies", about: "300 connections send one byte of their bodies per second", goals: slow, run: slowBodies},
	}
}

func rows() call { return post("/v1/completions", manyRows) }

func fewRows() call { return post("/v1/completions", someRows) }

func oneRow() call { return post("/v1/completions", shortRows) }

func rowsOfModels() (calls []call) {
	for _, model := range []string{"novels", "abc", "chords", "forms"} {
		body := strings.Replace(manyRows, "novels", model, 1)
		calls = append(calls, post("/v1/completions", strings.Replace(body, "250", "100", 1))) // the context of chords has 128
	}
	return calls
}

func rowsHeld() call { return post("/v1/chat/completions", heldRows) }

func fullPrompts() call {
	return post("/v1/completions", listBody("prompt", `, "max_tokens": 1`))
}

func scores() call {
	return post("/v1/completions", listBody("prompt", `, "max_tokens": 0, "echo": true, "logprobs": 1`))
}

func fullEmbeddings() call { return post("/v1/embeddings", listBody("input", "")) }

func translations() call {
	text := `"where is the station please and what time does the next train leave"`
	return post("/v1/engines/phrases/translate",
		fmt.Sprintf(`{"source_lang": "en", "target_lang": "fr", "num_beams": 5, "text": [%s]}`, strings.Join(times(64, text), ", ")))
}

// readers reads one byte per second of each of eight streams.
func readers(ctx context.Context, s *scene) {
	body := `{"model": "novels", "prompt": "The", "n": 64, "max_tokens": 250, "logprobs": 5, "stream": true}`
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { s.tally.add(s.attacker.readSlowly(ctx, post("/v1/completions", body)), "") })
	}
	group.Wait()
}

// unread reads nothing of twelve streams.
func unread(ctx context.Context, s *scene) {
	body := `{"model": "novels", "prompt": "The", "n": 128, "max_tokens": 250, "logprobs": 5, "stream": true}`
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() { s.tally.add(s.attacker.readNothing(ctx, post("/v1/completions", body)), "") })
	}
	group.Wait()
}

func slowHeaders(ctx context.Context, s *scene) {
	s.slowWriters(ctx, 300, s.head("POST", "/v1/completions")+"X-Slow: ")
}

func slowBodies(ctx context.Context, s *scene) {
	s.slowWriters(ctx, 300, s.head("POST", "/v1/completions")+"Content-Length: 100000\r\n\r\n"+`{"model": "novels", "prompt": "`)
}

// listBody returns a request of 256 texts that nearly fill the context.
func listBody(key, more string) string {
	text := fmt.Sprintf("%q", fullContext)
	return fmt.Sprintf(`{"model": "novels", %q: [%s]%s}`, key, strings.Join(times(256, text), ", "), more)
}

// slowWriters opens n connections that begin a request and send one byte of the rest per
// second.
func (s *scene) slowWriters(ctx context.Context, n int, begin string) {
	var group sync.WaitGroup
	for range n {
		group.Go(func() { s.tally.add(s.attacker.writeSlowly(ctx, begin), "") })
	}
	group.Wait()
}
