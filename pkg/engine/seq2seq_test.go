package engine

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// seq2seq returns the engine of a golden encoder-decoder whose tokens are numbers and which has no
// search of its own, and what the original implementation answers to sources.
func seq2seq(t *testing.T, name string, cfg Config) (*Engine, []sourceAnswer) {
	t.Helper()
	raw, err := os.ReadFile("arch/testdata/" + name + "/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Answers []sourceAnswer `json:"greedy_sources"`
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden.Answers) == 0 {
		t.Fatalf("%d answers, %v", len(golden.Answers), err)
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	m.Tokens = m.Spec.Vocab // files with a tokenizer have fewer
	m.Tokenizer, m.Seq2Seq.Search = numbers{m.Tokens}, nil
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, golden.Answers
}

type sourceAnswer struct{ Source, Tokens []int }

// greedyAnswers asks for greedy completions of tokens.
func greedyAnswers(sources ...[]int) *llm.Request {
	req := &llm.Request{Params: llm.Params{MaxTokens: new(12), Temperature: new(0.0)}}
	for _, ids := range sources {
		req.Prompts = append(req.Prompts, llm.Prompt{Parts: []llm.Part{{Tokens: ids[:len(ids)-1]}}}) // the engine adds the end
	}
	return req
}

// Encoder-decoders answer as the original implementation, alone and together, with drafts and
// without.
func TestSeq2SeqGreedy(t *testing.T) {
	for _, name := range []string{"t5", "t5-gated", "mt5", "mt5-gelu", "t5-gguf", "mt5-gelu-gguf", "umt5", "umt5-untied", "umt5-gguf", "bart", "bart-scaled", "pegasus", "pegasus-gelu"} {
		e, golden := seq2seq(t, name, Config{})
		e.drafting = draftAlways
		var sources [][]int
		var want []string
		for _, g := range golden {
			written := slices.DeleteFunc(slices.Clone(g.Tokens), func(id int) bool { return id == e.seq2seq.End })
			sources, want = append(sources, g.Source), append(want, spell(written[len(e.seq2seq.Begin):]))
		}
		greedy := func(sources ...[]int) *llm.Request {
			req := greedyAnswers(sources...)
			*req.Params.MaxTokens -= len(e.seq2seq.Begin)
			return req
		}
		rows, usage := collect(t, e, greedy(sources...))
		for i, row := range rows {
			if got := strings.TrimSpace(row.Text); got != strings.TrimSpace(want[i]) {
				t.Errorf("%s, together: %q, want %q", name, got, want[i])
			}
			if ended := slices.Contains(golden[i].Tokens, e.seq2seq.End); ended != (row.Finish == llm.FinishEOS) {
				t.Errorf("%s: the answer ends by %s", name, row.Finish)
			}
			alone, _ := collect(t, e, greedy(sources[i]))
			if alone[0].Text != row.Text {
				t.Errorf("%s: %q alone, %q together", name, alone[0].Text, row.Text)
			}
		}
		if n := len(slices.Concat(sources...)); usage.Input != n {
			t.Errorf("%s: %d tokens of prompts, want %d", name, usage.Input, n)
		}
	}
}

// The score of an answer is the sum of the log-probabilities that the same text has when it is
// written.
func TestSeq2SeqScore(t *testing.T) {
	e, golden := seq2seq(t, "t5", Config{})
	req := greedyAnswers(golden[0].Source)
	req.Params.Logprobs = new(1)
	rows, _ := collect(t, e, req)
	sum, text := 0.0, ""
	for _, tok := range rows[0].Tokens {
		sum, text = sum+tok.Logprob, text+tok.Text
	}
	score, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: req.Prompts[0], Continuation: text})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(score.Logprob-sum) > 1e-4 || !score.Greedy || sum >= 0 {
		t.Errorf("scored %v, written with %v", score, sum)
	}
	for _, n := range []int{1, 100} { // with all of its tokens, or by its bytes
		_, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: req.Prompts[0], Continuation: strings.Repeat(text+" ", n*e.context)})
		if long := llm.AsError(err); long.Code != llm.TooLong || long.Param != "continuation" {
			t.Errorf("%v", err)
		}
	}
}

