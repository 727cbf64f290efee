package jinja

import (
	"strings"
	"unicode"
)

// longCases lists the characters whose upper or title case has more than one character, with both
// (Unicode's SpecialCasing.txt). The lower case of İ, the only such one, is in lower.
const longCases = `ß SS Ss
ŉ ʼN ʼN
ǰ J̌ J̌
ΐ Ϊ́ Ϊ́
ΰ Ϋ́ Ϋ́
և ԵՒ Եւ
ẖ H̱ H̱
ẗ T̈ T̈
ẘ W̊ W̊
ẙ Y̊ Y̊
ẚ Aʾ Aʾ
ὐ Υ̓ Υ̓
ὒ Υ̓̀ Υ̓̀
ὔ Υ̓́ Υ̓́
ὖ Υ̓͂ Υ̓͂
ᾀ ἈΙ ᾈ
ᾁ ἉΙ ᾉ
ᾂ ἊΙ ᾊ
ᾃ ἋΙ ᾋ
ᾄ ἌΙ ᾌ
ᾅ ἍΙ ᾍ
ᾆ ἎΙ ᾎ
ᾇ ἏΙ ᾏ
ᾈ ἈΙ ᾈ
ᾉ ἉΙ ᾉ
ᾊ ἊΙ ᾊ
ᾋ ἋΙ ᾋ
ᾌ ἌΙ ᾌ
ᾍ ἍΙ ᾍ
ᾎ ἎΙ ᾎ
ᾏ ἏΙ ᾏ
ᾐ ἨΙ ᾘ
ᾑ ἩΙ ᾙ
ᾒ ἪΙ ᾚ
ᾓ ἫΙ ᾛ
ᾔ ἬΙ ᾜ
ᾕ ἭΙ ᾝ
ᾖ ἮΙ ᾞ
ᾗ ἯΙ ᾟ
ᾘ ἨΙ ᾘ
ᾙ ἩΙ ᾙ
ᾚ ἪΙ ᾚ
ᾛ ἫΙ ᾛ
ᾜ ἬΙ ᾜ
ᾝ ἭΙ ᾝ
ᾞ ἮΙ ᾞ
ᾟ ἯΙ ᾟ
ᾠ ὨΙ ᾨ
ᾡ ὩΙ ᾩ
ᾢ ὪΙ ᾪ
ᾣ ὫΙ ᾫ
ᾤ ὬΙ ᾬ
ᾥ ὭΙ ᾭ
ᾦ ὮΙ ᾮ
ᾧ ὯΙ ᾯ
ᾨ ὨΙ ᾨ
ᾩ ὩΙ ᾩ
ᾪ ὪΙ ᾪ
ᾫ ὫΙ ᾫ
ᾬ ὬΙ ᾬ
ᾭ ὭΙ ᾭ
ᾮ ὮΙ ᾮ
ᾯ ὯΙ ᾯ
ᾲ ᾺΙ Ὰͅ
ᾳ ΑΙ ᾼ
ᾴ ΆΙ Άͅ
ᾶ Α͂ Α͂
ᾷ Α͂Ι ᾼ͂
ᾼ ΑΙ ᾼ
ῂ ῊΙ Ὴͅ
ῃ ΗΙ ῌ
ῄ ΉΙ Ήͅ
ῆ Η͂ Η͂
ῇ Η͂Ι ῌ͂
ῌ ΗΙ ῌ
ῒ Ϊ̀ Ϊ̀
ΐ Ϊ́ Ϊ́
ῖ Ι͂ Ι͂
ῗ Ϊ͂ Ϊ͂
ῢ Ϋ̀ Ϋ̀
ΰ Ϋ́ Ϋ́
ῤ Ρ̓ Ρ̓
ῦ Υ͂ Υ͂
ῧ Ϋ͂ Ϋ͂
ῲ ῺΙ Ὼͅ
ῳ ΩΙ ῼ
ῴ ΏΙ Ώͅ
ῶ Ω͂ Ω͂
ῷ Ω͂Ι ῼ͂
ῼ ΩΙ ῼ
ﬀ FF Ff
ﬁ FI Fi
ﬂ FL Fl
ﬃ FFI Ffi
ﬄ FFL Ffl
ﬅ ST St
ﬆ ST St
ﬓ ՄՆ Մն
ﬔ ՄԵ Մե
ﬕ ՄԻ Մի
ﬖ ՎՆ Վն
ﬗ ՄԽ Մխ
`

