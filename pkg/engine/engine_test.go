package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/tokenizer"
)

// golden is the engine of the golden checkpoint: tokens "\n", "a", "b", context 4.
func golden(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := newAlpha(checkpointtest.Golden(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newAlpha(ck *checkpoint.Alpha, cfg Config) (*Engine, error) {
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		return nil, err
	}
	return New(m, cfg)
}

// larger has random weights and 27 characters, context 64: texts of some length.
func larger(t testing.TB, k *kernel.Kernels) *Engine {
	t.Helper()
	return random(t, 64, Config{Kernels: k})
}

// random has random weights and 27 characters.
func random(t testing.TB, context int, cfg Config) *Engine {
	t.Helper()
	return shaped(t, checkpoint.ModelConfig{VocabSize: 27, BlockSize: context, NLayer: 2, NEmbd: 32, NHead: 4}, cfg)
}

// shaped has random weights of the given shape, and 27 characters.
func shaped(t testing.TB, c checkpoint.ModelConfig, cfg Config) *Engine {
	t.Helper()
	ck := weighted(c)
	vocab := strings.Split("\nabcdefghijklmnopqrstuvwxyz", "")
	ck.Tokenizer, _ = json.Marshal(map[string]any{"type": "char", "vocabSize": 27, "vocab": vocab})
	e, err := newAlpha(ck, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// weighted has random weights of the given shape, and no tokenizer.
func weighted(c checkpoint.ModelConfig) *checkpoint.Alpha {
	rng := rand.New(rand.NewPCG(3, 4))
	ck := &checkpoint.Alpha{ModelConfig: c, Params: map[string]checkpoint.Tensor{}}
	for _, p := range checkpoint.Params(&c, false) {
		data := make([]float32, p.Elements())
		for i := range data {
			data[i] = float32(rng.NormFloat64()) * 0.4
		}
		ck.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	return ck
}

func request(prompts ...string) *llm.Request {
	req := &llm.Request{}
	for _, p := range prompts {
		req.Prompts = append(req.Prompts, llm.Text(p))
	}
	return req
}

func collect(t testing.TB, e *Engine, req *llm.Request) ([]llm.Chunk, llm.Usage) {
	t.Helper()
	rows, usage, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return rows, usage
}

func TestContract(t *testing.T) {
	for _, e := range []*Engine{golden(t, Config{}), golden(t, Config{Queue: NewQueue(1, 4, 0)}), larger(t, nil), withTokenizer(t, characters(t), 64, Config{})} {
		if err := llmtest.TestBackend(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
}

// The greedy text of the golden checkpoint is that of upstream's code.
func TestGoldenGreedy(t *testing.T) {
	for _, k := range kernel.Implementations() {
		rows, usage := collect(t, golden(t, Config{Kernels: k}), request("a"))
		if rows[0].Text != "\na\n" || rows[0].Finish != llm.FinishContext || usage != (llm.Usage{Input: 1, Output: 3}) {
			t.Errorf("%s: %+v %+v", k.Name(), rows[0], usage)
		}
	}
}

// upstreamRNG is the generator of Alpha's server: 32-bit, not a xorshift128+.
type upstreamRNG struct{ s0, s1 uint32 }

func newUpstreamRNG(seed uint32) *upstreamRNG {
	r := &upstreamRNG{seed, seed ^ 0xdeadbeef}
	for range 20 {
		r.next()
	}
	return r
}

func (r *upstreamRNG) next() float64 {
	a, b := r.s0, r.s1
	r.s0 = b
	a ^= a << 23
	a ^= a >> 17
	a ^= b
	a ^= b >> 26
	r.s1 = a
	return float64(r.s0+r.s1) / (1 << 32)
}

// Our sampler, fed with upstream's draws, chooses upstream's tokens.
func TestUpstreamSampler(t *testing.T) {
	for seed, want := range map[uint32][]float64{
		42: {0.008513618959113955, 0.2611607080325484, 0.7897631011437625},
		1:  {0.6901502015534788, 0.7084228433668613, 0.5124149224720895},
	} {
		rng := newUpstreamRNG(seed)
		for i, w := range want {
			if got := rng.next(); got != w {
				t.Errorf("seed %d, draw %d: %v, want %v", seed, i, got, w)
			}
		}
	}
	e := golden(t, Config{})
	s, err := sampler.New(sampler.Config{Temperature: 0.7, TopK: 40}, 3)
	if err != nil {
		t.Fatal(err)
	}
	g := prepare(t, e, request("a"))
	g.member = e.lanes.join("", nil)
	if err := g.prefill(t.Context()); err != nil {
		t.Fatal(err)
	}
	rng, got := newUpstreamRNG(42), []int(nil)
	for range 3 {
		id := s.SampleAt(g.rows[0].logits, rng.next())
		g.rows[0].decided, g.rows[0].written, got = []int{id}, 1, append(got, id)
		if len(got) < 3 {
			if err := g.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []int{0, 0, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A row's text depends on its seed and index, not on rows decoded together with it.
func TestSeedsAreReproducible(t *testing.T) {
	for _, k := range kernel.Implementations() {
		e := larger(t, k)
		ask := func(n int, prompts ...string) []llm.Chunk {
			req := request(prompts...)
			req.N, req.Params = n, llm.Params{Seed: new(int64(5)), Temperature: new(1.0), MaxTokens: new(20), Logprobs: new(2)}
			rows, _ := collect(t, e, req)
			return rows
		}
		alone := ask(1, "hello")[0]
		four, list := ask(4, "hello"), ask(1, "abc", "hello", "the quick brown")
		if !reflect.DeepEqual(four[0].Tokens, alone.Tokens) || !reflect.DeepEqual(list[1].Tokens, alone.Tokens) {
			t.Errorf("%s: alone %q, of four %q, in a list %q", k.Name(), alone.Text, four[0].Text, list[1].Text)
		}
		if four[1].Text == four[0].Text || four[2].Text == four[1].Text {
			t.Errorf("%s: rows do not differ: %q", k.Name(), four[0].Text)
		}
		if other := ask(1, "hella")[0]; other.Text == alone.Text {
			t.Errorf("%s: the prompt makes no difference", k.Name())
		}
	}
}

func TestFinish(t *testing.T) {
	e := larger(t, nil)
	full := strings.Repeat("a", 64)
	for _, test := range []struct {
		prompt string
		params llm.Params
		want   llm.Finish
		output int
	}{
		{"abc", llm.Params{MaxTokens: new(5)}, llm.FinishLength, 5},
		{"abc", llm.Params{MaxTokens: new(0)}, llm.FinishLength, 0},
		{"abc", llm.Params{MaxTokens: new(61)}, llm.FinishLength, 61},
		{"abc", llm.Params{MaxTokens: new(math.MaxInt)}, llm.FinishContext, 61},
		{"abc", llm.Params{}, llm.FinishContext, 61},
		{full, llm.Params{}, llm.FinishContext, 0},
		{full + "bcd", llm.Params{Truncate: new(0), MaxTokens: new(4)}, llm.FinishLength, 4},
		{full + "bcd", llm.Params{Truncate: new(0)}, llm.FinishContext, 32},
		{full, llm.Params{Truncate: new(10), MaxTokens: new(4)}, llm.FinishLength, 4},
		{"", llm.Params{MaxTokens: new(4)}, llm.FinishLength, 4},
		{"ÄÖÜ", llm.Params{MaxTokens: new(4)}, llm.FinishLength, 4}, // no known character
	} {
		req := request(test.prompt)
		req.Params = test.params
		rows, usage := collect(t, e, req)
		if rows[0].Finish != test.want || usage.Output != test.output || len(rows[0].Text) != test.output {
			t.Errorf("%.9q %+v: finish %s after %d tokens %q, want %s after %d", test.prompt, test.params,
				rows[0].Finish, usage.Output, rows[0].Text, test.want, test.output)
		}
		if cut := usage.Truncated; cut != (test.params.Truncate != nil) {
			t.Errorf("%.9q: truncated is %v", test.prompt, cut)
		}
	}
}

// TestDifferences lists the deviations of the engine from Alpha's server, each with
// its reason.
func TestDifferences(t *testing.T) {
	e := larger(t, nil)
	// There a truncated prompt keeps all but one of the context's tokens, which leaves
	// room for one token. Here it leaves room for the answer.
	req := with(llm.Params{Truncate: new(0), MaxTokens: new(10)})
	req.Prompts[0] = llm.Text(strings.Repeat("a", 200))
	if rows, usage := collect(t, e, req); usage.Input != 54 || usage.Output != 10 || rows[0].Finish != llm.FinishLength {
		t.Errorf("%+v, %s", usage, rows[0].Finish)
	}
	// There an empty prompt is sampled without input. Here it is sampled after the token
	// of a line's end, which is not counted.
	req = with(llm.Params{MaxTokens: new(5)})
	req.Prompts[0] = llm.Text("")
	line := with(llm.Params{MaxTokens: new(5)})
	line.Prompts[0] = llm.Text("\n")
	empty, usage := collect(t, e, req)
	if after, _ := collect(t, e, line); empty[0].Text != after[0].Text || usage.Input != 0 {
		t.Errorf("%q after %d tokens, %q after a line feed", empty[0].Text, usage.Input, after[0].Text)
	}
}

func TestRefused(t *testing.T) {
	e := larger(t, nil)
	for _, test := range []struct {
		name, param string
		code        llm.Code
		req         *llm.Request
	}{
		{"too long", "", llm.TooLong, request(strings.Repeat("a", 65))},
		{"no prompt", "prompt", llm.Invalid, request()},
		{"token out of range", "prompt", llm.Invalid, &llm.Request{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: []int{27}}}}}}},
		{"negative token", "prompt", llm.Invalid, &llm.Request{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: []int{-1}}}}}}},
		{"negative length", "max_new_tokens", llm.Invalid, with(llm.Params{MaxTokens: new(-1)})},
		{"empty stop", "stop", llm.Invalid, with(llm.Params{Stop: []string{"a", ""}})},
		{"temperature", "temperature", llm.Invalid, with(llm.Params{Temperature: new(math.NaN())})},
		{"bias", "logit_bias", llm.Invalid, with(llm.Params{LogitBias: map[int]float64{99: 1}})},
		{"best_of", "best_of", llm.Invalid, &llm.Request{N: 3, Prompts: []llm.Prompt{llm.Text("a")}, Params: llm.Params{BestOf: new(2)}}},
		{"rows", "n", llm.Invalid, &llm.Request{N: 257, Prompts: []llm.Prompt{llm.Text("a")}}},
		{"rows of candidates", "best_of", llm.Invalid, with(llm.Params{BestOf: new(257)})},
		{"rows of prompts", "prompt", llm.Invalid, request(slices.Repeat([]string{"a"}, 257)...)},
		{"logprobs", "logprobs", llm.Invalid, with(llm.Params{Logprobs: new(-1)})},
		{"tools that it cannot call", "tools", llm.Unsupported, with(llm.Params{Tools: []llm.Tool{{Name: "f"}}})},
		{"a call of nothing", "must_call", llm.Invalid, with(llm.Params{MustCall: new(true)})},
	} {
		_, _, err := llm.Collect(e.Generate(t.Context(), test.req), max(1, test.req.Rows()))
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Code != test.code || got.Param != test.param {
			t.Errorf("%s: got %v, want %s of %q", test.name, err, test.code, test.param)
		}
	}
}

func with(p llm.Params) *llm.Request {
	req := request("abc")
	req.Params = p
	return req
}

func TestChatIsOneText(t *testing.T) {
	e := larger(t, nil)
	chat := &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{
		{Role: "system", Parts: []llm.Part{{Text: "ab"}}},
		{Role: "user", Parts: []llm.Part{{Text: "c"}, {Text: "d"}}},
	}}}, Params: llm.Params{MaxTokens: new(8)}}
	plain := request("ab\ncd")
	plain.MaxTokens = new(8)
	got, usage := collect(t, e, chat)
	want, _ := collect(t, e, plain)
	if got[0].Text != want[0].Text || usage.Input != 5 {
		t.Errorf("chat %q, text %q, %d tokens", got[0].Text, want[0].Text, usage.Input)
	}
}

