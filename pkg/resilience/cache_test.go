package resilience

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

const hour = time.Hour

// seeded is a set of one model whose answers are kept, like a model in this process.
func seeded(m *llm.Model) *modelSet {
	s := newModelSet(m)
	s.policies[m.Name] = Policy{Keep: hour, Version: "1", Seeded: true}
	return s
}

// Table of requests with an answer that can be kept.
func TestRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		sent, defaults llm.Params
		seeded, remote bool
	}{
		"nothing sent":               {llm.Params{}, llm.Params{}, true, false},
		"greedy":                     {llm.Params{Temperature: new(0.0)}, llm.Params{}, true, true},
		"greedy with top_k":          {llm.Params{Temperature: new(0.0), TopK: new(3)}, llm.Params{}, true, true},
		"greedy by default":          {llm.Params{}, llm.Params{Temperature: new(0.0)}, true, false},
		"sampled":                    {llm.Params{Temperature: new(0.1)}, llm.Params{}, false, false},
		"sampled by default":         {llm.Params{}, llm.Params{Temperature: new(1.0)}, false, false},
		"sampled, not as by default": {llm.Params{Temperature: new(1.0)}, llm.Params{Temperature: new(0.0)}, false, false},
		"top_k means sampled":        {llm.Params{TopK: new(3)}, llm.Params{}, false, false},
		"top_p by default":           {llm.Params{}, llm.Params{TopP: new(0.9)}, false, false},
		"typical_p":                  {llm.Params{TypicalP: new(0.9)}, llm.Params{}, false, false},
		"a seed":                     {llm.Params{Temperature: new(1.0), Seed: new(int64(0))}, llm.Params{}, true, false},
		"a seed by default":          {llm.Params{Temperature: new(1.0)}, llm.Params{Seed: new(int64(1))}, true, false},
		"a seed alone":               {llm.Params{Seed: new(int64(1))}, llm.Params{}, true, false},
	} {
		for seeded, want := range map[bool]bool{true: test.seeded, false: test.remote} {
			c := &cache{policy: Policy{Seeded: seeded}}
			if got := c.repeats(&llm.Request{Params: test.sent, Defaults: test.defaults}); got != want {
				t.Errorf("%s, seeded %v: %v", name, seeded, got)
			}
		}
	}
}

// A repeated answer is the same, chunk by chunk, whether it is streamed or not; a
// header distinguishes it from a new one.
func TestHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "a"}
		s := seeded(f.model())
		all := func(req *llm.Request) (list []llm.Chunk, cached, age string) {
			rec, header := within(t, t.Context(), func(ctx context.Context) {
				for c, err := range s.mustOpen(t, ctx, "a").Generate(ctx, req) {
					if err != nil {
						t.Error(err)
					}
					list = append(list, c)
				}
			})
			if rec.Fallbacks != nil {
				t.Error(rec.Fallbacks)
			}
			return list, header.Get(CacheHeader), header.Get("Age")
		}
		req := request()
		req.N, req.Logprobs = 2, new(1)
		first, cached, age := all(req)
		if cached != "miss" || age != "" || len(first) != 8 {
			t.Fatalf("%q %q %+v", cached, age, first)
		}
		want, _, _ := copyAll(first)
		spoil(reflect.ValueOf(&first[0]).Elem()) // a chunk belongs to its receiver
		for _, stream := range []bool{false, true} {
			time.Sleep(2500 * time.Millisecond)
			req.Stream = stream
			again, cached, age := all(req)
			if !reflect.DeepEqual(again, want) || cached != "hit" || age != map[bool]string{false: "2", true: "5"}[stream] || f.calls != 1 {
				t.Errorf("%q %q after %d calls: %+v", cached, age, f.calls, again)
			}
			for i := range again {
				spoil(reflect.ValueOf(&again[i]).Elem())
			}
		}
		req.Temperature = new(1.0)
		if _, cached, _ := all(req); cached != "" || f.calls != 2 {
			t.Errorf("sampled: %q after %d calls", cached, f.calls)
		}
		time.Sleep(hour)
		req.Temperature = new(0.0)
		if _, cached, _ := all(req); cached != "miss" || f.calls != 3 {
			t.Errorf("after an hour: %q after %d calls", cached, f.calls)
		}
	})
}

func copyAll(list []llm.Chunk) (out []llm.Chunk, bytes int, ok bool) {
	for _, c := range list {
		own, n, _ := copyChunk(c)
		out, bytes = append(out, own), bytes+n
	}
	return out, bytes, true
}

// Another model, another version of it and another request have different answers.
func TestKeyOfModel(t *testing.T) {
	f := &fake{name: "a"}
	s := seeded(f.model())
	p := s.policies["a"]
	ask := func(change func()) int {
		change()
		before := f.calls
		if _, err := text(s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request())); err != nil {
			t.Error(err)
		}
		return f.calls - before
	}
	for i, test := range []struct {
		change func()
		calls  int
	}{
		{func() {}, 1},
		{func() {}, 0},
		{func() { p.Version = "2"; s.policies["a"] = p }, 1},
		{func() { s.models["a"].Name = "b" }, 1},
		{func() { s.models["a"].Family = "another" }, 1},
		{func() {}, 0},
		{func() { p.Keep = 0; s.policies["a"] = p }, 1},
	} {
		if got := ask(test.change); got != test.calls {
			t.Errorf("%d: %d calls, want %d", i, got, test.calls)
		}
	}
}

