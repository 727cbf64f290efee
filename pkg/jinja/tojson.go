package jinja

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"unicode/utf16"
)

// A jsonWriter writes JSON as Python's json.dumps. Punctuation is trusted, contents keep their provenance.
type jsonWriter struct {
	r         *run
	b         builder
	ascii     bool
	sorted    bool
	indented  bool
	indent    text
	item, key text // separators
	level     int
}

func filterToJSON(r *run, v Value, a *arguments) Value {
	args := r.bind("tojson", a, 0, "ensure_ascii", "indent", "separators", "sort_keys")
	w := &jsonWriter{r: r, item: trusted(", "), key: trusted(": ")}
	w.ascii = args[0].kind != kindMissing && r.truth(args[0])
	w.sorted = args[3].kind != kindMissing && r.truth(args[3])
	switch in := args[1]; {
	case in.kind == kindMissing || in.kind == KindNone:
	case in.kind == KindString:
		w.indented, w.indent, w.item = true, r.text(in), trusted(",")
	case (in.kind == KindInt || in.kind == KindBool) && in.int() <= 1000 && !in.wide():
		w.indented, w.indent, w.item = true, trusted(strings.Repeat(" ", int(max(in.int(), 0)))), trusted(",")
	default:
		r.fail(Type, "tojson: indent must be a small integer or a string")
	}
	if s := args[2]; s.kind != kindMissing && s.kind != KindNone {
		pair := r.collect(s)
		if len(pair) != 2 || pair[0].kind != KindString || pair[1].kind != KindString {
			r.fail(Type, "tojson: separators must be two strings")
		}
		w.item, w.key = r.text(pair[0]), r.text(pair[1])
	}
	w.value(v)
	return textValue(w.b.text())
}

func (w *jsonWriter) put(s string) { w.r.emit(&w.b, s, true) }

func (w *jsonWriter) value(v Value) {
	w.r.enter()
	defer w.r.leave()
	switch v.kind {
	case KindNone, KindBool, KindInt, KindFloat:
		w.r.emit(&w.b, jsonScalar(v), v.trusted)
	case KindString:
		w.text(w.r.text(v))
	case KindList, kindTuple:
		items := v.items()
		w.group("[", "]", len(items), func(i int) { w.value(items[i]) })
	case KindDict:
		entries := v.dict().entries
		if w.sorted {
			entries = w.sort(entries)
		}
		w.group("{", "}", len(entries), func(i int) {
			w.name(entries[i].key)
			w.r.alloc(len(w.key.s))
			w.b.writeText(w.key)
			w.value(entries[i].value)
		})
	default:
		hint := ""
		if v.kind == kindGenerator {
			hint = "; apply the filter list first"
		}
		w.r.fail(Type, "object of type %s is not JSON serializable%s", v.typeName(), hint)
	}
}

// group writes a list or an object of n elements.
func (w *jsonWriter) group(open, end string, n int, element func(i int)) {
	w.put(open)
	if n > 0 {
		w.level++
		for i := range n {
			if i > 0 {
				w.r.alloc(len(w.item.s))
				w.b.writeText(w.item)
			}
			w.line()
			element(i)
		}
		w.level--
		w.line()
	}
	w.put(end)
}

// line begins a line if the output is indented.
func (w *jsonWriter) line() {
	if !w.indented {
		return
	}
	w.put("\n")
	for range w.level {
		w.r.alloc(len(w.indent.s))
		w.b.writeText(w.indent)
	}
}

func (w *jsonWriter) sort(entries []entry) []entry {
	w.r.allocItems(2 * len(entries))
	out := append([]entry(nil), entries...)
	sort.SliceStable(out, func(i, j int) bool { return w.r.compare("<", out[i].key, out[j].key) })
	return out
}

// name writes a key.
func (w *jsonWriter) name(k Value) {
	switch k.kind {
	case KindString:
		w.text(k.text())
	case KindNone, KindBool, KindInt, KindFloat:
		w.put(`"`)
		w.r.emit(&w.b, jsonScalar(k), k.trusted)
		w.put(`"`)
	default:
		w.r.fail(Type, "keys must be strings, numbers, booleans or none, not %s", k.typeName())
	}
}

func jsonScalar(v Value) string {
	switch {
	case v.kind == KindNone:
		return "null"
	case v.kind == KindBool:
		return strings.ToLower(scalar(v))
	case v.kind == KindFloat && math.IsInf(v.float(), 1):
		return "Infinity"
	case v.kind == KindFloat && math.IsInf(v.float(), -1):
		return "-Infinity"
	case v.kind == KindFloat && math.IsNaN(v.float()):
		return "NaN"
	}
	return scalar(v)
}

func (w *jsonWriter) text(t text) {
	w.put(`"`)
	t.spans(func(s string, trusted bool) { w.r.emit(&w.b, w.escape(s), trusted) })
	w.put(`"`)
}

// escape escapes the contents of a string.
func (w *jsonWriter) escape(s string) string {
	special := func(c rune) bool {
		return c < ' ' || c == '"' || c == '\\' || w.ascii && c > '~'
	}
	first := strings.IndexFunc(s, special)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for _, c := range s[first:] {
		if !special(c) {
			b.WriteRune(c)
			continue
		}
		if i := strings.IndexRune("\"\\\n\r\t\b\f", c); i >= 0 && c < 0x80 {
			b.WriteByte('\\')
			b.WriteByte(`"\nrtbf`[i])
			continue
		}
		if c > 0xffff {
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}
