package traffic

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const s = time.Second

// play returns the outcomes of jobs in the order of their arrival.
func play(t *testing.T, f Fleet, jobs ...Job) (list []Outcome) {
	t.Helper()
	for o, err := range Simulate(f, slices.Values(jobs)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b Outcome) int { return int(a.At - b.At) })
	return list
}

func every(d time.Duration, at ...time.Duration) (jobs []Job) {
	for _, t := range at {
		jobs = append(jobs, Job{At: t, First: d / 4, Duration: d})
	}
	return jobs
}

// Hand-computed cases: each outcome as cold, throttled, wait, first, latency and billed.
func TestSimulate(t *testing.T) {
	type row struct {
		cold, throttled, timedOut    bool
		wait, first, latency, billed time.Duration
	}
	warm := row{first: 1 * s, latency: 4 * s, billed: 4 * s}
	for name, c := range map[string]struct {
		fleet Fleet
		jobs  []Job
		want  []row
	}{
		"an instance is used again": {Fleet{Most: 9, Start: 2 * s, Unbilled: s}, every(4*s, 0, 10*s), []row{
			{cold: true, first: 3 * s, latency: 6 * s, billed: 5 * s}, warm}},
		"a job that arrives when another ends": {Fleet{Most: 9, Start: 2 * s}, every(4*s, 0, 6*s), []row{
			{cold: true, first: 3 * s, latency: 6 * s, billed: 6 * s}, warm}},
		"two at once": {Fleet{Most: 9, Start: 2 * s}, every(4*s, 0, 5*s, 7*s), []row{
			{cold: true, first: 3 * s, latency: 6 * s, billed: 6 * s}, {cold: true, first: 3 * s, latency: 6 * s, billed: 6 * s}, warm}},
		"throttled": {Fleet{Most: 1, Start: 2 * s}, every(4*s, 0, 5*s, 6*s), []row{
			{cold: true, first: 3 * s, latency: 6 * s, billed: 6 * s}, {throttled: true}, warm}},
		"idle for too long": {Fleet{Most: 1, Idle: 3 * s}, every(4*s, 0, 6*s, 13*s), []row{
			{cold: true, first: s, latency: 4 * s, billed: 4 * s}, warm, {cold: true, first: s, latency: 4 * s, billed: 4 * s}}},
		// At 4 s two are idle, since 4 s: the one used last answers at 6 and 12 s, the other one ends at 14 s.
		"the one that was used last": {Fleet{Most: 2, Idle: 10 * s}, every(4*s, 0, 0, 6*s, 12*s, 17*s, 18*s), []row{
			{cold: true, first: s, latency: 4 * s, billed: 4 * s}, {cold: true, first: s, latency: 4 * s, billed: 4 * s}, warm, warm, warm,
			{cold: true, first: s, latency: 4 * s, billed: 4 * s}}},
		"a queue": {Fleet{Most: 1, Warm: 1, Queue: 1}, every(4*s, 0, s, 2*s, 6*s), []row{
			warm, {wait: 3 * s, first: 4 * s, latency: 7 * s, billed: 4 * s}, {throttled: true}, {wait: 2 * s, first: 3 * s, latency: 6 * s, billed: 4 * s}}},
		"warm ones first, and they stay": {Fleet{Most: 2, Warm: 1, Start: s, Idle: s}, every(4*s, 0, s, 20*s, 21*s), []row{
			warm, {cold: true, first: 2 * s, latency: 5 * s, billed: 5 * s}, warm, {cold: true, first: 2 * s, latency: 5 * s, billed: 5 * s}}},
		"the limit": {Fleet{Most: 1, Start: s, Unbilled: s, Limit: 500 * time.Millisecond}, every(4*s, 0), []row{
			{cold: true, timedOut: true, first: 1500 * time.Millisecond, latency: 1500 * time.Millisecond, billed: 500 * time.Millisecond}}},
		"shared processors": {Fleet{Most: 3, Warm: 3, Slowdown: []float64{1, 1.5}}, every(4*s, 0, 0, 0, 4*s), []row{
			warm, {first: 1500 * time.Millisecond, latency: 6 * s, billed: 6 * s}, {first: 1500 * time.Millisecond, latency: 6 * s, billed: 6 * s},
			{first: 1500 * time.Millisecond, latency: 6 * s, billed: 6 * s}}},
	} {
		got := play(t, c.fleet, c.jobs...)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d outcomes", name, len(got))
			continue
		}
		for i, o := range got {
			if is := (row{o.Cold, o.Throttled, o.TimedOut, o.Wait, o.First, o.Latency, o.Billed}); is != c.want[i] {
				t.Errorf("%s: request %d: %+v, want %+v", name, i, is, c.want[i])
			}
		}
	}
}

