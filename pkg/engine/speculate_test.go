package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/llm"
)

// rowsOf returns the chunks of each row of a request, and its usage. How rows are interleaved
// and the ids of calls may differ from one time to the next.
func rowsOf(t *testing.T, e *Engine, how drafting, req *llm.Request) ([][]llm.Chunk, llm.Usage) {
	t.Helper()
	e.drafting = how
	rows, usage := make([][]llm.Chunk, req.Rows()), llm.Usage{}
	for c, err := range e.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Usage != nil {
			usage, c.Usage = *c.Usage, nil
		}
		for i := range c.Calls {
			c.Calls[i].ID = ""
		}
		rows[c.Row] = append(rows[c.Row], c)
	}
	return rows, usage
}

// sameWithDrafts checks that a request has the same chunks, to the bit, and the same usage with
// and without drafts.
func sameWithDrafts(t *testing.T, what string, e *Engine, req *llm.Request) {
	t.Helper()
	want, cost := rowsOf(t, e, draftNever, req)
	got, usage := rowsOf(t, e, draftAlways, req)
	for i := range want {
		if a, b := fmt.Sprintf("%#v", got[i]), fmt.Sprintf("%#v", want[i]); a != b {
			t.Fatalf("%s: %+v: row %d is\n%s\nwithout drafts\n%s", what, req.Params, i, a, b)
		}
	}
	if usage.Cached = cost.Cached; usage != cost { // the second time the prompt is known
		t.Fatalf("%s: %+v: the usage is %+v, without drafts %+v", what, req.Params, usage, cost)
	}
}

// checkDrafts checks that engines have accepted drafts and rejected others.
func checkDrafts(t *testing.T, engines ...*Engine) {
	t.Helper()
	drafted, accepted := int64(0), int64(0)
	for _, e := range engines {
		d, a := e.Drafts()
		drafted, accepted = drafted+d, accepted+a
	}
	if accepted == 0 || accepted > drafted*9/10 {
		t.Errorf("%d of %d drafted tokens were accepted", accepted, drafted)
	}
}

// repeating returns a text of letters that repeats parts of itself.
func repeating(rng *rand.Rand, length int) string {
	var b strings.Builder
	for b.Len() < length {
		if n := b.Len(); n > 4 && rng.IntN(3) > 0 {
			from := rng.IntN(n - 3)
			b.WriteString(b.String()[from:min(n, from+3+rng.IntN(12))])
		} else {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
	}
	return b.String()[:length]
}

// randomParams returns parameters of all kinds.
func randomParams(rng *rand.Rand, length int) (p llm.Params) {
	p.MaxTokens, p.Seed = new(rng.IntN(length)), new(int64(rng.IntN(1000)))
	maybe := func(one int, set func()) {
		if rng.IntN(one) == 0 {
			set()
		}
	}
	maybe(2, func() { p.Temperature = new(float64(rng.IntN(5)) * 0.3) })
	maybe(4, func() { p.TopK = new(1 + rng.IntN(8)) })
	maybe(4, func() { p.TopP = new(0.5 + rng.Float64()/2) })
	maybe(8, func() { p.TypicalP = new(0.5) })
	maybe(4, func() { p.RepetitionPenalty = new(1 + rng.Float64()/4) })
	maybe(4, func() { p.FrequencyPenalty = new(rng.Float64()) })
	maybe(4, func() { p.PresencePenalty = new(rng.Float64()) })
	maybe(2, func() { p.PenalizePrompt = new(true) })
	maybe(2, func() { p.Logprobs = new(rng.IntN(3)) })
	maybe(4, func() { p.Tokens = new(true) })
	maybe(4, func() { p.Echo = new(true) })
	return p
}

// Completions, their chunks and log-probabilities are the same with and without drafts, also
// where layers have windows and where texts are known.
func TestDrafts(t *testing.T) {
	engines := map[string]*Engine{
		"plain": random(t, 160, Config{PrefixMemory: -1}), "prefixes": random(t, 160, Config{}),
		"ends":    withTokenizer(t, characters(t), 160, Config{PrefixMemory: -1}, 30),
		"windows": windowed(t, 700, Config{PrefixMemory: -1}), "windows, prefixes": windowed(t, 700, Config{}),
	}
	for name, e := range engines {
		rng := rand.New(rand.NewPCG(1, uint64(len(name))))
		known := "a"
		for i := range 36 {
			req := request(repeating(rng, 1+rng.IntN(e.context/2)))
			if i%3 == 0 { // a text that the cache may have
				req = request(known[:min(len(known), e.context-30)] + repeating(rng, 5))
			}
			if i%7 == 0 {
				req.Prompts = append(req.Prompts, llm.Text(repeating(rng, 20)))
			}
			req.N, req.Params = 1+rng.IntN(3), randomParams(rng, e.context/2)
			if name == "ends" { // in the middle of a draft, and described
				req.LogitBias, req.Temperature = map[int]float64{30: 6, 66: 8, 67: 8}, new(1.0)
				req.Echo, req.Logprobs = new(i%2 == 0), new(1)
			}
			if i%5 == 0 {
				req.Stop = []string{repeating(rng, 1+rng.IntN(2)), "zq"}
			}
			if i%11 == 0 {
				req.BestOf = new(4)
			}
			sameWithDrafts(t, fmt.Sprint(name, i), e, req)
			rows, _ := collect(t, e, req)
			known = req.Prompts[0].Parts[0].Text + rows[0].Text
		}
		checkDrafts(t, e)
	}
}

// A text that repeats itself takes a pass for many tokens.
func TestDraftsSavePasses(t *testing.T) {
	e, passes := random(t, 512, Config{PrefixMemory: -1}), 0
	m := watchPasses(t, e, func(int) { passes++ })
	defer m.leave()
	e.drafting = draftAlways
	if _, usage := collect(t, e, with(llm.Params{MaxTokens: new(400), Temperature: new(0.0)})); usage.Output != 400 || passes > 200 {
		t.Errorf("%d tokens took %d passes", usage.Output, passes)
	}
}

// A prediction changes nothing but the number of passes, and the usage says how much of it came.
func TestPrediction(t *testing.T) {
	e, passes := random(t, 512, Config{PrefixMemory: -1}), 0
	m := watchPasses(t, e, func(int) { passes++ })
	defer m.leave()
	req := with(llm.Params{MaxTokens: new(200), Temperature: new(1.3), Seed: new(int64(5))})
	rows, usage := collect(t, e, req)
	text := rows[0].Text
	if usage.Predicted != 0 || usage.Mispredicted != 0 {
		t.Errorf("without a prediction: %+v", usage)
	}
	for _, test := range []struct {
		prediction  string
		come, other int // tokens, at least
		passes      int // at most
	}{
		{text, 190, 0, 60},
		{text[:50] + "zqzqz" + text[50:], 180, 1, 90},
		{strings.Repeat("zqqz", 25), 0, 90, 230},
		{strings.Repeat(text, 100), 190, 200, 60}, // longer than the context
	} {
		req.Prediction, passes = test.prediction, 0
		sameWithDrafts(t, "predicted", e, req)
		e.drafting, passes = draftAlways, 0
		rows, usage := collect(t, e, req)
		if rows[0].Text != text {
			t.Errorf("%.20q changes the text to %q", test.prediction, rows[0].Text)
		}
		if usage.Predicted < test.come || usage.Mispredicted < test.other || usage.Predicted+usage.Mispredicted > e.context || passes > test.passes {
			t.Errorf("%.20q: %d passes, %+v", test.prediction, passes, usage)
		}
	}
	req.N, req.Temperature, req.Prediction = 3, new(0.0), ""
	rows, _ = collect(t, e, req)
	req.Prediction = rows[0].Text[:100] + "zqzqz"
	if _, usage := collect(t, e, req); usage.Predicted != 300 || usage.Mispredicted != 15 {
		t.Errorf("three rows: %+v", usage)
	}
}

// Drafts hold under grammars, whose masks are those of the verified place.
func TestDraftsConstrained(t *testing.T) {
	words := `root ::= ("the quick brown fox jumped, " | "the lazy and sleepy dog, "){6} [a-z]*` // forced text is longer than drafts
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		rng := rand.New(rand.NewPCG(2, 3))
		for i := range 8 {
			p := randomParams(rng, 90)
			p.MaxTokens, p.Echo = new(70+rng.IntN(60)), nil
			req := constrainedRequest([]string{personSchema, listSchema, flagSchema}[i%3], p)
			if i%4 == 3 {
				p.Grammar, p.MaxTokens = &words, new(200)
				req = with(p)
			}
			req.N = 1 + i%2
			sameWithDrafts(t, fmt.Sprint(i), e, req)
		}
		checkDrafts(t, e)
	})
}