// longCase returns the upper or title case of a character of longCases.
func longCase(c rune, title bool) (string, bool) {
	if c < 0xdf || c > 0xdf && c < 0x149 || c > 0x587 && c < 0x1e96 || c > 0x1ffc && c < 0xfb00 || c > 0xfb17 {
		return "", false
	}
	for line := range strings.Lines(longCases) {
		if rest, ok := strings.CutPrefix(line, string(c)+" "); ok {
			upper, titled, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
			if title {
				return titled, true
			}
			return upper, true
		}
	}
	return "", false
}

// cases converts the characters of s with f, or to their long upper or title case.
func cases(s string, title bool, f func(rune) rune) string {
	if isASCII(s) {
		return strings.Map(f, s)
	}
	var b strings.Builder
	for _, c := range s {
		if long, ok := longCase(c, title); ok {
			b.WriteString(long)
			continue
		}
		b.WriteRune(f(c))
	}
	return b.String()
}

func upper(s string) string { return cases(s, false, unicode.ToUpper) }
func title(s string) string { return cases(s, true, unicode.ToTitle) }

// lower returns s in lower case. A Σ that ends a word becomes ς.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	before := false // a letter comes before
	for i, c := range s {
		switch {
		case c == 'Σ' && before && !letterNext(s[i+len("Σ"):]):
			b.WriteRune('ς')
		case c == 'İ':
			b.WriteString("i\u0307")
		default:
			b.WriteRune(unicode.ToLower(c))
		}
		if !ignorable(c) {
			before = isUpper(c) || isLower(c) || unicode.IsTitle(c)
		}
	}
	return b.String()
}

// ignorable reports whether the character does not separate words for the rule of Σ.
func ignorable(c rune) bool {
	return unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’", c)
}

func letterNext(s string) bool {
	for _, c := range s {
		if !ignorable(c) {
			return isUpper(c) || isLower(c) || unicode.IsTitle(c)
		}
	}
	return false
}

// firstRest splits off the first character.
func firstRest(s string) (string, string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// capitalize returns s with its first character in title case and the rest in lower case.
func capitalize(s string) string {
	first, rest := firstRest(s)
	return title(first) + lower(rest)
}

// titled is Python's str.title: a letter after a letter becomes lower, any other upper case.
func titled(s string) string {
	var b strings.Builder
	before := false
	for _, c := range s {
		if before {
			b.WriteString(lower(string(c)))
		} else {
			b.WriteString(title(string(c)))
		}
		before = isUpper(c) || isLower(c) || unicode.IsTitle(c)
	}
	return b.String()
}

func swapcase(s string) string {
	var b strings.Builder
	for _, c := range s {
		if isUpper(c) {
			b.WriteString(lower(string(c)))
		} else {
			b.WriteString(upper(string(c)))
		}
	}
	return b.String()
}

// recase applies a function that depends on neighbours: to the whole if the text has one provenance, otherwise to each
// character with the state that the whole gives it.
func recase(t text, f func(string) string) text {
	if len(t.cuts) == 0 {
		return text{s: f(t.s), trusted: t.trusted}
	}
	// The length of f of a prefix tells how far the prefix's characters reach, except that a final Σ may change, which
	// keeps its length.
	whole := f(t.s)
	var b builder
	from, at := 0, 0
	t.spans(func(s string, trusted bool) {
		at += len(s)
		to := min(len(f(t.s[:at])), len(whole))
		b.write(whole[from:max(to, from)], trusted)
		from = max(to, from)
	})
	return b.text()
}

// strCase returns the methods that change the case.
func strCase(name string) method {
	f := map[string]func(string) string{"lower": lower, "upper": upper, "title": titled, "capitalize": capitalize, "swapcase": swapcase}[name]
	return func(r *run, v Value, a *arguments) Value {
		r.only("str."+name, a, 0, 0)
		return textValue(r.recase(v.text(), f))
	}
}

// recase charges the work of recase, which reads a prefix for each span.
func (r *run) recase(t text, f func(string) string) text {
	r.alloc(3 * len(t.s))
	if len(t.cuts) > 0 {
		r.step((len(t.cuts) + 1) * (1 + len(t.s)/64))
	}
	return recase(t, f)
}