// exponential returns jobs of a Poisson process with exponential durations of a mean of a second.
func exponential(t testing.TB, perSecond float64, n int, seed uint64) iter.Seq[Job] {
	arrivals, err := Poisson(perSecond*60, time.Duration(float64(n)/perSecond)*s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(Job) bool) {
		random := rand.New(rand.NewPCG(seed, 7))
		for at := range arrivals {
			if !yield(Job{At: at, Duration: time.Duration(random.ExpFloat64() * float64(s))}) {
				return
			}
		}
	}
}

// erlangB returns the share of jobs that c places without a queue turn away, with an offered
// load of a. Source: Erlang, Solution of some problems in the theory of probabilities, 1917.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// erlangC returns the share of jobs that wait at c places with a queue.
func erlangC(c int, a float64) float64 {
	b := erlangB(c, a)
	return b / (1 - a/float64(c)*(1-b))
}

// M/M/c/c: throttled requests are Erlang's loss; M/M/c: those that wait, and how long, are
// Erlang's delay. The tolerance is four standard errors, with a margin for correlation.
func TestErlang(t *testing.T) {
	const n = 200_000
	for _, c := range []int{1, 2, 5, 20} {
		for _, load := range []float64{0.3, 0.7, 0.9} { // of the places
			a := load * float64(c)
			lost, err := Summarize(Fleet{Most: c}, exponential(t, a, n, uint64(c)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := float64(lost.Throttled)/float64(lost.Requests), erlangB(c, a); math.Abs(got-want) > 0.01 {
				t.Errorf("M/M/%d/%d at %v: %.4f are throttled, want %.4f", c, c, a, got, want)
			}
			queued, err := Summarize(Fleet{Most: c, Warm: c, Queue: -1}, exponential(t, a, n, uint64(c)+100), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := float64(queued.Waited)/float64(queued.Requests), erlangC(c, a); math.Abs(got-want) > 0.02 {
				t.Errorf("M/M/%d at %v: %.4f wait, want %.4f", c, a, got, want)
			}
			mean := erlangC(c, a) / (float64(c) - a) // seconds
			if got := queued.Wait.Mean.Seconds(); math.Abs(got-mean) > 0.01+0.08*mean {
				t.Errorf("M/M/%d at %v: they wait %.4f s, want %.4f", c, a, got, mean)
			}
			if queued.Throttled > 0 || queued.Cold > 0 || queued.Instances > c || lost.Instances > c || lost.Cold > c {
				t.Errorf("M/M/%d: %+v, %+v", c, queued, lost)
			}
		}
	}
}

// What is billed and what runs are the sums over the requests; every request has one end.
func TestSums(t *testing.T) {
	fleet := Fleet{Most: 3, Start: 2 * s, Unbilled: s, Idle: 5 * s, Limit: 3 * s}
	var billed, worked time.Duration
	n, ran := 0, 0
	sum, err := Summarize(fleet, exponential(t, 1.5, 20_000, 3), func(o Outcome) {
		n++
		if o.Throttled {
			if o.Billed != 0 || o.Latency != 0 {
				t.Errorf("a throttled request is billed: %+v", o)
			}
			return
		}
		ran++
		want := min(o.Duration, fleet.Limit)
		if o.Cold {
			want += fleet.Start - fleet.Unbilled
		}
		if o.Billed != want || o.First > o.Latency {
			t.Fatalf("%+v: billed %v, want %v", o, o.Billed, want)
		}
		billed, worked = billed+o.Billed, worked+o.Latency-o.Wait
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Requests != n || sum.Throttled != n-ran || sum.Billed != billed || sum.Busy != worked {
		t.Errorf("%+v, want %d requests, %v billed", sum, n, billed)
	}
	if sum.Throttled == 0 || sum.TimedOut == 0 || sum.Cold <= 3 || sum.Instances != 3 {
		t.Errorf("the case has too little: %+v", sum)
	}
}

// Without a limit of instances nothing is throttled, and the instances are those that run at
// once, counted from the outcomes alone. More instances never throttle more.
func TestInstances(t *testing.T) {
	jobs := slices.Collect(exponential(t, 5, 3000, 9))
	var outcomes []Outcome
	sum, err := Summarize(Fleet{Most: 1000, Start: s}, slices.Values(jobs), func(o Outcome) { outcomes = append(outcomes, o) })
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, o := range outcomes {
		n := 0
		for _, other := range outcomes {
			if other.At <= o.At && other.At+other.Latency > o.At {
				n++
			}
		}
		most = max(most, n)
	}
	if sum.Throttled != 0 || sum.Instances != most || sum.Cold != most {
		t.Errorf("%+v, want %d instances, each started once", sum, most)
	}
	last := len(jobs)
	for places := 1; places <= most; places++ {
		sum, err := Summarize(Fleet{Most: places, Start: s}, slices.Values(jobs), nil)
		if err != nil || sum.Throttled > last {
			t.Errorf("%d instances throttle %d, one fewer %d: %v", places, sum.Throttled, last, err)
		}
		last = sum.Throttled
	}
	if last != 0 {
		t.Errorf("%d are throttled with enough instances", last)
	}
}

func TestSimulateRefuses(t *testing.T) {
	good := []Job{{At: s, Duration: s}}
	for want, c := range map[string]struct {
		fleet Fleet
		jobs  []Job
	}{
		"room for an instance":                  {Fleet{}, good},
		"3 of at most 2 instances":              {Fleet{Most: 2, Warm: 3}, good},
		"a time of the fleet is -1s":            {Fleet{Most: 1, Idle: -s}, good},
		"2s of a start of 1s cannot be free":    {Fleet{Most: 1, Start: s, Unbilled: 2 * s}, good},
		"slowed down NaN times":                 {Fleet{Most: 1, Slowdown: []float64{math.NaN()}}, good},
		"slowed down 0.5 times":                 {Fleet{Most: 1, Slowdown: []float64{1, 0.5}}, good},
		"request 1: it arrives at -1s":          {Fleet{Most: 1}, []Job{{At: -s}}},
		"request 2: it arrives at 1s, before":   {Fleet{Most: 1}, []Job{{At: 2 * s}, {At: s}}},
		"request 1: it takes -1s":               {Fleet{Most: 1}, []Job{{Duration: -s}}},
		"it takes 1s and has its first token":   {Fleet{Most: 1}, []Job{{First: 2 * s, Duration: s}}},
		"request 1: it arrives at 8784h0m0.000": {Fleet{Most: 1}, []Job{{At: MaxTime + 1}}},
		"waits for more than a year":            {Fleet{Most: 1, Queue: -1}, slices.Repeat([]Job{{Duration: MaxTime}}, 1000)},
	} {
		_, err := Summarize(c.fleet, slices.Values(c.jobs), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for range Simulate(Fleet{Most: 9}, slices.Values(every(s, 0, 0, 0))) {
		break // ends the simulation
	}
}

// Sums of extreme times do not overflow.
func TestExtremes(t *testing.T) {
	jobs := slices.Repeat([]Job{{At: MaxTime, Duration: MaxTime}}, 1000)
	sum, err := Summarize(Fleet{Most: 1000, Start: MaxTime}, slices.Values(jobs), nil)
	if err != nil || sum.Billed != math.MaxInt64 || sum.Latency.Mean != 2*MaxTime || sum.Last < 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}
