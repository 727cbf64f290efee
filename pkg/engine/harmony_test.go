package engine

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// publishedTemplate returns the chat template of a published model, or skips the test. key is a
// case of the public test data that uses it.
func publishedTemplate(t *testing.T, key string) string {
	t.Helper()
	var cases []struct{ ID, Template string }
	var texts map[string]string
	for name, into := range map[string]any{"cases.json": &cases, "templates.json": &texts} {
		raw, err := os.ReadFile("../../../shared/data/chat-templates/" + name)
		if os.IsNotExist(err) {
			t.Skip("no published chat templates in ../shared/data")
		}
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cases {
		if name, _, _ := strings.Cut(c.ID, "#"); name == key {
			return texts[c.Template]
		}
	}
	t.Fatalf("no case uses %s", key)
	return ""
}

var harmonyMarks = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"}

// harmonyModel is a random model with a template that writes harmony. callEnds makes <|call|> end completions.
func harmonyModel(t *testing.T, template string, callEnds bool) thinkingModel {
	t.Helper()
	compiled, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: template}})
	if err != nil {
		t.Fatal(err)
	}
	if family := compiled.Calls().Family; family != "harmony" {
		t.Fatalf("the template's calls are %s", family)
	}
	words := withMarks{characters(t), harmonyMarks}
	first := characters(t).Size()
	ends := []int{first + 6}
	if callEnds {
		ends = append(ends, first+5)
	}
	e := withTokenizer(t, words, 4096, Config{Template: compiled}, ends...)
	return thinkingModel{e, map[int]float64{first: 1, first + 4: 2.5, first + 6: 1}}
}

// shortHarmony writes what the published template does, in short.
const shortHarmony = `{% for t in tools or [] %}{{ t.function.name }};{% endfor %}{% for m in messages %}{% if m.role == 'tool' %}[{{ m.content }}]` +
	`{% elif m.tool_calls %}{% for c in m.tool_calls %}<|start|>assistant to=functions.{{ c.function.name }}<|channel|>commentary json<|message|>{{ c.function.arguments | tojson }}<|call|>{% endfor %}` +
	`{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% else %}{{ m.content }}{% endif %}{% endfor %}` +
	`{% if add_generation_prompt %}<|start|>assistant{% endif %}{# <|channel|>analysis<|message|> #}`

// harmonyAnswer is an answer after its reasoning, by the spellings of its tokens.
var harmonyAnswer = regexp.MustCompile(`(?s)^(<\|channel\|>final<\|message\|>.*|<\|channel\|>commentary to=functions\.f2? <\|constrain\|>json<\|message\|>\{.*\}<\|call\|>| to=functions\.f2?<\|channel\|>commentary json<\|message\|>\{.*\}<\|call\|>)$`)

// With any maximum number of tokens, an answer in harmony is text or a whole call, after
// reasoning or without.
func TestHarmony(t *testing.T) {
	t.Run("short", func(t *testing.T) { testHarmony(t, shortHarmony) })
	t.Run("published", func(t *testing.T) { testHarmony(t, publishedTemplate(t, "openai-gpt-oss-120b")) })
}

func testHarmony(t *testing.T, template string) {
	tools := []llm.Tool{{Name: "f", Description: "d"}, {Name: "f2", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":99}},"required":["n"]}`)}}
	seen := map[string]int{}
	for _, callEnds := range []bool{false, true} {
		m := harmonyModel(t, template, callEnds)
		for _, must := range []bool{false, true} {
			p := llm.Params{Tools: tools, MustCall: &must}
			c, err := m.constraint(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			for tokens := c.Min(); tokens < c.Min()+70; tokens++ {
				p.MaxTokens, p.Seed, p.Temperature, p.Tokens = new(tokens), new(int64(tokens)), new(1.1), new(true)
				p.MaxThinking = new(12)
				rows, usage := collect(t, m.Engine, m.ask(p))
				row := rows[0]
				checkRow(t, row, must, true)
				checkReasoning(t, "harmony", rows)
				var pieces strings.Builder
				for _, tok := range row.Tokens {
					if tok.Piece != "<|return|>" && tok.Piece != "<|end|>" {
						pieces.WriteString(tok.Piece)
					}
				}
				if !harmonyAnswer.MatchString(pieces.String()) || row.Guarantee != llm.Enforced || usage.Output > tokens {
					t.Errorf("must call %t, %d tokens: %q, %+v, %+v", must, tokens, pieces.String(), row, usage)
				}
				if strings.Contains(row.Text, "<|") || strings.Contains(row.Reasoning, "<|end|>") || strings.HasPrefix(row.Text, "final") {
					t.Errorf("the text is %q, the reasoning %q", row.Text, row.Reasoning)
				}
				streamed := m.ask(p)
				streamed.Stream = true
				again, _ := collect(t, m.Engine, streamed)
				if got := again[0]; got.Text != row.Text || got.Reasoning != row.Reasoning || len(got.Calls) != len(row.Calls) || len(got.Calls) > 0 && got.Calls[0].Arguments != row.Calls[0].Arguments {
					t.Errorf("a stream has %+v, want %+v", got, row)
				}
				for kind, is := range map[string]bool{"text": row.Text != "", "call": len(row.Calls) > 0, "commentary": strings.HasPrefix(pieces.String(), "<|channel|>comm"), "recipient": strings.HasPrefix(pieces.String(), " to="), "thought": row.Reasoning != "" && len(row.Calls) > 0} {
					if is {
						seen[kind]++
					}
				}
			}
		}
	}
	for _, kind := range []string{"text", "call", "commentary", "recipient", "thought"} {
		if seen[kind] == 0 {
			t.Errorf("no row is a %s: %v", kind, seen)
		}
	}
}
