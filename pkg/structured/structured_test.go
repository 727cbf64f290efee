package structured

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

const person = `{"type":"object","properties":{"age":{"type":"integer"},"name":{"type":"string"}},"required":["age","name"],"additionalProperties":false}`

// A remote gives its answers in turn, each once, one row after the other. Like a model
// behind a record, it rejects parameters that are not in its mapping.
type remote struct {
	answers []answer
	asked   []*llm.Request
	after   func(row int) // called before a row ends
}

type answer struct {
	text   string
	finish llm.Finish // "" is FinishEOS
	calls  []llm.Call
	err    error
}

func (m *remote) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		m.asked = append(m.asked, req)
		if err := req.Apply(func(name string, _ any) bool { return name == "max_new_tokens" || name == "tools" }); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		for row := range req.Rows() {
			a := m.answers[0]
			m.answers = m.answers[1:]
			if a.err != nil {
				yield(llm.Chunk{}, a.err)
				return
			}
			for _, r := range a.text {
				if !yield(llm.Chunk{Row: row, Text: string(r)}, nil) {
					return
				}
			}
			if m.after != nil {
				m.after(row)
			}
			end := llm.Chunk{Row: row, Finish: llm.FinishEOS, Calls: a.calls}
			if a.finish != "" {
				end.Finish = a.finish
			}
			if row == req.Rows()-1 {
				end.Usage = &llm.Usage{Input: 10, Output: req.Rows()}
			}
			if !yield(end, nil) {
				return
			}
		}
	}
}

func says(texts ...string) (all []answer) {
	for _, text := range texts {
		all = append(all, answer{text: text})
	}
	return all
}

// texts returns the rows as "text (finish, guarantee)".
func texts(rows []llm.Chunk) (all []string) {
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s (%s %s)", r.Text, r.Finish, r.Guarantee))
	}
	return all
}

const good = `{"age":7,"name":"Ann"}`
const valid = good + " (eos validated)"

