package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stringMethod returns the method of strings with a name, or nil.
func stringMethod(name string) method {
	switch name {
	case "strip", "lstrip", "rstrip":
		return strStrip(name)
	case "split", "rsplit":
		return strSplit(name)
	case "startswith", "endswith":
		return strAffix(name)
	case "removeprefix", "removesuffix":
		return strRemove(name)
	case "partition", "rpartition":
		return strPartition(name)
	case "find", "rfind", "index", "rindex", "count":
		return strFind(name)
	case "center", "ljust", "rjust":
		return strPad(name)
	case "lower", "upper", "title", "capitalize", "swapcase":
		return strCase(name)
	case "isdigit", "isdecimal", "isalpha", "isalnum", "isspace", "isascii", "islower", "isupper", "istitle":
		return strIs(name)
	case "replace":
		return strReplace
	case "splitlines":
		return strSplitlines
	case "join":
		return strJoin
	case "zfill":
		return strZfill
	}
	return nil
}

// scan charges the work of reading a string.
func (r *run) scan(s string) { r.step(1 + len(s)/64) }

// wantString returns the text of a string argument.
func (r *run) wantString(what string, v Value) text {
	if v.kind != KindString {
		r.refuseUndefined(v)
		r.fail(Type, "%s wants a string, not %s", what, v.typeName())
	}
	return r.text(v)
}

// wantInt returns an integer argument.
func (r *run) wantInt(what string, v Value) int {
	if v.wide() {
		r.fail(Limit, "%s: the integer is too large", what)
	}
	if v.kind != KindInt && v.kind != KindBool {
		r.refuseUndefined(v)
		r.fail(Type, "%s wants an integer, not %s", what, v.typeName())
	}
	return int(v.int())
}

// text returns the text of a string and charges the copy of its provenance.
func (r *run) text(v Value) text {
	t := v.text()
	if len(t.cuts) > 0 {
		r.alloc(8 * len(t.cuts))
	}
	return t
}

// strip removes white space, or the characters of a set, from the ends.
func (r *run) strip(t text, set Value, left, right bool) text {
	r.scan(t.s)
	if set.kind == KindNone || set.kind == kindMissing {
		return t.trim(isSpace, left, right)
	}
	chars := r.wantString("strip", set).s
	r.step(len(chars))
	if len(chars) > 16 {
		members := map[rune]bool{}
		for _, c := range chars {
			members[c] = true
		}
		return t.trim(func(c rune) bool { return members[c] }, left, right)
	}
	return t.trim(func(c rune) bool { return strings.ContainsRune(chars, c) }, left, right)
}

func strStrip(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		args := r.only("str."+name, a, 0, 1)
		set := None()
		if len(args) == 1 {
			set = args[0]
		}
		return textValue(r.strip(r.text(v), set, name != "rstrip", name != "lstrip"))
	}
}

func strSplit(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		args := r.bind("str."+name, a, 0, "sep", "maxsplit")
		most := -1
		if args[1].kind != kindMissing {
			most = r.wantInt("str."+name, args[1])
		}
		if args[0].kind == kindMissing || args[0].kind == KindNone {
			return r.splitSpace(r.text(v), most, name == "rsplit")
		}
		sep := r.wantString("str."+name, args[0]).s
		if sep == "" {
			r.fail(Type, "empty separator")
		}
		return r.splitBy(r.text(v), sep, most, name == "rsplit")
	}
}

// splitBy splits at a separator, at most most times unless most is negative.
func (r *run) splitBy(t text, sep string, most int, fromRight bool) Value {
	r.scan(t.s)
	n := strings.Count(t.s, sep)
	if most >= 0 && most < n {
		n = most
	}
	r.allocItems(n + 1)
	if fromRight {
		return r.splitRight(t, sep, n)
	}
	items := make([]Value, 0, n+1)
	from, search := 0, 0
	for range n {
		i := search + strings.Index(t.s[search:], sep)
		items = append(items, textValue(t.slice(from, i)))
		from = i + len(sep)
		search = from
	}
	return list(append(items, textValue(t.slice(from, len(t.s)))))
}

