package traffic

import (
	"iter"
	"math"
	"slices"
	"time"
)

// A Summary describes the outcomes of all jobs.
type Summary struct {
	Requests  int // all, throttled ones included
	Throttled int
	Cold      int
	TimedOut  int
	Waited    int // for an instance of the fleet

	Instances int           // the most at once
	Busy      time.Duration // of all instances together, starts included
	Billed    time.Duration // of all requests together
	Last      time.Duration // the end of the last request

	Wait, First, Latency Spread // of the requests that ran
}

// A Spread describes durations: the least that half, or 99 of 100, do not exceed, the longest,
// and the mean.
type Spread struct{ P50, P99, Max, Mean time.Duration }

// Summarize plays the jobs. each, which may be nil, is called with each outcome.
func Summarize(f Fleet, jobs iter.Seq[Job], each func(Outcome)) (*Summary, error) {
	s := &Summary{Instances: f.Warm}
	var wait, first, latency []time.Duration
	var ends heap // of instances that run something
	for o, err := range Simulate(f, jobs) {
		if err != nil {
			return nil, err
		}
		if each != nil {
			each(o)
		}
		s.Requests++
		if o.Throttled {
			s.Throttled++
			continue
		}
		s.count(o)
		end := o.At + o.Latency
		for len(ends) > 0 && ends[0].at <= o.At+o.Wait {
			ends.pop()
		}
		ends.push(instance{at: end})
		s.Instances, s.Last = max(s.Instances, len(ends)), max(s.Last, end)
		wait, first, latency = append(wait, o.Wait), append(first, o.First), append(latency, o.Latency)
	}
	s.Wait, s.First, s.Latency = spread(wait), spread(first), spread(latency)
	return s, nil
}

// count adds a job that ran.
func (s *Summary) count(o Outcome) {
	if o.Cold {
		s.Cold++
	}
	if o.TimedOut {
		s.TimedOut++
	}
	if o.Wait > 0 {
		s.Waited++
	}
	s.Busy, s.Billed = plus(s.Busy, o.Latency-o.Wait), plus(s.Billed, o.Billed)
}

// plus adds durations without overflow.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// spread describes values, which it sorts. A quantile is the value of the nearest rank.
//
// Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, definition 1.
func spread(values []time.Duration) (s Spread) {
	n := len(values)
	if n == 0 {
		return s
	}
	slices.Sort(values)
	mean := 0.0
	for i, v := range values {
		mean += (float64(v) - mean) / float64(i+1)
	}
	rank := func(percent int) time.Duration { return values[(n*percent+99)/100-1] }
	return Spread{rank(50), rank(99), values[n-1], time.Duration(mean)}
}
