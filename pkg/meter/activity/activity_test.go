package activity

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// ended returns the record of a request that ends now.
func ended(took time.Duration, change func(*httpx.Record)) *httpx.Record {
	rec := &httpx.Record{Dialect: "openai", Start: time.Now().Add(-took), Duration: took}
	if change != nil {
		change(rec)
	}
	return rec
}

// sums returns the tokens of the intervals.
func sums(r *recent) (input, output []int64) {
	for _, i := range r.Intervals {
		input, output = append(input, i.Input), append(output, i.Output)
	}
	return input, output
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, waiting := 3, 5
		a := New(Config{Workers: 8, Queue: func() (int, int) { return running, waiting }})
		began := time.Now().Unix()
		a.Observe(ended(time.Second, nil))
		a.Observe(ended(time.Second, func(rec *httpx.Record) { rec.Dialect = "" })) // a file of the page
		a.Observe(ended(0, func(rec *httpx.Record) { rec.Err = llm.Errorf(llm.NotFound, "no such model") }))
		time.Sleep(length * time.Second)
		running, waiting = 1, 0
		for range 2 {
			a.Observe(ended(0, func(rec *httpx.Record) { rec.Err = llm.Errorf(llm.Overloaded, "busy") }))
		}
		r := a.report(time.Now())
		if r.Since != began || r.Now != began+length || len(r.Intervals) != 2 || r.Generations != (generations{1, 0, 8}) {
			t.Fatalf("%+v", r)
		}
		if got, want := r.Intervals[0], (interval{At: began, Requests: 2, Errors: 1, Running: 3, Waiting: 5}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got, want := r.Intervals[1], (interval{At: began + length, Requests: 2, Errors: 2, Running: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if want := []failures{{llm.Overloaded, 2}, {llm.NotFound, 1}}; !slices.Equal(r.Errors, want) {
			t.Errorf("%v, want %v", r.Errors, want)
		}
	})
}

// Tokens belong to the intervals in which they were generated, and none is lost.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		time.Sleep(4 * length * time.Second)
		a.Observe(ended(14*time.Second, func(rec *httpx.Record) { // from the fourth second of the second interval
			rec.FirstText = 4 * time.Second
			rec.Usage = llm.Usage{Input: 7, Output: 101}
		}))
		input, output := sums(a.report(time.Now()))
		if want := []int64{0, 0, 7, 0, 0}; !slices.Equal(input, want) {
			t.Errorf("input %v, want %v", input, want)
		}
		if want := []int64{0, 0, 51, 50, 0}; !slices.Equal(output, want) {
			t.Errorf("output %v, want %v", output, want)
		}
		a.Observe(ended(0, func(rec *httpx.Record) { rec.Usage = llm.Usage{Input: 1, Output: 2} })) // such as embeddings
		input, output = sums(a.report(time.Now()))
		if input[4] != 1 || output[4] != 2 {
			t.Errorf("%v %v", input, output)
		}
	})
}

// An answer that goes on counts by its pieces, and by its tokens when it has ended.
func TestRunningAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		rec, page := &httpx.Record{Dialect: "openai", Start: time.Now()}, &httpx.Record{Start: time.Now()}
		a.Begin(rec)
		a.Begin(page)
		if page.Wrote != nil {
			t.Error("a file of the page has an answer")
		}
		for range 3 { // seconds 0, 4 and 8
			rec.Piece()
			time.Sleep(4 * time.Second)
		}
		if _, output := sums(a.report(time.Now())); !slices.Equal(output, []int64{2, 1, 0}) {
			t.Errorf("of a running answer: %v", output)
		}
		rec.Duration, rec.FirstText, rec.Usage.Output = time.Since(rec.Start), time.Nanosecond, 120
		a.Observe(rec)
		if _, output := sums(a.report(time.Now())); !slices.Equal(output, []int64{50, 50, 20}) {
			t.Errorf("of one that has ended: %v", output)
		}
		rec.Piece()
		if _, output := sums(a.report(time.Now())); output[2] != 20 || len(a.running) != 0 {
			t.Errorf("a late piece counts: %v, %d requests", output, len(a.running))
		}
	})
}

