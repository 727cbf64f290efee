package repl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"glossa/pkg/terminal"
)

// A command is a row of the table of commands.
type command struct {
	name, arguments, summary string
	aliases                  []string
	run                      func(s *session, ctx context.Context, rest string) error
	complete                 func(s *session, ctx context.Context, word string) []terminal.Completion // of its arguments; nil: none
}

// commands returns the table.
func commands() []command {
	return []command{
		{name: "/help", summary: "show this list", run: (*session).help},
		{name: "/model", arguments: "[NAME]", summary: "continue with another model, or show the current one", run: (*session).switchModel, complete: (*session).completeModel},
		{name: "/models", summary: "list the models", run: func(s *session, ctx context.Context, _ string) error { return s.listModels(ctx) }},
		{name: "/system", arguments: "[TEXT]", summary: `set the system message, or show it; "" removes it`, run: (*session).setSystem},
		{name: "/params", arguments: "[k=v ...]", summary: "set parameters, or show them; k= unsets one", run: (*session).parameters, complete: (*session).completeParam},
		{name: "/save", arguments: "FILE", summary: "save the conversation as JSON", run: (*session).save, complete: (*session).completePath},
		{name: "/load", arguments: "FILE", summary: "continue a saved conversation", run: (*session).load, complete: (*session).completePath},
		{name: "/undo", summary: "forget the last question and its answer", run: (*session).undo},
		{name: "/retry", summary: "ask the last question again", run: (*session).retry},
		{name: "/clear", summary: "forget the conversation", aliases: []string{"/reset"}, run: (*session).clear},
		{name: "/image", arguments: "PATH", summary: "show the model an image", run: (*session).image, complete: (*session).completePath},
		{name: "/exit", summary: "leave, as Ctrl-D does", aliases: []string{"/quit"}, run: func(*session, context.Context, string) error { return errQuit }},
	}
}

// keysHelp follows the list of commands.
const keysHelp = `
Enter sends. Alt-Enter or a backslash at the end begins another line, as do lines between """ and """; pasted lines stay together. Tab completes commands, Ctrl-R searches earlier lines. Ctrl-C stops an answer; twice at the prompt, it leaves. What you type during an answer waits for the next prompt.`

// obey runs the command that text is. Errors of commands are notes: only those that end
// the conversation are returned.
func (s *session) obey(ctx context.Context, text string) error {
	name, rest, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), " ")
	if name == "/system" { // the only text that may have lines
		rest = strings.TrimPrefix(text, name)
	}
	var names []string
	for _, c := range commands() {
		for _, known := range append([]string{c.name}, c.aliases...) {
			if known == name {
				return c.run(s, ctx, strings.TrimSpace(rest))
			}
			names = append(names, known)
		}
	}
	if near := nearest(name, names); near != "" {
		s.note(fmt.Sprintf("there is no command %s: did you mean %s?", name, near))
		return nil
	}
	s.note(fmt.Sprintf("there is no command %s: /help lists the commands", name))
	return nil
}

func (s *session) help(context.Context, string) error {
	for _, c := range commands() {
		s.remark(fmt.Sprintf("%-18s %s", c.name+" "+c.arguments, c.summary))
	}
	s.remark(keysHelp)
	return nil
}

func (s *session) switchModel(ctx context.Context, name string) error {
	if name == "" {
		s.note(s.describe() + "; /models lists all")
		return nil
	}
	if err := s.open(ctx, name); err != nil {
		s.note(err.Error())
		return nil
	}
	s.note(s.describe())
	return nil
}

func (s *session) setSystem(_ context.Context, text string) error {
	switch {
	case text == "" && s.System == "":
		s.note("no system message: /system TEXT sets one")
	case text == "":
		s.note("system message: " + s.System)
	case text == `""`:
		s.System = ""
		s.note("no system message")
	default:
		s.System = text
		s.note("system message set; it applies from the next question")
	}
	return nil
}

func (s *session) parameters(_ context.Context, text string) error {
	if text == "" {
		s.showParams()
		return nil
	}
	if err := s.setParams(text); err != nil {
		s.note(err.Error())
	}
	return nil
}

func (s *session) undo(context.Context, string) error {
	if len(s.turns) == 0 {
		s.note("there is nothing to undo")
		return nil
	}
	last := s.turns[len(s.turns)-1]
	s.turns = s.turns[:len(s.turns)-1]
	s.note("forgotten: " + excerpt(last.question))
	return nil
}

func (s *session) retry(ctx context.Context, _ string) error {
	if len(s.turns) == 0 {
		s.note("there is nothing to retry")
		return nil
	}
	before := s.turns
	last := before[len(before)-1]
	s.turns = slices.Clone(before[:len(before)-1])
	s.note("again: " + excerpt(last.question))
	ok, err := s.answer(ctx, last.question)
	if !ok {
		s.turns = before
	}
	return err
}

func (s *session) clear(context.Context, string) error {
	s.turns = nil
	s.note("the conversation is forgotten")
	return nil
}

// image refuses: conversations here are text, which every model reads.
func (s *session) image(context.Context, string) error {
	s.note(fmt.Sprintf("%s takes text only, no images", s.model.Name))
	return nil
}

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	const most = 60
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most]) + "…"
}

// complete returns what can replace the last word of line, which a person is typing.
func (s *session) complete(ctx context.Context, line string) (list []terminal.Completion) {
	name, rest, arguments := strings.Cut(line, " ")
	if !strings.HasPrefix(line, "/") {
		return nil
	}
	for _, c := range commands() {
		switch {
		case !arguments && strings.HasPrefix(c.name, name):
			list = append(list, terminal.Completion{Text: c.name, Description: c.summary})
		case arguments && c.name == name && c.complete != nil:
			return c.complete(s, ctx, rest[strings.LastIndexByte(rest, ' ')+1:])
		}
	}
	return list
}

func (s *session) completeModel(ctx context.Context, word string) (list []terminal.Completion) {
	for _, name := range s.chatModels(ctx) {
		if strings.HasPrefix(name, word) {
			list = append(list, terminal.Completion{Text: name})
		}
	}
	return list
}

func (s *session) completeParam(_ context.Context, word string) (list []terminal.Completion) {
	for _, row := range params() {
		if strings.HasPrefix(row.name, word) {
			list = append(list, terminal.Completion{Text: row.name + "=", Description: row.about})
		}
	}
	return list
}

// completePath completes the name of a file. Names with spaces are not offered: a word ends
// there.
func (s *session) completePath(_ context.Context, word string) (list []terminal.Completion) {
	dir, prefix := filepath.Split(word)
	entries, err := os.ReadDir(filepath.Clean(expand(dir)))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" || strings.Contains(name, " ") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		list = append(list, terminal.Completion{Text: dir + name})
	}
	return list
}

// expand replaces ~ at the beginning of a path by the home directory.
func expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest) + strings.Repeat("/", min(1, len(rest)-len(strings.TrimSuffix(rest, "/"))))
}
