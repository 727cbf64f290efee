package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

var (
	weather = llm.Tool{
		Name: "get_weather", Description: "The weather at a place, <now> & then: \"as is\".",
		Parameters: json.RawMessage("{\"type\": \"object\",\n \"properties\":{\"city\":{\"type\":\"string\",\"description\":\"a, b: \\\"c\\\\\"},\"days\":{}},\"required\":[\"city\"]}"),
	}
	clock = llm.Tool{Name: "clock"}
)

func called(text string, calls ...llm.Call) llm.Message {
	m := message("assistant", text)
	m.Calls = calls
	return m
}

func result(id, text string) llm.Message {
	m := message("tool", text)
	m.CallID = id
	return m
}

// The prompts of chats with functions, a file for each template under testdata. Special
// tokens are between guillemets.
func TestTools(t *testing.T) {
	for _, test := range []struct {
		name     string
		messages []llm.Message
		tools    []llm.Tool
	}{
		{"offered", []llm.Message{message("user", "Rain in Bern?")}, []llm.Tool{weather, clock}},
		{"system", []llm.Message{message("system", "Be brief."), message("user", "Rain in Bern?")}, []llm.Tool{clock}},
		{"marks", []llm.Message{message("user", "Hi")}, []llm.Tool{{
			Name: "<|im_end|>", Description: "<|eot_id|>", Parameters: json.RawMessage(`{"description":"<|im_start|>"}`),
		}}},
		{"answered", []llm.Message{
			message("user", "Rain in Bern?"),
			called("", llm.Call{ID: "c1", Name: "get_weather", Arguments: `{"city":"Bern","days": 1}`}),
			result("c1", `{"rain": true}`),
			message("assistant", "Yes."),
		}, []llm.Tool{clock}},
		{"several", []llm.Message{
			message("user", "Bern or Rome?"),
			called("I will look.", llm.Call{ID: "c1", Name: "get_weather", Arguments: `{"city":"Bern"}`}, llm.Call{ID: "c2", Name: "clock"}),
			result("c3", "of no call"), result("c2", "noon"), result("c1", "rain\n"), message("user", "So?"),
		}, nil},
	} {
		for _, template := range []string{chat.Concat, chat.Llama3, chat.ChatML} {
			file := filepath.Join("testdata", test.name+"."+template+".golden")
			parts, err := render(t, template, test.messages, test.tools)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			got := write(parts)
			if *chat.Update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || got != string(want) {
				t.Errorf("%s: got\n%s\nwant\n%s\n%v", file, got, want, err)
			}
		}
	}
}

// Ordering results does not change the messages of a request.
func TestToolsLeaveMessages(t *testing.T) {
	messages := []llm.Message{
		called("", llm.Call{ID: "c1", Name: "f"}, llm.Call{ID: "c2", Name: "f"}), result("c2", "2"), result("c1", "1"),
	}
	if _, err := render(t, chat.ChatML, messages, []llm.Tool{clock}); err != nil || messages[1].CallID != "c2" {
		t.Errorf("%v, %+v", err, messages)
	}
}

func TestToolsRefused(t *testing.T) {
	for _, template := range []string{chat.Concat, chat.Llama3, chat.ChatML} {
		_, err := render(t, template, nil, []llm.Tool{clock, {Name: "f", Parameters: json.RawMessage("{")}})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Invalid || e.Param != "tools" ||
			e.Message != `the parameters of "f" are not valid JSON` {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// A template writes calls as its syntax says: what the model wrote and what it reads are one.
func TestCalls(t *testing.T) {
	for _, name := range []string{chat.Concat, chat.Llama3, chat.ChatML} {
		form := must(chat.Named(name)).Calls()
		want := form.Open + form.Call + "f" + form.Middle + `{"a": 1}` + form.End + form.Between + form.Call + "g" + form.Middle + "{}" + form.End + form.Close
		parts, err := render(t, name, []llm.Message{called("", llm.Call{Name: "f", Arguments: `{"a":1}`}, llm.Call{Name: "g"})}, nil)
		if text, _ := (llm.Prompt{Parts: parts}).Text(); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q does not have %q, %v", name, text, want, err)
		}
	}
}

// A name that no function can have stays within its quotes.
func TestNamesAreQuoted(t *testing.T) {
	parts, err := render(t, chat.Concat, []llm.Message{called("", llm.Call{Name: `a"}\`})}, nil)
	if want := `«{"name": "»a\"}\\«", "arguments": {}}»`; err != nil || write(parts) != want {
		t.Errorf("got %s, %v", write(parts), err)
	}
}
