package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/chat"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
)

// thinkMarks are those of most families.
var thinkMarks = reasoning.Marks{Open: "<think>", Close: "</think>"}

// withMarks is a tokenizer with special tokens after those of another.
type withMarks struct {
	tokenizer.Tokenizer
	marks []string
}

func (m withMarks) Size() int { return m.Tokenizer.Size() + len(m.marks) }

func (m withMarks) SpecialTokens() map[string]int {
	ids := map[string]int{}
	for i, mark := range m.marks {
		ids[mark] = m.Tokenizer.Size() + i
	}
	return ids
}

func (m withMarks) Piece(id int) string {
	if i := id - m.Tokenizer.Size(); i >= 0 && i < len(m.marks) {
		return m.marks[i]
	}
	return m.Tokenizer.Piece(id)
}

func (m withMarks) EncodeSpecial(text string) (ids []int) {
	for text != "" {
		at, found := len(text), -1
		for i, mark := range m.marks {
			if j := strings.Index(text, mark); j >= 0 && j < at {
				at, found = j, i
			}
		}
		ids = append(ids, m.Encode(text[:at])...)
		if text = text[at:]; found >= 0 {
			ids, text = append(ids, m.Tokenizer.Size()+found), text[len(m.marks[found]):]
		}
	}
	return ids
}

func (m withMarks) NewDecoder() tokenizer.Decoder {
	return withMarksDecoder{m, m.Tokenizer.NewDecoder()}
}

type withMarksDecoder struct {
	withMarks
	tokenizer.Decoder
}

func (d withMarksDecoder) Next(id int) string {
	if id >= d.Tokenizer.Size() {
		return ""
	}
	return d.Decoder.Next(id)
}

// A thinkingModel is a random model that reasons.
type thinkingModel struct {
	*Engine
	bias map[int]float64 // makes it write marks now and then
}

