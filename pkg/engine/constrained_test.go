package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// checkTexts checks that rows are complete texts of a schema.
func checkTexts(t *testing.T, what, schema string, rows []llm.Chunk) {
	t.Helper()
	g, err := grammar.Schema([]byte(schema), grammar.Generating())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !json.Valid([]byte(r.Text)) || !g.Match(r.Text) || r.Guarantee != llm.Enforced {
			t.Errorf("%s: row %d ends with %s, %q: %q", what, r.Row, r.Finish, r.Guarantee, r.Text)
		}
	}
}

// shortest returns the minimum number of tokens of a schema's texts.
func shortest(t *testing.T, e *Engine, schema string) int {
	t.Helper()
	c, err := e.constraint(t.Context(), &llm.Params{Schema: json.RawMessage(schema)})
	if err != nil {
		t.Fatal(err)
	}
	return c.Min()
}

// With any maximum number of tokens the text is complete and matches the schema.
func TestEveryLength(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		ended := map[llm.Finish]int{}
		for _, schema := range []string{personSchema, listSchema, flagSchema} {
			least := shortest(t, e, schema)
			for tokens := least; tokens <= least+40; tokens += step {
				req := constrainedRequest(schema, llm.Params{MaxTokens: new(tokens), Seed: new(int64(tokens)), Tokens: new(true)})
				if tokens%4 > 0 {
					req.Temperature = new(float64(tokens%4) * 0.7)
				}
				req.N = 3
				rows, _ := collect(t, e, req)
				checkTexts(t, fmt.Sprintf("%d of %d tokens", tokens, least), schema, rows)
				for _, r := range rows {
					if ended[r.Finish]++; len(r.Tokens) > tokens {
						t.Errorf("%d tokens, at most %d", len(r.Tokens), tokens)
					}
				}
			}
		}
		if ended[llm.FinishEOS] == 0 || ended[llm.FinishLength] == 0 || len(ended) != 2 {
			t.Errorf("ended: %v", ended)
		}
	})
}

// A full context closes a text in the same way as the maximum number of tokens.
func TestConstrainedInContext(t *testing.T) {
	ended := map[llm.Finish]int{}
	for context := 70; context < 110; context++ {
		e := withTokenizer(t, characters(t), context, Config{})
		rows, _ := collect(t, e, constrainedRequest(personSchema, llm.Params{Seed: new(int64(context)), Temperature: new(1.5)}))
		checkTexts(t, fmt.Sprint(context), personSchema, rows)
		ended[rows[0].Finish]++
	}
	if ended[llm.FinishContext] == 0 || ended[llm.FinishLength] > 0 {
		t.Errorf("ended: %v", ended)
	}
}

// The text does not depend on log-probabilities, streaming, the number of rows (and so
// the forced tokens of a pass), or other requests.
func TestConstrainedAlike(t *testing.T) {
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		for _, schema := range []string{personSchema, listSchema} {
			ask := func(change func(*llm.Request)) llm.Chunk {
				req := constrainedRequest(schema, llm.Params{MaxTokens: new(90), Seed: new(int64(8)), Temperature: new(1.0), Tokens: new(true)})
				change(req)
				rows, _ := collect(t, e, req)
				checkTexts(t, "alike", schema, rows)
				return rows[0]
			}
			want := ask(func(*llm.Request) {})
			for name, change := range map[string]func(*llm.Request){
				"log-probabilities": func(r *llm.Request) { r.Logprobs = new(2) },
				"a stream":          func(r *llm.Request) { r.Stream = true },
				"eight rows":        func(r *llm.Request) { r.N = 8 },
				"many rows":         func(r *llm.Request) { r.N = listChunk/2 + 1 },
			} {
				got := ask(change)
				if got.Text != want.Text || got.Finish != want.Finish || !reflect.DeepEqual(ids(got), ids(want)) {
					t.Errorf("%s: %s %q %v, want %s %q %v", name, got.Finish, got.Text, ids(got), want.Finish, want.Text, ids(want))
				}
			}
		}
	})
}

func ids(c llm.Chunk) (list []int) {
	for _, tok := range c.Tokens {
		list = append(list, tok.ID)
	}
	return list
}