// splitRight splits at the last separators, which may overlap differently than from the left.
func (r *run) splitRight(t text, sep string, most int) Value {
	var parts []Value
	end := len(t.s)
	for ; most > 0; most-- {
		i := strings.LastIndex(t.s[:end], sep)
		if i < 0 {
			break
		}
		parts = append(parts, textValue(t.slice(i+len(sep), end)))
		end = i
	}
	return list(reversed(append(parts, textValue(t.slice(0, end)))))
}

func reversed(items []Value) []Value {
	out := make([]Value, len(items))
	for i, v := range items {
		out[len(items)-1-i] = v
	}
	return out
}

// splitSpace splits at runs of white space.
func (r *run) splitSpace(t text, most int, fromRight bool) Value {
	r.scan(t.s)
	var items []Value
	add := func(from, to int) {
		r.allocItems(1)
		items = append(items, textValue(t.slice(from, to)))
	}
	if fromRight {
		end := len(strings.TrimRightFunc(t.s, isSpace))
		for end > 0 {
			i := strings.LastIndexFunc(t.s[:end], isSpace)
			if i < 0 || len(items) == most {
				add(0, end) // with the white space in front of the text, which Python keeps
				break
			}
			_, n := utf8.DecodeRuneInString(t.s[i:])
			add(i+n, end)
			end = len(strings.TrimRightFunc(t.s[:i], isSpace))
		}
		return list(reversed(items))
	}
	from := len(t.s) - len(strings.TrimLeftFunc(t.s, isSpace))
	for from < len(t.s) {
		n := strings.IndexFunc(t.s[from:], isSpace)
		if n < 0 || len(items) == most {
			add(from, len(t.s))
			break
		}
		add(from, from+n)
		from = len(t.s) - len(strings.TrimLeftFunc(t.s[from+n:], isSpace))
	}
	return list(items)
}

// lineEnd returns the length of the line end that s begins with, or 0.
func lineEnd(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	switch c {
	case '\r':
		if strings.HasPrefix(s, "\r\n") {
			return 2
		}
		return 1
	case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return n
	}
	return 0
}

// lines splits at line ends, of which it keeps none or all.
func (r *run) lines(t text, keep bool) []Value {
	r.scan(t.s)
	var items []Value
	from := 0
	for i, c := range t.s {
		if i < from || c > '\r' && c < 0x1c || c > 0x1e && c < 0x85 {
			continue
		}
		if n := lineEnd(t.s[i:]); n > 0 {
			to := i
			if keep {
				to += n
			}
			r.allocItems(1)
			items = append(items, textValue(t.slice(from, to)))
			from = i + n
		}
	}
	if from < len(t.s) {
		items = append(items, textValue(t.slice(from, len(t.s))))
	}
	return items
}

func strSplitlines(r *run, v Value, a *arguments) Value {
	args := r.bind("str.splitlines", a, 0, "keepends")
	return list(r.lines(r.text(v), args[0].kind != kindMissing && r.truth(args[0])))
}

// window returns the bytes of s between two character offsets given as the arguments start and end.
// The second result is false if start lies behind the end of s.
func (r *run) window(s string, args []Value) (from, to int, ok bool) {
	to = len(s)
	if len(args) == 0 {
		return 0, to, true
	}
	r.scan(s)
	n := utf8.RuneCountInString(s)
	index := func(v Value, def int) int {
		i := int(max(min(r.bound(v, int64(def)), 1<<40), -1<<40))
		if i < 0 {
			i = max(i+n, 0)
		}
		return i
	}
	start, end := index(args[0], 0), n
	if len(args) == 2 {
		end = min(index(args[1], n), n)
	}
	if start > end {
		return 0, 0, false
	}
	from = skipRunes(s, 0, start)
	return from, skipRunes(s, from, end-start), true
}

