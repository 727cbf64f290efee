package reasoning

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func think() *Marks { return &Marks{Open: "<think>", Close: "</think>"} }

// read pushes pieces and returns all that the reader emits.
func read(m *Marks, begin State, pieces ...string) (out Piece) {
	r := NewReader(m, begin)
	for _, piece := range pieces {
		p := r.Push(piece)
		out.Reasoning, out.Text = out.Reasoning+p.Reasoning, out.Text+p.Text
	}
	p := r.End()
	return Piece{out.Reasoning + p.Reasoning, out.Text + p.Text}
}

func TestReader(t *testing.T) {
	harmony := &families()[0]
	granite, _ := Detect("<think></think><response></response>")
	calling := granite
	calling.Calls = "<call>"
	labelled := calling
	labelled.Label = "Me:"
	for _, test := range []struct {
		marks           *Marks
		begin           State
		text            string
		reasoning, want string
	}{
		{think(), Before, "<think>\na b\n</think>\n\nc d\n", "a b", "c d\n"},
		{think(), Before, "\n <think>a</think>b", "a", "b"},
		{think(), Before, "\n a</think>", "", "\n a</think>"},
		{think(), Before, "<thin>", "", "<thin>"},
		{think(), Before, "<thi", "", "<thi"},
		{think(), Before, "", "", ""},
		{think(), Before, "<think></think>x", "", "x"},
		{think(), Before, "<think>a </thin", "a </thin", ""},
		{think(), Before, "<think>a </think", "a </think", ""},
		{think(), Before, "<think>\n\n", "", ""},
		{think(), Before, "a <think>b</think>", "", "a <think>b</think>"},
		{think(), Inside, "a </thi</think> b <think>c</think>", "a </thi", "b <think>c</think>"},
		{think(), Inside, "\n a", "a", ""},
		{think(), Between, "\n\na", "", "a"},
		{think(), Between, "\n\n", "", ""},
		{think(), Answer, "\n<think>a", "", "\n<think>a"},
		{harmony, Before, "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "a", "b"},
		{harmony, Before, "<|channel|>final<|message|>b", "", "b"},
		{harmony, Before, "<|channel|>commentary to=x", "", "<|channel|>commentary to=x"},
		{harmony, Before, "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=x", "a", "<|start|>assistant<|channel|>commentary to=x"},
		{harmony, Before, "<|channel|>analysis<|message|>a<|end|><|start|>assis", "a", "<|start|>assis"},
		{&granite, Before, "<think>a</think>\n<response> b </resp </response>\n", "a", "b </resp"},
		{&granite, Before, "<think>a</think><response>b\n</respon", "a", "b\n</respon"},
		{&granite, Before, "<think>a</think><response>b\n", "a", "b\n"},
		{&granite, Before, "<think>a</think>b</response>", "a", "b</response>"},
		{&granite, Before, "b</response>", "", "b</response>"},
		{&calling, Between, "\n<response>\nb\n</response>\n\n<call>1</response>", "", "b<call>1</response>"},
		{&calling, Between, "<response>b\n<call>1</response>", "", "b\n<call>1</response>"},
		{&labelled, Between, "<response>\nMe:b Me:\n</response>", "", "b Me:"},
		{&labelled, Between, "\nMe:b", "", "b"},
		{&labelled, Between, "<response>Mb</response>", "", "Mb"},
		{&labelled, Between, "<response>\nMe", "", "Me"},
		{&labelled, Before, "Me:b", "", "Me:b"},
		{&calling, Between, "<call>1</response>", "", "<call>1</response>"},
	} {
		want := Piece{test.reasoning, test.want}
		if got := read(test.marks, test.begin, test.text); got != want {
			t.Errorf("%q: got %q, want %q", test.text, got, want)
		}
		if got := read(test.marks, test.begin, strings.Split(test.text, "")...); got != want {
			t.Errorf("%q, in characters: got %q, want %q", test.text, got, want)
		}
	}
}

// Nothing is held back longer than a mark needs.
func TestStreams(t *testing.T) {
	r := NewReader(think(), Before)
	for _, step := range []struct {
		push string
		want Piece
	}{
		{"<think>", Piece{}}, {"\na", Piece{"a", ""}}, {" ", Piece{}}, {"b<", Piece{" b", ""}}, {"/", Piece{}}, {"x", Piece{"</x", ""}},
		{"</think>", Piece{}}, {"\n", Piece{}}, {"c ", Piece{"", "c "}}, {"<", Piece{"", "<"}},
	} {
		if got := r.Push(step.push); got != step.want {
			t.Errorf("%q: got %q, want %q", step.push, got, step.want)
		}
	}
}

func TestAfter(t *testing.T) {
	for prompt, want := range map[string]State{
		"": Before, "A:": Before, "A:<think>\n": Inside, "A:<think>": Inside, "A:<think>\n\n</think>\n\n": Between, "A:</think>": Between,
		"say <think> now\nA:": Before,
	} {
		if got := think().After(prompt); got != want {
			t.Errorf("%q: got %d, want %d", prompt, got, want)
		}
	}
}

func TestCloses(t *testing.T) {
	r := NewReader(think(), Inside)
	r.Push("a</thi")
	for text, want := range map[string]bool{"nk>": false, "nk>\n": false, "nk>x": true, "nk>\n{": true, "x": false, "</think>y": true} {
		if r.Closes(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	if r = NewReader(think(), Answer); r.Closes("</think>y") {
		t.Error("an answer has no mark")
	}
}

func TestStop(t *testing.T) {
	r := NewReader(think(), Before)
	r.Push(" <thi")
	if got := r.Stop(); got.Text != " <thi" || r.State() != Answer || r.Push("nk>").Text != "nk>" {
		t.Errorf("%q", got)
	}
}

func TestDetect(t *testing.T) {
	for template, want := range map[string]string{
		"{{ '<think>' }}": "<think>", "a.split('</think>')[-1]": "<think>", "[THINK]": "[THINK]", "<|channel>thought": "<|channel>thought",
		"<|START_THINKING|>": "<|START_THINKING|>", "◁think▷": "◁think▷", "<seed:think>": "<seed:think>", "<|channel|>analysis": "<|channel|>analysis<|message|>",
		"Write 'Here is my thought process:'": "Here is my thought process:", "think": "", "": "", "<|channel|>": "",
	} {
		if m, ok := Detect(template); m.Open != want || ok != (want != "") {
			t.Errorf("%q: got %+v, want %q", template, m, want)
		}
	}
	if m, _ := Detect("<think></think>"); m.Answer != "" {
		t.Errorf("%+v", m)
	}
	if m, _ := Detect("<think></think><|extra_4|>助手："); m.Label != "助手：" {
		t.Errorf("%+v", m)
	}
	if m, _ := Detect("<think>\n\n</think><|extra_4|>"); m.Label != "" || m.Answer != "<answer>" || m.Header != m.Answer || m.End != "</answer>" {
		t.Errorf("%+v", m)
	}
	if m, _ := Detect("<think></think><response></response>"); m.Answer != "<response>" {
		t.Errorf("%+v", m)
	}
}

// Of the templates of the shared data, those with marks are found, and only those.
func TestTemplates(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/data/chat-templates/templates.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the templates are not there: ../shared/data/chat-templates")
	}
	if err != nil {
		t.Fatal(err)
	}
	var templates map[string]string
	if err := json.Unmarshal(raw, &templates); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, text := range templates {
		if m, ok := Detect(text); ok {
			found[m.Open]++
		}
	}
	for open, want := range map[string]int{"<think>": 28, "[THINK]": 1, "<|START_THINKING|>": 4, "<|channel>thought": 2, "<seed:think>": 1, "<|channel|>analysis<|message|>": 1} {
		if found[open] != want {
			t.Errorf("%s: %d templates, want %d", open, found[open], want)
		}
	}
}

// However a text is cut, the reader emits the same, and loses only marks and white space.
func FuzzReader(f *testing.F) {
	f.Add("<think>a</think>b", 3, byte(0))
	f.Add("<|channel|>analysis<|message|>a<|end|>b", 9, byte(1))
	f.Fuzz(func(t *testing.T, text string, cut int, kind byte) {
		m := families()[int(kind)%len(families())]
		begin := State(kind / 16 % 4)
		whole := read(&m, begin, text)
		if cut < 0 || cut > len(text) {
			cut = len(text) / 2
		}
		if got := read(&m, begin, text[:cut], text[cut:]); got != whole {
			t.Fatalf("got %q, want %q", got, whole)
		}
		squeeze := func(s string) string {
			for _, mark := range []string{m.Open, m.Close, m.Answer, m.Direct} {
				if mark != "" {
					s = strings.ReplaceAll(s, mark, "")
				}
			}
			return strings.Join(strings.Fields(s), "")
		}
		if all := whole.Reasoning + whole.Text; len(squeeze(text)) > len(squeeze(all)) && !strings.ContainsAny(text, "<[◁|") {
			t.Fatalf("%q lost text of %q", all, text)
		}
	})
}
