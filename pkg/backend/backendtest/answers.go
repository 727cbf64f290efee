package backendtest

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// payload is a fixture of pkg/schema: an answer or an event, with its keys.
type payload struct {
	Payload json.RawMessage // a string is the text itself
	Keys    map[string]any
}

func (p payload) text() string {
	var text string
	if json.Unmarshal(p.Payload, &text) == nil {
		return text
	}
	return string(p.Payload)
}

// expect returns the text and the finish reason of payloads.
func expect(payloads []payload) (text string, why llm.Finish) {
	var word string
	for _, p := range payloads {
		if s, ok := p.Keys["generated_text"].(string); ok && p.Keys["special"] != true {
			text += s
		}
		if s, ok := p.Keys["finish_reason"].(string); ok {
			word = s
		}
	}
	return text, schema.Finish(word)
}

// expectCalls returns the calls of payloads: a piece with a name begins one.
func expectCalls(payloads []payload) (calls []llm.Call) {
	for _, p := range payloads {
		list, _ := p.Keys["tool_calls"].([]any)
		for _, v := range list {
			piece := v.(map[string]any)
			f := piece["function"].(map[string]any)
			if name, ok := f["name"].(string); ok {
				id, _ := piece["id"].(string)
				calls = append(calls, llm.Call{Index: len(calls), ID: id, Name: name})
			}
			text, _ := f["arguments"].(string)
			calls[len(calls)-1].Arguments += text
		}
	}
	for i := range calls {
		if calls[i].Arguments == "" {
			calls[i].Arguments = "{}"
		}
	}
	return calls
}

// expectReasoning returns the reasoning before the text and the calls.
func expectReasoning(payloads []payload) (reasoning string) {
	for _, p := range payloads {
		piece, _ := p.Keys["reasoning"].(string)
		reasoning += piece
		if text, _ := p.Keys["generated_text"].(string); text != "" || p.Keys["tool_calls"] != nil {
			break
		}
	}
	return reasoning
}

// records plays the fixtures of each shipped record.
func (s *Suite) records(t *testing.T) {
	for sk, record := range shipped(t, s.Family) {
		type payloads struct{ Answers, Events []payload }
		var f struct {
			payloads
			Alternative payloads
		}
		b, err := os.ReadFile("../../schema/testdata/records/" + sk + ".json")
		if err == nil {
			err = json.Unmarshal(b, &f)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for with, f := range map[bool]payloads{false: f.payloads, true: f.Alternative} {
			for _, a := range f.Answers {
				_, b := s.startWith(t, record, func(_ int, r *Request, w *Reply) { w.Whole(a.text()) })
				if a.isKeys() {
					invokes(t, sk, b, a)
					continue
				}
				s.plays(t, sk, b, request(with, false), []payload{a})
			}
			_, back := s.startWith(t, record, func(_ int, r *Request, w *Reply) {
				if !r.Stream || (with || Parse(t, record).API == remote.Converse) != strings.HasSuffix(r.Path, "/converse-stream") {
					t.Errorf("%s: a stream was asked for, not %s", sk, r.Path)
				}
				for _, e := range f.Events {
					w.Event(e.text())
				}
			})
			if len(f.Events) > 0 {
				s.plays(t, sk, back, request(with, true), f.Events)
			}
		}
	}
}

// isKeys reports whether p has vectors or scores, not a text.
func (p payload) isKeys() bool {
	return p.Keys["embedding"] != nil || p.Keys["embeddings"] != nil || p.Keys["results"] != nil
}

// invokes compares the answer of a model that embeds texts or ranks them with what was
// played. The model completes none.
func invokes(t *testing.T, sk string, b *remote.Backend, p payload) {
	want, err := json.Marshal(p.Keys)
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"input": []any{"Hi"}}
	if p.Keys["results"] != nil {
		body = map[string]any{"query": "Hi", "documents": []any{"Hi"}}
	}
	for keys, err := range b.Invoke(t.Context(), body, false) {
		if got, fault := json.Marshal(keys); err != nil || fault != nil || string(got) != string(want) {
			t.Errorf("%s: %s %v %v, want %s", sk, got, err, fault, want)
		}
	}
	if _, _, err := collect(t.Context(), b, request(false, false)); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("%s completes a text: %v", sk, err)
	}
}

// request returns a request for text, or a chat with a tool.
func request(tool, stream bool) *llm.Request {
	if !tool {
		return ask("Hi", stream)
	}
	return &llm.Request{
		Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Hi"}}}}}}, Stream: stream,
		Params: llm.Params{Tools: []llm.Tool{{Name: "weather"}}},
	}
}

