package engine

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// A searchCase is what transformers' generate answers with settings of generation_config.json.
type searchCase struct {
	Settings       map[string]any
	Source, Tokens []int
}

func searchCases(t *testing.T, name string) []searchCase {
	t.Helper()
	raw, err := os.ReadFile("arch/testdata/" + name + "/beams.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []searchCase }
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden.Cases) < 60 {
		t.Fatalf("%d cases, %v", len(golden.Cases), err)
	}
	return golden.Cases
}

// searching returns the engine of a golden model whose files recommend a search.
func searching(t *testing.T, name string, settings map[string]any, cfg Config) *Engine {
	t.Helper()
	dir, err := fs.Sub(os.DirFS("arch/testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, file := range []string{"config.json", "generation_config.json", "model.safetensors"} {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		fsys["m/"+file] = &fstest.MapFile{Data: data}
	}
	var generation map[string]any
	if err := json.Unmarshal(fsys["m/generation_config.json"].Data, &generation); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"num_beams", "length_penalty", "forced_eos_token_id"} {
		delete(generation, key)
	}
	maps.Copy(generation, settings)
	if fsys["m/generation_config.json"].Data, err = json.Marshal(generation); err != nil {
		t.Fatal(err)
	}
	m, err := arch.Open(fsys, "m")
	if err != nil {
		t.Fatal(err)
	}
	m.Tokens = m.Spec.Vocab
	m.Tokenizer = numbers{m.Tokens}
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// answerOf returns the text of what generate finds, and how it ends.
func answerOf(e *Engine, c searchCase) (string, llm.Finish) {
	text, why := c.Tokens[len(e.seq2seq.Begin):], llm.FinishLength
	if n := len(text); n > 0 && text[n-1] == e.seq2seq.End {
		text = text[:n-1]
		if limit := e.seq2seq.Search.MaxLength - 1; !e.seq2seq.Search.ForcedEnd || len(c.Tokens) < limit {
			why = llm.FinishEOS
		}
	}
	return strings.TrimSpace(spell(text)), why
}

// leaving asks for completions of tokens and leaves the choice of tokens to the model.
func leaving(sources ...[]int) *llm.Request {
	req := &llm.Request{Defaults: llm.Params{Temperature: new(1.0)}}
	for _, ids := range sources {
		req.Prompts = append(req.Prompts, llm.Prompt{Parts: []llm.Part{{Tokens: ids[:len(ids)-1]}}})
	}
	return req
}

// Answers are those of the original implementation, for each rule and number of beams, alone and
// together with others, whatever memory is left for more at once.
func TestAnswerSearch(t *testing.T) {
	for _, name := range []string{"bart", "t5", "pegasus"} {
		groups := map[string][]searchCase{}
		for _, c := range searchCases(t, name) {
			key, err := json.Marshal(c.Settings)
			if err != nil {
				t.Fatal(err)
			}
			groups[string(key)] = append(groups[string(key)], c)
		}
		for key, cases := range groups {
			e := searching(t, name, cases[0].Settings, Config{})
			var sources [][]int
			for _, c := range cases {
				sources = append(sources, c.Source)
			}
			together := leaving(sources...)
			together.Params.Temperature = new(0.0)
			all, usage := collect(t, e, together)
			output := 0
			for i, c := range cases {
				req := leaving(c.Source)
				if e.seq2seq.Search.Beams == 1 {
					req.Params.Temperature = new(0.0)
				}
				alone, used := collect(t, e, req)
				want, why := answerOf(e, c)
				for _, got := range []llm.Chunk{alone[0], all[i]} {
					if text := strings.TrimSpace(got.Text); text != want || got.Finish != why {
						t.Errorf("%s %s: %v answers %q %s, want %q %s", name, key, c.Source, text, got.Finish, want, why)
					}
				}
				if n := len(c.Tokens) - len(e.seq2seq.Begin); used.Output != n || used.Input != len(c.Source) {
					t.Errorf("%s %s: %+v for %d tokens", name, key, used, n)
				}
				output += used.Output
			}
			if usage.Output != output {
				t.Errorf("%s %s: %d tokens together, %d alone", name, key, usage.Output, output)
			}
		}
	}
}

// cnn are the settings of a model that summarises.
func cnn() map[string]any {
	return map[string]any{"num_beams": 4, "length_penalty": 2.0, "early_stopping": true, "min_length": 7, "max_length": 14, "no_repeat_ngram_size": 3}
}

// chosen returns the settings of a request.
func chosen(t *testing.T, e *Engine, req *llm.Request) *settings {
	t.Helper()
	p := req.Effective()
	s, err := e.newSettings(req, &p)
	if err != nil {
		t.Fatal(err)
	}
	e.useOwnSearch(req, s)
	return s
}

// A request that asks for something of its own is sampled, as are those to models without a search.
func TestOwnSearch(t *testing.T) {
	with := func(change func(p *llm.Params)) *llm.Request {
		req := leaving([]int{5, 6, 1})
		req.Defaults.TopK, req.Defaults.MaxTokens = new(40), new(100)
		change(&req.Params)
		return req
	}
	tool := llm.Tool{Name: "f"}
	for _, c := range []struct {
		what     string
		change   func(p *llm.Params)
		searched bool
		tokens   int
	}{
		{"nothing sent", func(*llm.Params) {}, true, 12},
		{"greedy", func(p *llm.Params) { p.Temperature = new(0.0) }, true, 12},
		{"a limit", func(p *llm.Params) { p.MaxTokens = new(30) }, true, 30},
		{"neutral", func(p *llm.Params) {
			p.TopP, p.PresencePenalty, p.Seed, p.Stop = new(1.0), new(0.0), new(int64(3)), []string{"x"}
		}, true, 12},
		{"a temperature", func(p *llm.Params) { p.Temperature = new(0.7) }, false, 100},
		{"top_p", func(p *llm.Params) { p.TopP = new(0.9) }, false, 100},
		{"top_k", func(p *llm.Params) { p.TopK = new(3) }, false, 100},
		{"typical_p", func(p *llm.Params) { p.TypicalP = new(0.5) }, false, 100},
		{"greedy with a penalty", func(p *llm.Params) { p.Temperature, p.RepetitionPenalty = new(0.0), new(1.2) }, false, 100},
		{"presence", func(p *llm.Params) { p.PresencePenalty = new(0.5) }, false, 100},
		{"frequency", func(p *llm.Params) { p.FrequencyPenalty = new(0.5) }, false, 100},
		{"a bias", func(p *llm.Params) { p.LogitBias = map[int]float64{3: 1} }, false, 100},
		{"log-probabilities", func(p *llm.Params) { p.Logprobs = new(0) }, false, 100},
		{"best of", func(p *llm.Params) { p.BestOf = new(2) }, false, 100},
		{"tools", func(p *llm.Params) { p.Tools = []llm.Tool{tool} }, false, 100},
	} {
		e := searching(t, "bart", cnn(), Config{})
		s := chosen(t, e, with(c.change))
		if (s.search != nil) != c.searched || s.maxTokens != c.tokens {
			t.Errorf("%s: searched %v, %d tokens", c.what, s.search != nil, s.maxTokens)
		}
	}
	e := searching(t, "bart", cnn(), Config{})
	free := with(func(*llm.Params) {})
	if s := chosen(t, e, free); e.ownSearch(free, &settings{bestOf: 1, logprobs: -1, sampler: s.sampler, constraint: &grammar.Constraint{}}) != nil ||
		e.ownSearch(free, &settings{bestOf: 1, logprobs: -1, sampler: s.sampler, prediction: "5"}) != nil || e.ownSearch(free, s) == nil {
		t.Error("a constraint or a prediction is searched")
	}
	for what, settings := range map[string]map[string]any{"no search": nil, "drawn": {"do_sample": true, "num_beams": 4}} {
		e := searching(t, "bart", settings, Config{})
		if s := chosen(t, e, with(func(p *llm.Params) { p.Temperature = new(0.0) })); s.search != nil || s.maxTokens != 100 {
			t.Errorf("%s: %+v", what, s.search)
		}
	}
	// A length alone limits greedy answers, which need no search.
	e = searching(t, "bart", map[string]any{"max_length": 9}, Config{})
	if s := chosen(t, e, with(func(p *llm.Params) { p.Temperature = new(0.0) })); s.search != nil || s.maxTokens != 7 {
		t.Errorf("searched %v, %d tokens", s.search != nil, s.maxTokens)
	}
	// One beam is no reason to leave the dialect's temperature.
	e = searching(t, "bart", map[string]any{"max_length": 9, "min_length": 5}, Config{})
	if s := chosen(t, e, with(func(*llm.Params) {})); s.search != nil || s.maxTokens != 100 {
		t.Errorf("searched %v, %d tokens", s.search != nil, s.maxTokens)
	}
}

// longest returns the case of settings with one beam or with several whose answer has most tokens,
// and its engine.
func longest(t *testing.T, beams int, cfg Config) (*Engine, searchCase) {
	t.Helper()
	var found searchCase
	for _, c := range searchCases(t, "bart") {
		if c.Settings["num_beams"] == float64(beams) && c.Settings["forced_eos_token_id"] == nil && len(c.Tokens) > len(found.Tokens) {
			found = c
		}
	}
	return searching(t, "bart", found.Settings, cfg), found
}

// Tokens are written as soon as all hypotheses share them: with one beam each at once. A stop string
// ends an answer and its search.
func TestSearchStreams(t *testing.T) {
	for _, beams := range []int{1, 4} {
		e, c := longest(t, beams, Config{})
		req := leaving(c.Source)
		req.Params.Temperature, req.Params.Tokens = new(0.0), new(true)
		text, chunks, ids := "", 0, []int(nil)
		for got, err := range e.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if text += got.Text; got.Text != "" {
				chunks++
			}
			for _, tok := range got.Tokens {
				ids = append(ids, tok.ID)
			}
		}
		want, _ := answerOf(e, c)
		words := strings.Fields(want)
		if strings.TrimSpace(text) != want || chunks != len(words) || spell(ids) != spell(c.Tokens[1:1+len(words)]) {
			t.Errorf("%d beams: %q in %d chunks, tokens %v, want %q", beams, text, chunks, ids, want)
		}
		steps := e.lanes.all[0].computed.Load()
		req.Params.Stop = []string{words[2] + " " + words[3]}
		rows, usage := collect(t, e, req)
		if got := strings.TrimSpace(rows[0].Text); got != strings.Join(words[:2], " ") || rows[0].Finish != llm.FinishStop || usage.Output != 4 {
			t.Errorf("%d beams: stopped after %q by %s, %+v", beams, got, rows[0].Finish, usage)
		}
		if again := e.lanes.all[0].computed.Load() - steps; beams == 1 && again >= steps {
			t.Errorf("%d beams: %d tokens for a part of the answer, %d for all", beams, again, steps)
		}
	}
}

