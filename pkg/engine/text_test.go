package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// verbatim is a decoder for tokens whose bytes the test provides.
type verbatim struct{}

func (verbatim) Next(int) string { return "" }
func (verbatim) Flush() string   { return "" }

// write pushes pieces until a stop string ends the row and returns its chunks.
func write(calls *toolcall.Syntax, stops []string, pieces ...string) (chunks []string, tokens string, stopped bool) {
	t := text{stops: stops, calls: calls, decoder: verbatim{}}
	note := func(out string, toks []llm.Token) {
		chunks = append(chunks, out)
		for _, tok := range toks {
			tokens += "<" + tok.Text + ">"
		}
	}
	for _, p := range pieces {
		out, toks, stop := t.push(p, llm.Token{Text: p})
		note(out, toks)
		if stop {
			return chunks, tokens, true
		}
	}
	note(t.flush())
	return chunks, tokens, false
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		name    string
		stops   []string
		pieces  []string
		chunks  string // joined by |
		tokens  string
		stopped bool
	}{
		{"plain", nil, []string{"a", "b"}, "a|b|", "<a><b>", false},
		{"inside a token", []string{"x"}, []string{"ab", "cxd"}, "ab|c", "<ab><cxd>", true},
		{"across tokens", []string{"stop"}, []string{"a s", "to", "p!"}, "a ||", "<a s>", true},
		{"begun and not ended", []string{"stop"}, []string{"a s", "to", "a"}, "a ||stoa|", "<a s><to><a>", false},
		{"begun at the end", []string{"stop"}, []string{"a s", "to"}, "a ||sto", "<a s><to>", false},
		{"overlapping beginnings", []string{"aab"}, []string{"a", "a", "a", "b"}, "||a|", "<a>", true},
		{"the earlier of two", []string{"d", "bc"}, []string{"a", "bcd"}, "a|", "<a>", true},
		{"a short one inside a long one", []string{"abc", "b"}, []string{"a", "b"}, "|a", "<a>", true},
		{"line feeds", []string{"\n\n"}, []string{"a\n", "b\n", "\n"}, "a|\nb|", "<a\n><b\n>", true},
		{"runes in pieces", nil, []string{"\xe2", "\x82", "\xac!"}, "||€!|", "<\xe2><\x82><\xac!>", false},
		{"a rune cut off", nil, []string{"a\xe2\x82"}, "a|\uFFFD", "<a\xe2\x82>", false},
		{"a stop of one rune in tokens", []string{"€"}, []string{"a", "\xe2", "\x82", "\xac"}, "a|||", "<a>", true},
		{"a stop that ends inside the tokens of a rune", []string{"b€"}, []string{"a", "b", "\xe2", "\x82", "\xac"}, "a||||", "<a>", true},
		{"a rune in tokens after a stop's beginning", []string{"bc"}, []string{"a", "b", "\xe2", "\x82", "\xac"}, "a||||b€|", "<a><b><\xe2><\x82><\xac>", false},
		{"tokens of a rune cut off", nil, []string{"a", "\xe2", "\x82"}, "a|||\uFFFD", "<a><\xe2><\x82>", false},
		{"a stop of runes in pieces", []string{"€"}, []string{"a\xe2", "\x82\xac"}, "a|", "<a\xe2>", true},
	} {
		chunks, tokens, stopped := write(nil, test.stops, test.pieces...)
		if got := strings.Join(chunks, "|"); got != test.chunks || tokens != test.tokens || stopped != test.stopped {
			t.Errorf("%s: %q %q %v, want %q %q %v", test.name, got, tokens, stopped, test.chunks, test.tokens, test.stopped)
		}
	}
}

// Stop strings end the text of an answer, not its calls, nor the text before calls because of
// the marks and the white space between them.
func TestTextWithCalls(t *testing.T) {
	hermes, lines, functionary := toolcall.Hermes(), toolcall.Lines(), toolcall.Functionary()
	const call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"stop\"}}\n</tool_call>"
	const line = `{"name": "f", "arguments": {"a": "stop"}}`
	for _, test := range []struct {
		name    string
		calls   *toolcall.Syntax
		stops   []string
		pieces  []string
		text    string
		stopped bool
	}{
		{"in a call", &hermes, []string{"stop", "\n", "{"}, []string{call}, call, false},
		{"in a call of pieces", &hermes, []string{"stop", "\n", "{", "<"}, strings.SplitAfter(call, ""), call, false},
		{"after a text", &hermes, []string{"\n", "<tool", "l>"}, strings.SplitAfter("So: \n\n"+call, ""), "So: \n\n" + call, false},
		{"after a text in one piece", &hermes, []string{"\n", "<tool", "l>"}, []string{"So: \n\n" + call}, "So: \n\n" + call, false},
		{"in the text", &hermes, []string{"o"}, []string{"So: " + call}, "S", true},
		{"white space in the text", &hermes, []string{"\n"}, strings.SplitAfter("So\nno.", ""), "So", true},
		{"white space at the end", &hermes, []string{"\n"}, []string{"So", "\n"}, "So", false},
		{"a beginning of a mark", &hermes, []string{"<t"}, strings.SplitAfter("a <table>", ""), "a ", true},
		{"a beginning of a mark at the end", &hermes, []string{"<t"}, []string{"a <t"}, "a ", false},
		{"lines", &lines, []string{"stop", "{"}, strings.SplitAfter(line, ""), line, false},
		{"messages", &functionary, []string{"a", ">", "\n"}, strings.SplitAfter(">>>fall\n{\"a\":1}>>>g\n{}", ""), ">>>fall\n{\"a\":1}>>>g\n{}", false},
		{"a text of messages", &functionary, []string{">", "a"}, strings.SplitAfter(">>>all\nSo > a", ""), ">>>all\nSo ", true},
		{"a text of messages in one piece", &functionary, []string{"l\nS", "So"}, []string{">>>all\nSo"}, ">>>all\n", true},
		{"a text of lines", &lines, []string{"{"}, strings.SplitAfter(`a {"name": "f"}`, ""), "a ", true},
	} {
		chunks, _, stopped := write(test.calls, test.stops, test.pieces...)
		if got := strings.Join(chunks, ""); got != test.text || stopped != test.stopped {
			t.Errorf("%s: %q %v, want %q %v", test.name, got, stopped, test.text, test.stopped)
		}
	}
}

// A row ends before the first stop string, however its text is divided into tokens.
func FuzzText(f *testing.F) {
	f.Add("hello world", "wo", "l", uint8(3))
	f.Add("ab\xe2\x82\xacc", "\u20ac", "c", uint8(1))
	f.Add("aaab", "aab", "b", uint8(1))
	f.Fuzz(func(t *testing.T, s, stop1, stop2 string, size uint8) {
		if stop1 == "" || stop2 == "" || !utf8.ValidString(stop1+stop2) {
			return // dialects send neither
		}
		var pieces []string
		for rest := s; rest != ""; {
			n := min(int(size%5)+1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		chunks, _, stopped := write(nil, []string{stop1, stop2}, pieces...)
		got := strings.Join(chunks, "")
		if strings.Contains(got, stop1) || strings.Contains(got, stop2) {
			t.Fatalf("%q has a stop string", got)
		}
		whole, _, _ := write(nil, nil, pieces...)
		all := strings.Join(whole, "")
		if !strings.HasPrefix(all, got) {
			t.Fatalf("%q does not begin %q", got, all)
		}
		if has := strings.Contains(all, stop1) || strings.Contains(all, stop2); stopped && !has || !has && got != all {
			t.Fatalf("%q of %q, stopped %v", got, all, stopped)
		}
	})
}