// Log-probabilities are those of the unmodified model, also for an echoed prompt.
func TestLogprobsAndEcho(t *testing.T) {
	e := larger(t, nil)
	req := with(llm.Params{Echo: new(true), Logprobs: new(3), MaxTokens: new(4), Temperature: new(0.0), LogitBias: map[int]float64{3: -100}})
	rows, _ := collect(t, e, req)
	r := rows[0]
	if len(r.Tokens) != 7 || !strings.HasPrefix(r.Text, "abc") || !math.IsNaN(r.Tokens[0].Logprob) || r.Tokens[0].Top != nil {
		t.Fatalf("%+v", r)
	}
	text := ""
	for i, tok := range r.Tokens {
		text += tok.Text
		if i == 0 {
			continue
		}
		if len(tok.Top) != 3 || !(tok.Logprob < 0) || tok.Top[0].Logprob < tok.Top[2].Logprob || tok.Logprob > tok.Top[0].Logprob {
			t.Errorf("token %d: %+v", i, tok)
		}
	}
	if text != r.Text {
		t.Errorf("the tokens say %q, the text %q", text, r.Text)
	}
	again := request(r.Text) // scoring the whole text gives the same numbers
	again.Params = llm.Params{Echo: new(true), Logprobs: new(3), MaxTokens: new(0)}
	scored, usage := collect(t, e, again)
	if usage.Output != 0 || !reflect.DeepEqual(scored[0].Tokens[1:], r.Tokens[1:]) {
		t.Errorf("scored %+v\n want %+v", scored[0].Tokens[1:], r.Tokens[1:])
	}
}