// A prompt that is echoed comes before the answer.
func TestSearchEchoes(t *testing.T) {
	e, c := longest(t, 4, Config{})
	req := leaving(c.Source)
	req.Params.Echo = new(true)
	rows, _ := collect(t, e, req)
	want, _ := answerOf(e, c)
	if words := strings.Fields(rows[0].Text); strings.Join(words, " ") != strings.TrimSpace(spell(c.Source[:len(c.Source)-1]))+" "+want {
		t.Errorf("%q", rows[0].Text)
	}
}

// The answers to many prompts are searched as many together as there is room for, with the same
// results. What does not fit alone is refused.
func TestSearchMemory(t *testing.T) {
	e, c := longest(t, 4, Config{})
	want, _ := answerOf(e, c)
	req := leaving(slices.Repeat([][]int{c.Source}, 40)...) // 160 hypotheses
	g := &generation{engine: e, window: e.context, settings: chosen(t, e, req)}
	for range req.Prompts {
		g.prompts = append(g.prompts, &prompt{ids: e.answerStart(), source: c.Source})
	}
	least, most := g.searchNeed()
	each := g.searchBytes(g.prompts[0])
	if most-least != (beamRows/4-1)*each || each < 4*e.model.CacheBytes(13) {
		t.Errorf("%d to %d bytes for searches of %d", least, most, each)
	}
	for _, memory := range []int64{least, least + 2*each, most, DefaultMaxMemory} {
		e.memory = memory
		if got := g.claimed(); got != min(memory, most) {
			t.Errorf("%d of %d bytes are claimed", got, memory)
		}
		rows, usage := collect(t, e, req)
		for _, row := range rows {
			if strings.TrimSpace(row.Text) != want {
				t.Errorf("%d bytes: %q, want %q", memory, row.Text, want)
			}
		}
		if usage.Input != 40*len(c.Source) {
			t.Errorf("%+v", usage)
		}
	}
	g.rows, g.open, e.memory = nil, 40, least+2*each
	for i, p := range g.prompts {
		r, err := g.newRow(p, i, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.rows = append(g.rows, r)
	}
	g.member = e.lanes.join("", nil)
	defer g.member.leave()
	for _, c := range []struct {
		memory   int64
		long     int // tokens of the last sources
		together int
	}{{least, 0, 1}, {least + 2*each, 0, 3}, {DefaultMaxMemory, 0, beamRows / 4}, {DefaultMaxMemory, 200, beamRows / 4}} {
		for _, p := range g.prompts[len(g.prompts)-beamRows/4:] {
			p.source = append(slices.Repeat([]int{5}, c.long), p.source...)
		}
		for _, r := range g.rows {
			r.decoding = nil
		}
		e.memory = c.memory
		if err := g.admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(g.rows), func(r *row) bool { return r.decoding == nil })); n != c.together {
			t.Errorf("%+v: %d are searched together", c, n)
		}
	}
	e.memory = e.model.MemoryBytes(len(c.Source)) + 3*e.model.CacheBytes(2)
	if err := failure(t, e, req); err == nil || !strings.Contains(err.Error(), "of memory and may use") {
		t.Errorf("%v", err)
	}
}

