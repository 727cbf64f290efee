package openai

import (
	"context"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"glossa/pkg/llm"
)

func noon() time.Time { return time.Unix(1739900000, 0) }

// thoughtful is a model that reasons in two chunks, then answers.
type thoughtful struct {
	sent *llm.Request
	err  error
}

func (b *thoughtful) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	b.sent = req
	return func(yield func(llm.Chunk, error) bool) {
		if b.err != nil {
			yield(llm.Chunk{}, b.err)
			return
		}
		for _, c := range []llm.Chunk{{Reasoning: "let me"}, {Reasoning: " think", Text: "four"}, {Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1, Output: 9, Reasoning: 5}}} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func TestReasoningParameters(t *testing.T) {
	for body, want := range map[string]llm.Params{
		`"reasoning_effort":"low"`:                                               {Effort: new("low")},
		`"reasoning_effort":"none"`:                                              {Thinking: new(false)},
		`"reasoning":{"effort":"high","max_tokens":7,"enabled":true}`:            {Effort: new("high"), MaxThinking: new(7), Thinking: new(true)},
		`"reasoning":{"effort":"none","exclude":true}`:                           {Thinking: new(false)},
		`"thinking":{"type":"enabled","budget_tokens":0}`:                        {Thinking: new(true), MaxThinking: new(0)},
		`"thinking":{"type":"disabled"}`:                                         {Thinking: new(false)},
		`"thinking":{"type":"adaptive"}`:                                         {},
		`"enable_thinking":false,"thinking_budget":5,"include_reasoning":true`:   {Thinking: new(false), MaxThinking: new(5)},
		`"chat_template_kwargs":{"enable_thinking":true}`:                        {Thinking: new(true)},
		`"chat_template_kwargs":{"thinking":false,"x":{"b":1,"a":2}}`:            {Thinking: new(false), TemplateArgs: []byte(`{"x":{"b":1,"a":2}}`)},
		`"chat_template_kwargs":{},"chat_template":null`:                         {},
		`"chat_template_kwargs":null,"reasoning":null,"thinking":null`:           {},
		`"reasoning_effort":"low","reasoning":{"effort":"low"}`:                  {Effort: new("low")},
		`"chat_template_kwargs":{"enable_thinking":null,"thinking":true}`:        {Thinking: new(true)},
		`"enable_thinking":true,"chat_template_kwargs":{"enable_thinking":true}`: {Thinking: new(true)},
	} {
		req, err := translate(`{` + hi + `,` + body + `}`)
		if err != nil || !reflect.DeepEqual(req.Params, want) {
			t.Errorf("%s: got %+v, %v", body, req, err)
		}
	}
}

func TestReasoningErrors(t *testing.T) {
	for body, want := range map[string]string{
		`"reasoning_effort":"much"`:                                                      `reasoning_effort`,
		`"reasoning_effort":"low","reasoning":{"effort":"high"}`:                         `reasoning.effort`,
		`"enable_thinking":true,"reasoning":{"enabled":false}`:                           `reasoning.enabled`,
		`"enable_thinking":true,"reasoning_effort":"none"`:                               `reasoning_effort`,
		`"enable_thinking":true,"chat_template_kwargs":{"thinking":false}`:               `chat_template_kwargs.thinking`,
		`"thinking":{"type":"enabled","budget_tokens":1},"thinking_budget":2`:            `thinking.budget_tokens`,
		`"thinking":{"budget_tokens":1}`:                                                 `thinking.type`,
		`"thinking":{"type":"on"}`:                                                       `thinking.type`,
		`"thinking":true`:                                                                `thinking`,
		`"thinking_budget":-1`:                                                           `thinking_budget`,
		`"reasoning":{"max_tokens":-1}`:                                                  `reasoning.max_tokens`,
		`"reasoning":{"summary":"auto"}`:                                                 `reasoning.summary`,
		`"chat_template_kwargs":[]`:                                                      `chat_template_kwargs`,
		`"chat_template_kwargs":{"enable_thinking":"yes"}`:                               `chat_template_kwargs.enable_thinking`,
		`"chat_template":"{{ x }}"`:                                                      `chat_template`,
		`"messages":[{"role":"user","content":"a","reasoning":"b"}]`:                     `messages[0].reasoning`,
		`"messages":[{"role":"assistant","content":"a","reasoning":"b","thinking":"c"}]`: `messages[0].thinking`,
	} {
		if !strings.Contains(body, "messages") {
			body += `,` + hi
		}
		_, err := translate(`{` + body + `}`)
		if e := llm.AsError(err); err == nil || e.Param != want {
			t.Errorf("%s: %v names %q, want %s", body, err, e.Param, want)
		}
	}
}

