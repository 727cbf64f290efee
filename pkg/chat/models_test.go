package chat

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Update is for both packages of tests.
var Update = flag.Bool("update", false, "rewrite the golden files")

var (
	data = flag.String("data", "../../../shared/data", "directory with chat-templates")
)

// suite reads the cases and the texts of templates by their keys, or skips the test.
func suite(t *testing.T) (cases []suiteCase, texts map[string]string) {
	t.Helper()
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
	return cases, texts
}

// published returns the templates of published models by the name of a case that uses each.
func published(t *testing.T) map[string]string {
	t.Helper()
	cases, texts := suite(t)
	list := map[string]string{}
	for _, c := range cases {
		name, _, _ := strings.Cut(c.ID, "#")
		list[name] = texts[c.Template]
	}
	return list
}

// The table of README.md says what the templates of published models take. A change of it is a
// change of what their users send to them.
func TestPublished(t *testing.T) {
	rows := []string{}
	for name, text := range published(t) {
		named := map[string]string{DefaultTemplate: text}
		if strings.HasSuffix(name, "-tool_use") { // it stands beside a default, which writes chats without tools
			named = map[string]string{DefaultTemplate: "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", ToolsTemplate: text}
		}
		template, err := Compile(Source{Templates: named, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil {
			rows = append(rows, fmt.Sprintf("| %s | refused: %s | | | |", name, strings.TrimPrefix(err.Error(), "the chat template cannot write a message of a user: ")))
			continue
		}
		rows = append(rows, row(name, template))
	}
	slices.Sort(rows)
	const begin, end = "<!-- templates -->\n", "\n<!-- end of templates -->"
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("README.md has no place for the table")
	}
	table := "| template | system message | tools | calls | reasoning |\n|---|---|---|---|---|\n" + strings.Join(rows, "\n")
	want := before + begin + table + end + after
	if *Update {
		if err := os.WriteFile("README.md", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Errorf("README.md is out of date: go test ./pkg/chat -run TestPublished -update\n%s", table)
	}
}

// row describes a template.
func row(name string, t *Template) string {
	word := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	marks := "none"
	if m := t.Reasoning(); m != nil {
		marks = "`" + m.Open + "`"
	}
	n := &t.nature
	calls := t.calls.Family + word(n.tools && !n.calls, ", as text", "")
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", name, word(n.system, "yes", "in the user's"), word(n.tools, "yes", "listed by us"), calls, marks)
}
