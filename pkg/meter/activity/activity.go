// Package activity keeps the measurements of a process's last minutes, for the person who runs
// it: requests, tokens, generations, times and errors. It is for servers of one process; where
// many processes answer, each knows only its own part. It knows the record of a request and
// nothing of models, and keeps no text of clients.
package activity

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// The kept intervals.
const (
	length = 5  // of an interval, seconds
	kept   = 60 // intervals
)

// maxTimes bounds the times to the first token that an interval keeps: the latest ones.
const maxTimes = 128

// Config configures an [Activity].
type Config struct {
	Workers int                           // generations that can run at once
	Queue   func() (running, waiting int) // generations now; nil: not measured
	Memory  int64                         // bytes for the weights of open models; 0: no bound
	Models  func() []Model                // models in memory; nil: not measured
}

// A Model is a model whose weights are in memory.
type Model struct {
	Name  string `json:"name" doc:"name of the model"`
	Bytes int64  `json:"bytes" doc:"of its weights"`
	InUse int    `json:"in_use" doc:"requests that hold it"`

	Experts *Experts `json:"experts,omitempty" doc:"absent if all are in memory"`
}

// Experts are those of a model that stay in its file until tokens choose them.
type Experts struct {
	Bytes  int64 `json:"bytes" doc:"of those in memory"`
	Hits   int64 `json:"hits" doc:"how often a chosen one was in memory; once for each expert, layer and pass"`
	Misses int64 `json:"misses" doc:"how often it was not"`
}

// An Activity observes the requests of a process.
type Activity struct {
	cfg   Config
	since time.Time

	mu      sync.Mutex
	ring    [kept]slot // the interval i is at i % kept
	running map[*httpx.Record]pieces
}

// pieces are the pieces of an answer that goes on, by interval. They are counted as tokens until
// the answer ends, when its tokens are known.
type pieces map[int64]int64

// A slot is what is kept of an interval.
type slot struct {
	index            int64 // Unix time / length
	requests, errors int64
	input, output    int64
	running, waiting int // the most that were seen
	codes            map[llm.Code]int64
	times            []time.Duration // to the first token
	timed            int             // times so far
}

// New returns an Activity without observations.
func New(cfg Config) *Activity {
	return &Activity{cfg: cfg, since: time.Now(), running: map[*httpx.Record]pieces{}}
}

// slot returns the slot of a time, nil if it is no longer kept; a.mu is held.
func (a *Activity) slot(t, now time.Time) *slot {
	index := t.Unix() / length
	if index <= now.Unix()/length-kept {
		return nil
	}
	s := &a.ring[index%kept]
	if s.index != index {
		*s = slot{index: index, times: s.times[:0]}
	}
	return s
}

// Begin counts what a request of a dialect generates, until [Activity.Observe]; it is a Begin
// hook of an [httpx.Mux].
func (a *Activity) Begin(rec *httpx.Record) {
	if rec.Dialect == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[rec] = pieces{}
	rec.Wrote = func() { a.wrote(rec) }
}

// wrote counts a piece of an answer that goes on.
func (a *Activity) wrote(rec *httpx.Record) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if counted, ok := a.running[rec]; ok { // otherwise the request has ended
		s := a.slot(now, now)
		s.output++
		counted[s.index]++
	}
}

// ended takes back the pieces of an answer; a.mu is held.
func (a *Activity) ended(rec *httpx.Record) {
	for index, n := range a.running[rec] {
		if s := &a.ring[index%kept]; s.index == index {
			s.output -= n
		}
	}
	delete(a.running, rec)
}

// Observe counts a request of a dialect; it is an Observe hook of an [httpx.Mux]. Other
// requests, such as those for the page and for measurements, are not counted.
func (a *Activity) Observe(rec *httpx.Record) {
	if rec.Dialect == "" {
		return
	}
	end := rec.Start.Add(rec.Duration)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended(rec)
	s := a.slot(end, end)
	s.requests++
	if rec.Err != nil {
		s.errors++
		if s.codes == nil {
			s.codes = map[llm.Code]int64{}
		}
		s.codes[rec.Err.Code]++
	}
	a.sample(s)
	if rec.FirstText > 0 {
		if len(s.times) < maxTimes {
			s.times = append(s.times, 0)
		}
		s.times[s.timed%maxTimes] = rec.FirstText
		s.timed++
	}
	first := end
	if rec.FirstText > 0 {
		first = rec.Start.Add(rec.FirstText)
	}
	if s := a.slot(first, end); s != nil {
		s.input += int64(rec.Usage.Input)
	}
	a.spread(first, end, int64(rec.Usage.Output))
}

// sample records the generations of this moment; a.mu is held.
func (a *Activity) sample(s *slot) (running, waiting int) {
	if a.cfg.Queue != nil {
		running, waiting = a.cfg.Queue()
		s.running, s.waiting = max(s.running, running), max(s.waiting, waiting)
	}
	return running, waiting
}