func TestAnswers(t *testing.T) {
	schema, yes := json.RawMessage(person), new(`root ::= "yes" | "no"`)
	for _, test := range []struct {
		name   string
		params llm.Params
		n      int
		says   []answer
		rows   []string // or
		code   llm.Code
		param  string
		err    string
		calls  int // of the model
	}{
		{name: "valid", params: llm.Params{Schema: schema}, says: says(good), rows: []string{valid}, calls: 1},
		{name: "canonical", params: llm.Params{Schema: schema}, says: says("\n{ \"name\" : \"\\u0041nn\",\n\"age\" : 7 } "), rows: []string{valid}, calls: 1},
		{name: "fenced", params: llm.Params{Schema: schema}, says: says("```json\n" + good + "\n```"), rows: []string{valid}, calls: 1},
		{name: "prose around", params: llm.Params{Schema: schema}, says: says("Here {as you asked} [it] is:\n\n```\n" + good + "\n```\nThe age is {7}."), rows: []string{valid}, calls: 1},
		{name: "repaired", params: llm.Params{Schema: schema}, says: says(`{"age":7}`, good), rows: []string{valid}, calls: 2},
		{name: "nothing, then repaired", params: llm.Params{Schema: schema}, says: says("", good), rows: []string{valid}, calls: 2},
		{name: "cut, but complete", params: llm.Params{Schema: schema}, says: []answer{{text: good + "\n\nNow", finish: llm.FinishLength}}, rows: []string{good + " (length validated)"}, calls: 1},
		{name: "filtered", params: llm.Params{Schema: schema}, says: []answer{{text: `{"age":`, finish: llm.FinishFiltered}}, rows: []string{" (filtered )"}, calls: 1},
		{name: "ended by a deadline of the model's", params: llm.Params{Schema: schema}, says: []answer{{text: `{"age":`, finish: llm.FinishDeadline}}, rows: []string{" (deadline )"}, calls: 1},
		{name: "a stop sequence cut it", params: llm.Params{Schema: schema}, says: []answer{{text: `{"age":`, finish: llm.FinishStop}, {text: good}}, rows: []string{valid}, calls: 2},
		{name: "one of three is bad", params: llm.Params{Schema: schema}, n: 3, says: says(good, "no", `{"age":8,"name":"Bob"}`, good), rows: []string{valid, valid, `{"age":8,"name":"Bob"} (eos validated)`}, calls: 2},
		{name: "the last of three is bad", params: llm.Params{Schema: schema}, n: 3, says: says(good, good, "no", good), rows: []string{valid, valid, valid}, calls: 2},
		{name: "a call of a tool", params: llm.Params{Schema: schema, Tools: []llm.Tool{{Name: "f"}}}, says: []answer{{calls: []llm.Call{{Name: "f", Arguments: "{}"}}}}, rows: []string{" (eos )"}, calls: 1},
		{name: "grammar", params: llm.Params{Grammar: yes}, says: says("yes"), rows: []string{"yes (eos validated)"}, calls: 1},
		{name: "grammar, white space around", params: llm.Params{Grammar: yes}, says: says(" no\n"), rows: []string{"no (eos validated)"}, calls: 1},
		{name: "grammar, repaired", params: llm.Params{Grammar: yes}, says: says("Yes!", "yes"), rows: []string{"yes (eos validated)"}, calls: 2},
		{name: "neither", says: says("hello"), rows: []string{"hello (eos )"}, calls: 1},

		{name: "invalid twice", params: llm.Params{Schema: schema}, says: says(`{"age":"secret"}`, `{"age":"secret"}`), code: llm.Upstream, err: "not valid against the schema", calls: 2},
		{name: "no JSON twice", params: llm.Params{Schema: schema}, says: says("secret", "secret"), code: llm.Upstream, err: "no JSON value", calls: 2},
		{name: "a key twice", params: llm.Params{Schema: schema}, says: says(`{"age":7,"age":7,"name":"secret"}`, `{"age":7,"name":"secret","name":"secret"}`), code: llm.Upstream, err: "a key twice", calls: 2},
		{name: "cut", params: llm.Params{Schema: schema}, says: []answer{{text: `{"age":7,"name":"secret`, finish: llm.FinishLength}}, code: llm.Upstream, err: "limit of the model cut off the answer before it was complete", calls: 1},
		{name: "cut at max_tokens", params: llm.Params{Schema: schema, MaxTokens: new(3)}, says: []answer{{text: `{"a`, finish: llm.FinishLength}}, code: llm.Invalid, param: "max_new_tokens", err: "cut off there", calls: 1},
		{name: "cut when repaired", params: llm.Params{Schema: schema}, says: []answer{{text: "secret"}, {text: `{"age":7,"name":"secret`, finish: llm.FinishContext}}, code: llm.Upstream, err: "limit of the model cut off", calls: 2},
		{name: "grammar, invalid twice", params: llm.Params{Grammar: yes}, says: says("secret", "secret"), code: llm.Upstream, err: "does not match the grammar", calls: 2},
		{name: "the model fails", params: llm.Params{Schema: schema}, says: []answer{{err: llm.Errorf(llm.Overloaded, "later")}}, code: llm.Overloaded, err: "later", calls: 1},
		{name: "the model fails when it is asked again", params: llm.Params{Schema: schema}, says: []answer{{}, {err: llm.Errorf(llm.Overloaded, "later")}}, code: llm.Overloaded, err: "later", calls: 2},
		{name: "no schema", params: llm.Params{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":7}}`)}, code: llm.Invalid, param: "schema"},
		{name: "no grammar", params: llm.Params{Grammar: new("root ::= a")}, code: llm.Invalid, param: "grammar", err: "rule a is not defined"},
		{name: "both", params: llm.Params{Schema: schema, Grammar: yes}, code: llm.Invalid, param: "grammar"},
		{name: "echo", params: llm.Params{Schema: schema, Echo: new(true)}, code: llm.Unsupported, param: "return_full_text"},
		{name: "tokens", params: llm.Params{Schema: schema, Tokens: new(true)}, code: llm.Unsupported, param: "tokens"},
		{name: "logprobs", params: llm.Params{Grammar: yes, Logprobs: new(0)}, code: llm.Unsupported, param: "logprobs"},
		{name: "what the model does not take", params: llm.Params{Schema: schema, TopK: new(3)}, code: llm.Unsupported, param: "top_k", calls: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &remote{answers: test.says}
			req := &llm.Request{Prompts: []llm.Prompt{llm.Text("who?")}, N: test.n, Params: test.params}
			before := *req
			rows, usage, err := llm.Collect(Wrap(m, nil, nil).Generate(t.Context(), req), req.Rows())
			if !reflect.DeepEqual(*req, before) {
				t.Errorf("the request changed: %+v", req)
			}
			if len(m.asked) != test.calls {
				t.Errorf("%d requests, want %d", len(m.asked), test.calls)
			}
			if test.code != "" {
				e, _ := errors.AsType[*llm.Error](err)
				if e == nil || e.Code != test.code || e.Param != test.param || !strings.Contains(e.Message, test.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want %s %s %q", err, test.code, test.param, test.err)
				}
				return
			}
			if got := texts(rows); err != nil || !slices.Equal(got, test.rows) {
				t.Errorf("%q %v, want %q", got, err, test.rows)
			}
			if len(test.says[0].calls) != len(rows[0].Calls) {
				t.Errorf("calls %v", rows[0].Calls)
			}
			repairs := test.calls - 1
			if want := (llm.Usage{Input: 10 + 10*repairs, Output: len(rows) + repairs}); usage != want {
				t.Errorf("usage %+v, want %+v", usage, want)
			}
		})
	}
}

// written returns a prompt as a text.
func written(p llm.Prompt) (s string) {
	parts := func(parts []llm.Part) (s string) {
		for _, part := range parts {
			s += part.Text
		}
		return s
	}
	for _, m := range p.Messages {
		s += "<" + m.Role + ">" + parts(m.Parts)
	}
	return s + parts(p.Parts)
}

// Prompts keep their contents; the second request adds the answer and its error.
func TestAsking(t *testing.T) {
	f, err := schemaFormat(grammar.NewCompiler(t.Context()), []byte(person))
	if err != nil {
		t.Fatal(err)
	}
	const complaint = "This answer is not valid: it has no JSON value. Answer again, with the JSON value alone."
	for _, test := range []struct {
		name          string
		prompt        llm.Prompt
		answer        string
		first, second string
	}{
		{"text", llm.Text("who?"), "me", "who?\n\n" + f.instruction + "\n\n", "me\n\n" + complaint + "\n\n"},
		{"chat", llm.Prompt{Messages: []llm.Message{message("user", "who?")}}, "me", "<system>" + f.instruction + "<user>who?", "<assistant>me<user>" + complaint},
		{"chat with a system message", llm.Prompt{Messages: []llm.Message{message("system", "be nice"), message("user", "who?")}}, "me",
			"<system>be nice\n\n" + f.instruction + "<user>who?", "<assistant>me<user>" + complaint},
		{"an answer of nothing", llm.Prompt{Messages: []llm.Message{message("user", "who?")}}, "\n", "<system>" + f.instruction + "<user>who?", ""},
	} {
		m := &remote{answers: says(good, test.answer, good)}
		room := []llm.Part{{Text: "x"}, {Text: "not the request's"}}
		before := written(test.prompt) + written(llm.Prompt{Parts: room})
		req := &llm.Request{Prompts: []llm.Prompt{{Parts: room[:1]}, test.prompt}, Params: llm.Params{Schema: json.RawMessage(person), MaxTokens: new(50), BestOf: new(1)}}
		rows, _, err := llm.Collect(Wrap(m, nil, nil).Generate(t.Context(), req), 2)
		if got := written(test.prompt) + written(llm.Prompt{Parts: room[:2]}); got != before {
			t.Errorf("%s: the prompt is now %q", test.name, got)
		}
		if err != nil || rows[1].Text != good {
			t.Errorf("%s: %v %v", test.name, rows, err)
			continue
		}
		if got := written(m.asked[0].Prompts[1]); got != test.first || !strings.Contains(got, person) {
			t.Errorf("%s: first %q, want %q", test.name, got, test.first)
		}
		if got := written(m.asked[1].Prompts[0]); got != test.first+test.second {
			t.Errorf("%s: second %q, want %q", test.name, got, test.first+test.second)
		}
		if r := m.asked[1]; r.Rows() != 1 || *r.MaxTokens != 50 || r.Schema != nil {
			t.Errorf("%s: second request %+v", test.name, r)
		}
	}
}

// A model that has tools may call them in place of an answer.
func TestAskingWithTools(t *testing.T) {
	for _, p := range []llm.Params{{Schema: json.RawMessage(person)}, {Grammar: new(`root ::= "{" [^x]*`)}} {
		for _, tools := range [][]llm.Tool{nil, {{Name: "f"}}} {
			p.Tools = tools
			m := &remote{answers: says(good)}
			if _, _, err := llm.Collect(Wrap(m, nil, nil).Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("who?")}, Params: p}), 1); err != nil {
				t.Fatal(err)
			}
			if got := written(m.asked[0].Prompts[0]); strings.Contains(got, "Unless you call a function: Answer with") != (tools != nil) {
				t.Errorf("%d tools: %q", len(tools), got)
			}
		}
	}
}