// endedContext is a context that ends after some steps.
type endedContext struct {
	context.Context
	steps *int
	err   error
}

func (c endedContext) Err() error {
	if *c.steps--; *c.steps < 0 {
		return c.err
	}
	return nil
}

// A search ends between two steps: at a deadline with its likeliest answer, or an error before it has
// begun.
func TestSearchEnds(t *testing.T) {
	e, c := longest(t, 4, Config{})
	ended, partial := map[llm.Finish]int{}, map[llm.Finish]map[int]bool{llm.FinishDeadline: {}, llm.FinishCancelled: {}}
	for steps := range 200 {
		for why, err := range map[llm.Finish]error{llm.FinishDeadline: context.DeadlineExceeded, llm.FinishCancelled: context.Canceled} {
			rows, usage, failed := llm.Collect(e.Generate(endedContext{t.Context(), new(steps), err}, leaving(c.Source)), 1)
			if failed != nil {
				if steps > 20 || failed != err {
					t.Fatalf("%d steps: %v", steps, failed)
				}
				continue
			}
			if ended[rows[0].Finish]++; rows[0].Finish == why {
				partial[why][usage.Output] = true
			}
			if got := rows[0].Finish; got != why && got != llm.FinishEOS && got != llm.FinishLength {
				t.Errorf("%d steps: ended by %s", steps, got)
			}
			if words := strings.Fields(rows[0].Text); rows[0].Finish == llm.FinishDeadline && len(words) != usage.Output {
				t.Errorf("%d steps: %q for %+v", steps, rows[0].Text, usage)
			}
		}
	}
	if ended[llm.FinishDeadline] < 3 || ended[llm.FinishCancelled] < 3 || ended[llm.FinishEOS]+ended[llm.FinishLength] < 3 {
		t.Errorf("%v", ended)
	}
	// The likeliest hypothesis grows with each step; what all share does not.
	if n := len(partial[llm.FinishCancelled]); n < 2 || len(partial[llm.FinishDeadline]) < n+2 {
		t.Errorf("%v", partial)
	}
}

