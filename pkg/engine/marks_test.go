package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
	"glossa/pkg/toolcall"
)

// specialTokens is a tokenizer with special tokens after those of another.
type specialTokens struct {
	tokenizer.Tokenizer
	special []string
}

func (s specialTokens) Size() int { return s.Tokenizer.Size() + len(s.special) }

func (s specialTokens) Piece(id int) string {
	if id -= s.Tokenizer.Size(); id >= 0 && id < len(s.special) {
		return s.special[id]
	}
	return s.Tokenizer.Piece(id + s.Tokenizer.Size())
}

func (s specialTokens) SpecialTokens() map[string]int {
	ids := map[string]int{}
	for i, text := range s.special {
		ids[text] = s.Tokenizer.Size() + i
	}
	return ids
}

func (s specialTokens) EncodeSpecial(text string) []int {
	if i := slices.Index(s.special, text); i >= 0 {
		return []int{s.Tokenizer.Size() + i}
	}
	return s.Tokenizer.EncodeSpecial(text)
}

func (s specialTokens) NewDecoder() tokenizer.Decoder {
	return specialDecoder{s.Tokenizer.NewDecoder(), s.Tokenizer.Size()}
}

type specialDecoder struct {
	tokenizer.Decoder
	size int
}

func (d specialDecoder) Next(id int) string {
	if id >= d.size {
		return ""
	}
	return d.Decoder.Next(id)
}

// ended is a syntax of one call that ends with <|call|>.
func ended() toolcall.Syntax {
	return toolcall.Syntax{Family: "ended", Trigger: "<|to|>", Anywhere: true, Call: "<|to|>", Middle: "<|message|>", End: "<|call|>", One: true}
}

// betweenMarks is the syntax of Gemma 4 with marks of [callMarks].
func betweenMarks() toolcall.Syntax {
	s := toolcall.Gemma4()
	s.Trigger, s.Call, s.End, s.Arguments.Quote = "<tool_call>", "<tool_call>call:", "}</tool_call>", "<|message|>"
	return s
}

var callMarks = []string{
	"<pad>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]", "<tool_call>", "</tool_call>", "<arg_value>", "</arg_value>", "<|to|>", "<|message|>", "<|call|>",
}

func TestCallSyntax(t *testing.T) {
	tok := specialTokens{characters(t), []string{"<a>", "<a>b", "x", "<c>"}}
	n := tok.Tokenizer.Size()
	for _, test := range []struct {
		syntax, want toolcall.Syntax
		marks        []int
	}{
		{toolcall.Syntax{Trigger: "<a>", Call: "<a>c", Close: "<c><a>"}, toolcall.Syntax{Trigger: "\xf5", Call: "\xf5c", Close: "\xf6\xf5"}, []int{n, n + 3}},
		{toolcall.Syntax{Trigger: "<", Open: "<a>b", Call: "b"}, toolcall.Syntax{Trigger: "\xf5", Open: "\xf5", Call: "b"}, []int{n + 1}},
		{toolcall.Syntax{Trigger: "<d>", Open: "<d>"}, toolcall.Syntax{Trigger: "<d>", Open: "<d>"}, nil},
		{toolcall.Syntax{Trigger: "{", Open: "{<a", Call: ">"}, toolcall.Syntax{Trigger: "{", Open: "{<a", Call: ">"}, nil},
	} {
		got := newCallSyntax(test.syntax, tok, tok.Size())
		if got.Syntax != test.want || !slices.Equal(got.marks, test.marks) {
			t.Errorf("%+v: got %+v, want %+v, %v", test.syntax, got, test.want, test.marks)
		}
	}
	if got := newCallSyntax(toolcall.Syntax{Trigger: "<c>", Open: "<c>"}, tok, n); len(got.marks) > 0 {
		t.Errorf("tokens that the model cannot write are %v", got.marks)
	}
	if got := newCallSyntax(toolcall.Hermes(), characters(t), n); got.Syntax != toolcall.Hermes() {
		t.Errorf("without special tokens: %+v", got)
	}
}

// markedEngine returns an engine over a tokenizer with special tokens, whose template has a syntax.
func markedEngine(t *testing.T, words tokenizer.Tokenizer, s toolcall.Syntax) *Engine {
	t.Helper()
	tok := specialTokens{words, callMarks}
	e := withTokenizer(t, tok, 512, Config{PrefixMemory: -1}, tok.Size()-1)
	e.calls = newCallSyntax(s, tok, e.tokens)
	e.constraints.vocabulary = e.calls.vocabulary(e.constraints.vocabulary)
	return e
}

