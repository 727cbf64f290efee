package automaton

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// matches holds texts that match and texts that do not, separated by spaces. "_" is the
// empty text.
var matches = []struct{ pattern, in, out string }{
	{``, `_ a é`, ``},
	{`a`, `a ba ab bab`, `_ b`},
	{`^a`, `a ab`, `_ ba`},
	{`a$`, `a ba`, `_ ab`},
	{`^$`, `_`, `a`},
	{`^`, `_ a`, ``},
	{`$`, `_ a`, ``},
	{`^a|b$`, `a ab cb b`, `c ba`},
	{`(^a)b`, `ab abc`, `cab b`},
	{`a^b`, ``, `ab a^b _`},
	{`a$b`, ``, `ab a$b`},
	{`(a|^)b`, `b ab cab bc`, `cb _ a`},
	{`a(b|$)`, `a ab ca cabd`, `ac _`},
	{`^^a$$`, `a`, `aa _`},
	{`(?:^|x)(a*)(?:$|y)`, `_ a aa xay ay xa x`, `ab bb`},
	{`($a)?b`, `b ab`, `_ a`},
	{`(^)*b`, `b ab`, `a`},
	{`(a$)+`, `a ba`, `ab`},
	{`(?:$)^`, `_`, `a`},
	{`($|a)($|b)($|c)`, `_ x a ab abc xabcx`, ``},
	{`^($|a)($|b)$`, `_ a ab`, `b abb`},
	{`a{2}`, `aa aaa`, `a _`},
	{`^a{2,3}$`, `aa aaa`, `a aaaa`},
	{`^a{2,}$`, `aa aaaaa`, `a`},
	{`^a{0}$`, `_`, `a`},
	{`^a{,2}$`, `a{,2}`, `a aa`},
	{`^a{b}{$`, `a{b}{`, `ab`},
	{`^x{1}{$`, `x{`, `x`},
	{`]}`, `]}`, `]`},
	{`^(a+?)(b*?)(c??)$`, `a aab abc`, `_ b`},
	{`^(?<name>a)(?:b)(c)$`, `abc`, `ab`},
	{`^(|a)$`, `_ a`, `aa`},
	{`^[]$`, ``, `_ a`},
	{`^[^]$`, "a é 😀 \n", `_ aa`},
	{`^[a-c-e]$`, `a b c - e`, `d`},
	{`^[-a]$`, `- a`, `b`},
	{`^[\w-.]$`, `a - .`, `,`},
	{`^[\d-x]$`, `5 - x`, `w`},
	{`^[^\d\s]$`, `a é`, "5 \n"},
	{`^[\b\-\]\\]$`, "\b - ] \\", `b`},
	{`^[\u00e0-\u00ff]+$`, `éè`, `e`},
	{`^\u{1F600}\uD83D\uDE00$`, `😀😀`, `😀`},
	{`^[\uD83D\uDE00-\uD83D\uDE02]$`, `😀 😁`, `😃 D`},
	{`^\uD83D$`, ``, "\uFFFD D"},
	{`^\x41\cJ\0\n\t\v\f\r$`, "A\n\x00\n\t\v\f\r", `A`},
	{`^\$\.\-\_\@\/\"\'\ \&$`, ``, `$`},
	{`^\$\.\-\_\@\/\"\'\&$`, `$.-_@/"'&`, `$`},
	{`^.$`, "a é 😀 \t \x00 \" \\", "\n \r \u2028 \u2029 _ aa"},
	{`^\w\W\d\D\s\S$`, "", "a"},
	{`^\w\W\d\D$`, "a-5x", "aé55 aé5x a-5৪"},
	{`^\s$`, "\t \n \v \f \r \u00a0 \u2003 \u2028 \u3000 \u1680", "a \u200b \u0085 \u180e \ufeff"},
	{`^\p{Lu}\p{Letter}\p{L}\P{L}$`, `Aaé5 ΑΒΓ-`, `aaa5`},
	{`^\p{Script=Greek}\p{sc=Latin}\p{Cyrillic}$`, `αaж`, `aaa`},
	{`^\p{digit}\p{gc=Nd}\p{General_Category=Number}$`, `4৪Ⅷ`, `44x`},
	{`^[\p{Alphabetic}\p{White_Space}]$`, `a é`, `5`},
	{`^[^\P{Lu}]\p{ASCII}\p{Any}\p{Uppercase}$`, `Aa😀Z`, `aa😀Z`},
	{"é", "é xéy", "e"},
	{`^((((a){1,2}){1,2}){1,2}){1,2}$`, `a aaaaaaaaaaaaaaaa`, `_ aaaaaaaaaaaaaaaaa`},
	{`^(a*)*$`, `_ aaa`, `b`},
	{`^(?:a?){3}$`, `_ a aaa`, `aaaa`},
	{`^(?:(?:ab){0,3}c){1,2}$`, `c abc abababc cc abcabababc`, `_ ababababc ccc`},
	{`\bfoo\b`, `foo -foo- a.foo.b`, `food afoo foo_ 1foo _`},
	{`\b`, `a -a a- €9€`, `_ - €-`},
	{`o\B`, `foo oo o€o-oo`, `o o- -o`},
	{`^\B-\B$`, `-`, `a -- _`},
	{`^(?:\b\w+\b-?)+$`, `a abc-d a-`, `-a a--b`},
	{`\b[0-9a-f]{2}\b`, `0a 0a-x x-0a`, `0ax x0a`},
	{`(?<=a)b`, `ab cab`, `b cb _`},
	{`(?<!a)b`, `b cb abb`, `ab _`},
	{`^(?<=a)b`, ``, `ab b`},
	{`(?<=^)b`, `b`, `ab`},
	{`(?<=^a*)b$`, `b ab aab`, `cb acb`},
	{`(?<=a.{2})b`, `a€éb`, `aéb xa😀b`},
	{`^[a-z-]+(?<!-)$`, `a a-b -a`, `a- - _`},
	{`(?<=(?<!a)b)c`, `bc cbc`, `abc c`},
	{`(?<=a(?=bc))b`, `abc`, `abd bc`},
	{`(?<!a(?=.c))b`, `b abd bc`, `abc`},
	{`(?<=a$)`, `a ba`, `ab _`},
	{`(?<=\n|")b`, "\nb \"b", `b nb \b`},
	{`(?<!\\)"`, `" a"`, `\" \a\"`},
	{`(?<=^|:)(?:a|b)(?=:|$)`, `a x:a a:x x:b:x`, `ab x:ab _`},
	{`^((?!ab).)*$`, `_ a ba acb`, `ab xab xabx`},
	{`^(?:a(?=b|$)|b)*$`, `_ a ab bab`, `aa aab`},
	{`^(?:(?<!a)a|b(?=b*$))*$`, `_ a b ab abb`, `aa aba`},
	{`(?=a)^b`, ``, `ab b a`},
	{`(?=a)^a`, `a ab`, `ba`},
	{`a(?=^)`, ``, `a aa`},
	{`^(?!^x\.|y\.).*`, `x y a.x`, `x.a y.`},
	{`(?!(^(\d{1,3}\.){3}\d{1,3}$|^xn--|-s3$))^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`, `abc 1.2.3 x1.2.3.4`, `1.2.3.4 xn--a ab-`},
	{`(?i)^aé€$`, `aé€ AÉ€ Aé€`, `bé€`},
	{`(?i)^k$`, "k K \u212A", `j`},
	{`(?i)^\w\W$`, "s- \u017F- \u212A€", "-- s\u017F"},
	{`(?i)^[a-f][^a-f]$`, `ag AG aG`, `gg ga gA`},
	{`(?i)^ßσ$`, `ßσ ẞΣ ßς`, `ssσ`},
	{"(?i)^\u1FD3\uFB05$", "\u0390\uFB06 \u1FD3\uFB05", "\u0390s"},
	{`(?i)^\p{Lu}[\p{Ll}][^\p{Lu}]$`, `aA1 Aa-`, `1A1 aaa aaA`},
	{`(?i)^\P{Lu}$`, `a A 1`, `_`},
	{`(?i)a\b`, `A ba -A-`, "A\u017F b"},
	{`^(?i:a)b$`, `ab Ab`, `aB AB`},
	{`^(?i)(?-i:a)b$`, `ab aB`, `Ab AB`},
	{`^a(?i)b(?-i)c$`, `abc aBc`, `Abc abC`},
	{`^(a(?i)b|c)d$`, `abd aBd cd Cd`, `Abd cD abD`},
	{`^(?=(?i)a)\w(?<=a)$`, `a`, `A b`},
	{`(?s)^.$`, "a \n \r \u2028", `ab _`},
	{`^(?s:.).$`, "\na ab", "a\n ab\n"},
	{`(?m)^a$`, "a b\na a\nb b\na\nb", `ab ba _`},
	{`(?m)a$\n^b`, "a\nb xa\nbx", "ab a\n\nb"},
	{`^(?m:^b)`, "b", "a\nb"},
	{`x(?im-s:^.a$)`, ``, "x"},
	{`(?mi-s)^a.$`, "AX b\nab\n", "a\n"},
}

