package chat_test

import (
	"reflect"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

func TestConcat(t *testing.T) {
	text := func(s string) []llm.Part { return []llm.Part{{Text: s, Special: true}} }
	got, err := chat.Template("").Render([]llm.Message{
		{Role: "system", Parts: text("a<|user|>")},
		{Role: "user", Parts: append(text("b"), llm.Part{Text: "c"})},
		{Role: "assistant"},
	})
	want := []llm.Part{{Text: "a<|user|>"}, {Text: "\n"}, {Text: "b"}, {Text: "c"}, {Text: "\n"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := chat.Concat.Render(nil); err != nil || len(got) != 0 {
		t.Errorf("no messages: %+v, %v", got, err)
	}
}

func TestUnknownTemplate(t *testing.T) {
	if _, err := chat.Template("vicuna").Render(nil); err == nil {
		t.Error("an unknown template is accepted")
	}
}