// Each token, forced or not, has a chunk and the same log-probability as in a score of
// the same tokens. The tokens spell the text, and usage counts them.
func TestConstrainedTokens(t *testing.T) {
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		req := constrainedRequest(listSchema, llm.Params{MaxTokens: new(100), Seed: new(int64(2)), Temperature: new(1.0), Logprobs: new(1), Echo: new(true)})
		req.Prompts[0] = llm.Prompt{Parts: []llm.Part{{Tokens: e.tokenizer.Encode("abc")}}}
		rows, usage := collect(t, e, req)
		r, prompt := rows[0], req.Prompts[0].Parts[0].Tokens
		ended := 0 // a token without text
		if r.Tokens[len(r.Tokens)-1].Text == "" {
			ended = 1
		}
		text := tokenTexts(r.Tokens[len(prompt):])
		if !strings.HasSuffix(r.Text, text) || usage.Output != len(r.Tokens)-len(prompt) {
			t.Errorf("%q in %+v, of %q", text, usage, r.Text)
		}
		checkTexts(t, "tokens", listSchema, []llm.Chunk{{Text: text, Guarantee: r.Guarantee}})
		again := with(llm.Params{Echo: new(true), Logprobs: new(1), MaxTokens: new(0)})
		again.Prompts[0] = llm.Prompt{Parts: []llm.Part{{Tokens: ids(r)}}}
		scored, _ := collect(t, e, again)
		for i, tok := range scored[0].Tokens[:len(r.Tokens)-ended] {
			if got := r.Tokens[i]; i > 0 && (got.Logprob != tok.Logprob || got.ID != tok.ID) {
				t.Errorf("token %d, %q: %v, scored %v", got.ID, got.Text, got.Logprob, tok.Logprob)
			}
		}
		chunks := 0
		for c := range e.Generate(t.Context(), req) {
			if chunks++; chunks > 1 && len(c.Tokens) > 1 {
				t.Errorf("a chunk of %d tokens", len(c.Tokens))
			}
		}
	})
}

func tokenTexts(tokens []llm.Token) string {
	var b strings.Builder
	for _, tok := range tokens {
		b.WriteString(tok.Text)
	}
	return b.String()
}

// Forced text takes one pass.
func TestForcedPasses(t *testing.T) {
	key := strings.Repeat("long ", 8)
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"boolean"},"b":{"type":"boolean"}},"required":[%q,"b"],"additionalProperties":false}`, key, key)
	for name, want := range map[string]int{"characters": 6, "fallback, llama 2": 8} {
		v := vocabularies(t)[name]
		e := withTokenizer(t, v.words, 256, Config{PrefixMemory: -1})
		for _, logprobs := range []*int{nil, new(0)} {
			passes := 0
			m := watchPasses(t, e, func(int) { passes++ })
			rows, usage := collect(t, e, constrainedRequest(schema, llm.Params{Logprobs: logprobs}))
			m.leave()
			checkTexts(t, name, schema, rows)
			if passes > want || usage.Output < 3*passes {
				t.Errorf("%s: %d passes for %d tokens, want %d", name, passes, usage.Output, want)
			}
		}
	}
}

// If a token extends beyond the forced text, the model chooses how that text ends.
func TestForcedEnd(t *testing.T) {
	e := withTokenizer(t, longTokens(t), 64, Config{})
	long := e.tokens - 1 // `":true}`
	for _, bias := range []float64{100, -100} {
		rows, _ := collect(t, e, constrainedRequest(flagSchema, llm.Params{Tokens: new(true), LogitBias: map[int]float64{long: bias}}))
		if slices.Contains(ids(rows[0]), long) != (bias > 0) {
			t.Errorf("a bias of %g: %q by %v", bias, rows[0].Text, ids(rows[0]))
		}
	}
}