// Marks of calls that are special tokens are written as these tokens, never in letters, and
// clients do not see them: calls are whole with any maximum of tokens.
func TestMarkedCalls(t *testing.T) {
	tools := []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string","maxLength":9},"n":{"type":"integer"}},"required":["s"]}`)}}
	thought := 0 // bytes of reasoning
	for _, words := range []tokenizer.Tokenizer{characters(t), openTokenizer(t, "gpt2.tokenizer.json"), openTokenizer(t, "llama2.tokenizer.json")} {
		for _, s := range []toolcall.Syntax{toolcall.Mistral(), toolcall.MistralArgs(), toolcall.GLM(), betweenMarks(), ended()} {
			e := markedEngine(t, words, s)
			e.thinker = newThinker(&reasoning.Marks{Open: "<think>", Close: "</think>"}, e.tokenizer, e.tokens)
			if e.thinker == nil {
				t.Fatal("the model does not reason")
			}
			texts, called := 0, 0
			for seed := range int64(24) {
				must := seed%2 == 0
				p := llm.Params{Tools: tools, MustCall: &must, Seed: &seed, Temperature: new(1.0)}
				c, err := e.constraint(t.Context(), &p)
				if err != nil {
					t.Fatalf("%s: %v", s.Family, err)
				}
				p.MaxTokens = new(max(1, c.Min()+int(seed)))
				p.Tokens = new(true)
				chat := llm.Prompt{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "q"}}}}}
				rows, _ := collect(t, e, &llm.Request{Prompts: []llm.Prompt{chat}, N: 1, Params: p})
				row := rows[0]
				calls := checkMarkedRow(t, s, row, must)
				called += calls
				thought += len(row.Reasoning)
				if calls == 0 {
					texts++
				}
			}
			if texts == 0 || called == 0 {
				t.Errorf("%s: %d texts, %d calls", s.Family, texts, called)
			}
		}
	}
	if thought == 0 {
		t.Error("no row reasons")
	}
}

// checkMarkedRow returns the number of calls of a row.
func checkMarkedRow(t *testing.T, s toolcall.Syntax, row llm.Chunk, must bool) int {
	t.Helper()
	if row.Guarantee != llm.Enforced || !utf8.ValidString(row.Text) || must && (row.Text != "" || len(row.Calls) == 0) {
		t.Fatalf("%s: %+v", s.Family, row)
	}
	for _, call := range row.Calls {
		var arguments struct{ S *string }
		if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || arguments.S == nil || utf8.RuneCountInString(*arguments.S) > 9 || call.Name != "f" || !callIDs.MatchString(call.ID) {
			t.Fatalf("%s: %+v: %v", s.Family, call, err)
		}
	}
	begun := 0
	for _, tok := range row.Tokens {
		if tok.Piece == s.Trigger {
			begun++
		}
		if !utf8.ValidString(tok.Text) && tok.Text[0] >= grammar.FirstMark {
			t.Errorf("%s: a token shows %q", s.Family, tok.Text)
		}
	}
	if one := len(row.Calls) > 0 && s.Close != ""; one && begun != 1 || !one && begun != len(row.Calls) {
		t.Errorf("%s: %d calls with %d tokens %s", s.Family, len(row.Calls), begun, s.Trigger)
	}
	return len(row.Calls)
}

// A token that ends completions ends the call that it closes, and then the row: nothing may
// follow it.
func TestEndOfCall(t *testing.T) {
	s := ended()
	s.One = false
	e := markedEngine(t, characters(t), s)
	p := llm.Params{Tools: []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"properties":{},"maxProperties":0}`)}}, MustCall: new(true)}
	c, err := e.constraint(t.Context(), &p)
	if err != nil {
		t.Fatal(err)
	}
	p.MaxTokens, p.Tokens = new(c.Min()*3), new(true)
	chat := llm.Prompt{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "q"}}}}}
	rows, usage := collect(t, e, &llm.Request{Prompts: []llm.Prompt{chat}, N: 1, Params: p})
	row := rows[0]
	if len(row.Calls) != 1 || row.Finish != llm.FinishEOS || row.Guarantee != llm.Enforced || usage.Output != c.Min() ||
		row.Tokens[len(row.Tokens)-1].Piece != "<|call|>" {
		t.Errorf("%+v, %d tokens of %d", row, usage.Output, c.Min())
	}
}

// What is forced is decided together, marks included.
func TestMarksAreForced(t *testing.T) {
	e := markedEngine(t, characters(t), toolcall.MistralArgs())
	v, err := e.constraints.vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	h := &constrainedRow{vocabulary: v, marks: e.calls.marks}
	ids := h.encode(e.tokenizer, &row{}, "\xf5f\xf6{")
	var pieces []string
	for _, id := range ids {
		pieces = append(pieces, e.tokenizer.Piece(id))
	}
	if got := strings.Join(pieces, " "); got != "[TOOL_CALLS] f [ARGS] {" {
		t.Errorf("got %s", got)
	}
}

// A client that reads a call that was cut off sees no marks.
func TestMarksCutOff(t *testing.T) {
	tok := specialTokens{characters(t), callMarks}
	c := newCallSyntax(toolcall.Mistral(), tok, tok.Size())
	row := splitCalls(t, c.Syntax, []llm.Tool{{Name: "f"}}, "So: ", c.Trigger+" [{")
	if row.Text != "So: [{" {
		t.Errorf("got %q", row.Text)
	}
}
