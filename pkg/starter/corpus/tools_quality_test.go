package corpus_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/chat"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	starters "glossa/pkg/starter"
	"glossa/pkg/starter/corpus"
	"glossa/pkg/toolcall"
)

// Bounds of the model that calls tools, on held-out chats.
const (
	toolChats     = 400 // of each kind
	leastTool     = 0.95
	leastArgument = 0.90
	leastUnseen   = 0.75 // of both, with names that training did not have
)

// messages returns the messages of a chat up to one of its answers: the first, or the one
// after the results of its calls.
func messages(c *corpus.ToolChat, results bool) (out []llm.Message) {
	part := func(s string) []llm.Part { return []llm.Part{{Text: s}} }
	if c.System != "" {
		out = append(out, llm.Message{Role: "system", Parts: part(c.System)})
	}
	for i := range c.Before {
		out = append(out, turn(&c.Before[i], i)...)
		out = append(out, llm.Message{Role: "assistant", Parts: part(c.Before[i].Answer)})
	}
	last := turn(&c.ToolTurn, len(c.Before))
	if !results {
		return append(out, last[0])
	}
	return append(out, last...)
}

// turn returns the messages of a turn up to its final answer.
func turn(t *corpus.ToolTurn, number int) []llm.Message {
	part := func(s string) []llm.Part { return []llm.Part{{Text: s}} }
	out := []llm.Message{{Role: "user", Parts: part(t.Ask)}}
	if len(t.Calls) == 0 {
		return out
	}
	made := llm.Message{Role: "assistant"}
	for i, call := range t.Calls {
		made.Calls = append(made.Calls, llm.Call{Index: i, ID: callID(number, i), Name: call.Name, Arguments: call.Arguments})
	}
	out = append(out, made)
	for i, call := range t.Calls {
		out = append(out, llm.Message{Role: "tool", CallID: callID(number, i), Parts: part(call.Result)})
	}
	return out
}

func callID(turn, i int) string { return fmt.Sprintf("call%05d", 100*turn+i) }

// offered returns the tools of a chat as clients send them.
func offered(c *corpus.ToolChat) (out []llm.Tool) {
	for i := range c.Tools {
		t := &c.Tools[i]
		out = append(out, llm.Tool{Name: t.Name, Description: t.About, Parameters: t.Schema()})
	}
	return out
}

