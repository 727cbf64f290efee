package corpus

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every chat calls tools of its list with arguments of their types, all required ones among
// them, and strings and numbers stand in the request.
func TestToolChatsAreValid(t *testing.T) {
	seen := map[string]int{}
	for _, unseen := range []bool{false, true} {
		for _, c := range ToolChats(1, 4000, unseen) {
			if len(c.Calls) == 0 {
				seen[c.Answer]++
			}
			seen[[]string{"no calls", "one call", "two calls"}[len(c.Calls)]]++
			for _, call := range c.Calls {
				checkCall(t, &c, call)
			}
			if c.Ask == "" || c.Answer == "" || strings.Contains(c.Text(true), "\x00") {
				t.Errorf("unfinished: %q", c.Text(true))
			}
		}
	}
	for _, kind := range []string{"no calls", "one call", "two calls", "I have no tool for that.", "Hello! How can I help?"} {
		if seen[kind] < 100 {
			t.Errorf("%q: %d of 8000", kind, seen[kind])
		}
	}
}

func checkCall(t *testing.T, c *ToolChat, call ToolCall) {
	t.Helper()
	i := slices.IndexFunc(c.Tools, func(tool Tool) bool { return tool.Name == call.Name })
	if i < 0 {
		t.Fatalf("%s is not in the list:\n%s", call.Name, c.Text(true))
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		t.Fatalf("%v:\n%s", err, c.Text(true))
	}
	for _, p := range c.Tools[i].Parameters {
		raw, ok := args[p.Name]
		delete(args, p.Name)
		if !ok && p.Optional {
			continue
		}
		text := string(raw)
		var s string
		if p.Type == "string" && json.Unmarshal(raw, &s) == nil {
			text = s
		}
		if !ok || p.Type != "boolean" && !strings.Contains(c.Ask, text) || p.Enum != nil && !slices.Contains(p.Enum, text) {
			t.Errorf("%s: %s:\n%s", p.Name, raw, c.Text(true))
		}
	}
	if len(args) > 0 {
		t.Errorf("arguments without a parameter: %v:\n%s", args, c.Text(true))
	}
}

// Names that are kept for held-out chats are not in the training text.
func TestUnseenNamesAreUnseen(t *testing.T) {
	text := Tools(1, 500_000)
	g := toolsGrammar()
	for _, k := range toolKinds {
		if all := g.rules[k.rule+".name"]; all != nil {
			if last := all[len(all)-1][0].text; strings.Contains(text, "\n"+last+"(") {
				t.Errorf("%s: the training text has the tool %s", k.rule, last)
			}
		}
	}
	seen := 0
	for _, c := range ToolChats(1, 100, true) {
		for _, tool := range c.Tools {
			if !strings.Contains(text, "\n"+tool.Name+"(") {
				seen++
			}
		}
	}
	if seen < 80 {
		t.Errorf("%d tools have unseen names", seen)
	}
}

// Every rule of the grammar is used, and every tool has its rules.
func TestToolsGrammarIsWhole(t *testing.T) {
	g, used := toolsGrammar(), map[string]bool{"system": true, "verb": true, "thing": true}
	given := map[string]bool{"a": true, "b": true, "c": true, "r": true}
	visit := func(from string) {
		used[from] = true
		if g.rules[from] == nil {
			t.Errorf("there is no rule %q", from)
			return
		}
		if err := g.literals(from, given, func(rule, _ string) { used[rule] = true }); err != nil {
			t.Error(err)
		}
	}
	for _, rule := range []string{"hello.ask", "hello.say", "none.say", "system"} {
		visit(rule)
	}
	for _, k := range toolKinds {
		if k.rule != oddRule {
			visit(k.rule + ".name")
		}
		for _, part := range []string{".about", ".ask", ".say"} {
			visit(k.rule + part)
		}
		for i := range k.params {
			visit(k.rule + "." + slotName(i))
		}
	}
	for rule := range g.rules {
		if !used[rule] {
			t.Errorf("rule %q is never used", rule)
		}
	}
}

// The longest chats fit the model's context: a token is a character at least.
func TestToolChatsFitAContext(t *testing.T) {
	longest := 0
	for _, c := range ToolChats(5, 5000, false) {
		longest = max(longest, len([]rune(c.Text(true))))
	}
	if longest > 1400 {
		t.Errorf("a chat has %d characters", longest)
	}
}

// A change of the generator needs another training.
func TestToolsTextIsTheSameEverywhere(t *testing.T) {
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(Tools(1, 100_000))))[:16]; got != "3f44b7fb3d00fb4c" {
		t.Errorf("the first 100 kB of seed 1 hash to %s", got)
	}
}