// A text's source is the text as the model's own tokenizer writes it, and an answer begins with the
// tokens that the files force, which are not part of it.
func TestBARTTokens(t *testing.T) {
	for name, begin := range map[string][]int{"bart": {0}, "bart-scaled": nil} {
		m, err := arch.Open(os.DirFS("arch/testdata"), name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(m, Config{Context: 9})
		if err != nil {
			t.Fatal(err)
		}
		plain := e.tokenizer.Encode("the hen")
		for _, p := range []llm.Prompt{llm.Text("the hen"), {Parts: []llm.Part{{Tokens: slices.Concat([]int{0}, plain, []int{2})}}}} {
			got, err := e.encodePrompt(t.Context(), p, &settings{})
			if err != nil || !slices.Equal(got.source, slices.Concat([]int{0}, plain, []int{2})) || got.input != len(got.source) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if !slices.Equal(got.ids, slices.Concat([]int{2}, begin)) || got.lead != len(got.ids) {
				t.Errorf("%s: an answer begins with %v, %d of which lead", name, got.ids, got.lead)
			}
		}
		got, err := e.encodePrompt(t.Context(), llm.Text("the hen and the hen and the hen"), &settings{truncate: new(0)})
		if err != nil || len(got.source) != 9 || got.source[0] != 0 || !got.truncated {
			t.Errorf("%s: truncated to %+v, %v", name, got, err)
		}
		_, usage, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("the hen")}, Layers: []int{0}})
		if err != nil || usage.Input != len(plain)+2 {
			t.Errorf("%s: %+v, %v", name, usage, err)
		}
		scored, err := e.encodeScoredAnswer(t.Context(), &llm.ScoreRequest{Prompt: llm.Text("the hen"), Continuation: "the"})
		if err != nil || !slices.Equal(scored[0].source, slices.Concat([]int{0}, plain, []int{2})) || scored[0].lead != 1+len(begin) {
			t.Errorf("%s: %+v, %v", name, scored, err)
		}
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), "bart")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(m, Config{Context: 1}); err == nil || !strings.Contains(err.Error(), "begin with 2 tokens") {
		t.Errorf("%v", err)
	}
}

// failure returns the error of a request.
func failure(t *testing.T, e *Engine, req *llm.Request) error {
	t.Helper()
	_, _, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
	return err
}

// Answers are not kept: they depend on their sources, and every one begins with the same token.
func TestSeq2SeqKeepsNothing(t *testing.T) {
	if e, _ := seq2seq(t, "t5", Config{}); e.prefixes != nil {
		t.Error("computed answers are kept")
	}
}

// The memory of a request contains what its sources are encoded to.
func TestSeq2SeqMemory(t *testing.T) {
	e, _ := seq2seq(t, "t5", Config{})
	e.memory = 8 << 20
	req := greedyAnswers(slices.Repeat([]int{5}, 2000))
	if err := failure(t, e, req); err != nil {
		t.Fatal(err)
	}
	keys, pass := e.model.MemoryBytes(2000), passMemory(&e.model.Spec, 2000, e.workers)
	for _, part := range []int64{keys, pass} {
		e.memory = tokenBytes*2000 + keys + pass - part/2
		if err := failure(t, e, req); err == nil || !strings.Contains(err.Error(), "of memory and may use") {
			t.Errorf("%v", err)
		}
	}
}

// A source and an answer have a context each; a prompt's own tokens are not described.
func TestSeq2SeqLimits(t *testing.T) {
	e, golden := seq2seq(t, "t5", Config{Context: 20})
	long := slices.Repeat([]int{5}, 20)
	if err := failure(t, e, greedyAnswers(append(long, 1))); err == nil || !strings.Contains(err.Error(), "21 tokens") {
		t.Errorf("%v", err)
	}
	req := greedyAnswers(long) // with the end 20
	req.Params.MaxTokens = new(100)
	rows, _ := collect(t, e, req)
	if f := rows[0].Finish; f != llm.FinishContext && f != llm.FinishEOS {
		t.Errorf("the answer ends by %s", f)
	}
	if rows, usage := collect(t, e, greedyAnswers([]int{5, 5, 1, 1})); usage.Input != 3 || rows[0].Text == "" {
		t.Errorf("an end that the client sends is the only one: %+v", usage)
	}
	score, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: llm.Text(spell(long[:19])), Continuation: spell(long[:19])})
	if err != nil || len(score.Tokens) != 19 {
		t.Errorf("an answer has a context of its own: %+v, %v", score, err)
	}
	req = &llm.Request{Params: llm.Params{Continue: new(true)}, Prompts: []llm.Prompt{{Messages: []llm.Message{
		{Role: "user", Parts: []llm.Part{{Text: "3 4"}}}, {Role: "assistant", Parts: []llm.Part{{Text: "5"}}}}}}}
	if err := failure(t, e, req); err == nil || llm.AsError(err).Param != "continue_final_message" || llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("%v", err)
	}
	req = greedyAnswers(golden[0].Source)
	req.Params.Echo, req.Params.Logprobs = new(true), new(1)
	if err := failure(t, e, req); err == nil || !strings.Contains(err.Error(), "have no log-probabilities") {
		t.Errorf("%v", err)
	}
}

// Its vectors are the encoder's.
func TestSeq2SeqEmbeds(t *testing.T) {
	e, _ := seq2seq(t, "t5", Config{})
	got, usage, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("3 4 5")}, Layers: []int{0, -1}})
	if err != nil || len(got[0].Layers) != 2 || len(got[0].Layers[1].Vectors) != 4 || usage.Input != 4 || got[0].Layers[1].Index != len(e.model.Encoder) {
		t.Errorf("%+v %+v %v", got, usage, err)
	}
}
