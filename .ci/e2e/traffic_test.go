//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/estimate/traffic"
)

// simulated checks the simulator of glossa estimate against a function. What it says does not
// depend on the speed of the machine: cold starts and throttled requests, of requests whose order
// is held, and of a trace with the times that were measured. How well it predicts the trace from
// two earlier requests does; that is reported.
func simulated(t *testing.T, w *World, key string) string {
	f := w.Fleets["openai"]
	held(t, w, f, key)
	return traced(t, w, f, key)
}

// complete posts a completion to the function's own URL and returns its body, which the caller
// closes; nil: it was refused or failed.
func (w *World) complete(t *testing.T, key, body string) io.ReadCloser {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url("openai", "/v1/completions"), strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := w.Client.Do(req)
	switch {
	case err != nil:
		t.Error(err)
		return nil
	case res.StatusCode != http.StatusOK:
		_ = res.Body.Close()
		return nil
	}
	return res.Body
}

// settled waits until no instance works, and returns the invocations.
func (f *Fleet) settled(t *testing.T) []Stay {
	t.Helper()
	until(t, 20*time.Second, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.idle) == len(f.all) && f.starting == 0
	})
	return f.Stays()
}

// held sends two more requests at once than there can be instances, each held by the test; then
// single ones; then, when all instances have ended, two at once. The simulator plays the same
// steps in its own time.
func held(t *testing.T, w *World, f *Fleet, key string) {
	w.fresh(t)
	f.Stays()
	const slowly = `{"model": "anthropic.claude-v2", "prompt": "slowly", "max_tokens": 5, "stream": true}`
	together := func(n int) {
		started := make(chan *bufio.Scanner, n)
		for range n {
			go func() { // ends with its first token
				body := w.complete(t, key, slowly)
				if body == nil {
					started <- nil
					return
				}
				lines := bufio.NewScanner(body)
				for lines.Scan() && !strings.Contains(lines.Text(), " one") {
				}
				started <- lines
			}()
		}
		var running []*bufio.Scanner
		for range n {
			if lines := <-started; lines != nil {
				running = append(running, lines)
			}
		}
		for range running {
			w.Models.release(t)
		}
		for _, lines := range running {
			for lines.Scan() { // to its end
			}
		}
	}
	together(f.most + 2)
	got := f.settled(t)
	for range 3 {
		together(1)
		got = append(got, f.settled(t)...)
	}
	w.fresh(t)
	together(2)
	got = append(got, f.settled(t)...)

	var jobs []traffic.Job
	for _, step := range []struct{ n, second int }{{f.most + 2, 0}, {1, 100}, {1, 200}, {1, 300}, {2, 2000}} {
		jobs = append(jobs, slices.Repeat([]traffic.Job{{At: time.Duration(step.second) * time.Second, Duration: 5 * time.Second}}, step.n)...)
	}
	want, err := traffic.Summarize(traffic.Fleet{Most: f.most, Start: time.Second, Idle: 500 * time.Second}, slices.Values(jobs), nil)
	if err != nil {
		t.Fatal(err)
	}
	cold, throttled, _ := count(got)
	if len(got) != want.Requests || cold != want.Cold || throttled != want.Throttled || want.Instances != f.most {
		t.Errorf("%d requests, %d cold starts, %d throttled; simulated %+v", len(got), cold, throttled, want)
	}
}

// count returns the cold starts, the throttled requests and the time on instances.
func count(list []Stay) (cold, throttled int, billed time.Duration) {
	for _, s := range list {
		switch {
		case s.Throttled:
			throttled++
		default:
			if s.Cold {
				cold++
			}
			billed += s.Freed.Sub(s.Taken)
		}
	}
	return cold, throttled, billed
}

