// Package traffic simulates requests that arrive at instances of a function or at a server:
// which start cold, which wait, which are throttled, how long they take and what is billed. It
// refuses to know models, tokens, prices and clocks: a job brings its duration, and the same
// jobs always give the same result.
//
// The rules are Lambda's. An instance runs one job at a time. A job takes a provisioned instance,
// else the idle one that was used last, else a new one, else it waits, else it is throttled. The job that starts
// an instance waits for its start; it does not change to another that becomes free meanwhile.
// An instance ends when it was idle for a time. A server is a fleet of warm instances, places
// that share its processors, and a queue, which is served in the order of arrival.
//
// Source: AWS Lambda Developer Guide, "Understanding Lambda function scaling" and "Understanding
// the Lambda execution environment lifecycle".
package traffic

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// A Job is a request.
type Job struct {
	At       time.Duration // of its arrival, from the beginning; never before that of the job before
	First    time.Duration // from the start of its work to its first token, at most Duration
	Duration time.Duration // of its work on a warm instance
}

// A Fleet describes instances.
type Fleet struct {
	Most     int           // instances at once: the concurrency of an account or a function
	Warm     int           // instances that are there from the beginning and never end
	Start    time.Duration // from the request of a new instance to its first work
	Unbilled time.Duration // part of Start that is not billed, at most Start
	Idle     time.Duration // an instance that is not used for so long ends; 0: none ends
	Queue    int           // jobs that may wait for an instance; negative: any number
	Limit    time.Duration // of the work of a job, which ends there; 0: none

	// Slowdown multiplies the work of a job by the number of jobs that run when it starts, from 1
	// on, itself included; the last counts for more. None: instances share nothing.
	Slowdown []float64
}

// MaxTime is the latest arrival, and the longest duration: a year.
const MaxTime = 366 * 24 * time.Hour

const maxSlowdown = 1000

// slowdown returns the factor for the work of a job when so many run.
func (f *Fleet) slowdown(running int) float64 {
	if len(f.Slowdown) == 0 {
		return 1
	}
	return f.Slowdown[min(running, len(f.Slowdown))-1]
}

// check rejects a fleet that cannot be.
func (f *Fleet) check() error {
	for _, t := range []time.Duration{f.Start, f.Unbilled, f.Idle, f.Limit} {
		if t < 0 || t > MaxTime {
			return fmt.Errorf("a time of the fleet is %v: it must be from 0 to a year", t)
		}
	}
	for _, v := range f.Slowdown {
		if !(v >= 1 && v <= maxSlowdown) {
			return fmt.Errorf("jobs cannot be slowed down %v times: that must be from 1 to %d", v, maxSlowdown)
		}
	}
	switch {
	case f.Most < 1:
		return errors.New("a fleet must have room for an instance")
	case f.Warm < 0 || f.Warm > f.Most:
		return fmt.Errorf("%d of at most %d instances cannot be warm", f.Warm, f.Most)
	case f.Unbilled > f.Start:
		return fmt.Errorf("%v of a start of %v cannot be free", f.Unbilled, f.Start)
	}
	return nil
}

// check rejects a job that cannot come after one at last.
func (j *Job) check(last time.Duration) error {
	switch {
	case j.At < 0 || j.At > MaxTime:
		return fmt.Errorf("it arrives at %v: that must be from 0 to a year", j.At)
	case j.At < last:
		return fmt.Errorf("it arrives at %v, before the one before it, at %v", j.At, last)
	case j.Duration < 0 || j.Duration > MaxTime || j.First < 0 || j.First > j.Duration:
		return fmt.Errorf("it takes %v and has its first token after %v: they must be ordered, and from 0 to a year", j.Duration, j.First)
	}
	return nil
}

// An Outcome is what happened to a job.
type Outcome struct {
	Job
	Throttled bool          // it did not run
	Cold      bool          // it started an instance
	TimedOut  bool          // it ended at the limit
	Wait      time.Duration // for an instance, without its start
	First     time.Duration // from the arrival to the first token; if it timed out before, to its end
	Latency   time.Duration // from the arrival to the end
	Billed    time.Duration // the work, and what is billed of the start
}