// If a token that the bound excludes extends beyond the forced text, the bound explains how that
// text ends.
func TestForcedBound(t *testing.T) {
	words := unusedLong{characters(t), []string{`{"b`}}
	e := withTokenizer(t, words, 64, Config{})
	bias := map[int]float64{e.tokens - 1: 100, words.Encode(`"`)[0]: -100}
	for tokens, want := range map[int]llm.Chunk{
		60:                           {Text: `{"a":{"b":{"c":"d"}}}`, Finish: llm.FinishEOS},
		shortest(t, e, nestedSchema): {Text: `{"a":{}}`, Finish: llm.FinishLength},
	} {
		rows, _ := collect(t, e, constrainedRequest(nestedSchema, llm.Params{MaxTokens: &tokens, LogitBias: bias}))
		if rows[0].Text != want.Text || rows[0].Finish != want.Finish {
			t.Errorf("%d tokens end with %s: %q, want %s: %q", tokens, rows[0].Finish, rows[0].Text, want.Finish, want.Text)
		}
	}
}

// Many rows share the room of a pass.
func TestForcedRoom(t *testing.T) {
	e, most := withTokenizer(t, characters(t), 256, Config{PrefixMemory: -1}), 0
	m := watchPasses(t, e, func(n int) { most = max(most, n) })
	defer m.leave()
	for _, rows := range []int{1, 9, 150} {
		most = 0
		req := constrainedRequest(fmt.Sprintf(`{"enum":[%q,1]}`, strings.Repeat("long", 50)), llm.Params{LogitBias: map[int]float64{e.tokenizer.Encode("1")[0]: -100}})
		req.N = rows
		collect(t, e, req)
		if want := min(max(rows, listChunk/rows*rows), passTokens); most != want {
			t.Errorf("%d rows: passes of up to %d tokens, want %d", rows, most, want)
		}
	}
}

// The reason of a row's end: the model, the constraint, or a bound that made a
// difference. Only the bound explains another text; other tokens of the same text may be chosen
// where it is forced.
func TestConstrainedFinish(t *testing.T) {
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		for i, schema := range []string{flagSchema, personSchema, onlySchema, nestedSchema, flagSchema, answerSchema, answerSchema} {
			p := llm.Params{Tokens: new(true)}
			if i > 3 {
				p.Temperature, p.Seed = new(1.0), new(int64(i))
			}
			ask := func(tokens int) llm.Chunk {
				p.MaxTokens = &tokens
				rows, _ := collect(t, e, constrainedRequest(schema, p))
				return rows[0]
			}
			free, least := ask(250), shortest(t, e, schema)
			for tokens := least; tokens < least+60; tokens++ {
				r, unbounded := ask(tokens), free.Finish == llm.FinishEOS
				if r.Finish == llm.FinishEOS && (!unbounded || r.Text != free.Text) || r.Finish != llm.FinishEOS && unbounded && reflect.DeepEqual(ids(r), ids(free)) {
					t.Errorf("%d tokens end with %s: %q, of many with %s: %q", tokens, r.Finish, r.Text, free.Finish, free.Text)
				}
				if schema == onlySchema && r.Finish != llm.FinishEOS {
					t.Errorf("%d tokens of the only text end with %s", tokens, r.Finish)
				}
			}
		}
	})
}

// A grammar may allow an end in several places. There the model's end token is allowed;
// where nothing can follow, no other token is.
func TestConstrainedOpenEnd(t *testing.T) {
	for end := range 2 {
		words := characters(t)
		e := withTokenizer(t, words, 64, Config{}, words.Encode("!?")[:end]...)
		finish := map[llm.Finish]int{}
		for seed := range int64(40) {
			req := with(llm.Params{Grammar: new("root ::= [a-z]+"), MaxTokens: new(12), Seed: &seed, Temperature: new(1.5)})
			rows, _ := collect(t, e, req)
			if text := rows[0].Text; text == "" || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") != "" || rows[0].Guarantee != llm.Enforced {
				t.Errorf("%+v", rows[0])
			}
			if len(rows[0].Text) < 12 != (rows[0].Finish == llm.FinishEOS) {
				t.Errorf("%s after %q", rows[0].Finish, rows[0].Text)
			}
			finish[rows[0].Finish]++
		}
		if finish[llm.FinishLength] == 0 || (finish[llm.FinishEOS] > 0) != (end > 0) {
			t.Errorf("%d end tokens: %v", end, finish)
		}
	}
	e := withTokenizer(t, characters(t), 64, Config{})
	for source, want := range map[string]string{
		`root ::= "once upon a time"`: "once upon a time", `root ::= ""`: "", `root ::= "ab" ("cdef" | "cdeg")?`: "ab",
	} {
		finish, most := llm.FinishEOS, new(max(1, len(want)))
		if want == "ab" {
			finish, most = llm.FinishLength, new(5) // none of which can follow
		}
		rows, usage := collect(t, e, with(llm.Params{Grammar: new(source), MaxTokens: most}))
		if rows[0].Text != want || rows[0].Finish != finish || rows[0].Guarantee != llm.Enforced || usage.Output != len(want) {
			t.Errorf("%s: %+v %+v", source, rows[0], usage)
		}
	}
}