// With n ends there are enough extensions that do not end, and the first end is the one that is
// forced.
func TestSearchOfSeveralEnds(t *testing.T) {
	ends := target{kernels: kernel.Best(), ends: []int{4, 3, 5}, tokens: 6}
	b := newBeamSearch(&arch.Search{LengthPenalty: 1}, ends, 2, 9)
	b.step([][]float32{{9, 8, 0, 0, 0, 0}})
	b.step([][]float32{{0, 0, 0, 9, 9, 9}, {0, 0, 0, 9, 9, 9}})
	if len(b.running) != 2 || len(b.finished) != 2 {
		t.Errorf("%+v", b)
	}
	b = newBeamSearch(&arch.Search{LengthPenalty: 1, ForcedEnd: true}, ends, 2, 1)
	b.step([][]float32{{9, 8, 0, 0, 0, 7}})
	if tokens, ended := b.best(); !b.done || len(tokens) > 0 || ended || !slices.Equal(b.finished[0].tokens, []int{4}) {
		t.Errorf("%+v", b)
	}
}

// A search ends if its rules leave no token.
func TestSearchWithoutTokens(t *testing.T) {
	b := newBeamSearch(&arch.Search{NoRepeat: 1, MinLength: 9, LengthPenalty: 1}, target{kernels: kernel.Best(), start: 0, ends: []int{2}, tokens: 3}, 2, 8)
	b.step([][]float32{{0, 1, 0}})
	b.step([][]float32{{0, 1, 0}})
	if tokens, ended := b.best(); !b.done || !slices.Equal(tokens, []int{1}) || ended {
		t.Errorf("%v %v %+v", tokens, ended, b)
	}
}