// Texts that match in only one of the readings of ECMA-262 and Python's re are not in the
// automaton of a pattern, but in the loose one.
func TestReadings(t *testing.T) {
	for _, c := range []struct{ pattern, both, one, none string }{
		{`^.$`, "a", "\r \u2028 \u2029", "\n"},
		{`^\s$`, "\t \u00a0", "\ufeff \u0085 \x1c", "a"},
		{`^\S$`, "a", "\ufeff \u0085 \x1c", "\t"},
		{`^[^\s]$`, "a", "\ufeff \u0085", "\t"},
		{`^[^\S]$`, "\t", "\ufeff \u0085", "a"},
		{`^\d$`, "5", "৪", "a"},
		{`^\D$`, "a", "৪", "5"},
		{`^\w$`, "a _ 5", "é ৪", "- !"},
		{`^\W$`, "- !", "é ৪", "a _ 5"},
		{`^a$`, "a", "a\n", "b\n"},
		{`^a(?!$)`, "ab", "a\n", "a"},
		{`\bfoo\b`, "foo -foo-", "éfoo fooé ৪foo", "afoo"},
		{`^[éa]\b`, "a", "é", "b"},
		{`^(?:é|a|-)\B`, "-", "é", "a"},
		{`(?<!\w)b`, "b -b", "éb", "ab"},
		{`(?i)^i$`, "i I", "İ ı", "j"},
		{`(?i)^[^i]$`, "j", "İ ı", "i I"},
		{`(?i)^[h-j]$`, "i J", "İ ı", "k"},
		{`(?m)^a$`, "a b\na", "b\ra a\u2028b", "ab"},
		{`^(?!(?s:.*)(?m:^a$))`, "ab", "b\ra a\u2028b", "a b\na"},
	} {
		strict, err := Pattern(c.pattern)
		loose, err2 := LoosePattern(c.pattern)
		if err != nil || err2 != nil {
			t.Fatal(c.pattern, err, err2)
		}
		check(t, loose)
		for i, list := range []string{c.both, c.one, c.none} {
			for s := range strings.SplitSeq(list, " ") {
				if strict.Match(Quote(s)) != (i == 0) || loose.Match(Quote(s)) != (i < 2) {
					t.Errorf("%s on %q: %v, loosely %v", c.pattern, s, strict.Match(Quote(s)), loose.Match(Quote(s)))
				}
			}
		}
	}
}

