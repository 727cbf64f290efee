package responses

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// letters is a model that has a token for each letter, and one before each message.
type letters struct{ chunks }

func (letters) Render(_ context.Context, p llm.Prompt, _ *llm.Params, _ bool) (parts []llm.Part, start bool, err error) {
	for _, m := range p.Messages {
		parts = append(parts, llm.Part{Text: "|" + m.Parts[0].Text})
	}
	return parts, false, nil
}

func (letters) Tokenize(_ context.Context, parts []llm.Part, _ bool) (list []llm.Token, err error) {
	for _, p := range parts {
		list = append(list, make([]llm.Token, len(p.Text))...)
	}
	return list, nil
}

func (letters) Detokenize(context.Context, []int) (string, error) { return "", nil }

// TestTruncation: whole turns go first, then steps of the last turn, and calls keep their
// outputs.
func TestTruncation(t *testing.T) {
	for _, test := range []struct {
		messages string // roles, each with a text
		context  int
		most     int // max_output_tokens; 0: none
		want     string
	}{
		{"s:i u:aa a:bb u:cc", 12, 0, "s:i u:aa a:bb u:cc"},
		{"s:i u:aa a:bb u:cc", 11, 1, "s:i u:cc"},
		{"s:i u:aa a:bb u:cc", 11, 0, "s:i u:cc"},
		{"u:aa a:bb u:cc a:dd u:ee", 15, 5, "u:cc a:dd u:ee"},
		{"u:aa a:bb u:cc a:dd u:ee", 15, 7, "u:ee"},
		{"u:aa u:bb a:cc s:i u:dd", 10, 3, "s:i u:dd"},
		{"u:aa a:bb u:cc a:d t:ee a:f t:gg a:h t:ii", 14, 4, "u:cc a:h t:ii"},
		{"u:aa a:bb u:cc a:d t:ee a:f t:gg a:h t:ii", 15, 4, "u:cc a:h t:ii"},
		{"u:aa a:bb u:cc a:d t:ee a:f t:gg a:h t:ii", 18, 4, "u:cc a:f t:gg a:h t:ii"},
		{"u:cc a:d t:ee t:ff a:g t:hh", 16, 6, "u:cc a:g t:hh"},
		{"a:aa a:bb a:cc", 6, 1, "a:cc"},
		{"u:aaaaaaaa", 4, 1, "u:aaaaaaaa"}, // the engine cuts it
		{"s:iiiiiiii", 4, 1, "s:iiiiiiii"},
	} {
		roles := map[string]string{"s": "system", "u": "user", "a": "assistant", "t": "tool"}
		var messages []llm.Message
		for field := range strings.FieldsSeq(test.messages) {
			messages = append(messages, llm.Message{Role: roles[field[:1]], Parts: []llm.Part{{Text: field[2:]}}})
		}
		g := &generation{Request: &llm.Request{Prompts: []llm.Prompt{{Messages: slices.Clone(messages)}}}}
		if test.most > 0 {
			g.MaxTokens = &test.most
		}
		model := &llm.Model{ModelInfo: llm.ModelInfo{Context: test.context}, Backend: letters{}}
		if err := g.fit(t.Context(), model); err != nil || !reflect.DeepEqual(g.Prompts[0].Messages, messages) {
			t.Fatalf("%s: without truncation: %v", test.messages, err)
		}
		g.Truncate = new(0)
		if err := g.fit(t.Context(), model); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range g.Prompts[0].Messages {
			got = append(got, m.Role[:1]+":"+m.Parts[0].Text)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s in %d: got %q, want %q", test.messages, test.context, got, test.want)
		}
	}
}
