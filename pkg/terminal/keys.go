package terminal

import (
	"strings"
	"unicode"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"
)

// options returns the editor's options, under readline's names.
func options() map[string]any {
	return map[string]any{
		"enable-bracketed-paste":  true,
		"cursor-position-probe":   false, // its answer would come among typed keys
		"cursor-emacs":            "default",
		"echo-control-characters": false,
		"bell-style":              "none",
		"completion-ignore-case":  true,
		"multiline-column":        false,
		"input-meta":              true, // UTF-8, whatever the .inputrc says
		"output-meta":             true,
		"convert-meta":            false,
	}
}

// extraKeys are bound unless the user's .inputrc binds them. Debian's /etc/inputrc has
// many of them, other systems have none.
var extraKeys = []struct{ keys, action string }{
	{"\x1b[3~", "delete-char"},
	{"\x1b[1~", "beginning-of-line"}, {"\x1b[4~", "end-of-line"},
	{"\x1b[7~", "beginning-of-line"}, {"\x1b[8~", "end-of-line"},
	{"\x1b[H", "beginning-of-line"}, {"\x1b[F", "end-of-line"},
	{"\x1bOH", "beginning-of-line"}, {"\x1bOF", "end-of-line"},
	{"\x1b[1;5C", "forward-word"}, {"\x1b[1;5D", "backward-word"}, // with Ctrl
	{"\x1b[1;3C", "forward-word"}, {"\x1b[1;3D", "backward-word"}, // with Alt
	{"\x1b[3;5~", "kill-word"},
	{"\x1b\x7f", "backward-kill-word"},
	{"\x1b[", "skip-csi-sequence"},                             // any other key
	{"\x1b\r", "insert-newline"}, {"\x1b\n", "insert-newline"}, // Alt-Enter
	{"\x1b[27;2;13~", "insert-newline"}, {"\x1b[13;2u", "insert-newline"}, // Shift-Enter, where a terminal tells it apart
}

// bind binds the extra keys, and completes the editor's handling of Unicode.
func (e *Editor) bind() {
	insert, abort := e.shell.Keymap.Commands()["self-insert"], e.shell.Keymap.Commands()["abort"]
	e.shell.Keymap.Register(map[string]func(){
		"insert-newline": func() { e.shell.Cursor().InsertAt('\n') },
		// The editor's own command is lost if another key follows at once.
		"abort": func() {
			if e.shell.Keymap.Local() != "" {
				abort() // of a search or a menu
				return
			}
			e.shell.Display.AcceptLine()
			e.shell.History.Accept(false, false, readline.ErrInterrupt)
		},
		// The editor's own command inserts the first rune of a character only.
		"self-insert": func() {
			keys := append([]rune(nil), e.shell.Keys.Caller()...)
			insert()
			if len(keys) > 1 && !unicode.IsControl(keys[0]) {
				e.shell.Cursor().InsertAt(keys[1:]...)
			}
		},
	})
	for _, keymap := range []string{"emacs", "vi-insert"} {
		binds := spelledOut(e.shell.Config.Binds[keymap])
		for _, arrow := range []string{"\x1b[", "\x1bO"} { // in several lines of input, first to the other line
			binds[arrow+"A"] = inputrc.Bind{Action: "up-line-or-history"}
			binds[arrow+"B"] = inputrc.Bind{Action: "down-line-or-history"}
		}
		for _, extra := range extraKeys {
			if _, ok := binds[extra.keys]; !ok {
				binds[extra.keys] = inputrc.Bind{Action: extra.action}
			}
		}
		e.shell.Config.Binds[keymap] = binds
	}
}

// spelledOut returns binds with Alt as the escape that terminals send. The editor stores
// some keys with the eighth bit instead, so that one key can have two binds.
func spelledOut(binds map[string]inputrc.Bind) map[string]inputrc.Bind {
	out := make(map[string]inputrc.Bind, len(binds))
	for keys, b := range binds {
		var spelled strings.Builder
		for _, r := range keys {
			if inputrc.IsMeta(r) {
				spelled.WriteRune(inputrc.Esc)
				r = inputrc.Demeta(r)
			}
			spelled.WriteRune(r)
		}
		alt := spelled.String() != keys
		if _, ok := out[spelled.String()]; ok && alt || alt && b.Action == "self-insert" {
			continue // the user's own spelling wins; text is not typed with Alt
		}
		out[spelled.String()] = b
	}
	return out
}