// thinkingModels returns models whose marks are special tokens, spelled in characters, or cut
// in pieces that other text follows.
func thinkingModels(t *testing.T, window int, prompt string) map[string]thinkingModel {
	t.Helper()
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{% for m in messages %}{{ m.content }}{% endfor %}` +
		`{% if add_generation_prompt %}` + prompt + `{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %}`}})
	if err != nil {
		t.Fatal(err)
	}
	pieces := unusedLong{characters(t), []string{"<thi", "nk>", "\n<think>a", "</thi", "nk>\n\n", `nk>{"`, "nk>x", `</think>{"n`, "</think>"}}
	models := map[string]thinkingModel{}
	for name, words := range map[string]tokenizer.Tokenizer{
		"special": withMarks{characters(t), []string{"<end>", "<think>", "</think>"}}, "characters": characters(t), "pieces": pieces,
	} {
		var ends []int
		bias := map[int]float64{}
		first := characters(t).Size()
		switch name {
		case "special":
			ends = []int{first}
			bias[first+1], bias[first+2], bias[first] = 3, 2, 1
		case "pieces":
			for i := range pieces.long {
				bias[first+i] = 2.5
			}
		default:
			for _, c := range "<think>/" {
				bias[words.Encode(string(c))[0]] = 1.5
			}
		}
		marks := thinkMarks
		e := withTokenizer(t, words, window, Config{PrefixMemory: -1, Template: template, Reasoning: &marks}, ends...)
		if e.thinker == nil {
			t.Fatalf("%s: the model does not reason", name)
		}
		models[name] = thinkingModel{e, bias}
	}
	return models
}

// ask returns a request of a chat.
func (m thinkingModel) ask(p llm.Params) *llm.Request {
	p.LogitBias = m.bias
	req := with(p)
	req.Prompts = []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "abc <think>"}}}}}}
	return req
}

// checkReasoning checks that reasoning has no marks and no white space around it.
func checkReasoning(t *testing.T, what string, rows []llm.Chunk) {
	t.Helper()
	for _, r := range rows {
		if strings.Contains(r.Reasoning, thinkMarks.Close) || strings.TrimSpace(r.Reasoning) != r.Reasoning {
			t.Errorf("%s: row %d has the reasoning %q", what, r.Row, r.Reasoning)
		}
	}
}

// prompts are ends of prompts, before which a model reasons or not.
func thinkingPrompts() map[string]reasoning.State {
	return map[string]reasoning.State{"A:": reasoning.Before, "A:<think>\n": reasoning.Inside, "A:<think>\n\n</think>\n\n": reasoning.Between}
}

// With any maximum number of tokens, a schema holds for what comes after the reasoning.
func TestThinkingEveryLength(t *testing.T) {
	for prompt, state := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 256, prompt) {
			t.Run(name+" "+prompt, func(t *testing.T) {
				thought, silent := 0, 0
				for _, schema := range []string{personSchema, flagSchema} {
					least := shortest(t, m.Engine, schema)
					if state == reasoning.Inside {
						least += m.thinker.cost()
					}
					for tokens := least; tokens <= least+40; tokens++ {
						req := m.ask(llm.Params{MaxTokens: new(tokens), Seed: new(int64(tokens)), Temperature: new(1.2), Tokens: new(true), Schema: []byte(schema)})
						req.N = 3
						rows, usage := collect(t, m.Engine, req)
						what := fmt.Sprintf("%d of %d tokens", tokens, least)
						checkTexts(t, what, schema, rows)
						checkReasoning(t, what, rows)
						described := 0
						for _, r := range rows {
							if described += len(r.Tokens); tokenTexts(r.Tokens) != r.Text {
								t.Errorf("%s: the tokens spell %q, not %q", what, tokenTexts(r.Tokens), r.Text)
							}
							if r.Reasoning != "" {
								thought++
							} else {
								silent++
							}
						}
						if usage.Output > 3*tokens || usage.Reasoning+described > usage.Output {
							t.Errorf("%s: %+v, and %d tokens of answers", what, usage, described)
						}
					}
					if _, _, err := llm.Collect(m.Generate(t.Context(), m.ask(llm.Params{MaxTokens: new(least - 1), Schema: []byte(schema)})), 1); llm.AsError(err).Param != "max_new_tokens" {
						t.Errorf("%d of %d tokens: %v", least-1, least, err)
					}
				}
				if thought == 0 != (state == reasoning.Between) || silent == 0 && state != reasoning.Inside {
					t.Errorf("%d rows have reasoning, %d have none", thought, silent)
				}
			})
		}
	}
}

// A grammar may allow the text of the marks. Where they fit they begin reasoning, and the
// grammar holds for all of the answer.
func TestThinkingGrammar(t *testing.T) {
	const source = `root ::= "<think>" [a-z]{5} | [a-z]{12}`
	g, err := grammar.GBNF(source)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range thinkingModels(t, 256, "A:") {
		thought, silent := 0, 0
		for tokens := 12; tokens < 60; tokens++ {
			m.bias = map[int]float64{m.tokenizer.Encode("<")[0]: 50}
			rows, _ := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: &tokens, Grammar: new(source)}))
			if r := rows[0]; !g.Match(r.Text) || r.Guarantee != llm.Enforced {
				t.Errorf("%s, %d tokens: %+v", name, tokens, r)
			}
			if rows[0].Reasoning != "" {
				thought++
			} else {
				silent++
			}
		}
		if thought == 0 || silent == 0 {
			t.Errorf("%s: %d rows have reasoning, %d have none", name, thought, silent)
		}
	}
}

// A row without a constraint is the text of the same tokens, split; it does not depend on how
// it is generated.
func TestThinkingSplit(t *testing.T) {
	for prompt, state := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 256, prompt) {
			thought := 0
			for seed := range int64(20) {
				req := m.ask(llm.Params{MaxTokens: new(60), Seed: &seed, Temperature: new(1.1)})
				rows, usage := collect(t, m.Engine, req)
				want, inside := m.split(t, req, state)
				if r := rows[0]; r.Reasoning != want.Reasoning || r.Text != want.Text || usage.Reasoning != inside {
					t.Fatalf("%s, %q, seed %d: reasoning %q, text %q, %d tokens\nwant %q, %q, %d", name, prompt, seed, r.Reasoning, r.Text, usage.Reasoning, want.Reasoning, want.Text, inside)
				}
				if rows[0].Reasoning != "" {
					thought++
				}
			}
			if thought == 0 != (state == reasoning.Between || state == reasoning.Before && name == "characters") {
				t.Errorf("%s, %q: %d rows have reasoning", name, prompt, thought)
			}
		}
	}
}

// split generates the tokens of a chat's answer without looking for reasoning, and splits
// their text. inside is how many tokens are part of the reasoning.
func (m thinkingModel) split(t *testing.T, req *llm.Request, state reasoning.State) (out reasoning.Piece, inside int) {
	t.Helper()
	parts, _, err := m.Render(t.Context(), req.Prompts[0], &req.Params, true)
	if err != nil {
		t.Fatal(err)
	}
	var to tokenizer.Collector
	to.Max = m.context
	if err := m.encode(t.Context(), &to, parts); err != nil {
		t.Fatal(err)
	}
	raw := *req
	raw.Prompts, raw.Tokens = []llm.Prompt{{Parts: []llm.Part{{Tokens: to.IDs()}}}}, new(true)
	rows, _ := collect(t, m.Engine, &raw)
	reader, before := reasoning.NewReader(&m.thinker.marks, state), 0
	for _, tok := range rows[0].Tokens {
		was, text := reader.State(), tok.Text
		if text == "" {
			text = tok.Piece
		}
		if was == reasoning.Answer {
			text = tok.Text
		}
		if before++; was == reasoning.Inside || reader.State() == reasoning.Inside {
			inside++
		}
		p := reader.Push(text)
		if was == reasoning.Before && reader.State() == reasoning.Inside {
			inside = before
		}
		out.Reasoning, out.Text = out.Reasoning+p.Reasoning, out.Text+p.Text
	}
	p := reader.End()
	return reasoning.Piece{Reasoning: out.Reasoning + p.Reasoning, Text: out.Text + p.Text}, inside
}

// Neither log-probabilities, streams, other rows nor known prompts change a row.
func TestThinkingAlike(t *testing.T) {
	for prompt := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 256, prompt) {
			for _, schema := range []string{"", flagSchema} {
				for seed := range int64(6) {
					ask := func(change func(*llm.Request)) llm.Chunk {
						req := m.ask(llm.Params{MaxTokens: new(70), Seed: &seed, Temperature: new(1.2), Tokens: new(true), MaxThinking: new(20)})
						if schema != "" {
							req.Schema = []byte(schema)
						}
						change(req)
						rows, _ := collect(t, m.Engine, req)
						return rows[0]
					}
					want := ask(func(*llm.Request) {})
					for how, change := range map[string]func(*llm.Request){
						"log-probabilities": func(r *llm.Request) { r.Logprobs = new(2) },
						"a stream":          func(r *llm.Request) { r.Stream = true },
						"eight rows":        func(r *llm.Request) { r.N = 8 },
						"many rows":         func(r *llm.Request) { r.N = listChunk/2 + 1 },
					} {
						got := ask(change)
						if got.Reasoning != want.Reasoning || got.Text != want.Text || got.Finish != want.Finish || !reflect.DeepEqual(ids(got), ids(want)) {
							t.Errorf("%s, %q, %s: %s %q %q, want %s %q %q", name, prompt, how, got.Finish, got.Reasoning, got.Text, want.Finish, want.Reasoning, want.Text)
						}
					}
				}
			}
		}
	}
}

// A limit of the reasoning closes it, with its mark, and the answer follows.
func TestMaxThinking(t *testing.T) {
	for name, m := range thinkingModels(t, 256, "A:<think>") {
		for most := range 30 {
			for _, schema := range []string{"", flagSchema} {
				rows, usage := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(100), Seed: new(int64(most)), Temperature: new(1.0), MaxThinking: &most, Schema: []byte(schema)}))
				if n := len(m.thinker.close); usage.Reasoning > most+n {
					t.Errorf("%s: %d tokens of reasoning, at most %d and the mark's %d", name, usage.Reasoning, most, n)
				}
				if most == 0 && rows[0].Reasoning != "" {
					t.Errorf("%s: reasoning %q", name, rows[0].Reasoning)
				}
				if schema == "" {
					if _, usage := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(most + 2), MaxThinking: &most, Temperature: new(1.0), Seed: new(int64(most))})); usage.Output > most+2 {
						t.Errorf("%s: %+v, at most %d tokens", name, usage, most+2)
					}
				}
				if schema != "" {
					checkTexts(t, name, schema, rows)
				}
			}
		}
	}
}

// A request without reasoning gets none, by the template's setting or else by closing the
// block at once.
func TestThinkingOff(t *testing.T) {
	for _, text := range []string{`{{ messages[0].content }}<think>`, `{{ messages[0].content }}{% if enable_thinking is false %}<think></think>{% else %}<think>{% endif %}`} {
		template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: text}})
		if err != nil {
			t.Fatal(err)
		}
		words := withMarks{characters(t), []string{"<think>", "</think>"}}
		m := thinkingModel{withTokenizer(t, words, 128, Config{Template: template}), nil}
		rows, usage := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(20), Thinking: new(false)}))
		want := 1 // the mark
		if template.Reads("enable_thinking", false) {
			want = 0
		}
		if rows[0].Reasoning != "" || rows[0].Text == "" || usage.Reasoning != want {
			t.Errorf("%s: %+v, %+v", text, rows[0], usage)
		}
		rows, usage = collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(20), Thinking: new(true)}))
		if rows[0].Reasoning == "" || rows[0].Text != "" || usage.Reasoning != 20 {
			t.Errorf("%s: %+v, %+v", text, rows[0], usage)
		}
	}
}

// A row is the same if its prompt, or a row like it, is known.
func TestThinkingKnownPrompt(t *testing.T) {
	for name, m := range thinkingModels(t, 256, "A:<think>\n") {
		marks := thinkMarks
		known := withTokenizer(t, m.tokenizer, 256, Config{Template: m.template, Reasoning: &marks}, slices.Collect(maps.Keys(m.ends))...)
		for seed := range int64(10) {
			req := m.ask(llm.Params{MaxTokens: new(60), Seed: new(seed % 2), Temperature: new(1.2), MaxThinking: new(15)})
			want, cost := collect(t, m.Engine, req)
			rows, usage := collect(t, known, req)
			if cost.Cached = usage.Cached; !reflect.DeepEqual(rows, want) || usage != cost { // the prompts are alike
				t.Errorf("%s: %+v %+v, want %+v %+v", name, rows, usage, want, cost)
			}
		}
	}
}

// Output that ends within the reasoning has no text; the end of the model does so too.
func TestThinkingCutOff(t *testing.T) {
	m := thinkingModels(t, 256, "A:<think>\n")["special"]
	end, closer := m.tokenizer.Size()-3, m.tokenizer.Size()-1
	for _, test := range []struct {
		bias map[int]float64
		want llm.Finish
	}{
		{map[int]float64{end: -1000, closer: -1000}, llm.FinishLength},
		{map[int]float64{end: 1000, closer: -1000}, llm.FinishEOS},
	} {
		m.bias = test.bias
		rows, usage := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(9), Temperature: new(1.0), Seed: new(int64(1))}))
		if r := rows[0]; r.Text != "" || r.Finish != test.want || (r.Reasoning == "") != (test.want == llm.FinishEOS) {
			t.Errorf("%+v %+v", r, usage)
		}
		const schema = `{"enum":["a"]}`
		rows, _ = collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(60), Temperature: new(1.0), Seed: new(int64(1)), Schema: []byte(schema)}))
		checkTexts(t, string(test.want), schema, rows)
		if finish := rows[0].Finish; finish != test.want {
			t.Errorf("a schema ends with %s, want %s", finish, test.want)
		}
	}
}

// A stop string ends the answer, not the reasoning.
func TestThinkingStop(t *testing.T) {
	m := thinkingModels(t, 256, "A:<think>\n")["special"]
	stopped, kept := 0, 0
	for seed := range int64(30) {
		rows, _ := collect(t, m.Engine, m.ask(llm.Params{MaxTokens: new(120), Seed: &seed, Temperature: new(1.2), Stop: []string{"e", "a"}, MaxThinking: new(40)}))
		r := rows[0]
		if strings.ContainsAny(r.Text, "ea") {
			t.Errorf("the text is %q", r.Text)
		}
		if r.Finish == llm.FinishStop {
			stopped++
		}
		if strings.ContainsAny(r.Reasoning, "ea") {
			kept++
		}
	}
	if stopped == 0 || kept == 0 {
		t.Errorf("%d rows stopped, %d have the stop string in their reasoning", stopped, kept)
	}
}

// A tool is called after the reasoning, whatever is written there.
func TestThinkingTools(t *testing.T) {
	for prompt := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 512, prompt) {
			thought := 0
			for seed := range int64(15) {
				for _, must := range []bool{true, false} {
					req := m.ask(llm.Params{
						MaxTokens: new(110 + int(seed)), Seed: &seed, Temperature: new(1.2), MustCall: &must,
						Tools: []llm.Tool{{Name: "f", Parameters: []byte(flagSchema)}},
					})
					rows, _ := collect(t, m.Engine, req)
					checkReasoning(t, name, rows)
					checkRow(t, rows[0], must, false)
					if rows[0].Reasoning != "" {
						thought++
					}
				}
			}
			if thought == 0 && (name == "special" && prompt == "A:" || strings.HasSuffix(prompt, "<think>\n")) {
				t.Errorf("%s, %q: no row has reasoning", name, prompt)
			}
		}
	}
}

// Before a deadline, the reasoning ends in time for the answer.
func TestThinkingDeadline(t *testing.T) {
	for _, prompt := range []string{"A:", "A:<think>\n"} {
		for _, name := range []string{"special", "characters", "pieces"} {
			synctest.Test(t, func(t *testing.T) {
				m := thinkingModels(t, 512, prompt)[name]
				for _, limit := range []time.Duration{time.Second, 2 * time.Second} {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					watch := watchPasses(t, m.Engine, func(int) { time.Sleep(10 * time.Millisecond) })
					rows, _, err := llm.Collect(m.Generate(ctx, m.ask(llm.Params{Schema: []byte(flagSchema), Temperature: new(1.0), Seed: new(int64(2))})), 1)
					watch.leave()
					cancel()
					if err != nil {
						t.Fatal(err)
					}
					checkTexts(t, name, flagSchema, rows)
				}
			})
		}
	}
}

// Models that do not reason say so; raw prompts are not read for marks.
func TestThinkingRefused(t *testing.T) {
	e := withTokenizer(t, characters(t), 128, Config{})
	chat := func(p llm.Params) *llm.Request {
		req := with(p)
		req.Prompts = []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "a"}}}}}}
		return req
	}
	for param, req := range map[string]*llm.Request{
		"thinking": chat(llm.Params{Thinking: new(true)}), "reasoning_effort": chat(llm.Params{Effort: new("low")}),
		"max_thinking_tokens":  chat(llm.Params{MaxThinking: new(-1)}),
		"chat_template_kwargs": with(llm.Params{TemplateArgs: []byte(`{"a":1}`)}),
	} {
		if _, _, err := llm.Collect(e.Generate(t.Context(), req), 1); llm.AsError(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	for _, bad := range []string{`[]`, `null`, `1`, `{`} {
		if _, _, err := llm.Collect(e.Generate(t.Context(), chat(llm.Params{TemplateArgs: []byte(bad)})), 1); llm.AsError(err).Param != "chat_template_kwargs" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	rows, _ := collect(t, e, chat(llm.Params{Thinking: new(false), MaxThinking: new(3), MaxTokens: new(5)}))
	if len(rows[0].Text) < 5 {
		t.Errorf("%+v", rows[0])
	}
	if k := newThinker(&reasoning.Marks{Open: "日本", Close: "x"}, characters(t), 10); k != nil {
		t.Errorf("marks that the tokenizer cannot spell: %+v", k)
	}
}

// The variables of the template are the client's, and those of the parameters that it reads.
func TestTemplateVariables(t *testing.T) {
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{{ messages[0].content }}{{ enable_thinking }}{{ x }}`}})
	if err != nil {
		t.Fatal(err)
	}
	e := withTokenizer(t, characters(t), 128, Config{Template: template, Reasoning: &thinkMarks})
	for _, test := range []struct {
		params llm.Params
		want   string
	}{
		{llm.Params{}, ""},
		{llm.Params{Thinking: new(true)}, `{"enable_thinking":true}`},
		{llm.Params{Effort: new("low")}, `{"enable_thinking":true}`},
		{llm.Params{Effort: new("low"), Thinking: new(false), TemplateArgs: []byte(`{"x":[2, 1]}`)}, `{"enable_thinking":false,"x":[2,1]}`},
		{llm.Params{Thinking: new(true), TemplateArgs: []byte(`{"enable_thinking":false}`)}, `{"enable_thinking":false}`},
	} {
		if got, err := e.templateVariables(&test.params); string(got) != test.want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

// The reasoning of GPT-OSS ends with the message, and its answer is another one.
func TestThinkingHarmony(t *testing.T) {
	marks, ok := reasoning.Detect(`<|channel|>analysis<|message|>`)
	if !ok {
		t.Fatal("no marks")
	}
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{{ messages[0].content }}<|start|>assistant`}})
	if err != nil {
		t.Fatal(err)
	}
	words := withMarks{characters(t), []string{"<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|return|>"}}
	first := characters(t).Size()
	e := withTokenizer(t, words, 256, Config{Template: template, Reasoning: &marks}, first+4)
	m := thinkingModel{e, map[int]float64{first: 4, first + 2: 2}}
	thought := 0
	for tokens := shortest(t, e, flagSchema); tokens < 120; tokens += 3 {
		req := m.ask(llm.Params{MaxTokens: &tokens, Seed: new(int64(tokens)), Temperature: new(1.0), Schema: []byte(flagSchema), Tokens: new(true)})
		rows, _ := collect(t, e, req)
		checkTexts(t, fmt.Sprint(tokens), flagSchema, rows)
		if tokenTexts(rows[0].Tokens) != rows[0].Text || slices.ContainsFunc(rows[0].Tokens, func(tok llm.Token) bool { return tok.Text == "" && tok.ID != first+4 }) {
			t.Errorf("tokens %+v", rows[0].Tokens)
		}
		if rows[0].Reasoning != "" {
			thought++
		}
	}
	if thought == 0 {
		t.Error("no row has reasoning")
	}
}

// The marks around an answer with tools are not part of its text, whether the prompt or the model
// has ended the reasoning. A text that has none is kept.
func TestThinkingFramedTools(t *testing.T) {
	for prompt, inside := range map[string]bool{"A:<think></think>\n": false, "A:<think>\n": true} {
		template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{{ tools | default([]) | tojson }}{# <tool_call> with arguments #}{% for m in messages %}{{ m.content }}{% endfor %}` + prompt}})
		if err != nil {
			t.Fatal(err)
		}
		answers := []string{"\n<answer>\nhi", "hi</answer>"}
		words := unusedLong{characters(t), answers}
		marks := reasoning.Marks{Open: "<think>", Close: "</think>", Answer: "<answer>", End: "</answer>"}
		e := withTokenizer(t, words, 512, Config{PrefixMemory: -1, Template: template, Reasoning: &marks})
		tokens, n := 9, 9
		if inside {
			tokens += e.thinker.cost()
			n = tokens - len(e.thinker.close)
		}
		for i, answer := range answers {
			m := thinkingModel{e, map[int]float64{characters(t).Size() + i: 100}} // the model writes this token
			want := strings.TrimPrefix(strings.Repeat(answer, n), "\n<answer>\n")
			rows, _ := collect(t, e, m.ask(llm.Params{MaxTokens: &tokens, MaxThinking: new(0), Tools: []llm.Tool{{Name: "f"}}}))
			if rows[0].Text != want || rows[0].Reasoning != "" {
				t.Errorf("%q: got %+v, want %q", prompt, rows[0], want)
			}
		}
	}
}
