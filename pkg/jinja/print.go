package jinja

import (
	"fmt"
	"strings"
	"unicode"
)

// str is Python's str.
func (r *run) str(v Value) text {
	switch v.kind {
	case KindString:
		return r.text(v)
	case KindUndefined:
		return text{trusted: true}
	case KindNone, KindBool, KindInt, KindFloat:
		if v.wide() {
			r.step(v.big().BitLen() / 4)
		}
		return text{s: scalar(v), trusted: v.trusted}
	}
	var b builder
	r.repr(&b, v)
	return b.text()
}

// scalar returns the printed form of none, a boolean or a number.
func scalar(v Value) string {
	switch v.kind {
	case KindNone:
		return "None"
	case KindBool:
		if v.num != 0 {
			return "True"
		}
		return "False"
	case KindInt:
		return formatInt(v)
	}
	return formatFloat(v.float())
}

// emit writes to a builder and charges the memory.
func (r *run) emit(b *builder, s string, trusted bool) {
	r.alloc(len(s))
	b.write(s, trusted)
}

// repr writes Python's repr. Quotes and brackets are trusted, contents keep their provenance.
func (r *run) repr(b *builder, v Value) {
	r.enter()
	defer r.leave()
	switch v.kind {
	case KindUndefined:
		r.emit(b, "Undefined", true)
	case KindNone, KindBool, KindInt, KindFloat:
		if v.wide() {
			r.step(v.big().BitLen() / 4)
		}
		r.emit(b, scalar(v), v.trusted)
	case KindString:
		if v.markup() {
			r.emit(b, "Markup(", true)
			defer r.emit(b, ")", true)
		}
		r.reprText(b, r.text(v))
	case KindList:
		r.reprItems(b, "[", v.items(), "]")
	case kindTuple:
		end := ")"
		if len(v.items()) == 1 {
			end = ",)"
		}
		r.reprItems(b, "(", v.items(), end)
	case KindDict:
		r.reprDict(b, v.dict())
	case kindNamespace:
		r.emit(b, "<Namespace ", true)
		r.reprDict(b, v.ref.(*namespace).attrs)
		r.emit(b, ">", true)
	case kindView:
		r.emit(b, v.typeName()+"(", true)
		r.reprItems(b, "[", r.collect(v), "])")
	case kindRange:
		of := v.ref.(*rangeOf)
		s := fmt.Sprintf("range(%d, %d", of.start, of.stop)
		if of.step != 1 {
			s += fmt.Sprintf(", %d", of.step)
		}
		r.emit(b, s+")", true)
	case kindMacro:
		r.emit(b, "<Macro "+pythonRepr(v.ref.(*macro).def.name)+">", true)
	case kindLoop:
		l := v.ref.(*loop)
		r.emit(b, fmt.Sprintf("<LoopContext %d/%d>", l.index+1, l.count(r)), true)
	default:
		r.fail(Type, "%s object cannot be printed: call it, or apply the filter list", quote(v.typeName()))
	}
}

func (r *run) reprItems(b *builder, open string, items []Value, end string) {
	r.emit(b, open, true)
	for i, item := range items {
		if i > 0 {
			r.emit(b, ", ", true)
		}
		r.repr(b, item)
	}
	r.emit(b, end, true)
}

func (r *run) reprDict(b *builder, d *Dict) {
	r.emit(b, "{", true)
	for i, e := range d.entries {
		if i > 0 {
			r.emit(b, ", ", true)
		}
		r.repr(b, e.key)
		r.emit(b, ": ", true)
		r.repr(b, e.value)
	}
	r.emit(b, "}", true)
}

func (r *run) reprText(b *builder, t text) {
	quote := reprQuote(t.s)
	r.emit(b, quote, true)
	t.spans(func(s string, trusted bool) { r.emit(b, reprEscape(s, quote), trusted) })
	r.emit(b, quote, true)
}

// reprQuote returns the quote that Python chooses for s.
func reprQuote(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"`
	}
	return "'"
}

// pythonRepr is Python's repr of a string.
func pythonRepr(s string) string {
	q := reprQuote(s)
	return q + reprEscape(s, q) + q
}

// reprEscape escapes the contents of a string for Python's repr.
func reprEscape(s, quote string) string {
	plain := true
	for _, c := range s {
		if c == '\\' || c == rune(quote[0]) || !unicode.IsPrint(c) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\\' || c == rune(quote[0]):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}

// escape replaces the characters that HTML reserves, as markupsafe does.
func escape(t text) text {
	return t.mapped(strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;").Replace)
}