// plays compares a completion with the payloads that were played.
func (s *Suite) plays(t *testing.T, sk string, b *remote.Backend, req *llm.Request, payloads []payload) {
	stream := req.Stream
	rows, usage, err := collect(t.Context(), b, req)
	for _, p := range payloads {
		if p.Keys["finish_reason"] == "error" { // of LMI
			if code, _ := codeOf(err); code != llm.Upstream {
				t.Errorf("%s: an error in the stream is %v", sk, err)
			}
			return
		}
	}
	if err != nil {
		t.Errorf("%s: %v", sk, err)
		return
	}
	text, why := expect(payloads)
	if rows[0].Text != text || rows[0].Finish != why {
		t.Errorf("%s, stream %v: %q %s, want %q %s", sk, stream, rows[0].Text, rows[0].Finish, text, why)
	}
	if want := expectReasoning(payloads); rows[0].Reasoning != want {
		t.Errorf("%s, stream %v: the reasoning %q, want %q", sk, stream, rows[0].Reasoning, want)
	}
	if got, want := fmt.Sprint(rows[0].Calls), fmt.Sprint(expectCalls(payloads)); got != want {
		t.Errorf("%s, stream %v: calls %s, want %s", sk, stream, got, want)
	}
	want := llm.Usage{Partial: true}
	reported := false // the output count, which can be 0
	for _, p := range payloads {
		for name, n := range map[string]*int{"input_tokens": &want.Input, "output_tokens": &want.Output, "generated_tokens": &want.Output, "reasoning_tokens": &want.Reasoning} {
			if v, ok := p.Keys[name].(float64); ok {
				*n, reported = int(v), reported || name == "output_tokens" || name == "generated_tokens"
			}
		}
		want.Partial = want.Input == 0 || !reported
		if strings.Contains(string(p.Payload), "invocationMetrics") && (want.Input == 0 || want.Output == 0) {
			want = usage // TestMetrics covers it
			if usage.Input == 0 || usage.Output == 0 {
				t.Errorf("%s: usage %+v", sk, usage)
			}
		}
	}
	if usage != want {
		t.Errorf("%s, stream %v: usage %+v, want %+v", sk, stream, usage, want)
	}
}

// invoke plays a record through Invoke.
func (s *Suite) invoke(t *testing.T) {
	for _, stream := range []bool{false, true} {
		service, b := s.start(t, func(_ int, r *Request, w *Reply) {
			if !r.Stream {
				w.Whole(`{"text": "a", "why": null}`)
				return
			}
			w.Event(`data:{"text": "a", "why": null}`)
			w.Event(`{"nothing": 1}`)
			w.Event(`data:`)
			w.Event(`{"text": "b", "wrote": 2}`)
		})
		body := map[string]any{"prompt": "p", "temperature": nil, "max_new_tokens": json.Number("3"), "stream": !stream, "top_k": nil}
		var got []map[string]any
		for keys, err := range b.Invoke(t.Context(), body, stream) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, keys)
		}
		want := []map[string]any{{"generated_text": "a", "finish_reason": nil}}
		if stream {
			want = append(want, map[string]any{}, map[string]any{"generated_text": "b", "output_tokens": json.Number("2")})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("stream %v: %v, want %v", stream, got, want)
		}
		sent := service.Requests()[0].Body
		if v, ok := sent["temperature"]; !ok || v != nil || sent["max"] != 3.0 || sent["stream"] != stream || sent["in"] != "p" {
			t.Errorf("sent %v", sent)
		}
		if body["stream"] != !stream || len(body) != 5 {
			t.Errorf("changed to %v", body)
		}
	}
	s.invokeRefused(t)
}

func (s *Suite) invokeRefused(t *testing.T) {
	service, b := s.start(t, says("one"))
	for name, v := range map[string]any{"top_k": 3, "best": "x"} {
		for _, err := range b.Invoke(t.Context(), map[string]any{"prompt": "p", name: v}, false) {
			if code, param := codeOf(err); code != llm.Unsupported || param != name {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	still := s.Open(service.URL, remote.Model{Schema: Parse(t, `{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}},
		"response": {"mapping": {"generated_text": "$.text"}}}`)})
	for _, err := range still.Invoke(t.Context(), map[string]any{"prompt": "p"}, true) {
		if code, _ := codeOf(err); code != llm.Unsupported {
			t.Errorf("a stream of a model without: %v", err)
		}
	}
	if n := len(service.Requests()); n != 0 {
		t.Errorf("%d requests were sent all the same", n)
	}
	// Without response-with-stream, a streamed request is one call with one chunk.
	chunks := 0
	for c, err := range still.Generate(t.Context(), ask("p", true)) {
		if chunks++; err != nil || c.Text != "one" || c.Finish != llm.FinishEOS {
			t.Errorf("%+v %v", c, err)
		}
	}
	if chunks != 1 {
		t.Errorf("%d chunks", chunks)
	}
}