// A row is the same as alone, whatever other requests run.
func TestConstrainedTogether(t *testing.T) {
	team := transformer.NewTeam(2)
	defer team.Close()
	request := func(i int) *llm.Request {
		req := mixed(i)
		req.MaxTokens = new(60 + i)
		switch i % 4 {
		case 0:
			req.Schema = json.RawMessage(personSchema)
		case 1:
			req.Schema = json.RawMessage(listSchema)
		case 2:
			req.Grammar = new("root ::= [a-z]+")
		}
		return req
	}
	const requests = 16
	words := openTokenizer(t, "gpt2.tokenizer.json")
	alone, e := withTokenizer(t, words, 256, Config{PrefixMemory: -1}, 0), withTokenizer(t, words, 256, Config{Team: team}, 0)
	var wg sync.WaitGroup
	for i := range 2 * requests {
		req := request(i % requests)
		want, cost := collect(t, alone, req)
		wg.Go(func() { disruptiveClient(t, e, request(i), i) })
		wg.Go(func() {
			rows, usage, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
			usage.Cached = cost.Cached // depends on the others
			if err != nil || !same(rows, want) || usage != cost {
				t.Errorf("request %d: %v %+v %+v, want %+v %+v", i, err, rows, usage, want, cost)
			}
		})
	}
	wg.Wait()
}

func TestConstrainedBestOf(t *testing.T) {
	e := withTokenizer(t, characters(t), 256, Config{})
	req := constrainedRequest(personSchema, llm.Params{MaxTokens: new(80), Seed: new(int64(1)), Temperature: new(1.0), BestOf: new(5)})
	req.N = 2
	rows, _ := collect(t, e, req)
	checkTexts(t, "best of five", personSchema, rows)
	if rows[0].Tokens != nil || rows[0].Text == rows[1].Text {
		t.Errorf("%+v", rows)
	}
}

// Penalties count the content of strings, but not syntax.
func TestConstrainedPenalties(t *testing.T) {
	e := withTokenizer(t, characters(t), 256, Config{})
	ask := func(schema string, penalty float64) string {
		rows, _ := collect(t, e, constrainedRequest(schema, llm.Params{MaxTokens: new(60), FrequencyPenalty: &penalty}))
		checkTexts(t, "penalties", schema, rows)
		return rows[0].Text
	}
	const choices = `{"type":"array","minItems":12,"maxItems":12,"items":{"enum":["x","y",1,2]}}`
	if with, without := ask(choices, 5), ask(choices, 0); with != without {
		t.Errorf("%s, without penalties %s", with, without)
	}
	const text = `{"type":"string"}`
	with, without := ask(text, 100), ask(text, 0)
	for i := 1; i < len(with)-1; i++ {
		if i < 40 && strings.Count(with, with[i:i+1]) > 2 {
			t.Errorf("%s, without penalties %s", with, without)
		}
	}
}

// Computed tokens, including forced ones, are reused for the next prompt.
func TestConstrainedPrefix(t *testing.T) {
	e := withTokenizer(t, openTokenizer(t, "gpt2.tokenizer.json"), 256, Config{})
	for _, logprobs := range []*int{nil, new(1)} {
		req := constrainedRequest(listSchema, llm.Params{MaxTokens: new(60), Tokens: new(true), Logprobs: logprobs})
		rows, _ := collect(t, e, req)
		next := sampled(0)
		next.Prompts = []llm.Prompt{{Parts: []llm.Part{{Tokens: append(e.tokenizer.Encode("abc"), append(ids(rows[0]), 1, 2)...)}}}}
		if n, _ := computed(t, e, next); n > 2+1+len(`key":true}]`) { // the last tokens were never fed
			t.Errorf("%d tokens are computed again of %d", n, len(rows[0].Tokens))
		}
	}
}