func toolsTemplate(t *testing.T) *chat.Template {
	t.Helper()
	template, err := chat.Parse(corpus.ToolsTemplate(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// The template writes chats as the training text has them.
func TestToolsTemplateIsThatOfTheText(t *testing.T) {
	template := toolsTemplate(t)
	got, want := template.Calls(), toolcall.Lines()
	if got.Open+got.Call != want.Call || got.Middle != want.Middle || got.End != want.End || got.Between != want.Between {
		t.Errorf("calls are %+v", got)
	}
	if got := template.After(); !strings.HasPrefix(got, "<|end|>") {
		t.Errorf("an answer ends with %q", got)
	}
	for i, c := range corpus.ToolChats(3, 300, false) {
		for _, results := range []bool{false, true} {
			want := c.Prompt()
			if results {
				if len(c.Calls) == 0 {
					continue
				}
				want = strings.TrimSuffix(c.Text(true), c.Answer+"<|end|>")
			}
			parts, err := template.Render(t.Context(), &chat.Chat{Messages: messages(&c, results), Tools: offered(&c), Open: true})
			if err != nil {
				t.Fatalf("chat %d: %v", i, err)
			}
			got := ""
			for _, p := range parts {
				got += p.Text
			}
			if got != want {
				t.Fatalf("chat %d: the template writes\n%s\nthe text has\n%s", i, got, want)
			}
		}
	}
}

// Tools as client libraries describe them: pydantic's titles and unions, parameters
// without a type, descriptions of several lines.
func TestToolsTemplateShortensSchemas(t *testing.T) {
	schema := `{"type":"object","title":"Args","properties":{"city":{"title":"City","type":"string","description":"The city, e.g. Oslo"},
		"days":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},"unit":{"enum":["c","f"]},"any":{}},"required":["city","unit"]}`
	parts, err := toolsTemplate(t).Render(t.Context(), &chat.Chat{
		Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Hi"}}}}, Open: true,
		Tools: []llm.Tool{{Name: "get_weather", Description: "The weather.\n\nArgs:\n  city: a city", Parameters: json.RawMessage(schema)}, {Name: "bare"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range parts {
		got += p.Text
	}
	if want := "get_weather(city: string, days?: integer, unit: c|f, any?: string) The weather.\nbare()\n<|user|>Hi<|answer|>"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// toolsShares are the measurements on held-out chats of a kind.
type toolsShares struct{ tool, arguments, none, two, answer share }

// A share counts right ones.
type share struct{ right, all int }

func (s *share) add(right bool) {
	s.all++
	if right {
		s.right++
	}
}

func (s *share) of() float64 { return float64(s.right) / float64(max(1, s.all)) }

// TestToolsAreCalled measures the starter on chats with values that it has not seen, and with
// names of tools and parameters that it has not seen, as users get it: through the chat
// template, with calls held to the schemas, greedy.
func TestToolsAreCalled(t *testing.T) {
	if testing.Short() {
		t.Skip("answers 1,600 chats")
	}
	e := openTools(t)
	table := "| names | right tool | right arguments | no tool fits | two calls | answer with the result |\n|---|---|---|---|---|---|\n"
	for i, kind := range []string{"seen", "unseen"} {
		s := measureTools(t, e, corpus.ToolChats(heldOutSeed, toolChats, i == 1))
		table += fmt.Sprintf("| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", kind,
			100*s.tool.of(), 100*s.arguments.of(), 100*s.none.of(), 100*s.two.of(), 100*s.answer.of())
		tool, argument := leastTool, leastArgument
		if kind == "unseen" {
			tool, argument = leastUnseen, leastUnseen
		}
		if s.tool.of() < tool || s.arguments.of() < argument {
			t.Errorf("%s names: %.1f %% right tools, %.1f %% right arguments; at least %.0f %% and %.0f %% must be",
				kind, 100*s.tool.of(), 100*s.arguments.of(), 100*tool, 100*argument)
		}
	}
	t.Logf("\n%s", table)
	if !t.Failed() {
		checkTable(t, toolsFile, table, 0.5)
	}
}

const toolsFile = "../testdata/tools.md"

// openTools opens the starter with the template in its directory.
func openTools(t *testing.T) *engine.Engine {
	t.Helper()
	m, err := arch.OpenAny(starters.Runs(), "tools")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(m, engine.Config{Name: "tools"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// measureTools asks for the first answer of each chat, and for the last one after the
// right calls. Each chat must fit the context.
func measureTools(t *testing.T, e *engine.Engine, chats []corpus.ToolChat) (s toolsShares) {
	t.Helper()
	fitting := slices.DeleteFunc(slices.Clone(chats), func(c corpus.ToolChat) bool {
		return utf8.RuneCountInString(c.Text(true)) > 2*e.Info().Context
	})
	if len(fitting) < len(chats) {
		t.Errorf("%d of %d chats exceed the context", len(chats)-len(fitting), len(chats))
	}
	for _, c := range fitting {
		got := answer(t, e, &c, false)
		right, args := sameCalls(got.Calls, c.Calls)
		switch len(c.Calls) {
		case 0:
			s.none.add(right)
		case 1:
			s.tool.add(right)
			s.arguments.add(args)
		default:
			s.two.add(args)
		}
		if !args {
			t.Logf("%s\n  got  %v %q\n  want %v", c.Prompt(), got.Calls, got.Text, c.Calls)
		}
		if len(c.Calls) > 0 {
			s.answer.add(mentions(answer(t, e, &c, true).Text, &c))
		}
	}
	return s
}

// mentions reports whether a text has the results of all calls.
func mentions(text string, c *corpus.ToolChat) bool {
	return !slices.ContainsFunc(c.Calls, func(call corpus.ToolCall) bool {
		var object map[string]string
		if json.Unmarshal([]byte(call.Result), &object) == nil {
			for _, v := range object {
				return !strings.Contains(text, v)
			}
		}
		return !strings.Contains(text, call.Result)
	})
}

// answer generates one answer.
func answer(t *testing.T, e *engine.Engine, c *corpus.ToolChat, results bool) llm.Chunk {
	t.Helper()
	req := &llm.Request{
		Prompts: []llm.Prompt{{Messages: messages(c, results)}},
		Params:  llm.Params{Tools: offered(c), MaxTokens: new(250), Temperature: new(0.0)},
	}
	return generate(t, e, req)[0]
}

// sameCalls compares calls: by names, and by names and arguments.
func sameCalls(got []llm.Call, want []corpus.ToolCall) (names, arguments bool) {
	if len(got) != len(want) {
		return false, false
	}
	arguments = true
	for i, w := range want {
		if got[i].Name != w.Name {
			return false, false
		}
		var a, b any
		arguments = arguments && json.Unmarshal([]byte(got[i].Arguments), &a) == nil &&
			json.Unmarshal([]byte(w.Arguments), &b) == nil && reflect.DeepEqual(a, b)
	}
	return true, arguments
}
