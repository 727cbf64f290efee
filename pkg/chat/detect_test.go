package chat

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// What a template writes of a chat's calls is read back as these calls, in the syntax that was
// detected: the model, which was trained on such texts, is understood.
func TestDetectedCallsAreRead(t *testing.T) {
	call := llm.Call{ID: "abcdef123", Name: "get_weather", Arguments: `{"city": "Ulm", "unit": "C"}`}
	native := 0
	for name, text := range published(t) {
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil || !template.nature.tools {
			continue
		}
		native++
		chat := Chat{Tools: []llm.Tool{{Name: call.Name, Description: "d", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}}}`)}}}
		chat.Messages = []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "ZZQUESTION"}}}}
		chat.Messages = append(chat.Messages, llm.Message{Role: "assistant", Calls: []llm.Call{call}})
		_, answer, _ := strings.Cut(rendered(t, template, chat), "ZZQUESTION")
		syntax := template.Calls()
		answer = ids.ReplaceAllString(strings.ReplaceAll(answer, call.ID, probeCallID), "")
		for _, head := range syntax.Heads() {
			if n := strings.Index(answer, head.Call+call.Name); n >= 0 {
				answer = answer[n:]
			} else if n := strings.Index(answer, head.Call); n >= 0 {
				answer = answer[n:]
			}
		}
		got := readCalls(&syntax, answer)
		if len(got) != 1 || got[0].Name != call.Name || !sameJSON(got[0].Arguments, call.Arguments) {
			t.Errorf("%s: %q as %+v: %+v", name, answer, syntax, got)
		}
	}
	if native < 30 {
		t.Errorf("only %d templates have calls of their own", native)
	}
	t.Logf("%d templates with calls of their own", native)
}

// readCalls reads the calls of an answer.
func readCalls(s *toolcall.Syntax, text string) (calls []toolcall.Call) {
	r := toolcall.NewReader(s, func(string, string) bool { return true })
	for _, c := range r.Push(text, true).Calls {
		if c.Index == len(calls) {
			calls = append(calls, c)
		} else {
			calls[c.Index].Arguments += c.Arguments
		}
	}
	return calls
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