// Cancelling cuts a text off, without a guarantee.
func TestConstrainedCancelled(t *testing.T) {
	e := withTokenizer(t, characters(t), 256, Config{})
	for _, logprobs := range []*int{nil, new(1)} {
		ctx := &endable{Context: t.Context()}
		var last llm.Chunk
		n := 0
		for c, err := range e.Generate(ctx, constrainedRequest(personSchema, llm.Params{Logprobs: logprobs})) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				ctx.err = context.Canceled
			}
			last = c
		}
		if last.Finish != llm.FinishCancelled || last.Guarantee != llm.Unchecked {
			t.Errorf("%+v", last)
		}
	}
}

// A text is complete before the deadline if that leaves time for the shortest text,
// whatever the duration of a step; otherwise it is cut off.
func TestConstrainedDeadline(t *testing.T) {
	ended := map[llm.Finish]int{}
	for i := range 40 {
		synctest.Test(t, func(t *testing.T) {
			e, n := withTokenizer(t, characters(t), 256, Config{}), 0
			m := watchPasses(t, e, func(int) {
				n++
				time.Sleep(time.Duration(8+(n*7+i)%5) * time.Millisecond)
			})
			defer m.leave()
			began, limit := time.Now(), time.Duration(i*80)*time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			req := constrainedRequest(personSchema, llm.Params{Seed: new(int64(i)), Temperature: new(1.2)})
			rows, _, err := llm.Collect(e.Generate(ctx, req), 1)
			if errors.Is(err, context.DeadlineExceeded) && i == 0 {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			r := rows[0]
			ended[r.Finish]++
			if r.Guarantee == llm.Unchecked {
				if r.Finish != llm.FinishDeadline || i > 6 {
					t.Errorf("%s: cut off in %q with %s", limit, r.Text, r.Finish)
				}
				return
			}
			checkTexts(t, limit.String(), personSchema, rows)
			if time.Since(began) > limit-deadlineReserve {
				t.Errorf("%s after %s", r.Finish, time.Since(began))
			}
		})
	}
	if ended[llm.FinishDeadline] < 10 || ended[llm.FinishEOS]+ended[llm.FinishContext] == 0 {
		t.Errorf("ended: %v", ended)
	}
}

// A text ends where no token spells a continuation.
func TestConstrainedWhereNothingFollows(t *testing.T) {
	for _, ends := range [][]int{nil, {0}} {
		e := withTokenizer(t, characters(t), 64, Config{}, ends...)
		rows, _ := collect(t, e, with(llm.Params{Grammar: new(`root ::= "ab" "☃"?`), MaxTokens: new(20)}))
		if rows[0].Text != "ab" || rows[0].Finish != llm.FinishEOS {
			t.Errorf("with ends %v: %q ends with %s", ends, rows[0].Text, rows[0].Finish)
		}
	}
}

// An incomplete text is never reported as enforced, whatever ended it.
func TestOnlyWholeIsEnforced(t *testing.T) {
	e := withTokenizer(t, characters(t), 64, Config{})
	form, err := e.constraint(t.Context(), &llm.Params{Grammar: new(`root ::= "ab"`)})
	if err != nil {
		t.Fatal(err)
	}
	g, r := &generation{settings: &settings{constraint: form}, engine: e}, &row{}
	if err := g.constrain(r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []llm.Guarantee{llm.Unchecked, llm.Unchecked, llm.Enforced} {
		var c llm.Chunk
		if g.end(r, &c, llm.FinishLength); c.Guarantee != want {
			t.Errorf("after %q: %q", r.constrained.matcher.Text(), c.Guarantee)
		}
		for id := range e.tokens {
			if r.constrained.matcher.Take(id) {
				break
			}
		}
	}
}
