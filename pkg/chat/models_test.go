package chat

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	data    = flag.String("data", "../../../shared/data", "directory with chat-templates")
	natures = flag.Bool("natures", false, "rewrite testdata/natures.json")
)

// published reads the templates of published models by the name of a case that uses each, or
// skips the test.
func published(t *testing.T) map[string]string {
	t.Helper()
	var cases []struct{ ID, Template string }
	texts := map[string]string{}
	for name, into := range map[string]any{"cases.json": &cases, "templates.json": &texts} {
		raw, err := os.ReadFile(filepath.Join(*data, "chat-templates", name))
		if os.IsNotExist(err) {
			t.Skipf("no chat templates in %s; -data names the directory", *data)
		}
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := map[string]string{}
	for _, c := range cases {
		name, _, _ := strings.Cut(c.ID, "#")
		list[name] = texts[c.Template]
	}
	return list
}

// What the templates of published models take. A change of this file is a change of what their
// users send to them.
func TestPublished(t *testing.T) {
	const file = "testdata/natures.json"
	got := map[string]string{}
	for name, text := range published(t) {
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil {
			got[name] = "refused: " + err.Error()
			continue
		}
		got[name] = template.calls.Family + "; " + template.nature.String()
	}
	if *natures {
		raw, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(raw, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for name, n := range got {
		if n != want[name] {
			t.Errorf("%s: %s, want %s", name, n, want[name])
		}
	}
	t.Logf("%d templates", len(got))
}

func (n nature) String() string {
	var list []string
	for word, is := range map[string]bool{"typed": n.typed, "system": n.system, "tools": n.tools, "null": n.nullContent, "text arguments": n.textArguments} {
		if is {
			list = append(list, word)
		}
	}
	return strings.Join(sorted(list), ", ") + fmt.Sprintf("; then %q", n.after)
}
