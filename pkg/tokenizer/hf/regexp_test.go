package hf

import (
	"strings"
	"testing"
)

// Syntax with another meaning in Oniguruma is rejected by name.
func TestPatternRefusals(t *testing.T) {
	for pattern, want := range map[string]string{
		``:                       "matches the empty text",
		`a*`:                     "matches the empty text",
		`a|b?`:                   "matches the empty text",
		`a{0,3}`:                 "matches the empty text",
		`a)`:                     "unmatched )",
		`(a`:                     "missing )",
		`(?!a)`:                  "group (?!a)",
		`(?<=a)b`:                "group (?<=a",
		`(?i)a`:                  "group (?i)a",
		`(?-i:a)`:                "group (?-i:",
		`(?i:é)`:                 "'é' in a group (?i:",
		`(?i:a|[xſ])`:            "'ſ' in a group (?i:",
		`(?i:Ⅷ)`:                 "'Ⅷ' in a group (?i:",
		"(?i:[a\u0345])":         "in a group (?i:",
		`(?i:[!-…])`:             "a range beyond ASCII in a group (?i:",
		`(?i:\p{Ll})`:            `\p{Ll} in a group (?i:`,
		`(?i:[^\p{L}])`:          `\p{L} in a group (?i:`,
		`(?i:'ss)`:               "ss in a group (?i:",
		`(?i:(?:x|S)(?:t|x))`:    "st in a group (?i:",
		`(?i:f{1}l)`:             "fl in a group (?i:",
		`(?i:a(?i:f)I)`:          "fi in a group (?i:",
		`(?i:(?:f)f)`:            "ff in a group (?i:",
		`(?P<n>a)`:               "group (?P<n",
		`a(b*)*c`:                "repetition of what matches the empty text",
		`(a|)+`:                  "repetition of what matches the empty text",
		`a++`:                    "repetition ++",
		`a*+b`:                   "repetition *+",
		`a{2}?`:                  "repetition {2}?",
		`a{2}{3}`:                "repetition {2}{",
		`a{,2}`:                  "repetition {,2}",
		`a{3,2}`:                 "repetition {3,2}",
		`a{1001}`:                "repetition {1001}",
		`a{2`:                    "missing }",
		`^a`:                     "'^'",
		`$`:                      "matches the empty text",
		`(?:a|$)+`:               "repetition of what matches the empty text",
		`\ba`:                    `escape \b`,
		`\w+`:                    `escape \w`,
		`(a)\1`:                  `escape \1`,
		`\Aa`:                    `escape \A`,
		`\x41`:                   `escape \x`,
		`\`:                      `\ at the end`,
		`\p{Alphabetic}`:         `\p{Alphabetic}`,
		`\p{^L}`:                 `\p{^L}`,
		`\p{Cn}`:                 `\p{Cn}`,
		`\pL`:                    `\pL`,
		`[[:alpha:]]`:            `in a class`,
		`[a[^b]]`:                `in a class`,
		`[a[b-[c]]]`:             `in a class`,
		`[a&&b]`:                 `in a class`,
		`[]a]`:                   `in a class`,
		`[a-b-c]`:                `- in the middle of a class`,
		`[\s-z]`:                 `a range between sets`,
		`[a`:                     `missing ]`,
		`[z-a]`:                  `invalid character class range`,
		"\xff":                   `broken UTF-8`,
		strings.Repeat("(", 100): `nested too deeply`,
	} {
		if _, err := compilePattern(pattern); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pattern") {
			t.Errorf("%s: want %q, got %v", pattern, want, err)
		}
	}
}

func TestPatternMatches(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		{`\s`, "a\u0085b\u00a0c\u2003d\u3000e\u200bf", "a|b|c|d|e\u200bf"},
		{`\S+`, " ab\u0085c\u3000d\u180e", " |\u0085|\u3000|"},
		{`[^\S\n]`, "a b\nc\td", "a|b\nc|d"},
		{`.b`, "ab\nb\u2028b", "|\nb|"},
		{`a|ab|abc`, "xabcx", "x|bcx"},
		{`(?:ab|a)+?b`, "ababb aab", "| |"},
		{`a{2,}`, "aaa a aa", "| a |"},
		{`[a\-z\]]`, "a-b]z", "||b||"},
		{`[-+.]`, "a-b+c.d", "a|b|c|d"},
		{`\p{Han}\P{L}`, "世!界x", "|界x"},
		{`\d\D`, "1x٣y23", "||23"},
		{`世{2}`, "世世世", "|世"},
		{`[^a]`, "\xffa\xfe", "|a|"},
		{` ?\$`, "a $b", "a|b"},
		{`[a[b.]c]`, "abcd.", "|||d|"},
		{`\[[^\]]]|}`, "[a][b]}]", "|||]"},
		{`[^\s\S]a|b|[^\p{L}\P{L}]`, "ab", "a|"},
		{`a+(?!\S)`, "aab aa b aaa", "aab | b |"},
		{`(?:a|b)*?c(?!\S)|a`, "abc abcx aac", "| |bcx |"},
		{`\s+$`, "a  \n b\t", "a|\n b|"},
		{`\s+$`, "a \n \n b \r\n", "a|\n b|"},
		{`a$`, "a\n ab a\r\n a\u2028 aa", "|\n ab a\r\n a\u2028 a|"},
		{`\n$`, "a\nb\n\n", "a\nb||"},
		{`a$\n|a(?:$|b)c?|$d`, "a\n abc ac d\nd a", "| | ac d\nd |"},
		{`a\s*?$|(?:b$)+`, "a  \n bb", "|\n b|"},
		{`[^\s]+$|\s`, "ab\ncd x", "||cd||"},
		{`(?i:s$)`, "S\ns ss", "|\ns s|"},
		{`(?i:k)x|(?i:'[s-t])S|k`, "\u212ax Kx kX 'ſS 'TS 'Ss k", "| | |X | | 'Ss |"},
		{`(?i:[^k\s])`, "k\u212aK ſa", "k\u212aK ||"},
		{`(?i:a(?:b|c)d)e`, "ABDe abdE aCdee", "| abdE |e"},
		{`(?i:'(?:[sdmt]|ll|ve|re))`, "I'LL we'Ve 'ſ 'ß 'lL'RE", "I| we| | 'ß ||"},
		{`(?i:s|t)s|(?i:s)t`, "ſs ss Ts ßs ſt ﬆ", "| | | ßs | ﬆ"},
		{`(?i:[!-~])`, "aK\u212aſé", "||||é"},
		{`(?i:(?:s|x)s)`, "ß Xſ SS", "ß | |"},
		{`(?i:s[s])`, "ß sſ", "ß |"},
		{`(?i:’s)`, "’S’ſ’x", "||’x"},
		{`(?i:a)\.(?i:b+)?`, "A.bB a.x B", "| |x B"},
		{`(?i:f.i|s\.s)`, "fai ﬁ S.s ß", "| ﬁ | ß"},
	} {
		find, err := compilePattern(c.pattern)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got := find.on(c.text).replaceAll(c.text, "|"); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{`[^\s\d]{2,4}|(?:e|é)+x?`, `\p{N}{1,3}`, `[-_.]|[\]\[]`, `(a|b*c)+?.`, `(?i:'s|[k-m])+é`, `[\x`, `\p{`} {
		f.Add(pattern, "ab 12é\xff")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 1000 {
			return
		}
		find, err := compilePattern(pattern)
		if err != nil {
			return
		}
		joined, i := "", 0
		for s := range find.on(text).spans(text, false) {
			if s.start != i || s.end <= s.start {
				t.Fatalf("%q in %q: span %+v after %d", pattern, text, s, i)
			}
			joined, i = joined+text[s.start:s.end], s.end
		}
		if joined != text {
			t.Fatalf("%q in %q: %q", pattern, text, joined)
		}
	})
}