func TestPattern(t *testing.T) {
	for _, c := range matches {
		d, err := Pattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		check(t, d)
		for i, list := range []string{c.in, c.out} {
			for _, s := range strings.Split(list, " ") {
				if s == "" {
					continue
				}
				if s == "_" {
					s = ""
				}
				if d.Match(Quote(s)) != (i == 0) {
					t.Errorf("%s on %q: not %v", c.pattern, s, i == 0)
				} else if i == 0 {
					checkContent(t, d, Quote(s))
				}
			}
		}
	}
}

// TestPatternForm has texts that match but are not in canonical form.
func TestPatternForm(t *testing.T) {
	d, err := Pattern(`^.[^b].?$`)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		`"aa"`: true, `"aa`: false, `aa`: false, `"aa""`: false, `"\"\\"`: true, `"\/a"`: false, `"/a"`: true, `"a\n"`: true,
		"\"a\n\"": false, `"a\u000a"`: false, `"\u0001\u001f"`: true, `"\u001Fa"`: false, `"\u0061a"`: false, `"ab"`: false,
		"\"\x7f\x7f\"": true, "\"\xed\xa0\x80a\"": false, `"\ud83d\ude00a"`: false, `"😀a"`: true, "\"\xc3a\"": false,
	} {
		if d.Match(s) != want {
			t.Errorf("%q: not %v", s, want)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a`: "unmatched (", `(?=a)*`: "nothing to repeat", `(?<=a`: "unmatched (", `(?<!a)+`: "nothing to repeat", `(?<`: "name",
		`(?i)*`: "nothing to repeat", `(?i`: "unknown kind of group", `(?ii)a`: "duplicate flag i", `(?i-i:a)`: "duplicate flag i", `(?-:a)`: "hyphen", `(?-)a`: "hyphen",
		`(?x)a`: "unknown kind of group", `(?)a`: "unknown kind of group", `(?i-m-s:a)`: "unknown kind of group", `\b*`: "nothing to repeat", `\B{2}`: "nothing to repeat",
		`(a)\1`: "back-reference", `(?<x>a)\k<x>`: "back-reference",
		`\p{Nothing}`: "not a supported category", `\pL`: "not a supported category", `\p{Other_Alphabetic}`: "not a supported category",
		`\p{Emoji}`: `character 10 of the pattern: \p{Emoji} is not a supported category, script or property`, `\p{sc=Grek}`: "not a supported category",
		`\P{scx=Greek}`: `\p{scx=Greek}: Script_Extensions is not supported, only Script`, `[\p{Script_Extensions=Greek}]`: "Script_Extensions is not supported",
		`\A`: "means nothing", `\Z`: "means nothing", `a**`: "nothing to repeat", `*`: "nothing to repeat", `{2}`: "nothing to repeat",
		`^*`: "nothing to repeat", `(?P<n>a)`: "unknown kind of group", `(?#x)a`: "unknown kind of group",
		`(?<>a)`: "name", `(?<1>a)`: "name", `(?<a`: "name", `(a`: "unmatched (", `a)`: "unmatched )", `[a`: "unmatched [",
		`[b-a]`: "from b down to a", `a{3,2}`: "at least 3", `\`: "unexpected end", `\x4`: "unexpected end", `\x4g`: "two hex",
		`\u{110000}`: "needs a code point", `\u{}`: "needs a code point", `\u12`: "unexpected end", `[\B]`: "means nothing",
		"\xff": "UTF-8", `\c1`: "means nothing", strings.Repeat("(", 300): "nested groups",
	} {
		if _, err := Pattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", pattern, err, want)
		}
	}
}

// In Python's re before 3.14, \B does not match the empty text.
func TestNoBoundaryInEmptyText(t *testing.T) {
	strict, err := Pattern(`\B`)
	loose, err2 := LoosePattern(`\B`)
	if err != nil || err2 != nil || strict.Match(`""`) || !loose.Match(`""`) || !strict.Match(`"-"`) {
		t.Error(err, err2)
	}
}

func TestPatternTooLarge(t *testing.T) {
	for _, pattern := range []string{`(a|b)*a(a|b){30}`, `((a{1000}){1000}){1000}`, `(?:){1000000000}a{1000000000}`, `^\p{L}{5000}$`,
		`(((((a*)*)*)*)*)*{2}`, `(a?){1000000000}`, `(\p{L}{100}){100}`, strings.Repeat(`[^a]?`, 3000) + `a`,
		`^((?!a.{20}b).)*$`, `(?<=a.{20})b`, `(?:(?=a)){1000000000}b`, `^(?=(?:.{7})*$)(?=(?:.{11})*$)(?=(?:.{13})*$)(?=(?:.{17})*$)`} {
		if d, err := Pattern(pattern); err == nil && len(d.States) > maxStates {
			t.Errorf("%s: %d states", pattern, len(d.States))
		}
	}
}

// A state holds at most one count of a bounded repetition, so the steps grow with the count
// and not with its square.
func TestRepetitionsAreRanked(t *testing.T) {
	for _, c := range []struct {
		pattern string
		loose   bool
		steps   int
	}{
		{`[ab:]{1,256}\.[ab()]{1,6}(?=x|$)`, false, 200_000},
		{`^(?:\S+\s+){0,199}\S+$`, true, 8_000_000},
		{`(?:[ab]{0,9}:){0,60}\.x`, false, 200_000},
	} {
		budget := NewBudget(t.Context())
		_, err := budget.pattern(c.pattern, c.loose)
		if steps, _ := budget.Spent(); err != nil || steps > c.steps {
			t.Errorf("%s: %d steps, %v", c.pattern, steps, err)
		}
	}
}

// alike reports whether a pattern means the same to Go's package regexp.
func alike(pattern string) bool {
	for _, c := range pattern {
		if c >= unicode.MaxASCII {
			return false
		}
	}
	return !regexp.MustCompile(`\\[^dDwWtnr.*+?()|\[\]{}^$/\-]|\[\]|\[\^\]|\(\?|\[[^\]]*\[|[*+?}]\+|\{,|\\[dDwW]-|-\\[dDwW]|\.`).MatchString(pattern)
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{`^a|b$`, `(a*)*b{2,3}?`, `[^a-f\d]+\w`, `a^b`, `(^|a)($|b)`, `\p{L}\u{41}`, `[\]-a]`, `x{`, `(?<a>b)`, `\`, `(?=`} {
		f.Add(s, "ab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		d, err := Pattern(pattern)
		if err != nil {
			return
		}
		check(t, d)
		want, err := regexp.Compile(pattern)
		if err != nil || !alike(pattern) {
			return
		}
		for _, s := range []string{text, "", "a", "ab", "ba", "a-1"} {
			s = strings.ToValidUTF8(s, "?")
			if d.Match(Quote(s)) != want.MatchString(s) {
				t.Errorf("%q on %q: %v", pattern, s, d.Match(Quote(s)))
			}
		}
	})
}
