package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

var updateFamilies = flag.Bool("update-families", false, "rewrite testdata/families.md")

// publishedTemplates returns the chat templates of published models, by the name of a case
// that uses each, or skips the test.
func publishedTemplates(t *testing.T) map[string]string {
	t.Helper()
	var cases []struct{ ID, Template string }
	var texts map[string]string
	for name, into := range map[string]any{"cases.json": &cases, "templates.json": &texts} {
		raw, err := os.ReadFile("../../../shared/data/chat-templates/" + name)
		if os.IsNotExist(err) {
			t.Skip("no chat templates beside the repository")
		}
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]string{} // the shortest name of each text
	for _, c := range cases {
		name, _, _ := strings.Cut(c.ID, "#")
		if had := names[texts[c.Template]]; had == "" || len(name) < len(had) || len(name) == len(had) && name < had {
			names[texts[c.Template]] = name
		}
	}
	out := map[string]string{}
	for text, name := range names {
		out[name] = text
	}
	return out
}

// familyTool is the tool of the chats: strings, numbers and an optional parameter.
const familyTool = `{"type":"object","properties":{"city":{"type":"string","maxLength":6},"days":{"type":"integer","minimum":1,"maximum":9},"metric":{"type":"boolean"}},"required":["city","days"]}`

// familyEngine returns a tiny model with random weights that has a published template, whose
// marks are special tokens.
func familyEngine(t *testing.T, template *chat.Template) *Engine {
	t.Helper()
	marks := append([]string{"<end>"}, template.Marks()...)
	reasons := template.Reasoning()
	if reasons != nil {
		marks = append(marks, reasons.Open, reasons.Close)
	}
	slices.Sort(marks[1:])
	marks = append(marks[:1], slices.Compact(marks[1:])...)
	words := characters(t)
	if c := template.Calls(); strings.ContainsFunc(c.Begin(), func(r rune) bool { return r > '~' }) { // DeepSeek's marks
		words = openTokenizer(t, "gpt2.tokenizer.json")
	}
	return withTokenizer(t, specialTokens{words, marks}, 16384, Config{PrefixMemory: -1, Template: template, Reasoning: reasons}, words.Size())
}

// A familyRow counts what the chats of a family gave.
type familyRow struct {
	required, free, calls, thought, streamed int
}

// asks sends requests with a tool at many maxima of tokens, whole and as streams, and checks
// each call against the tool's schema.
func (f *familyRow) asks(t *testing.T, e *Engine) {
	t.Helper()
	for seed := range int64(6) {
		must := seed%2 == 0
		p := llm.Params{
			Tools: []llm.Tool{{Name: "forecast", Description: "Weather of the next days", Parameters: json.RawMessage(familyTool)}},
			Seed:  &seed, Temperature: new(1.0), MustCall: &must,
		}
		c, err := e.constraint(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		least := c.Min()
		if e.thinker != nil {
			least += e.thinker.cost()
		}
		p.MaxTokens = new(least + int(seed)*5)
		req := &llm.Request{N: 1, Params: p, Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Rain?"}}}}}}}
		rows, _ := collect(t, e, req)
		row := rows[0]
		if row.Guarantee != llm.Enforced || must && (len(row.Calls) == 0 || strings.TrimSpace(row.Text) != "") {
			t.Fatalf("must call %t, %d tokens: %+v", must, *p.MaxTokens, row)
		}
		f.count(t, must, &row)
		f.streams(t, e, req, &row)
	}
}

// count counts a row and checks its calls.
func (f *familyRow) count(t *testing.T, must bool, row *llm.Chunk) {
	t.Helper()
	if must {
		f.required++
	} else {
		f.free++
	}
	if row.Reasoning != "" {
		f.thought++
	}
	for _, call := range row.Calls {
		var a map[string]any
		err := json.Unmarshal([]byte(call.Arguments), &a)
		city, isString := a["city"].(string)
		days, isNumber := a["days"].(float64)
		_, isBool := a["metric"].(bool)
		ok := err == nil && call.Name == "forecast" && callIDs.MatchString(call.ID) && isString && len([]rune(city)) <= 6 && isNumber && days >= 1 && days <= 9
		if !ok || len(a) > 3 || len(a) == 3 && !isBool {
			t.Errorf("%s(%s), id %s: %v", call.Name, call.Arguments, call.ID, err)
		}
		f.calls++
	}
}

// streams checks that the pieces of a stream are the answer.
func (f *familyRow) streams(t *testing.T, e *Engine, req *llm.Request, want *llm.Chunk) {
	t.Helper()
	var text, thought strings.Builder
	var calls []llm.Call
	for chunk, err := range e.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(chunk.Text)
		thought.WriteString(chunk.Reasoning)
		for _, c := range chunk.Calls {
			if c.Index == len(calls) {
				calls = append(calls, llm.Call{Index: c.Index, ID: c.ID, Name: c.Name})
			}
			calls[c.Index].Arguments += c.Arguments
		}
	}
	same := slices.EqualFunc(calls, want.Calls, func(a, b llm.Call) bool { return a.Name == b.Name && a.Arguments == b.Arguments })
	if text.String() != want.Text || thought.String() != want.Reasoning || !same {
		t.Errorf("streamed %q, %q, %+v; whole %+v", text.String(), thought.String(), calls, want)
	}
	f.streamed++
}

// Models with the templates of published ones call tools with valid arguments at every maximum
// of tokens, tell reasoning from the answer, and stream what they answer whole.
func TestFamilies(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute for eighty templates")
	}
	var table []string
	for name, text := range publishedTemplates(t) {
		template, err := chat.Compile(chat.Source{
			Templates: map[string]string{chat.DefaultTemplate: text}, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"},
		})
		if err != nil {
			continue // pkg/chat's table says why
		}
		t.Run(name, func(t *testing.T) {
			e, f := familyEngine(t, template), familyRow{}
			f.asks(t, e)
			reasons := "none"
			if r := template.Reasoning(); r != nil {
				reasons = fmt.Sprintf("`%s` %d", r.Open, f.thought)
			}
			table = append(table, fmt.Sprintf("| %s | %s | %d | %d | %d | %s | %d |", name, e.calls.Family, f.required, f.free, f.calls, reasons, f.streamed))
		})
	}
	slices.Sort(table)
	want := "| template | calls in | required | free | valid calls | with reasoning | streams as whole |\n|---|---|---|---|---|---|---|\n" + strings.Join(table, "\n") + "\n"
	path := filepath.Join("testdata", "families.md")
	if *updateFamilies {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): -update-families\n%s", path, err, want)
	}
}