// Simulate yields the outcome of each job in the order in which they start or are throttled,
// and ends with the first job that cannot be.
func Simulate(f Fleet, jobs iter.Seq[Job]) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		if err := f.check(); err != nil {
			yield(Outcome{}, err)
			return
		}
		s := &simulation{fleet: f, yield: yield, warm: f.Warm, alive: f.Warm}
		n, last := 0, time.Duration(0)
		for j := range jobs {
			n++
			if err := j.check(last); err != nil {
				s.emit(Outcome{}, fmt.Errorf("request %d: %w", n, err))
				return
			}
			last = j.At
			s.advance(j.At)
			if s.arrive(j); s.stopped {
				return
			}
		}
		s.advance(math.MaxInt64)
	}
}

// An instance is one that is idle since a time, or busy until one.
type instance struct {
	at   time.Duration
	warm bool // it never ends
}

// A simulation is the state of a fleet.
type simulation struct {
	fleet   Fleet
	yield   func(Outcome, error) bool
	stopped bool

	alive   int             // instances, busy or idle
	warm    int             // idle instances that never end
	idle    queue[instance] // the others, the longest idle first
	busy    heap            // the first to be free first
	waiting queue[Job]
}

// advance plays everything until a time: jobs end, waiting ones start, idle instances end. A
// job that ends at a time makes room for one that arrives then.
func (s *simulation) advance(now time.Duration) {
	for !s.stopped && len(s.busy) > 0 && s.busy[0].at <= now {
		one := s.busy.pop()
		switch {
		case s.waiting.len() > 0:
			j := s.waiting.first()
			if one.at-j.At > MaxTime {
				s.emit(Outcome{}, errors.New("a request waits for more than a year: the instances never catch up"))
				return
			}
			s.run(j, one, Outcome{Job: j, Wait: one.at - j.At})
		case one.warm:
			s.warm++
		default:
			s.idle.add(one)
		}
	}
	for s.fleet.Idle > 0 && s.idle.len() > 0 && now-s.idle.peek().at >= s.fleet.Idle {
		s.idle.first()
		s.alive--
	}
}

// arrive starts, queues or throttles a job.
func (s *simulation) arrive(j Job) {
	switch {
	case s.warm > 0:
		s.warm--
		s.run(j, instance{j.At, true}, Outcome{Job: j})
	case s.idle.len() > 0:
		s.idle.last()
		s.run(j, instance{at: j.At}, Outcome{Job: j})
	case s.alive < s.fleet.Most:
		s.alive++
		s.run(j, instance{at: j.At + s.fleet.Start}, Outcome{Job: j, Cold: true, Billed: s.fleet.Start - s.fleet.Unbilled})
	case s.fleet.Queue < 0 || s.waiting.len() < s.fleet.Queue:
		s.waiting.add(j)
	default:
		s.emit(Outcome{Job: j, Throttled: true}, nil)
	}
}

// run runs a job on an instance that is ready at a time.
func (s *simulation) run(j Job, one instance, o Outcome) {
	slow := s.fleet.slowdown(len(s.busy) + 1)
	ready, work, first := one.at, slower(j.Duration, slow), slower(j.First, slow)
	if limit := s.fleet.Limit; limit > 0 && work > limit {
		o.TimedOut, work = true, limit
	}
	one.at = ready + work
	o.First, o.Latency, o.Billed = ready+min(first, work)-j.At, one.at-j.At, o.Billed+work
	s.busy.push(one)
	s.emit(o, nil)
}

// slower returns a time multiplied by a factor, at most a year.
func slower(t time.Duration, factor float64) time.Duration {
	return time.Duration(min(float64(t)*factor, float64(MaxTime)))
}

func (s *simulation) emit(o Outcome, err error) {
	if !s.stopped && (!s.yield(o, err) || err != nil) {
		s.stopped = true
	}
}
