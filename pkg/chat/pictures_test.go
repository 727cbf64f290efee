package chat_test

import (
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// The forms in which templates write pictures: of parts in the form of SmolVLM and of Gemma 3, and
// of texts alone.
var pictured = map[string]string{
	"parts": "{% for m in messages %}{{ m['role'] | capitalize }}:{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end>\n{% endfor %}",
	"either": "{% for m in messages %}{{ m['role'] | capitalize }}:{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}" +
		"{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}{% endfor %}{% endif %}<end>\n{% endfor %}",
	"texts": "{% for m in messages %}{{ m['role'] | capitalize + ':' + m['content'] + '<end>\n' }}{% endfor %}",
}

// picturedTemplate returns one of these templates for a model that reads pictures.
func picturedTemplate(t *testing.T, name string) *chat.Template {
	t.Helper()
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: pictured[name]}})
	if err == nil {
		template, err = template.Pictures("<image>")
	}
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// spelled joins parts, with the data of pictures in brackets.
func spelled(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Image != nil {
			b.WriteString("[" + string(p.Image.Data) + "]")
			continue
		}
		b.WriteString(write([]llm.Part{p}))
	}
	return b.String()
}

func image(name string) llm.Part { return llm.Part{Image: &llm.Image{Data: []byte(name)}} }

// Pictures stand where they were sent, and a mark that a client spells is text.
func TestPictures(t *testing.T) {
	chats := []llm.Message{
		message("system", "see"),
		{Role: "user", Parts: []llm.Part{image("a"), {Text: "one <image>"}, image("b"), {Text: "two"}}},
		message("assistant", "fine"),
		{Role: "user", Parts: []llm.Part{{Text: "and"}, image("c")}},
	}
	for name := range pictured {
		parts, err := picturedTemplate(t, name).Render(t.Context(), &chat.Chat{Messages: chats})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer("«", "", "»", "").Replace(spelled(parts))
		if want := "System:see<end>\nUser:[a]one <image>[b]two<end>\nAssistant:fine<end>\nUser:and[c]<end>\n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, p := range parts {
			if p.Image != nil && (p.Text != "<image>" || !p.Special) { // what is shown of it
				t.Errorf("%s: an image is %q", name, p.Text)
			}
			if p.Image == nil && p.Special && strings.Contains(p.Text, "<image>") {
				t.Errorf("%s: the client's mark counts: %q", name, spelled(parts))
			}
		}
	}
}

// The text of a system that begins the first message of the user stands before its pictures.
func TestPicturesAfterSystem(t *testing.T) {
	const text = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m['content'] }};{% endfor %}"
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: text}})
	if err == nil {
		template, err = template.Pictures("<image>")
	}
	if err != nil {
		t.Fatal(err)
	}
	parts, err := template.Render(t.Context(), &chat.Chat{Messages: []llm.Message{
		message("system", "Be brief."), {Role: "user", Parts: []llm.Part{image("a"), {Text: "what?"}}},
	}})
	if got := spelled(parts); err != nil || got != "Be brief.\n\n[a]what?«;»" {
		t.Errorf("%q, %v", got, err)
	}
}

// A model that reads text only, and messages of others than the user, have no pictures; and none is
// lost by a template that leaves it out.
func TestPicturesRefused(t *testing.T) {
	const leaves = "{% for m in messages %}{% if loop.first %}{{ m['content'] }}{% endif %}{% endfor %}"
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: leaves}})
	if err != nil {
		t.Fatal(err)
	}
	one := llm.Message{Role: "user", Parts: []llm.Part{image("a")}}
	if _, err := template.Render(t.Context(), &chat.Chat{Messages: []llm.Message{one}}); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("a model of texts: %v", err)
	}
	if template, err = template.Pictures("<image>"); err != nil {
		t.Fatal(err)
	}
	_, err = template.Render(t.Context(), &chat.Chat{Messages: []llm.Message{one, one}})
	if err == nil || !strings.Contains(err.Error(), "writes 1 of the 2 images") {
		t.Errorf("a template that leaves one out: %v", err)
	}
	for _, role := range []string{"system", "assistant", "tool"} {
		_, err := template.Render(t.Context(), &chat.Chat{Messages: []llm.Message{{Role: role, Parts: []llm.Part{image("a")}}}})
		if err == nil || !strings.Contains(err.Error(), "only messages of the user may have images") {
			t.Errorf("%s: %v", role, err)
		}
	}
	const none = "{% for m in messages %}{{ m['content'] | replace('<image>', '') }}{% endfor %}"
	if template, err = chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: none}}); err == nil {
		_, err = template.Pictures("<image>")
	}
	if err == nil || !strings.Contains(err.Error(), "cannot write a message with an image") {
		t.Errorf("a template that drops marks: %v", err)
	}
}