// The padding of a vocabulary has a probability, but is not written, whatever the rules say of it.
func TestSearchOfPadding(t *testing.T) {
	b := newBeamSearch(&arch.Search{Suppressed: []int{4}, RepetitionPenalty: 0.5, LengthPenalty: 1}, target{kernels: kernel.Best(), start: 3, ends: []int{2}, tokens: 3}, 2, 4)
	for !b.done {
		b.step(slices.Repeat([][]float32{{1, 0, 0, 9, 9}}, len(b.running)))
	}
	for _, h := range b.finished {
		if slices.Max(h.tokens) > 2 || h.score > -2 {
			t.Errorf("%+v", h)
		}
	}
}

// Searches and sampled rows share passes, with the same results as alone.
func TestSearchesShare(t *testing.T) {
	e, c := longest(t, 4, Config{Queue: NewQueue(8, 8, 0)})
	sampled := leaving(c.Source)
	sampled.Params.Temperature, sampled.Params.Seed, sampled.Params.MaxTokens = new(0.9), new(int64(4)), new(30)
	requests := []*llm.Request{leaving(c.Source), sampled, leaving(c.Source[1:])}
	want := make([]string, len(requests))
	for i, req := range requests {
		rows, _ := collect(t, e, req)
		want[i] = rows[0].Text
	}
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			rows, _, err := llm.Collect(e.Generate(t.Context(), requests[i%len(requests)]), 1)
			if err != nil || rows[0].Text != want[i%len(requests)] {
				t.Errorf("%+v, %v, want %q", rows, err, want[i%len(requests)])
			}
		})
	}
	group.Wait()
}