// Rows come as soon as they are valid, each as one chunk, with the usage in the last.
func TestStream(t *testing.T) {
	m := &remote{answers: says(good, "no", good, good)}
	shown := 0
	m.after = func(row int) {
		if want := max(0, row-1); len(m.asked) == 1 && shown > want {
			t.Errorf("%d rows before the end of row %d", shown, row)
		}
	}
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("a"), llm.Text("b"), llm.Text("c")}, Stream: true, Params: llm.Params{Schema: json.RawMessage(person)}}
	var order []int
	for c, err := range Wrap(m, nil, nil).Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		shown++
		order = append(order, c.Row)
		if c.Text != good || c.Guarantee != llm.Validated || c.Finish == "" || (c.Usage != nil) != (shown == 3) {
			t.Errorf("%+v", c)
		}
		if shown == 1 && len(m.asked) != 1 {
			t.Error("the first row came after the second request")
		}
	}
	if !slices.Equal(order, []int{0, 2, 1}) {
		t.Errorf("rows %v", order)
	}
}

func TestContext(t *testing.T) {
	request := func() *llm.Request {
		return &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, N: 3, Params: llm.Params{Schema: json.RawMessage(person)}}
	}
	t.Run("left", func(t *testing.T) {
		m := &remote{answers: says(good, good, good)}
		for range Wrap(m, nil, nil).Generate(t.Context(), request()) {
			break
		}
		if len(m.answers) != 1 {
			t.Errorf("%d answers were not read", len(m.answers))
		}
	})
	t.Run("no second request when ctx has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &remote{answers: says("no", good, "no")}
		m.after = func(row int) {
			if row == 2 {
				cancel()
			}
		}
		rows, usage, err := llm.Collect(Wrap(m, nil, nil).Generate(ctx, request()), 3)
		if got := texts(rows); err != nil || !slices.Equal(got, []string{" (cancelled )", valid, " (cancelled )"}) || usage.Output != 3 || len(m.asked) != 1 {
			t.Errorf("%q %+v %v", got, usage, err)
		}
	})
	t.Run("nothing to show", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &remote{answers: says("no", "no", "no"), after: func(int) { cancel() }}
		if _, _, err := llm.Collect(Wrap(m, nil, nil).Generate(ctx, request()), 3); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("the deadline, in the model", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		m := &remote{answers: []answer{{text: good}, {text: `{"ag`, finish: llm.FinishDeadline}, {err: context.DeadlineExceeded}}}
		rows, _, err := llm.Collect(Wrap(m, nil, nil).Generate(ctx, request()), 3)
		if got := texts(rows); err != nil || !slices.Equal(got, []string{valid, " (deadline )", " (deadline )"}) {
			t.Errorf("%q %v", got, err)
		}
	})
}

