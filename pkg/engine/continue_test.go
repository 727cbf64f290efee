package engine

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// chatOf returns a chat of the user's text and, if it is not empty, the beginning of an answer.
func chatOf(user, answer string) []llm.Prompt {
	messages := []llm.Message{{Role: "user", Parts: []llm.Part{{Text: user}}}}
	if answer != "" {
		messages = append(messages, llm.Message{Role: "assistant", Parts: []llm.Part{{Text: answer}}})
	}
	return []llm.Prompt{{Messages: messages}}
}

// An answer that continues a text is the rest of the answer that begins so.
func TestContinueAnswer(t *testing.T) {
	e := larger(t, nil)
	const n = 20
	req := with(llm.Params{MaxTokens: new(n)})
	req.Prompts = chatOf("abc", "")
	rows, whole := collect(t, e, req)
	text := rows[0].Text
	if len(text) != n {
		t.Fatalf("%q", text)
	}
	for i := 1; i < n; i++ {
		req := with(llm.Params{MaxTokens: new(n - i), Continue: new(true)})
		req.Prompts = chatOf("abc", text[:i])
		rows, usage := collect(t, e, req)
		if rows[0].Text != text[i:] || usage.Input != whole.Input+i {
			t.Errorf("%d: %q of %d tokens, want %q of %d", i, rows[0].Text, usage.Input, text[i:], whole.Input+i)
		}
	}
}

// A model does not reason in the middle of an answer, and cannot continue one where its prompt
// begins with reasoning.
func TestContinueThinking(t *testing.T) {
	for prompt, want := range map[string]string{"A:": "", "A:<think>\n\n</think>\n\n": "", "A:<think>\n": "turn reasoning off"} {
		for name, m := range thinkingModels(t, 256, prompt) {
			for seed := range int64(40) {
				req := m.ask(llm.Params{MaxTokens: new(60), Seed: &seed, Temperature: new(1.2), Continue: new(true)})
				req.Prompts = chatOf("abc", "so ")
				rows, _, err := llm.Collect(m.Generate(t.Context(), req), 1)
				switch {
				case want != "":
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s after %q: %v", name, prompt, err)
					}
				case err != nil || rows[0].Reasoning != "" || rows[0].Text == "" && rows[0].Finish != llm.FinishEOS:
					t.Errorf("%s after %q: %+v, %v", name, prompt, rows, err)
				}
			}
		}
	}
}

// What begins anew cannot continue a text.
func TestContinueConstrained(t *testing.T) {
	e := larger(t, nil)
	for name, p := range map[string]llm.Params{
		"schema": {Schema: []byte(`{"type":"integer"}`)}, "grammar": {Grammar: new(`root ::= "a"`)},
		"call": {Tools: []llm.Tool{{Name: "f", Parameters: []byte(`{}`)}}, MustCall: new(true)},
	} {
		p.Continue = new(true)
		req := with(p)
		req.Prompts = chatOf("abc", "d")
		if _, _, err := llm.Collect(e.Generate(t.Context(), req), 1); err == nil || llm.AsError(err).Param != "continue_final_message" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A row that a stop sequence ends tells which it was: the one that comes first.
func TestStopIsTold(t *testing.T) {
	e := larger(t, nil)
	req := with(llm.Params{MaxTokens: new(20)})
	req.Prompts = chatOf("abc", "")
	rows, _ := collect(t, e, req)
	text := rows[0].Text
	for at := 3; at < 18; at++ {
		stop := text[at : at+2]
		req := with(llm.Params{MaxTokens: new(20), Stop: []string{"<never>", stop}})
		req.Prompts = chatOf("abc", "")
		rows, _ := collect(t, e, req)
		if r := rows[0]; r.Finish != llm.FinishStop || r.Stop != stop || r.Text != text[:strings.Index(text, stop)] {
			t.Errorf("%q in %q: %+v", stop, text, r)
		}
	}
}