func TestBestOf(t *testing.T) {
	e := larger(t, nil)
	base := llm.Params{Seed: new(int64(9)), Temperature: new(1.0), MaxTokens: new(6)}
	all := request("abc")
	all.N, all.Params = 8, base
	all.Logprobs = new(0)
	rows, _ := collect(t, e, all)
	want := llm.Best(rows, 2)

	req := request("abc")
	req.N, req.Params = 2, base
	req.BestOf, req.Echo = new(8), new(true)
	got, usage := collect(t, e, req)
	if got[0].Text != "abc"+want[0].Text || got[1].Text != "abc"+want[1].Text || usage.Output != 48 || got[0].Tokens != nil {
		t.Errorf("got %+v %+v, want %q and %q", got, usage, want[0].Text, want[1].Text)
	}
}

// A deadline gives a partial answer; cancelling ends the request within one token.
func TestContextEnds(t *testing.T) {
	e := larger(t, nil)
	for _, test := range []struct {
		cause error
		want  llm.Finish
	}{{context.DeadlineExceeded, llm.FinishDeadline}, {context.Canceled, llm.FinishCancelled}} {
		ctx := &endable{Context: t.Context()}
		n, finish := 0, llm.Finish("")
		for c, err := range e.Generate(ctx, request("abc")) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				ctx.err = test.cause
			}
			finish = c.Finish
		}
		if n != 4 || finish != test.want {
			t.Errorf("%v: %d chunks, the last with %s", test.cause, n, finish)
		}
	}
}