// Incomplete answers are not kept.
func TestNotKept(t *testing.T) {
	ends := func(why llm.Finish) *fake { return &fake{name: "a", script: llmtest.Script{string(why)}} }
	for name, test := range map[string]struct {
		f    *fake
		spec func(*llm.Chunk)
		keep bool
	}{
		"eos":            {ends(""), nil, true},
		"stop":           {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishStop }, true},
		"length":         {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishLength }, true},
		"context":        {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishContext }, true},
		"deadline":       {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishDeadline }, false},
		"cancelled":      {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishCancelled }, false},
		"filtered":       {ends(""), func(c *llm.Chunk) { c.Finish = llm.FinishFiltered }, false},
		"another end":    {ends(""), func(c *llm.Chunk) { c.Finish = "new" }, false},
		"no end":         {ends(""), func(c *llm.Chunk) { c.Finish = "" }, false},
		"no usage":       {ends(""), func(c *llm.Chunk) { c.Usage = nil }, false},
		"error":          {&fake{name: "a", before: errors.New("no")}, nil, false},
		"error after":    {&fake{name: "a", after: errors.New("no")}, nil, false},
		"small":          {&fake{name: "a", script: llmtest.Script{strings.Repeat("x", 500)}}, nil, true},
		"large":          {&fake{name: "a", script: llmtest.Script{strings.Repeat("x", 5000)}}, nil, false},
		"large together": {&fake{name: "a", script: slicesRepeat(strings.Repeat("x", 50), 100)}, nil, false},
	} {
		m := test.f.model()
		if test.spec != nil {
			m.Backend = ending{m.Backend, test.spec}
		}
		s := seeded(m)
		s.store.Bytes = 20 << 10
		for range 2 {
			for range s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request()) {
			}
		}
		if want := map[bool]int{true: 1, false: 2}[test.keep]; test.f.calls != want {
			t.Errorf("%s: %d calls, want %d", name, test.f.calls, want)
		}
	}
}

func slicesRepeat(s string, n int) (list llmtest.Script) {
	for range n {
		list = append(list, s)
	}
	return list
}

// ending is a backend that changes its last chunks.
type ending struct {
	llm.Backend
	change func(*llm.Chunk)
}

