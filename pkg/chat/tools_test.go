package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// A template without a place for results gets those of many calls as one message of the user, in memory in
// proportion to their size.
func TestManyResults(t *testing.T) {
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{% for m in messages if m.role != "tool" %}{{ m.role + ":" + m.content + "\n" }}{% endfor %}`}})
	if err != nil {
		t.Fatal(err)
	}
	const results, most = 5000, 4000 // most: bytes that are allocated for each
	messages := []llm.Message{message("user", "x"), called("", llm.Call{ID: "c1", Name: "clock"})}
	for range results {
		messages = append(messages, result("c1", "ten o'clock"))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parts, err := template.Render(t.Context(), &chat.Chat{Messages: messages})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	if n := strings.Count(text.String(), "ten o'clock"); n != results || strings.Count(text.String(), "user:") != 2 {
		t.Errorf("%d results: %.200q", n, text.String())
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / results; each > most {
		t.Errorf("%d bytes are allocated for a result, at most %d", each, most)
	} else {
		t.Logf("%d bytes are allocated for a result", each)
	}
}