func strAffix(name string) method {
	has := strings.HasPrefix
	if name == "endswith" {
		has = strings.HasSuffix
	}
	return func(r *run, v Value, a *arguments) Value {
		args := r.only("str."+name, a, 1, 3)
		from, to, ok := r.window(v.str, args[1:])
		affixes := args[:1]
		if args[0].kind == kindTuple {
			affixes = args[0].items()
		}
		found := false
		for _, affix := range affixes {
			s := r.wantString("str."+name, affix).s
			r.step(1)
			found = found || ok && has(v.str[from:to], s)
		}
		return verdict(found)
	}
}

func strRemove(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		t, affix := r.text(v), r.wantString("str."+name, r.only("str."+name, a, 1, 1)[0]).s
		if name == "removeprefix" {
			return textValue(t.slice(len(t.s)-len(strings.TrimPrefix(t.s, affix)), len(t.s)))
		}
		return textValue(t.slice(0, len(strings.TrimSuffix(t.s, affix))))
	}
}

func strPartition(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		t, sep := r.text(v), r.wantString("str."+name, r.only("str."+name, a, 1, 1)[0]).s
		if sep == "" {
			r.fail(Type, "empty separator")
		}
		r.scan(t.s)
		r.allocItems(3)
		i, none := strings.Index(t.s, sep), Trusted("")
		if name == "rpartition" {
			i = strings.LastIndex(t.s, sep)
		}
		switch {
		case i >= 0:
			return tuple([]Value{textValue(t.slice(0, i)), textValue(t.slice(i, i+len(sep))), textValue(t.slice(i+len(sep), len(t.s)))})
		case name == "rpartition":
			return tuple([]Value{none, none, v})
		}
		return tuple([]Value{v, none, none})
	}
}

func strFind(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		args := r.only("str."+name, a, 1, 3)
		sub := r.wantString("str."+name, args[0]).s
		from, to, ok := r.window(v.str, args[1:])
		r.scan(v.str)
		at := -1
		switch part := v.str[from:to]; {
		case name == "count":
			if !ok {
				return integer(0)
			}
			return integer(strings.Count(part, sub))
		case !ok:
		case name[0] == 'r':
			at = strings.LastIndex(part, sub)
		default:
			at = strings.Index(part, sub)
		}
		if at < 0 {
			if strings.HasSuffix(name, "index") {
				r.fail(Type, "substring not found")
			}
			return integer(-1)
		}
		return integer(utf8.RuneCountInString(v.str[:from+at]))
	}
}

// replace replaces old by new, at most most times unless most is negative. What remains keeps its provenance.
func (r *run) replace(t, old, with text, most int) text {
	r.scan(t.s)
	n := strings.Count(t.s, old.s)
	if most >= 0 && most < n {
		n = most
	}
	if n == 0 {
		return t
	}
	if with.s != "" && n > r.limits.Memory/len(with.s) {
		r.fail(Limit, "the template needs more than %d bytes of memory", r.limits.Memory)
	}
	r.alloc(len(t.s) + n*len(with.s))
	r.step(n)
	var b builder
	from := 0
	for i := range n {
		at := from
		if old.s == "" {
			if i > 0 {
				_, w := utf8.DecodeRuneInString(t.s[from:])
				at += w
			}
		} else {
			at += strings.Index(t.s[from:], old.s)
		}
		b.writeText(t.slice(from, at))
		b.writeText(with)
		from = at + len(old.s)
	}
	b.writeText(t.slice(from, len(t.s)))
	return b.text()
}

func strReplace(r *run, v Value, a *arguments) Value {
	args := r.bind("str.replace", a, 2, "old", "new", "count")
	most := -1
	if args[2].kind != kindMissing {
		most = r.wantInt("str.replace", args[2])
	}
	return textValue(r.replace(r.text(v), r.wantString("str.replace", args[0]), r.wantString("str.replace", args[1]), most))
}

