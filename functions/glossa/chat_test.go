package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The whole command with a newly trained model.
func TestChatCommand(t *testing.T) {
	root := t.TempDir()
	text := strings.Repeat("one two three four five.\n", 60)
	if _, _, err := trainTiny(t, t.Context(), text, "--text", "-", "--out", root+"/numbers", "--steps", "2"); err != nil {
		t.Fatal(err)
	}
	say := func(in string, args ...string) (string, string, int) {
		var out, notes bytes.Buffer
		args = append([]string{"chat", "--checkpoints", root, "--max-tokens", "3"}, args...)
		code := run(t.Context(), args, strings.NewReader(in), &out, &notes)
		return out.String(), notes.String(), code
	}
	out, notes, code := say("one\ntwo\n", "--interactive", "--temperature", "0", "numbers")
	if code != 0 || len(out) < 4 {
		t.Fatalf("status %d, %q, %q", code, out, notes)
	}
	if !strings.Contains(notes, "(numbers, context of 8 tokens: continues what you write") || strings.Count(notes, "(3 tokens, ") != 2 ||
		!strings.Contains(notes, "(1 oldest turn dropped: the context of 8 tokens is full)\n") {
		t.Errorf("notes %q", notes)
	}
	if again, _, _ := say("one\ntwo\n", "--interactive", "--temperature", "0", "numbers"); again != out {
		t.Errorf("greedy gave %q, then %q", out, again)
	}
	argument, notes, code := say("", "numbers", "one", "two", "--seed", "1", "--param", "temperature=2")
	if code != 0 || notes != "" || argument == "" {
		t.Errorf("status %d, %q, %q", code, argument, notes)
	}
	if piped, _, _ := say("one two\n", "--seed", "1", "--param", "temperature=2", "numbers"); piped != argument {
		t.Errorf("one seed gave %q for an argument, then %q for a pipe", argument, piped)
	}
	var answer struct{ Usage map[string]int }
	whole, _, code := say("one", "--json", "numbers")
	if err := json.Unmarshal([]byte(whole), &answer); err != nil || code != 0 || answer.Usage["completion_tokens"] != 3 {
		t.Errorf("status %d, %s, %v", code, whole, err)
	}
	for _, bad := range [][]string{
		{"--temperature", "NaN"}, {"--temperature", "3"}, {"--max-tokens", "0"}, {"--seed", "x"}, {"--param", "heat=1"}, {"--json", "--interactive"},
	} {
		if _, notes, code := say("", bad...); code != 2 || !strings.Contains(notes, "Run 'glossa chat --help' for usage.") {
			t.Errorf("%q: status %d, %q", bad, code, notes)
		}
	}
	if _, notes, code := say(" ", "numbers"); code != 2 || !strings.Contains(notes, "the prompt is empty") {
		t.Errorf("no prompt: status %d, %q", code, notes)
	}
	if _, notes, code := say("hi", "nobody"); code != 1 || !strings.Contains(notes, `no model "nobody"`) {
		t.Errorf("an unknown model: status %d, %q", code, notes)
	}
	if _, notes, code := say("hi", "phrases"); code != 1 || !strings.Contains(notes, "phrases translates: it cannot chat; use numbers, novels") {
		t.Errorf("a translator: status %d, %q", code, notes)
	}
}

func TestHistoryFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if got, want := historyFile(), filepath.Join(dir, "glossa", "chat_history"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	if got := historyFile(); got != "" && !filepath.IsAbs(got) {
		t.Errorf("%s is relative", got)
	}
	c := &chatOptions{noHistory: true}
	if c.complete([]string{"novels"}); c.History != "" {
		t.Errorf("%q", c.History)
	}
}
