package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/schema"
	"glossa/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A chatCase is a chat that the shipped records write.
type chatCase struct {
	name string
	req  llm.Request
}

func text(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

func chatCases() []chatCase {
	weather := llm.Tool{Name: "weather", Description: "The weather of a city.", Parameters: json.RawMessage(`{"type":"object","properties":{"unit":{"type":"string"},"city":{"type":"string"}},"required":["city"]}`)}
	now := llm.Tool{Name: "now", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	both, system, user := []llm.Tool{weather, now}, text("system", "Be terse."), text("user", "The weather in Paris?")
	called := []llm.Message{
		system, user,
		{Role: "assistant", Parts: []llm.Part{{Text: "I look."}}, Calls: []llm.Call{
			{ID: "call_0123456789abcdef01234567", Name: "weather", Arguments: `{"unit": "C", "city": "Paris"}`}, {Index: 1, ID: "a1B2c3D4e", Name: "now", Arguments: "{}"},
		}},
		{Role: "tool", CallID: "call_0123456789abcdef01234567", Parts: []llm.Part{{Text: `{"degrees":20}`}}},
		{Role: "tool", CallID: "a1B2c3D4e", Parts: []llm.Part{{Text: "the clock stopped"}}, Failed: true},
		text("user", "And Rome?"),
		{Role: "assistant", Calls: []llm.Call{{ID: "an id/that nobody takes", Name: "weather", Arguments: `{"city":"Rome"}`}}},
		{Role: "tool", CallID: "an id/that nobody takes", Parts: []llm.Part{{Text: ""}}},
	}
	chat := func(messages ...llm.Message) []llm.Prompt { return []llm.Prompt{{Messages: messages}} }
	png := &llm.Image{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	jpeg := &llm.Image{Type: "image/jpeg", Data: []byte{0xff, 0xd8, 0xff}}
	return []chatCase{
		{"calls and results", llm.Request{Prompts: chat(called...), Params: llm.Params{Tools: both, MaxTokens: new(9)}}},
		{"images", llm.Request{Prompts: chat(llm.Message{Role: "user", Parts: []llm.Part{{Text: "What is it?"}, {Image: png}, {Text: ""}, {Image: jpeg}}})}},
		{"must call", llm.Request{Prompts: chat(user), Params: llm.Params{Tools: both, MustCall: new(true)}}},
		{"must call one", llm.Request{Prompts: chat(user), Params: llm.Params{Tools: both[1:], MustCall: new(true)}, Declared: both}},
		{"one call", llm.Request{Prompts: chat(user), Params: llm.Params{Tools: both, OneCall: new(true)}}},
		{"no calls", llm.Request{Prompts: chat(user), Declared: both}},
		{"no more calls", llm.Request{Prompts: chat(called[:5]...), Declared: both}},
		{"two users", llm.Request{Prompts: chat(user, text("user", "Quickly."))}},
		{"effort", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("low")}}},
		{"effort in few tokens", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("high"), MaxTokens: new(3000)}}},
		{"effort in too few tokens", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("high"), MaxTokens: new(1024)}}},
		{"unknown effort", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("extreme")}}},
		{"thinking", llm.Request{Prompts: chat(user), Params: llm.Params{Thinking: new(true)}}},
		{"no thinking", llm.Request{Prompts: chat(user), Params: llm.Params{Thinking: new(false)}}},
		{"budget", llm.Request{Prompts: chat(user), Params: llm.Params{MaxThinking: new(2000), MaxTokens: new(3000)}}},
		{"small budget", llm.Request{Prompts: chat(user), Params: llm.Params{MaxThinking: new(9)}}},
		{"budget of the answer", llm.Request{Prompts: chat(user), Params: llm.Params{MaxThinking: new(3000), MaxTokens: new(3000)}}},
		{"effort after calls", llm.Request{Prompts: chat(called...), Params: llm.Params{Tools: both, Effort: new("low")}}},
		{"effort and temperature", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("low"), Temperature: new(0.5)}}},
		{"effort and a neutral temperature", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("low"), Temperature: new(1.0)}}},
		{"effort and a call", llm.Request{Prompts: chat(user), Params: llm.Params{Effort: new("low"), Tools: both, MustCall: new(true)}}},
		{"variables", llm.Request{Prompts: chat(user), Params: llm.Params{Thinking: new(false), TemplateArgs: json.RawMessage(`{"date_string":"today"}`)}}},
	}
}

