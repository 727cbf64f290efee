package jinja

import (
	"strings"
	"unicode/utf8"
)

// textFilter returns a filter that makes a string, or nil.
func textFilter(name string) filterFunc {
	switch name {
	case "capitalize":
		return filterCase(name, capitalize)
	case "lower":
		return filterCase(name, lower)
	case "upper":
		return filterCase(name, upper)
	case "title":
		return filterCase(name, titleWords)
	case "center":
		return filterCenter
	case "e", "escape", "forceescape":
		return filterEscape(name)
	case "format":
		return filterFormat
	case "indent":
		return filterIndent
	case "join":
		return filterJoin
	case "replace":
		return filterReplace
	case "safe":
		return filterSafe
	case "string":
		return filterString
	case "trim":
		return filterTrim
	case "truncate":
		return filterTruncate
	case "wordcount":
		return filterWordcount
	}
	return nil
}

// soft is Jinja's soft_str: a string marked by "safe" stays marked.
func (r *run) soft(v Value) Value {
	if v.kind == KindString {
		return v
	}
	return textValue(r.str(v))
}

func filterCase(name string, f func(string) string) filterFunc {
	return func(r *run, v Value, a *arguments) Value {
		r.only(name, a, 0, 0)
		return textValue(r.recase(r.str(v), f))
	}
}

// titleWords is the filter title: a word begins behind white space, -, (, {, [ and <.
func titleWords(s string) string {
	var b strings.Builder
	isBreak := func(c rune) bool { return isSpace(c) || strings.ContainsRune("-({[<", c) }
	for s != "" {
		n := strings.IndexFunc(s, isBreak)
		if n < 0 {
			n = len(s)
		}
		first, rest := firstRest(s[:n])
		b.WriteString(upper(first) + lower(rest))
		s = s[n:]
		gap := len(s) - len(strings.TrimLeftFunc(s, isBreak))
		b.WriteString(s[:gap])
		s = s[gap:]
	}
	return b.String()
}

func filterCenter(r *run, v Value, a *arguments) Value {
	args := r.bind("center", a, 0, "width")
	if args[0].kind == kindMissing {
		args[0] = integer(80)
	}
	return strPad("center")(r, r.soft(v), &arguments{pos: args[:1]})
}

func filterEscape(name string) filterFunc {
	return func(r *run, v Value, a *arguments) Value {
		r.only(name, a, 0, 0)
		if v.markup() && name != "forceescape" {
			return v
		}
		t := r.str(v)
		r.alloc(6 * len(t.s))
		return markupValue(escape(t))
	}
}

func filterSafe(r *run, v Value, a *arguments) Value {
	r.only("safe", a, 0, 0)
	return markupValue(r.str(v))
}

func filterString(r *run, v Value, a *arguments) Value {
	r.only("string", a, 0, 0)
	return r.soft(v)
}

func filterFormat(r *run, v Value, a *arguments) Value {
	args := tuple(a.pos)
	if len(a.named) > 0 {
		if len(a.pos) > 0 {
			r.fail(Type, "format takes positional or named arguments, not both")
		}
		d := &Dict{}
		for _, n := range a.named {
			d.put(Trusted(n.name), n.value)
		}
		args = Map(d)
	}
	return textValue(r.format(r.str(v), args))
}

func filterTrim(r *run, v Value, a *arguments) Value {
	chars := r.bind("trim", a, 0, "chars")[0]
	return textValue(r.strip(r.str(v), chars, true, true))
}

func filterReplace(r *run, v Value, a *arguments) Value {
	args := r.bind("replace", a, 2, "old", "new", "count")
	most := -1
	if !none(args[2]) {
		most = r.wantInt("replace", args[2])
	}
	return textValue(r.replace(r.str(v), r.str(args[0]), r.str(args[1]), most))
}

func filterJoin(r *run, v Value, a *arguments) Value {
	args := r.bind("join", a, 0, "d", "attribute")
	sep := text{trusted: true}
	if args[0].kind != kindMissing {
		sep = r.str(args[0])
	}
	var b builder
	path, first := r.path(args[1]), true
	r.each(v, func(item Value) bool {
		if !first {
			r.alloc(len(sep.s))
			b.writeText(sep)
		}
		first = false
		t := r.str(r.follow(item, path, missing))
		r.alloc(len(t.s))
		b.writeText(t)
		return true
	})
	return textValue(b.text())
}

func filterIndent(r *run, v Value, a *arguments) Value {
	args := r.bind("indent", a, 0, "width", "first", "blank")
	by := trusted("    ")
	switch w := args[0]; {
	case w.kind == KindString:
		by = r.text(w)
	case w.kind != kindMissing:
		by = r.repeat(Trusted(" "), integer(r.wantInt("indent", w))).text()
	}
	t := join(r.wantString("indent", v), trusted("\n"))
	blank, lines := r.flag(args[2]), r.lines(t, false)
	r.alloc(len(t.s))
	var b builder
	if r.flag(args[1]) {
		r.alloc(len(by.s))
		b.writeText(by)
	}
	for i, line := range lines {
		if i > 0 {
			b.write("\n", true)
			if line.str != "" || blank {
				r.alloc(len(by.s))
				b.writeText(by)
			}
		}
		b.writeText(r.text(line))
	}
	return textValue(b.text())
}

func filterTruncate(r *run, v Value, a *arguments) Value {
	args := r.bind("truncate", a, 0, "length", "killwords", "end", "leeway")
	length, leeway, end := 255, 5, trusted("...")
	if args[0].kind != kindMissing {
		length = r.wantInt("truncate", args[0])
	}
	if !none(args[3]) {
		leeway = r.wantInt("truncate", args[3])
	}
	if args[2].kind != kindMissing {
		end = r.wantString("truncate", args[2])
	}
	keep := length - utf8.RuneCountInString(end.s)
	if keep < 0 || leeway < 0 {
		r.fail(Type, "truncate: the length must be at least that of the end, and leeway not negative")
	}
	if r.length(v) <= length+leeway {
		return v
	}
	t := r.wantString("truncate", v)
	cut := skipRunes(t.s, 0, keep)
	if !r.flag(args[1]) {
		if i := strings.LastIndexByte(t.s[:cut], ' '); i >= 0 {
			cut = i
		}
	}
	r.alloc(cut + len(end.s))
	return textValue(join(t.slice(0, cut), end))
}

func filterWordcount(r *run, v Value, a *arguments) Value {
	r.only("wordcount", a, 0, 0)
	t := r.str(v)
	r.scan(t.s)
	n, inside := 0, false
	for _, c := range t.s {
		if isWord(c) && !inside {
			n++
		}
		inside = isWord(c)
	}
	return integer(n)
}
