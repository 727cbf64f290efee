package chat_test

import (
	"strings"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// The forms in which templates write pictures: of parts in the form of SmolVLM, of Gemma 3 and of
// LLaVA, and of texts alone. That of Gemma 3 writes no pictures of the system.
var pictured = map[string]string{
	"parts": "{% for m in messages %}{{ m['role'] | capitalize }}:{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end>\n{% endfor %}",
	"either": "{% for m in messages %}{{ m['role'] | capitalize }}:{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}" +
		"{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}{% endfor %}{% endif %}<end>\n{% endfor %}",
	"first": "{% for m in messages %}{{ m['role'] | upper }}:{% for p in m['content'] | selectattr('type', 'equalto', 'image') %}<image>\n{% endfor %}" +
		"{% for p in m['content'] | selectattr('type', 'equalto', 'text') %}{{ p['text'] }}{% endfor %}<end>\n{% endfor %}",
	"prefix": "{% if messages[0]['role'] == 'system' %}{% set prefix = messages[0]['content'] if messages[0]['content'] is string else messages[0]['content'][0]['text'] %}{% set list = messages[1:] %}" +
		"{% else %}{% set prefix = '' %}{% set list = messages %}{% endif %}{% for m in list %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}" +
		"{{ m['role'] | capitalize }}:{{ prefix if loop.first else '' }}{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}" +
		"{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}{% endfor %}{% endif %}<end>\n{% endfor %}",
	"tools": "{{ tools | tojson if tools else '' }}{% for m in messages %}{{ m['role'] | capitalize }}:{% if m['tool_calls'] %}{% for c in m['tool_calls'] %}<tool_call>{{ c['function'] | tojson }}</tool_call>{% endfor %}{% endif %}" +
		"{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}{% elif p['type'] == 'image' %}<image>{% endif %}{% endfor %}{% endif %}<end>\n{% endfor %}",
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
	for _, name := range []string{"parts", "either", "tools", "texts"} {
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

// Pictures of the system and of results stand where they were sent, in the form that the template
// has for them, and refused where it has none.
func TestPicturesOfRoles(t *testing.T) {
	system := []llm.Message{
		{Role: "system", Parts: []llm.Part{{Text: "like"}, image("s"), {Text: "this"}}}, {Role: "user", Parts: []llm.Part{image("u"), {Text: "that"}}},
	}
	calls := []llm.Call{{ID: "one", Name: "look", Arguments: "{}"}, {ID: "two", Name: "look", Arguments: "{}"}}
	results := []llm.Message{
		message("user", "see"), {Role: "assistant", Calls: calls},
		{Role: "tool", CallID: "two", Parts: []llm.Part{{Text: "second"}, image("b")}}, // before the first
		{Role: "tool", CallID: "one", Parts: []llm.Part{image("a"), {Text: "first"}}},
		{Role: "user", Parts: []llm.Part{{Text: "and"}, image("c")}},
	}
	tools := []llm.Tool{{Name: "look", Parameters: []byte(`{"type":"object","properties":{}}`)}}
	const said = "User:see<end>\nAssistant:<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call><end>\n"
	for _, c := range []struct {
		template string
		chat     []llm.Message
		tools    []llm.Tool
		want     string
	}{
		{"parts", system, nil, "System:like[s]this<end>\nUser:[u]that<end>\n"},
		{"first", system, nil, "SYSTEM:[s]\nlikethis<end>\nUSER:[u]\nthat<end>\n"},
		{"texts", system, nil, "System:like[s]this<end>\nUser:[u]that<end>\n"},
		{"prefix", system, nil, "messages[0]: the model's chat template writes no images in messages of the role system"},
		{"tools", results, tools, said + "Tool:[a]first<end>\nTool:second[b]<end>\nUser:and[c]<end>\n"},
		{"parts", results, nil, "User:[a]first\nsecond[b]<end>\nUser:and[c]<end>\n"},
		{"texts", results, nil, "User:[a]first\nsecond[b]<end>\nUser:and[c]<end>\n"},
	} {
		parts, err := picturedTemplate(t, c.template).Render(t.Context(), &chat.Chat{Messages: c.chat, Tools: c.tools})
		got := strings.NewReplacer("«", "", "»", "").Replace(spelled(parts))
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (len(c.chat) == len(system) || !strings.HasSuffix(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.template, got, c.want)
		}
	}
}

// A system without a user after it, for a template that takes none, keeps its pictures.
func TestPicturesOfSystemAlone(t *testing.T) {
	const text = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m['role'] }} {{ m['content'] }};{% endfor %}"
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: text}})
	if err == nil {
		template, err = template.Pictures("<image>")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		chat []llm.Message
		want string
	}{
		{[]llm.Message{{Role: "system", Parts: []llm.Part{{Text: "see"}, image("s")}}, message("assistant", "fine")}, "user see[s];assistant fine;"},
		{[]llm.Message{{Role: "system", Parts: []llm.Part{image("s"), {Text: "see"}}}, {Role: "user", Parts: []llm.Part{{Text: "a"}, image("u"), {Text: "b"}}}}, "user [s]see\n\na[u]b;"},
	} {
		parts, err := template.Render(t.Context(), &chat.Chat{Messages: c.chat})
		if got := strings.NewReplacer("«", "", "»", "").Replace(spelled(parts)); err != nil || got != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
}

// A model that reads text only, and messages of the assistant, have no pictures; and none is
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
	_, err = template.Render(t.Context(), &chat.Chat{Messages: []llm.Message{{Role: "assistant", Parts: []llm.Part{image("a")}}}})
	if err == nil || !strings.Contains(err.Error(), "writes no images in messages of the role assistant") {
		t.Error(err)
	}
	const none = "{% for m in messages %}{{ m['content'] | replace('<image>', '') }}{% endfor %}"
	if template, err = chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: none}}); err == nil {
		_, err = template.Pictures("<image>")
	}
	if err == nil || !strings.Contains(err.Error(), "cannot write a message with an image") {
		t.Errorf("a template that drops marks: %v", err)
	}
}