func strJoin(r *run, v Value, a *arguments) Value {
	var b builder
	sep, first := r.text(v), true
	r.each(r.only("str.join", a, 1, 1)[0], func(item Value) bool {
		t := r.wantString("str.join", item)
		if !first {
			r.alloc(len(sep.s))
			b.writeText(sep)
		}
		first = false
		r.alloc(len(t.s))
		b.writeText(t)
		return true
	})
	return textValue(b.text())
}

// pad returns t between left and right fill characters.
func (r *run) pad(t text, left, right int, fill text) text {
	for _, n := range []int{left, right} {
		if n > 0 && n > r.limits.Memory/len(fill.s) {
			r.fail(Limit, "the template needs more than %d bytes of memory", r.limits.Memory)
		}
	}
	left, right = max(left, 0), max(right, 0)
	r.alloc((left + right) * len(fill.s))
	var b builder
	b.write(strings.Repeat(fill.s, left), fill.trusted)
	b.writeText(t)
	b.write(strings.Repeat(fill.s, right), fill.trusted)
	return b.text()
}

func strPad(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		args := r.only("str."+name, a, 1, 2)
		width, fill := r.wantInt("str."+name, args[0]), trusted(" ")
		if len(args) == 2 {
			if fill = r.wantString("str."+name, args[1]); utf8.RuneCountInString(fill.s) != 1 {
				r.fail(Type, "str.%s wants one character to fill with", name)
			}
		}
		t := r.text(v)
		n := width - r.size(v)
		switch {
		case n <= 0:
			return v
		case name == "ljust":
			return textValue(r.pad(t, 0, n, fill))
		case name == "rjust":
			return textValue(r.pad(t, n, 0, fill))
		}
		left := n/2 + n&width&1 // CPython's rounding
		return textValue(r.pad(t, left, n-left, fill))
	}
}

func strZfill(r *run, v Value, a *arguments) Value {
	t, n := r.text(v), r.wantInt("str.zfill", r.only("str.zfill", a, 1, 1)[0])-r.size(v)
	if n <= 0 {
		return v
	}
	sign := 0
	if strings.HasPrefix(t.s, "-") || strings.HasPrefix(t.s, "+") {
		sign = 1
	}
	return textValue(join(t.slice(0, sign), r.pad(t.slice(sign, len(t.s)), n, 0, trusted("0"))))
}

// strIs returns the methods that classify all characters.
func strIs(name string) method {
	return func(r *run, v Value, a *arguments) Value {
		r.only("str."+name, a, 0, 0)
		r.scan(v.str)
		return verdict(classified(name, v.str))
	}
}

func classified(name, s string) bool {
	all := func(ok func(rune) bool) bool {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
	}
	// Python's isdigit also holds for digits that do not form decimal numbers, such as superscripts.
	digit := func(c rune) bool {
		return unicode.IsDigit(c) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", c) || c >= 0x2460 && c <= 0x2468
	}
	switch name {
	case "isdigit":
		return all(digit)
	case "isdecimal":
		return all(unicode.IsDigit)
	case "isalpha":
		return all(unicode.IsLetter)
	case "isalnum":
		return all(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) })
	case "isspace":
		return all(isSpace)
	case "isascii":
		return isASCII(s)
	case "istitle":
		return isTitle(s)
	}
	cased := false
	for _, c := range s {
		if unicode.IsTitle(c) || name == "islower" && isUpper(c) || name == "isupper" && isLower(c) {
			return false
		}
		cased = cased || isUpper(c) || isLower(c)
	}
	return cased
}

func isUpper(c rune) bool { return unicode.IsUpper(c) || unicode.Is(unicode.Other_Uppercase, c) }
func isLower(c rune) bool { return unicode.IsLower(c) || unicode.Is(unicode.Other_Lowercase, c) }

func isTitle(s string) bool {
	cased, inside := false, false
	for _, c := range s {
		switch {
		case isUpper(c) || unicode.IsTitle(c):
			if inside {
				return false
			}
			cased, inside = true, true
		case isLower(c):
			if !inside {
				return false
			}
			cased, inside = true, true
		default:
			inside = false
		}
	}
	return cased
}
