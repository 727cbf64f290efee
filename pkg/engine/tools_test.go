package engine

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

func testToolGrammar(t *testing.T, template string, tools []llm.Tool, must, one bool) (*grammar.Grammar, error) {
	var tokens []string
	for b := range 0x80 {
		tokens = append(tokens, string(rune(b)))
	}
	words := grammar.NewVocabulary(tokens)
	e := &Engine{constraints: &constraintCache{vocabulary: func() (*grammar.Vocabulary, error) { return words, nil }}, calls: callSyntax{Syntax: named(t, template).Calls()}, ends: map[int]bool{0: true}}
	return e.toolGrammar(grammar.NewCompiler(context.Background()), &llm.Params{Tools: tools, MustCall: &must, OneCall: &one})
}

func TestToolGrammar(t *testing.T) {
	good := llm.Tool{Name: "good", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	for _, template := range []string{chat.Concat, chat.Llama3, chat.ChatML} {
		_, err := testToolGrammar(t, template, []llm.Tool{good, {Name: "bare"}}, false, false)
		if err != nil {
			t.Errorf("%s: %v", template, err)
		}
	}
	for _, test := range []struct {
		tools []llm.Tool
		want  string // the message begins so
	}{
		{nil, "there is no function to call"},
		{[]llm.Tool{good, good}, `there are two functions "good"`},
		{[]llm.Tool{good, {Name: "bad", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"strnig"}}}`)}}, `the parameters of "bad": /properties/x`},
	} {
		_, err := testToolGrammar(t, chat.ChatML, test.tools, true, true)
		if e := llm.AsError(constraintError("tools", err)); e.Code != llm.Invalid || e.Param != "tools" || !strings.HasPrefix(e.Message, test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// The cache distinguishes the same tools with other requirements.
func TestToolGrammarsCached(t *testing.T) {
	var tokens []string
	for b := range 0x80 {
		tokens = append(tokens, string(rune(b)))
	}
	words := grammar.NewVocabulary(tokens)
	e := &Engine{constraints: &constraintCache{vocabulary: func() (*grammar.Vocabulary, error) { return words, nil }}, calls: callSyntax{Syntax: named(t, chat.Concat).Calls()}, ends: map[int]bool{0: true}}
	for range 2 {
		for _, must := range []bool{false, true} {
			for _, one := range []bool{false, true} {
				c, err := e.constraint(t.Context(), &llm.Params{Tools: []llm.Tool{{Name: "f"}}, MustCall: &must, OneCall: &one})
				if err != nil {
					t.Fatal(err)
				}
				m := c.Start()
				if m.Accepts() == must {
					t.Errorf("must %t: an answer of nothing is allowed", must)
				}
				for _, b := range []byte(`{"name": "f", "arguments": {}}`) {
					if !m.Take(int(b)) {
						t.Fatalf("must %t, one %t: %q is not taken after %q", must, one, b, m.Text())
					}
				}
				if m.Complete() != one {
					t.Errorf("one %t: complete %t", one, m.Complete())
				}
			}
		}
	}
}

// All texts drawn from the allowed tokens, with any maximum length, parse into calls of
// existing functions with complete arguments, or are text.
func TestToolGrammarDraws(t *testing.T) {
	tokens := []string{"<tool_call>\n", `{"name": "`, `": {"`, "}}", "; ", " é", `\"`}
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	vocabulary := grammar.NewVocabulary(tokens)
	tools := []llm.Tool{{Name: "f"}, {Name: "f2", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}}
	random := rand.New(rand.NewPCG(1, 2))
	drawn := [3]int{} // rows without calls, with one, with more
	for _, template := range []string{chat.Concat, chat.Llama3, chat.ChatML} {
		for _, must := range []bool{false, true} {
			for _, one := range []bool{false, true} {
				form, err := testToolGrammar(t, template, tools, must, one)
				if err != nil {
					t.Fatal(err)
				}
				constraint, err := form.Bind(vocabulary)
				if err != nil {
					t.Fatal(err)
				}
				for budget := constraint.Min(); budget < constraint.Min()+60; budget++ {
					row := splitCalls(t, named(t, template).Calls(), tools, draw(t, constraint, tokens, budget, random))
					checkRow(t, row, must, one)
					drawn[min(len(row.Calls), 2)]++
				}
			}
		}
	}
	if slices.Contains(drawn[:], 0) {
		t.Errorf("of rows without a call, with one and with more there were %d", drawn)
	}
}

// draw writes a text of at most budget tokens.
func draw(t *testing.T, c *grammar.Constraint, tokens []string, budget int, random *rand.Rand) string {
	t.Helper()
	m, text := c.Start(), ""
	for ; budget > 0 && !m.Complete(); budget-- {
		if m.Accepts() && random.IntN(8) == 0 {
			break
		}
		mask := m.Mask(budget)
		var allowed []int
		for id := range tokens {
			if mask.Bits[id>>6]>>(id&63)&1 == 1 {
				allowed = append(allowed, id)
			}
		}
		if len(allowed) == 0 && m.Accepts() {
			break // another call would be too long
		}
		id := allowed[random.IntN(len(allowed))]
		if call := slices.IndexFunc(allowed, func(id int) bool { return id < 2 }); call >= 0 && random.IntN(2) == 0 {
			id = allowed[call] // calls are rare among all texts
		}
		if !m.Take(id) {
			t.Fatalf("%q: the mask allows %q", text, tokens[id])
		}
		text += tokens[id]
	}
	if !m.Accepts() {
		t.Fatalf("%q is not whole", text)
	}
	return text
}

func checkRow(t *testing.T, row llm.Chunk, must, one bool) {
	t.Helper()
	n := len(row.Calls)
	if must && (n == 0 || row.Text != "") || one && n > 1 {
		t.Errorf("must call %t, one call %t: %+v", must, one, row)
	}
	for _, call := range row.Calls {
		var arguments map[string]any
		if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || call.Name != "f" && call.Name != "f2" {
			t.Errorf("%+v: %v", call, err)
		}
		if _, ok := arguments["n"].(float64); call.Name == "f2" && !ok {
			t.Errorf("%+v", call)
		}
	}
}

// A chat with tools that must be called ends in calls with complete arguments, with any
// maximum of tokens, whatever stop strings are in them, and also in a stream. Otherwise it ends
// in text or calls.
func TestCalls(t *testing.T) {
	e := withTokenizer(t, characters(t), 1024, Config{})
	tools := []llm.Tool{{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"]}`)}}
	_, _, err := llm.Collect(e.Generate(t.Context(), with(llm.Params{Tools: tools})), 1)
	if fault := llm.AsError(err); fault.Code != llm.Invalid || fault.Param != "tools" {
		t.Errorf("without a chat: %v", err)
	}
	texts, called, stopped := 0, 0, 0
	for seed := range int64(30) {
		must := seed%2 == 0
		req := &llm.Request{
			Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "rain?"}}}}}}, N: 2,
			Params: llm.Params{Tools: tools, MustCall: &must, MaxTokens: new(90 + int(seed)), Seed: &seed, Temperature: new(1.0), Stop: []string{`"`, "}"}},
		}
		rows, _ := collect(t, e, req)
		for _, row := range rows {
			if row.Guarantee != llm.Enforced || strings.ContainsAny(row.Text, `"}`) || must && (row.Text != "" || len(row.Calls) == 0) {
				t.Fatalf("seed %d: %+v", seed, row)
			}
			if len(row.Calls) == 0 {
				texts++
			}
			if row.Finish == llm.FinishStop {
				stopped++
			}
			for i, call := range row.Calls {
				called++
				var arguments struct {
					City *string
					Days *int64
				}
				if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || arguments.City == nil || arguments.Days == nil ||
					call.Index != i || call.Name != "weather" || !callIDs.MatchString(call.ID) {
					t.Fatalf("seed %d: %+v: %v", seed, call, err)
				}
			}
		}
	}
	if texts == 0 || called == 0 || stopped == 0 {
		t.Errorf("%d texts, %d calls, %d rows stopped", texts, called, stopped)
	}
}
