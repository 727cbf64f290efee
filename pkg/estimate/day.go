package estimate

import (
	"iter"
	"math"
	"time"

	"glossa/pkg/deployment"
	"glossa/pkg/estimate/traffic"
	"glossa/pkg/llm"
)

// A Day is what happens in a time of traffic. Times are in seconds.
type Day struct {
	Name      string  `json:"name"`
	MemoryMB  int     `json:"memory_mb,omitempty"` // of a function
	Requests  int     `json:"requests"`
	Instances int     `json:"instances"` // at once
	Cold      int     `json:"cold_starts"`
	Waited    int     `json:"waited"`
	Throttled int     `json:"throttled"`
	TimedOut  int     `json:"timed_out"`
	First     Spread  `json:"first_token_seconds"`
	Latency   Spread  `json:"latency_seconds"`
	Wait      Spread  `json:"wait_seconds"`
	Billed    float64 `json:"billed_seconds"` // of a function
	Bill      llm.USD `json:"bill_usd"`
	Other     llm.USD `json:"other_usd,omitempty"` // what the other model takes for the same requests
}

// A Spread describes times in seconds.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spreadOf(s traffic.Spread) Spread {
	return Spread{s.P50.Seconds(), s.P99.Seconds(), s.Max.Seconds()}
}

// FunctionDay simulates requests to a function with so many instances at most, each of which
// ends when it was idle for a time.
func (e *Estimator) FunctionDay(f *Function, requests iter.Seq[traffic.Request], most int, idle time.Duration) (*Day, error) {
	fleet := traffic.Fleet{Most: most, Start: f.start, Unbilled: f.unbilled, Idle: idle, Limit: deployment.MaxTimeout}
	computer := e.computer(f.MemoryMB)
	bill := llm.USD(0)
	sum, other, err := e.play(fleet, f.Processors, requests, func(o traffic.Outcome) {
		if !o.Throttled {
			bill = bill.Plus(computer.Cost(o.Billed))
		}
	})
	if err != nil {
		return nil, err
	}
	d := day("Lambda", sum)
	d.MemoryMB, d.Billed, d.Bill, d.Other = f.MemoryMB, sum.Billed.Seconds(), bill, other
	return d, nil
}

// ServerDay simulates requests to a server that runs for a time, and until its last request
// ends. Requests share its processors: each takes as long as if those that run when it starts
// ran to its end.
func (e *Estimator) ServerDay(s *Server, requests iter.Seq[traffic.Request], over time.Duration) (*Day, error) {
	places := s.Instances * s.Rows
	fleet := traffic.Fleet{Most: places, Warm: places, Queue: s.queue}
	for running := 1; running <= places; running++ {
		fleet.Slowdown = append(fleet.Slowdown, e.slowdown(s, (running+s.Instances-1)/s.Instances))
	}
	sum, other, err := e.play(fleet, float64(s.Processors), requests, nil)
	if err != nil {
		return nil, err
	}
	d := day(s.Name, sum)
	d.Instances, d.Other = s.Instances, other
	hours := max(over, sum.Last).Hours()
	d.Bill = dollars(math.Ceil(float64(s.Hour) * hours)).Plus(s.Fee.Times(int64(sum.Requests - sum.Throttled)))
	return d, nil
}

// slowdown returns how many times longer a typical request takes if an instance computes so many.
func (e *Estimator) slowdown(s *Server, rows int) float64 {
	_, alone := e.Speed.Time(float64(s.Processors), e.Request, 1)
	_, all := e.Speed.Time(float64(s.Processors), e.Request, rows)
	return max(1, float64(all)/float64(max(1, alone)))
}

// play simulates requests, and returns what the other model takes for all of them.
func (e *Estimator) play(fleet traffic.Fleet, processors float64, requests iter.Seq[traffic.Request], each func(traffic.Outcome)) (*traffic.Summary, llm.USD, error) {
	other, known := llm.USD(0), Request{}
	var first, last time.Duration
	jobs := func(yield func(traffic.Job) bool) {
		for r := range requests {
			if is := (Request{r.Prompt, r.Answer}); is != known { // most are alike
				first, last = e.Speed.Time(processors, is, 1)
				known = is
			}
			other = other.Plus(e.Other.Cost(llm.Usage{Input: r.Prompt, Output: r.Answer}, 1).USD)
			if !yield(traffic.Job{At: r.At, First: first, Duration: last}) {
				return
			}
		}
	}
	sum, err := traffic.Summarize(fleet, jobs, each)
	return sum, other, err
}

func day(name string, s *traffic.Summary) *Day {
	return &Day{
		Name: name, Requests: s.Requests, Instances: s.Instances, Cold: s.Cold, Waited: s.Waited, Throttled: s.Throttled, TimedOut: s.TimedOut,
		First: spreadOf(s.First), Latency: spreadOf(s.Latency), Wait: spreadOf(s.Wait),
	}
}

// Alike returns requests of the typical length at arrivals.
func (r Request) Alike(arrivals iter.Seq[time.Duration]) iter.Seq[traffic.Request] {
	return func(yield func(traffic.Request) bool) {
		for at := range arrivals {
			if !yield(traffic.Request{At: at, Prompt: r.Prompt, Answer: r.Answer}) {
				return
			}
		}
	}
}