// Drafts hold where a model reasons, and where it calls tools.
func TestDraftsOfChats(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	var engines []*Engine
	for prompt := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 256, prompt) {
			for i := range 8 {
				p := randomParams(rng, 100)
				p.Echo, p.MaxTokens = nil, new(80+rng.IntN(60))
				switch i % 4 {
				case 0:
					p.Schema = json.RawMessage(flagSchema)
				case 1:
					p.MaxThinking = new(rng.IntN(30))
				case 2:
					p.Stop = []string{"a", "/"}
				}
				sameWithDrafts(t, fmt.Sprint(name, prompt, i), m.Engine, m.ask(p))
			}
			engines = append(engines, m.Engine)
		}
	}
	checkDrafts(t, engines...)
	e := withTokenizer(t, characters(t), 1024, Config{})
	tools := []llm.Tool{{Name: "weather", Parameters: json.RawMessage(familyTool)}}
	for i := range 12 {
		p := randomParams(rng, 100)
		p.Echo, p.MaxTokens, p.Tools, p.MustCall, p.Stop = nil, new(120+i), tools, new(i%2 == 0), []string{"rain", "}"}
		req := oneMessage("rain? rain in the city, for days")
		req.Params, req.N = p, 1+i%2
		sameWithDrafts(t, fmt.Sprint("tools ", i), e, req)
	}
	checkDrafts(t, e)
}

// Drafts do not change what other requests get, in a batch and one after the other.
func TestDraftsTogether(t *testing.T) {
	ask := func(i int) *llm.Request {
		rng := rand.New(rand.NewPCG(6, uint64(i)))
		req := request(repeating(rng, 10+rng.IntN(200)))
		req.N, req.Params = 1+i%3, randomParams(rng, 150)
		return req
	}
	alone, e := windowed(t, 512, Config{PrefixMemory: -1, NoDrafts: true}), windowed(t, 512, Config{Queue: NewQueue(6, 100, 0)})
	e.drafting = draftAlways
	var wg sync.WaitGroup
	for i := range 60 {
		want, cost := collect(t, alone, ask(i))
		wg.Go(func() {
			got, usage, err := llm.Collect(e.Generate(t.Context(), ask(i)), ask(i).Rows())
			if usage.Cached = 0; err != nil || !same(got, want) || usage != cost { // others may know the prompt
				t.Errorf("request %d: %v %+v %+v, alone %+v %+v", i, err, got, usage, want, cost)
			}
		})
		if i%12 == 11 {
			wg.Wait()
		}
	}
	checkDrafts(t, e)
	if drafted, _ := alone.Drafts(); drafted != 0 {
		t.Errorf("%d tokens were drafted although the model has no drafts", drafted)
	}
}