// spread divides the tokens of an answer between the intervals in which they were generated;
// a.mu is held.
func (a *Activity) spread(from, to time.Time, tokens int64) {
	whole, given := to.Sub(from), int64(0)
	for from := from; given < tokens; {
		next := time.Unix((from.Unix()/length+1)*length, 0)
		part := tokens
		if next.Before(to) {
			part = int64(math.Round(float64(tokens) * (1 - float64(to.Sub(next))/float64(whole))))
		}
		if s := a.slot(from, to); s != nil {
			s.output += part - given
		}
		from, given = next, part
	}
}

// An interval is a part of the report.
type interval struct {
	At       int64   `json:"at" doc:"when it began, Unix time in seconds"`
	Requests int64   `json:"requests" doc:"requests that ended"`
	Errors   int64   `json:"errors" doc:"requests that failed"`
	Input    int64   `json:"input_tokens" doc:"tokens of their prompts"`
	Output   int64   `json:"output_tokens" doc:"generated tokens"`
	Running  int     `json:"running" doc:"the most generations that were seen to run"`
	Waiting  int     `json:"waiting" doc:"the most generations that were seen to wait for a worker"`
	Median   float64 `json:"first_token_ms,omitzero" doc:"the median time to the first token"`
	Slow     float64 `json:"first_token_p95_ms,omitzero" doc:"the time to the first token that 95 % of the answers kept"`
}

// failures are the failed requests with an error code.
type failures struct {
	Code  llm.Code `json:"code" doc:"code of the error"`
	Count int64    `json:"count" doc:"how often it occurred"`
}

// generations are the generations now.
type generations struct {
	Running int `json:"running" doc:"generations that run"`
	Waiting int `json:"waiting" doc:"for a worker"`
	Workers int `json:"workers" doc:"generations that can run at once"`
}

// memory is the memory of models now.
type memory struct {
	Bytes  int64   `json:"bytes" doc:"of the weights of all models"`
	Limit  int64   `json:"limit,omitzero" doc:"bytes; absent without a bound"`
	Models []Model `json:"models" doc:"the largest first"`
}

// recent is the answer of GET /activity.
type recent struct {
	Since       int64       `json:"since" doc:"when the measurements began, Unix time in seconds"`
	Now         int64       `json:"now" doc:"Unix time in seconds"`
	Seconds     int         `json:"interval_seconds" doc:"length of an interval"`
	Generations generations `json:"generations"`
	Memory      memory      `json:"memory"`
	Errors      []failures  `json:"errors" doc:"of all intervals, the most frequent first"`
	Intervals   []interval  `json:"intervals" doc:"the oldest first; the last one goes on"`
}

// report returns the intervals up to now.
func (a *Activity) report(now time.Time) *recent {
	r := &recent{Since: a.since.Unix(), Now: now.Unix(), Seconds: length, Errors: []failures{}, Memory: memory{Limit: a.cfg.Memory, Models: []Model{}}}
	if a.cfg.Models != nil {
		r.Memory.Models = append(r.Memory.Models, a.cfg.Models()...)
	}
	for _, m := range r.Memory.Models {
		r.Memory.Bytes += m.Bytes
	}
	slices.SortFunc(r.Memory.Models, func(x, y Model) int { return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name)) })
	a.mu.Lock()
	defer a.mu.Unlock()
	running, waiting := a.sample(a.slot(now, now))
	r.Generations = generations{running, waiting, a.cfg.Workers}
	codes := map[llm.Code]int64{}
	last := now.Unix() / length
	for index := max(last-kept+1, a.since.Unix()/length); index <= last; index++ {
		s := &a.ring[index%kept]
		if s.index != index { // nothing happened in it
			s = &slot{}
		}
		one := interval{
			At: index * length, Requests: s.requests, Errors: s.errors, Input: s.input, Output: s.output, Running: s.running, Waiting: s.waiting,
		}
		one.Median, one.Slow = quantiles(s.times)
		for code, n := range s.codes {
			codes[code] += n
		}
		r.Intervals = append(r.Intervals, one)
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		r.Errors = append(r.Errors, failures{code, codes[code]})
	}
	slices.SortStableFunc(r.Errors, func(x, y failures) int { return cmp.Compare(y.Count, x.Count) })
	return r
}

// quantiles returns the median and the 95th percentile in milliseconds, by nearest rank.
func quantiles(times []time.Duration) (median, slow float64) {
	if len(times) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := func(percent int) float64 {
		at := (percent*len(sorted) + 99) / 100
		return float64(sorted[max(at, 1)-1].Microseconds()) / 1000
	}
	return rank(50), rank(95)
}

var activityDoc = &httpx.Operation{
	ID: "activity", Tag: "Service", Summary: "Get the requests, tokens and generations of the last minutes",
	Description: "Servers have this route, functions do not. It counts requests of all dialects. While an answer is generated, each of its pieces counts as a token. When the request ends, its tokens are counted in the intervals in which they were generated.",
	Answers:     []httpx.Answer{{Of: recent{}}},
}

// Routes returns GET /activity.
func (a *Activity) Routes() []httpx.Route {
	return []httpx.Route{{
		Method: http.MethodGet, Pattern: "/activity", Permission: httpx.Metrics, Doc: activityDoc,
		Handle: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Cache-Control", "no-store")
			return httpx.JSON(w, http.StatusOK, a.report(time.Now()))
		},
	}}
}