func TestReasoningOfMessages(t *testing.T) {
	for keys, want := range map[string]string{
		`"reasoning_content":"a","reasoning":"a"`: "a", `"thinking":"b","reasoning":null`: "b", `"reasoning":""`: "", `"reasoning_content":null`: "",
	} {
		req, err := translate(`{"messages":[{"role":"assistant","content":"x",` + keys + `}]}`)
		if err != nil || req.Prompts[0].Messages[0].Reasoning != want {
			t.Errorf("%s: got %+v, %v", keys, req, err)
		}
	}
	if _, err := translate(`{"messages":[{"role":"user","content":"x","reasoning":""}]}`); err != nil {
		t.Error(err)
	}
}

func TestReasoningAnswers(t *testing.T) {
	const head = `{"id":"chatcmpl-a1b2c3d4e5f6a1b2c3d4e5f6","object":"chat.completion","created":1739900000,"model":"m","choices":[{"index":0,"message":{"role":"assistant"`
	const tail = `"content":"four"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":5,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`
	h := muxOf(Routes(Config{Models: only(&thoughtful{}), Now: noon})...)
	for keys, want := range map[string]string{
		``:                              head + `,"reasoning_content":"let me think","reasoning":"let me think",` + tail,
		`,"include_reasoning":false`:    head + `,` + tail,
		`,"reasoning":{"exclude":true}`: head + `,` + tail,
	} {
		if got := sent(h, "POST", "/v1/chat/completions", `{`+hi+keys+`}`); !strings.HasSuffix(got, "\n"+want+"\n") {
			t.Errorf("%s: got %s", keys, got)
		}
	}
}

// In a stream, the reasoning comes in events of its own, before the content.
func TestReasoningStream(t *testing.T) {
	h := muxOf(Routes(Config{Models: only(&thoughtful{}), Now: noon})...)
	for keys, want := range map[string][]string{
		``: {
			`"delta":{"role":"assistant","content":""}`, `"delta":{"reasoning_content":"let me","reasoning":"let me"}`,
			`"delta":{"reasoning_content":" think","reasoning":" think"}`, `"delta":{"content":"four"}`, `"delta":{}`,
		},
		`,"include_reasoning":false`: {`"delta":{"role":"assistant","content":""}`, `"delta":{"content":"four"}`, `"delta":{}`},
	} {
		var got []string
		for line := range strings.Lines(ask(h, "POST", "/v1/chat/completions", `{"stream":true,`+hi+keys+`}`).Body.String()) {
			if _, rest, ok := strings.Cut(line, `"delta"`); ok {
				piece, _, _ := strings.Cut(rest, "}")
				got = append(got, `"delta"`+piece+"}")
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q", keys, got)
		}
	}
}

// A model's error names the key that the client sent.
func TestReasoningRefused(t *testing.T) {
	for keys, names := range map[string][2]string{
		`"reasoning":{"enabled":true}`:                    {"thinking", "reasoning.enabled"},
		`"chat_template_kwargs":{"enable_thinking":true}`: {"thinking", "chat_template_kwargs.enable_thinking"},
		`"thinking":{"type":"enabled"}`:                   {"thinking", "thinking"},
		`"reasoning":{"effort":"low"}`:                    {"reasoning_effort", "reasoning.effort"},
		`"reasoning":{"max_tokens":1}`:                    {"max_thinking_tokens", "reasoning.max_tokens"},
		`"thinking_budget":1`:                             {"max_thinking_tokens", "thinking_budget"},
		`"chat_template_kwargs":{"x":1}`:                  {"chat_template_kwargs.x", "chat_template_kwargs.x"},
	} {
		b := &thoughtful{err: &llm.Error{Code: llm.Unsupported, Param: names[0], Message: "no"}}
		w := ask(muxOf(Routes(Config{Models: only(b)})...), "POST", "/v1/chat/completions", `{`+hi+`,`+keys+`}`)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"`+names[1]+`"`) {
			t.Errorf("%s: %d %s", keys, w.Code, w.Body)
		}
	}
}