// traced replays a trace in real time. With the measured times the simulator must agree about
// every request; with times that are predicted it is compared.
func traced(t *testing.T, w *World, f *Fleet, key string) string {
	file, err := os.Open("traffic.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	trace, err := traffic.ParseTrace(file, 256)
	if err != nil {
		t.Fatal(err)
	}
	start, work := calibrated(t, w, f, key)
	w.fresh(t)
	f.Stays()
	var all sync.WaitGroup
	begun := time.Now()
	for _, r := range trace {
		time.Sleep(time.Until(begun.Add(r.At)))
		all.Go(func() { novel(t, w, key, r.Prompt, r.Answer) })
	}
	all.Wait()
	got := f.settled(t)
	if len(got) != len(trace) {
		t.Fatalf("%d of %d requests reached the function", len(got), len(trace))
	}
	agree(t, f, got)

	jobs := func(yield func(traffic.Job) bool) {
		for _, r := range trace {
			if !yield(traffic.Job{At: r.At, Duration: work(r.Answer)}) {
				return
			}
		}
	}
	fleet := traffic.Fleet{Most: f.most, Start: start}
	for n := range f.most { // here, unlike on AWS, instances share the processors
		fleet.Slowdown = append(fleet.Slowdown, max(1, float64(n+1)/float64(runtime.NumCPU())))
	}
	predicted, err := traffic.Summarize(fleet, jobs, nil)
	if err != nil {
		t.Fatal(err)
	}
	cold, throttled, billed := count(got)
	return fmt.Sprintf("%d requests: %d cold starts, predicted %d; %d throttled, predicted %d; %d ms on instances, predicted %d (%+.0f %%)", len(got),
		cold, predicted.Cold, throttled, predicted.Throttled, billed.Milliseconds(), predicted.Billed.Milliseconds(), 100*(predicted.Billed.Seconds()/billed.Seconds()-1))
}

// novel asks for a completion of a local model.
func novel(t *testing.T, w *World, key string, prompt, answer int) {
	text := strings.TrimSpace(strings.Repeat("the ", prompt))
	if body := w.complete(t, key, fmt.Sprintf(`{"model": "novels", "prompt": %q, "max_tokens": %d, "temperature": 0}`, text, answer)); body != nil {
		_, _ = io.Copy(io.Discard, body) // how it ends does not matter
		_ = body.Close()
	}
}

// calibrated measures single requests: what a start takes, and the work by the tokens of the answer.
func calibrated(t *testing.T, w *World, f *Fleet, key string) (start time.Duration, work func(answer int) time.Duration) {
	const few, many = 10, 110
	took := func(answer int) time.Duration {
		novel(t, w, key, 5, answer)
		list := f.settled(t)
		if len(list) != 1 || list[0].Throttled {
			t.Fatalf("one request: %+v", list)
		}
		return list[0].Freed.Sub(list[0].Taken)
	}
	median := func(answer int, before func()) time.Duration {
		var three []time.Duration
		for range 3 {
			before()
			three = append(three, took(answer))
		}
		slices.Sort(three)
		return three[1]
	}
	f.Stays()
	cold := median(few, func() { w.fresh(t) })
	short, long := median(few, func() {}), median(many, func() {})
	token := max(0, long-short) / (many - few)
	return max(0, cold-short), func(answer int) time.Duration { return max(0, short+time.Duration(answer-few)*token) }
}

// agree simulates invocations that came and went at the measured times: the same ones must be
// cold, and the same throttled.
func agree(t *testing.T, f *Fleet, got []Stay) {
	t.Helper()
	jobs := func(yield func(traffic.Job) bool) {
		for _, s := range got { // in the order of their decisions
			job := traffic.Job{At: s.Taken.Sub(got[0].Taken)}
			if !s.Throttled {
				job.Duration = s.Freed.Sub(s.Taken)
			}
			if !yield(job) {
				return
			}
		}
	}
	i := 0
	for o, err := range traffic.Simulate(traffic.Fleet{Most: f.most}, jobs) {
		if err != nil {
			t.Fatal(err)
		}
		if s := got[i]; o.Cold != s.Cold || o.Throttled != s.Throttled {
			t.Errorf("request %d, at %v: cold %v, throttled %v; simulated %v, %v", i, o.At, s.Cold, s.Throttled, o.Cold, o.Throttled)
		}
		i++
	}
	if i != len(got) {
		t.Errorf("%d of %d requests were simulated", i, len(got))
	}
}