// always adds a schema to every request.
type always struct{ llm.Backend }

func (a always) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	r := *req
	r.Schema = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
	return a.Backend.Generate(ctx, &r)
}

func TestContract(t *testing.T) {
	for name, b := range map[string]llm.Backend{
		"without a schema": Wrap(llmtest.Script{`{"ok":`, "true}"}, nil, nil),
		"with a schema":    always{Wrap(llmtest.Script{`{"ok": `, "true", " }"}, nil, nil)},
	} {
		if err := llmtest.TestBackend(t.Context(), b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type scorer struct{ llmtest.Script }

func (scorer) Score(context.Context, *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return nil, llm.Usage{}, nil
}

func TestUnwrap(t *testing.T) {
	if _, err := llm.As[llm.Scorer](Wrap(scorer{}, nil, nil)); err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // as printed by fmt
		err  error
	}{
		{`{"a":1}`, `map[a:1]`, nil},
		{" 1.50 ", `1.50`, nil},
		{`"x"`, `x`, nil},
		{`null`, `<nil>`, nil},
		{"```json\n\"x\"\n```", `x`, nil},
		{"Sure:\n```\n[1]\n```\nand\n```\n[2]\n```", `[1]`, nil},
		{"```json\n{\"a\":\"```\"}\n```", "map[a:```]", nil},
		{"```json\n[1]", `[1]`, nil},
		{"{\"a\":\"```\"} and so on", "map[a:```]", nil},
		{"a {b} [c] {\"d\": [true]} {\"e\": 1}", `map[d:[true]]`, nil},
		{`{"a":{"b":1},"b":{"b":2}}`, `map[a:map[b:1] b:map[b:2]]`, nil},
		{`"\ud83d\ude00 \\ud83d \\\ud83d\ude00 \ud7ff"`, "😀 \\ud83d \\😀 \ud7ff", nil},
		{"", "", errNone},
		{"the answer is 42", "", errNone},
		{"{a}", "", errNone},
		{"{", "", errOpen},
		{`here: {"a":[1,2`, "", errOpen},
		{`{"a":1,}`, "", errSyntax},
		{`{"a":[1],"b":[2],}`, "", errSyntax},
		{`[01]`, "", errSyntax},
		{`{"a":1,"\u0061":2}`, "", errDuplicate},
		{`[{"a":1,"a":1}]`, "", errDuplicate},
		{`"\ud83d"`, "", errUnicode},
		{`"\ud83dx\ude00"`, "", errUnicode},
		{`"\ude00\ud83d"`, "", errUnicode},
		{`"\uD83D\uD83D\uDE00"`, "", errUnicode},
		{"\"\xff\"", "", errUnicode},
		{strings.Repeat("[", 100_000), "", errSyntax},
	} {
		v, err := parse(test.text)
		if !errors.Is(err, test.err) || err == nil && fmt.Sprint(v) != test.want {
			t.Errorf("%.40q: %v %v, want %s %v", test.text, v, err, test.want, test.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("```json\n{\"a\":[1,\"\\ud83d\\ude00\"]}\n``` so {\"b\"}")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		if err != nil {
			return
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parse(string(raw)); err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%q: %v, again %v %v", text, v, again, err)
		}
	})
}