// endable is a context that ends when its test says so.
type endable struct {
	context.Context
	err error
}

func (e *endable) Err() error { return e.err }

func TestTokenizer(t *testing.T) {
	e := larger(t, nil)
	tokens, err := e.Tokenize(t.Context(), []llm.Part{{Text: "ab\n?c"}}, true)
	if err != nil || len(tokens) != 4 || tokens[2].ID != 0 || tokens[3].Text != "c" {
		t.Errorf("%+v %v", tokens, err)
	}
	if text, err := e.Detokenize(t.Context(), []int{1, 2, 0, 3}); err != nil || text != "ab\nc" {
		t.Errorf("%q %v", text, err)
	}
	e.memory = 1 << 20
	if _, err := e.Tokenize(t.Context(), []llm.Part{{Text: strings.Repeat("a", 10_000)}}, false); llm.AsError(err).Code != llm.Invalid {
		t.Errorf("tokens of more than a MiB: %v", err)
	}
	if _, err := e.Detokenize(t.Context(), []int{27}); llm.AsError(err).Code != llm.Invalid {
		t.Errorf("got %v", err)
	}
}

// specials is a tokenizer with special tokens.
type specials struct {
	tokenizer.Tokenizer
	ids map[string]int
}

func (s specials) SpecialTokens() map[string]int { return s.ids }