// The pieces of an answer that took longer than five minutes are not taken from later intervals.
func TestLongRunningAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		rec := &httpx.Record{Dialect: "openai", Start: time.Now()}
		a.Begin(rec)
		rec.Piece()
		time.Sleep(kept * length * time.Second)
		a.Observe(ended(0, func(rec *httpx.Record) { rec.Usage.Output = 5 }))
		rec.Duration = time.Since(rec.Start)
		a.Observe(rec)
		if _, output := sums(a.report(time.Now())); output[len(output)-1] != 5 {
			t.Errorf("%v", output)
		}
	})
}

// Intervals fall out of the report after five minutes, also those of an answer that took longer.
func TestOldIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		a.Observe(ended(0, func(rec *httpx.Record) { rec.Usage.Output = 9 }))
		time.Sleep(2 * kept * length * time.Second)
		r := a.report(time.Now())
		if _, output := sums(r); len(r.Intervals) != kept || slices.Max(output) != 0 {
			t.Errorf("%d intervals with %v", len(r.Intervals), output)
		}
		const took = 2 * kept * length
		a.Observe(ended(took*time.Second, func(rec *httpx.Record) {
			rec.FirstText, rec.Usage = time.Nanosecond, llm.Usage{Input: 5, Output: took}
		}))
		input, output := sums(a.report(time.Now()))
		for i, n := range output[:kept-1] {
			if n != length {
				t.Errorf("interval %d has %d tokens", i, n)
			}
		}
		if slices.Max(input) != 0 {
			t.Error("the prompt was read before the first interval")
		}
	})
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		observe := func(ms int) {
			a.Observe(ended(time.Second, func(rec *httpx.Record) { rec.FirstText = time.Duration(ms) * time.Millisecond }))
		}
		for ms := range 20 {
			observe(ms + 1)
		}
		if i := a.report(time.Now()).Intervals[0]; i.Median != 10 || i.Slow != 19 {
			t.Errorf("median %v, 95th percentile %v", i.Median, i.Slow)
		}
		for range maxTimes {
			observe(50)
		}
		if i := a.report(time.Now()).Intervals[0]; i.Median != 50 || i.Slow != 50 || i.Requests != 20+maxTimes {
			t.Errorf("%+v", i)
		}
		time.Sleep(kept * length * time.Second) // the slot is used again
		observe(7)
		r := a.report(time.Now())
		if i := r.Intervals[len(r.Intervals)-1]; i.Median != 7 || i.Slow != 7 {
			t.Errorf("%+v", i)
		}
	})
}

func TestRoute(t *testing.T) {
	a := New(Config{Memory: 100, Models: func() []Model {
		return []Model{{Name: "b", Bytes: 10}, {Name: "a", Bytes: 10, InUse: 2}, {Name: "c", Bytes: 30, Experts: &Experts{Bytes: 20, Hits: 9, Misses: 1}}}
	}})
	mux := httpx.Mux{Routes: a.Routes(), Observe: a.Observe}
	w := httptest.NewRecorder()
	mux.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/activity", nil))
	var got recent
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatal(w.Code, w.Header(), err)
	}
	want := []Model{{Name: "c", Bytes: 30, Experts: &Experts{Bytes: 20, Hits: 9, Misses: 1}}, {Name: "a", Bytes: 10, InUse: 2}, {Name: "b", Bytes: 10}}
	if got.Memory.Bytes != 50 || got.Memory.Limit != 100 || !reflect.DeepEqual(got.Memory.Models, want) || got.Seconds != length {
		t.Errorf("%+v", got)
	}
	if a.Routes()[0].Permission != httpx.Metrics {
		t.Error("anyone can read it")
	}
}
