package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// workers are the processes of a run.
type workers struct{ fake, calls, glossa, proxy, nothing *worker }

// A result holds microseconds by name: processor time of a request and of a frame, and the
// wall time of frames from the model to the client.
type result struct {
	request, frame        map[string]float64
	middle, slowest, gaps map[string]float64 // p50 and p99 of a frame, p99 between two frames
}

// startAll starts the processes. stop ends those that were started.
func startAll() (w *workers, stop func(), err error) {
	w = &workers{}
	var begun []*worker
	stop = func() {
		for _, worker := range begun {
			worker.stop()
		}
	}
	for name, at := range map[string]**worker{"calls": &w.calls, "glossa": &w.glossa, "proxy": &w.proxy, "nothing": &w.nothing} {
		if w.fake == nil {
			if w.fake, err = start("fake", ""); err != nil {
				return nil, stop, err
			}
			begun = append(begun, w.fake)
		}
		if *at, err = start(name, w.fake.url); err != nil {
			return nil, stop, err
		}
		begun = append(begun, *at)
	}
	return w, stop, nil
}

// measure measures all in turns and prints the table.
func measure(p plan) error {
	w, stop, err := startAll()
	defer stop()
	if err != nil {
		return err
	}
	r := &result{}
	if err := w.requests(p, r); err != nil {
		return err
	}
	if err := w.streams(p, r); err != nil {
		return err
	}
	table(os.Stdout, p, r)
	return nil
}

// A turn runs an operation a number of times, measuring one worker.
type turn struct {
	name   string
	worker *worker
	do     func(n int) error
}

// requests measures requests without streaming: medians of alternating turns.
func (w *workers) requests(p plan, r *result) error {
	body, c := newBody(false), newHTTP()
	if err := c.once(w.glossa.url, body); err != nil {
		return err
	}
	sent, err := w.fake.ask("/last", nil) // glossa's request to the provider
	if err != nil {
		return err
	}
	load := func(to *worker) func(int) error {
		return func(n int) error {
			return atOnce(p.connections, n, func() error { return c.once(to.url, body) })
		}
	}
	direct := func(kind string, body []byte) func(int) error {
		return func(n int) error {
			return w.calls.set("/do", errand{Kind: kind, Calls: n, Connections: p.connections, Body: body})
		}
	}
	turns := []turn{
		{bySDK, w.calls, direct(bySDK, sent)}, {byOwn, w.calls, direct(byOwn, sent)}, {"glossa", w.glossa, load(w.glossa)}, {byHTTP, w.calls, direct(byHTTP, body)},
		{"proxy", w.proxy, load(w.proxy)}, {"nothing", w.nothing, load(w.nothing)},
	}
	times := rounds{}
	for round := range p.rounds + 1 {
		for _, t := range turns {
			n := p.requests
			if round == 0 {
				n = min(n, 500) // warm up connections and code
			}
			cost, err := t.cost(n, p.profile)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if round > 0 {
				times.add(t.name, cost)
			}
		}
	}
	r.request = medians(times)
	return nil
}

// cost runs a turn n times and returns the worker's time for each, in microseconds.
func (t *turn) cost(n int, profile string) (float64, error) {
	profiled := profile != "" && t.name == "glossa"
	if profiled {
		if _, err := t.worker.ask("/profile?start", nil); err != nil {
			return 0, err
		}
	}
	before, err := t.worker.used()
	if err == nil {
		err = t.do(n)
	}
	if err != nil {
		return 0, err
	}
	after, err := t.worker.used()
	if profiled && err == nil {
		var b []byte
		if b, err = t.worker.ask("/profile?stop", nil); err == nil {
			err = os.WriteFile(profile, b, 0o644) // of the last round
		}
	}
	return (after - before).Seconds() * 1e6 / float64(n), err
}

// A flow opens streams and reads them to their end, measuring one worker.
type flow struct {
	name   string
	worker *worker
	do     func(plan) (*delays, error)
}

// flows returns the flows that are measured in turns.
func (w *workers) flows(pace time.Duration) ([]flow, error) {
	body, c := newBody(true), newHTTP()
	if err := w.plan(1, pace); err != nil {
		return nil, err
	}
	if err := c.stream(w.glossa.url, body, 1, &delays{}); err != nil {
		return nil, err
	}
	sent, err := w.fake.ask("/last", nil) // glossa's request to the provider
	direct := func(kind string, body []byte) func(plan) (*delays, error) {
		return func(p plan) (*delays, error) {
			return nil, w.calls.set("/do", errand{Kind: kind, Stream: true, Calls: p.streams, Connections: p.streams, Frames: p.frames, Body: body})
		}
	}
	load := func(to *worker) func(plan) (*delays, error) {
		return func(p plan) (*delays, error) { return c.streams(to.url, body, p) }
	}
	return []flow{
		{bySDK, w.calls, direct(bySDK, sent)}, {byOwn, w.calls, direct(byOwn, sent)}, {"glossa", w.glossa, load(w.glossa)},
		{byHTTP, w.calls, direct(byHTTP, body)}, {"proxy", w.proxy, load(w.proxy)},
	}, err
}

// streams measures streams, after a short round that opens the connections.
func (w *workers) streams(p plan, r *result) error {
	flows, err := w.flows(p.pace)
	if err != nil {
		return err
	}
	cost, middle, slowest, gaps := rounds{}, rounds{}, rounds{}, rounds{}
	profile := ""
	if p.profile != "" {
		profile = p.profile + ".frames"
	}
	for round := range 4 {
		p := p
		if round == 0 {
			p.frames = min(3, p.frames)
		}
		if err := w.plan(p.frames, p.pace); err != nil {
			return err
		}
		for _, f := range flows {
			var d *delays
			one := turn{f.name, f.worker, func(int) (err error) { d, err = f.do(p); return err }}
			used, err := one.cost(p.streams*p.frames, profile)
			if err != nil {
				return fmt.Errorf("%s, streams: %w", f.name, err)
			}
			if round == 0 {
				continue
			}
			cost.add(f.name, used)
			if d != nil {
				middle.add(f.name, at(d.whole, 50))
				slowest.add(f.name, at(d.whole, 99))
				gaps.add(f.name, at(d.gaps, 99))
			}
		}
	}
	r.frame, r.middle, r.slowest, r.gaps = medians(cost), medians(middle), medians(slowest), medians(gaps)
	return nil
}

// rounds holds the measurements of each round by name.
type rounds map[string][]float64

func (r rounds) add(name string, v float64) { r[name] = append(r[name], v) }

func medians(r rounds) map[string]float64 {
	out := map[string]float64{}
	for name, list := range r {
		out[name] = at(list, 50)
	}
	return out
}

// plan sets the fake's number of frames and pace.
func (w *workers) plan(frames int, pace time.Duration) error {
	b, err := json.Marshal(map[string]any{"Frames": frames, "Pace": pace})
	if err == nil {
		_, err = w.fake.ask("/plan", b)
	}
	return err
}

// at returns a percentile.
func at(list []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)*percent/100]
}