func (e ending) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for c, err := range e.Backend.Generate(ctx, req) {
			if c.Finish != "" {
				e.change(&c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// A client that leaves early leaves nothing in the store.
func TestLeftEarly(t *testing.T) {
	f := &fake{name: "a"}
	s := seeded(f.model())
	for after := 1; after <= 4; after++ {
		n := 0
		for range s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request()) {
			if n++; n == after {
				break
			}
		}
		if len(s.store.entries) != 0 || f.calls != after || f.runs != 0 {
			t.Errorf("left after %d: %d entries, %d calls", after, len(s.store.entries), f.calls)
		}
	}
}

// Of canonical keys, an answer is kept only if the temperature is 0, and a stream is
// not a whole answer.
func TestInvoke(t *testing.T) {
	f := invoker{&fake{name: "a"}}
	s := seeded(f.model())
	ask := func(ctx context.Context, body map[string]any, stream bool) (list []map[string]any) {
		i, err := llm.As[llm.Invoker](s.mustOpen(t, ctx, "a"))
		if err != nil {
			t.Fatal(err)
		}
		for out, err := range i.Invoke(ctx, body, stream) {
			if err != nil {
				t.Error(err)
			}
			list = append(list, out)
		}
		return list
	}
	for i, test := range []struct {
		body   map[string]any
		stream bool
		cached string
	}{
		{map[string]any{"prompt": "p", "temperature": json.Number("0")}, false, "miss"},
		{map[string]any{"prompt": "p", "temperature": json.Number("0")}, false, "hit"},
		{map[string]any{"prompt": "p", "temperature": json.Number("0")}, true, "miss"},
		{map[string]any{"prompt": "p", "temperature": json.Number("0")}, true, "hit"},
		{map[string]any{"prompt": "p", "temperature": json.Number("0"), "stop": nil}, true, "miss"},
		{map[string]any{"prompt": "q", "temperature": 0.0}, false, "miss"},
		{map[string]any{"prompt": "q", "temperature": 0}, false, "miss"},
		{map[string]any{"prompt": "p", "temperature": json.Number("0.1")}, false, ""},
		{map[string]any{"prompt": "p", "temperature": "0"}, false, ""},
		{map[string]any{"prompt": "p", "temperature": nil}, false, ""},
		{map[string]any{"prompt": "p"}, false, ""},
		{map[string]any{"prompt": "p", "seed": json.Number("1")}, false, ""},
		{map[string]any{"prompt": func() {}, "temperature": 0}, false, ""},
	} {
		var got []map[string]any
		before := f.calls
		_, header := within(t, t.Context(), func(ctx context.Context) { got = ask(ctx, test.body, test.stream) })
		if header.Get(CacheHeader) != test.cached || f.calls-before != map[bool]int{true: 0, false: 1}[test.cached == "hit"] {
			t.Errorf("%d: %q after %d calls", i, header.Get(CacheHeader), f.calls-before)
		}
		if test.stream && len(got) != 4 || !test.stream && (len(got) != 1 || got[0]["generated_text"] != `{"ok":true}` || got[0]["list"].([]any)[0] != "x") {
			t.Errorf("%d: %v", i, got)
		}
		if !test.stream {
			got[0]["list"].([]any)[0] = "spoilt"
		}
	}
}

func TestInvokeNotKept(t *testing.T) {
	f := invoker{&fake{name: "a"}}
	s := seeded(f.model())
	for i, test := range []struct {
		after error
		leave bool
		calls int
	}{{errors.New("no"), false, 1}, {nil, true, 2}, {nil, false, 3}, {nil, false, 3}} {
		f.after = test.after
		v, _ := llm.As[llm.Invoker](s.mustOpen(t, t.Context(), "a"))
		for range v.Invoke(t.Context(), map[string]any{"temperature": 0}, true) {
			if test.leave {
				break
			}
		}
		if f.calls != test.calls {
			t.Errorf("%d: %d calls", i, f.calls)
		}
	}
}

// A request with several answers is a hit if all of them are, and as old as the oldest.
func TestSeveralAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seeded((&fake{name: "a"}).model())
		ask := func(prompts ...string) (cached, age string) {
			_, header := within(t, t.Context(), func(ctx context.Context) {
				for _, p := range prompts {
					req := request()
					req.Prompts[0] = llm.Text(p)
					if _, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, req)); err != nil {
						t.Error(err)
					}
				}
			})
			return header.Get(CacheHeader), header.Get("Age")
		}
		ask("1")
		time.Sleep(time.Second)
		ask("2")
		time.Sleep(time.Second)
		for _, test := range [][]string{{"1 2", "hit", "2"}, {"2 1", "hit", "2"}, {"1 3", "miss", ""}, {"4 1", "miss", ""}, {"2", "hit", "1"}} {
			if cached, age := ask(strings.Fields(test[0])...); cached != test[1] || age != test[2] {
				t.Errorf("%s: %q %q", test[0], cached, age)
			}
		}
	})
}

// A kept answer is returned even if its model fails, and a fallback's answer is not
// kept as that of the failed model.
func TestCacheAndFallback(t *testing.T) {
	a, b := &fake{name: "a", script: llmtest.Script{"a"}}, &fake{name: "b", script: llmtest.Script{"b"}}
	s := newModelSet(a.model(), b.model())
	s.policies["a"] = Policy{Info: s.models["a"].ModelInfo, Keep: hour, Seeded: true, Fallbacks: []string{"b"}}
	s.policies["b"] = Policy{Keep: hour, Seeded: true, Fallbacks: []string{"a"}}
	ask := func(prompt, want, cached string, usage int) {
		t.Helper()
		req := request()
		req.Prompts[0] = llm.Text(prompt)
		rec, header := within(t, t.Context(), func(ctx context.Context) {
			rows, used, err := llm.Collect(s.mustOpen(t, ctx, "a").Generate(ctx, req), 1)
			if err != nil || rows[0].Text != want || used.Output != usage {
				t.Errorf("%q: %v %v", prompt, rows, err)
			}
		})
		if header.Get(ModelHeader) != want || rec.Model != want || header.Get(CacheHeader) != cached {
			t.Errorf("%q: %v, record of %q", prompt, header, rec.Model)
		}
	}
	ask("1", "a", "miss", 1)
	a.before = fails(llm.Overloaded, 0)
	ask("1", "a", "hit", 1)
	ask("2", "b", "miss", 1)
	ask("2", "b", "hit", 1)
	a.before = nil
	ask("2", "a", "miss", 1)
	s.errors["a"] = fails(llm.Internal, 0)
	ask("2", "a", "hit", 1) // though it cannot be opened any more
}

func TestCacheKeepsTheContract(t *testing.T) {
	f := &fake{name: "a"}
	s := seeded(f.model())
	for _, what := range []string{"empty", "full"} {
		if err := llmtest.TestBackend(t.Context(), s.mustOpen(t, t.Context(), "a")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f.calls != 2 { // one without a schema, one with it
		t.Errorf("%d calls", f.calls)
	}
}

// Outside of a request there is no header to set.
func TestOutside(t *testing.T) {
	s := seeded((&fake{name: "a"}).model())
	for range 2 {
		if _, err := text(s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request())); err != nil {
			t.Error(err)
		}
	}
	if h := httpx.RecordOf(t.Context()).Header; len(h) != 0 {
		t.Error(h)
	}
}