// written is a request as a record writes it, or why it does not.
type written struct {
	Case    string          `json:"case"`
	API     schema.API      `json:"api,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Each shipped record writes chats with tools and images in its provider's form, or
// rejects by name what the provider lacks. The providers' own SDKs accepted each request,
// see testdata/sdkgoldens.py.
func TestChats(t *testing.T) {
	names, err := fs.Glob(schemas.Files(), "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var item struct{ Schema json.RawMessage }
		raw, err := fs.ReadFile(schemas.Files(), name)
		if err == nil {
			err = json.Unmarshal(raw, &item)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "bedrock-") && !strings.HasPrefix(name, "sagemaker-") {
			continue
		}
		s, err := schema.Parse(item.Schema)
		if err != nil {
			t.Fatal(err)
		}
		var list []written
		for _, c := range chatCases() {
			list = append(list, write(t, s, c))
		}
		if !bytes.Contains(item.Schema, []byte(`"chat":`)) {
			for _, w := range list[:2] {
				if w.Error == "" {
					t.Errorf("%s: %s is written as %s", name, w.Case, w.Request)
				}
			}
		}
		checkImages(t, name, s, list[1])
		if !bytes.Contains(item.Schema, []byte(`"chat":`)) {
			continue
		}
		golden(t, "testdata/chats/"+name, list)
		if !*update {
			accepted(t, strings.TrimSuffix(name, ".json"), list)
		}
	}
}

// checkImages checks that a record says whether it writes images, as it wrote them in a chat, and that a
// prompt with images is written as a chat of one message, or rejected by name.
func checkImages(t *testing.T, name string, s *schema.Schema, chat written) {
	t.Helper()
	if s.Images() != (chat.Error == "") {
		t.Errorf("%s: images %v, but a chat is written with the error %q", name, s.Images(), chat.Error)
	}
	parts := chatCases()[1].req.Prompts[0].Messages[0].Parts
	want := chat
	if !s.Images() {
		want.Error = "prompt[1]: this model reads text only, not images"
	}
	if got := write(t, s, chatCase{chat.Case, llm.Request{Prompts: []llm.Prompt{{Parts: parts}}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: a prompt with images is %+v, want %+v", name, got, want)
	}
	tokens := append(slices.Clone(parts), llm.Part{Tokens: []int{1}})
	if got := write(t, s, chatCase{"", llm.Request{Prompts: []llm.Prompt{{Parts: tokens}}}}); !strings.HasPrefix(got.Error, "prompt") || got.Request != nil {
		t.Errorf("%s: images and tokens are %+v", name, got)
	}
}

// Records can mark what their providers cache, as pkg/backend/README.md shows.
func TestCachedChats(t *testing.T) {
	for name, form := range map[string]string{
		"bedrock-anthropic": `"system": [{"type": "text", "text": "{text}"}],
			"cache": {"at": ["system", "tools", "messages"], "members": {"cache_control": {"type": "ephemeral"}}},`,
		"bedrock-amazon.nova": `"cache": {"at": ["tools", "messages"], "block": {"cachePoint": {"type": "default"}}},`,
	} {
		var item struct{ Schema json.RawMessage }
		raw, err := fs.ReadFile(schemas.Files(), name+".json")
		if err == nil {
			err = json.Unmarshal(bytes.Replace(raw, []byte(`"chat": {`), []byte(`"chat": {`+form), 1), &item)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Parse(item.Schema)
		if err != nil {
			t.Fatal(err)
		}
		list := []written{write(t, s, chatCases()[0])}
		golden(t, "testdata/cached/"+name+".json", list)
		if !*update {
			accepted(t, name+" cached", list)
		}
	}
}

// A record asks older models for reasoning in another way.
func TestBudgetChats(t *testing.T) {
	var item struct{ Schema json.RawMessage }
	raw, err := fs.ReadFile(schemas.Files(), "bedrock-anthropic.json")
	if err == nil {
		err = json.Unmarshal(raw, &item)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Parse(item.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var list []written
	for _, c := range chatCases() {
		if c.req.Effort != nil || c.req.Thinking != nil || c.req.MaxThinking != nil {
			list = append(list, write(t, s.For("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), c))
		}
	}
	golden(t, "testdata/budgets/bedrock-anthropic.json", list)
	if !*update {
		accepted(t, "bedrock-anthropic budgets", list)
	}
}

// accepted checks that a provider's SDK accepted the requests.
func accepted(t *testing.T, record string, list []written) {
	t.Helper()
	var all map[string]map[string]string
	b, err := os.ReadFile("testdata/sdk.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		var body map[string]any
		if w.Request == nil {
			continue
		}
		if err := json.Unmarshal(w.Request, &body); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(canonical)); body["prompt"] == nil && got != all[record][w.Case] {
			t.Errorf("%s, %s: no SDK accepted this request, run testdata/sdkgoldens.py: %s", record, w.Case, canonical)
		}
	}
}

func write(t *testing.T, s *schema.Schema, c chatCase) written {
	w := written{Case: c.name}
	rows, err := New(nil, Model{Schema: s}).rows(t.Context(), &c.req)
	if err != nil {
		w.Error = llm.AsError(err).Error()
		return w
	}
	w.API, w.Request = rows[0].schema.API, rows[0].body
	return w
}

func golden(t *testing.T, path string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs, %v: got\n%s", path, err, got)
	}
}
