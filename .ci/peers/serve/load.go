package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A result has what the clients of loads of one kind measured.
type result struct {
	tokens      int // of all clients
	took        time.Duration
	first, gaps []time.Duration // times to first tokens, and between pieces of answers
}

// add adds what another load measured.
func (r *result) add(other *result) {
	r.tokens, r.took = r.tokens+other.tokens, r.took+other.took
	r.first, r.gaps = append(r.first, other.first...), append(r.gaps, other.gaps...)
}

// rate returns the tokens a second of all clients.
func (r *result) rate() float64 { return float64(r.tokens) / r.took.Seconds() }

// quantile returns the value below which a share of the times is.
func quantile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[min(len(times)-1, int(share*float64(len(times))))]
}

// prompts is the number of those that a client repeats.
const prompts = 3

// load has clients stream completions at the same time. What each sends first is not measured: a
// request, or all prompts that it repeats.
func load(p *plan, s *server, clients int, repeated bool) (r result, err error) {
	unmeasured := 1
	if repeated {
		unmeasured = prompts
	}
	next := make([]func() string, clients)
	for client := range next {
		next[client] = newPrompts(p.prompt, client, repeated)
	}
	if _, err := together(p, s, next, unmeasured); err != nil {
		return r, err
	}
	begin := time.Now()
	list, err := together(p, s, next, p.requests)
	r.took = time.Since(begin)
	for _, a := range list {
		r.tokens += a.tokens
		r.first, r.gaps = append(r.first, a.first), append(r.gaps, a.gaps...)
	}
	return r, err
}

// together has each client send so many requests, one after another.
func together(p *plan, s *server, next []func() string, requests int) (list []answer, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, prompt := range next {
		group.Go(func() {
			for range requests {
				a, failed := complete(s, prompt(), p.answer)
				mu.Lock()
				list, err = append(list, a), errors.Join(err, failed)
				mu.Unlock()
				if failed != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return list, err
}

// newPrompts returns a function that returns a client's next prompt: letters, each a token.
func newPrompts(tokens, client int, repeated bool) func() string {
	random := rand.New(rand.NewPCG(uint64(client), 7))
	next := func() string {
		b := make([]byte, tokens)
		for i := range b {
			b[i] = 'a' + byte(random.IntN(26))
		}
		return string(b)
	}
	if !repeated {
		return next
	}
	var list [prompts]string
	for i := range list {
		list[i] = next()
	}
	at := -1
	return func() string {
		at++
		return list[at%prompts]
	}
}

// endToken ends a text in the files that glossa bench saves.
const endToken = "257"

// An answer is what one request measured.
type answer struct {
	first  time.Duration
	gaps   []time.Duration
	tokens int
}

// complete streams a completion of so many tokens, sampled: greedy text of random weights repeats itself,
// so that it could be drafted.
func complete(s *server, prompt string, tokens int) (a answer, err error) {
	body, err := json.Marshal(map[string]any{
		"model": modelName, "prompt": prompt, "max_tokens": tokens, "temperature": 1, "logit_bias": map[string]int{endToken: -100},
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		return a, err
	}
	begin := time.Now()
	res, err := s.client.Post(s.url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		return a, fmt.Errorf("%s: %s", res.Status, said)
	}
	last := begin
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct {
				Text   string
				Finish string `json:"finish_reason"`
			}
			Usage *struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return a, fmt.Errorf("%w in %.200s", err, data)
		}
		if event.Usage != nil {
			a.tokens = event.Usage.CompletionTokens
		}
		// llama.cpp writes nothing for tokens that pad the vocabulary, but an event.
		if len(event.Choices) == 0 || event.Choices[0].Text == "" && event.Choices[0].Finish != "" {
			continue
		}
		now := time.Now()
		if a.first == 0 {
			a.first = now.Sub(begin)
		} else {
			a.gaps = append(a.gaps, now.Sub(last))
		}
		last = now
	}
	if a.tokens != tokens {
		return a, fmt.Errorf("an answer has %d tokens of %d", a.tokens, tokens)
	}
	return a, nil
}