// named returns a template of package chat.
func named(t testing.TB, name string) *chat.Template {
	t.Helper()
	template, err := chat.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*arch.Model, *Config){
		"no tokenizer": func(m *arch.Model, _ *Config) { m.Tokenizer = nil },
		"unusable template": func(m *arch.Model, _ *Config) {
			m.Chat = chat.Source{Templates: map[string]string{"default": "{{ messages[0].text }}"}}
		},
		"no such token": func(m *arch.Model, c *Config) {
			c.Template, m.Tokenizer = named(t, chat.ChatML), specials{m.Tokenizer, map[string]int{"<|im_end|>": 0}}
		},
		"translation":   func(m *arch.Model, _ *Config) { m.Translation = &arch.Translation{} },
		"weights amiss": func(m *arch.Model, _ *Config) { m.Weights.Decoder = m.Weights.Decoder[1:] },
	} {
		m, err := arch.FromAlpha(checkpointtest.Golden(), "")
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Name: "golden"}
		change(m, &cfg)
		if _, err := New(m, cfg); err == nil || !strings.Contains(err.Error(), `"golden"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Requests beyond workers and waiting places are rejected; waiting ones are served in
// order.
func TestQueue(t *testing.T) {
	q := NewQueue(1, 2, 0)
	worker, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan int, 2)
	for i := range 2 {
		go func() {
			worker, err := q.acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			worker.release()
		}()
		waitFor(t, func() bool { _, waiting := q.Stats(); return waiting == i+1 })
	}
	_, err = q.acquire(t.Context())
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Overloaded || e.RetryAfter < time.Second {
		t.Errorf("got %v", err)
	}
	worker.release()
	if a, b := <-order, <-order; a != 0 || b != 1 {
		t.Errorf("order %d, %d", a, b)
	}
	waitFor(t, func() bool { running, waiting := q.Stats(); return running+waiting == 0 })
}

// A request that stops waiting does not lose a worker, whatever the moment.
func TestQueueCancelled(t *testing.T) {
	q := NewQueue(2, 100, 0)
	done := make(chan error)
	for i := range 100 {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			worker, err := q.acquire(ctx)
			if err == nil {
				time.Sleep(50 * time.Microsecond)
				worker.release()
			}
			done <- err
		}()
	}
	for range 100 {
		if err := <-done; err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	if running, waiting := q.Stats(); running != 0 || waiting != 0 {
		t.Errorf("%d running, %d waiting", running, waiting)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Microsecond) {
		if ok() {
			return
		}
	}
	t.Fatal("it does not happen")
}

// Concurrent requests of all kinds give the same results as alone.
func TestConcurrent(t *testing.T) {
	e := larger(t, nil)
	e.queue = NewQueue(2, 100, 0)
	ask := func(i int) string {
		req := request(fmt.Sprintf("abc%c", 'a'+i%5))
		req.N, req.Params = 1+i%3, llm.Params{Seed: new(int64(i % 5)), Temperature: new(1.0), MaxTokens: new(12)}
		rows, _, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
		if err != nil {
			return err.Error()
		}
		return rows[0].Text
	}
	type answer struct {
		i    int
		text string
	}
	answers := make(chan answer)
	for i := range 30 {
		go func() { answers <- answer{i, ask(i)} }()
	}
	for range 30 {
		if a := <-answers; a.text != ask(a.i) {
			t.Errorf("request %d: %q, alone %q", a.i, a.text, ask(a.i))
		}
	}
}

// prepare validates and tokenises a request.
func prepare(t testing.TB, e *Engine, req *llm.Request) *generation {
	t.Helper()
	p := req.Effective()
	s, err := e.newSettings(req, &p)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := e.encodePrompts(t.Context(), req.Prompts, s)
	if err != nil {
		t.Fatal(err)
	}
	return e.newGeneration(s, prompts)
}
