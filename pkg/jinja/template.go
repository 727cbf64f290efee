package jinja

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Options configure Compile. The zero value works.
type Options struct {
	// Name stands in errors.
	Name string
	// MaxSource is the largest source in bytes; 0 means 1 MiB.
	MaxSource int
}

// Limits bound an execution. A zero field means its default.
type Limits struct {
	// Steps bounds the work: evaluated nodes, visited elements, and copied bytes at 64 a step. Default 10 million.
	Steps int
	// Output bounds the bytes of the result and of each captured block. Default 16 MiB.
	Output int
	// Memory bounds the bytes of all intermediate strings, lists and dicts together. Default 256 MiB.
	Memory int
	// Depth bounds nested calls of macros and the nesting of values. Default 200.
	Depth int
	// Now is the time that strftime_now formats, in the location that the caller wants. If it is the zero time,
	// strftime_now is undefined, and templates that ask for it fall back to a date of their own.
	Now time.Time
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Steps, 10_000_000}, {&l.Output, 16 << 20}, {&l.Memory, 256 << 20}, {&l.Depth, 200}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}

// A Template is a compiled template. Its methods may be called concurrently.
type Template struct {
	name    string
	source  string // normalised
	body    []stmt
	slots   map[string]int
	globals []Value // by slot; missing: not a global
	now     int     // slot of strftime_now, or -1
	names   Names
}

// A Span is a part of the output with one provenance.
type Span struct {
	Text string
	// Trusted says that the text was written by the template's author, or given as trusted by the caller.
	Trusted bool
}

// A Range is a part of the output: the bytes [Start, End).
type Range struct{ Start, End int }

// An Output is the result of an execution.
type Output struct {
	// Spans are the output in order. None is empty; neighbours differ in provenance.
	Spans []Span
	// Generated are the parts that {% generation %} blocks wrote, in order. A block inside of a macro, or of another
	// block whose text is captured, has no range.
	Generated []Range
}

// String returns the output's text.
func (o Output) String() string {
	if len(o.Spans) == 1 {
		return o.Spans[0].Text
	}
	var b strings.Builder
	for _, s := range o.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// recovered stores the failure of a panic as an error. Other panics are mistakes of this package and go on.
func recovered(err *error, name, source string) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.locate(name, source)
	default:
		panic(f)
	}
}

// Compile parses a template. Its error is an *Error with line and column.
func Compile(source string, o Options) (t *Template, err error) {
	most := o.MaxSource
	if most <= 0 {
		most = 1 << 20
	}
	if len(source) > most {
		return nil, &Error{Fault: Limit, Template: o.Name, Message: fmt.Sprintf("the template has %d bytes, more than the limit of %d", len(source), most)}
	}
	if !utf8.ValidString(source) {
		return nil, &Error{Fault: Syntax, Template: o.Name, Message: "the template is not valid UTF-8"}
	}
	source = normalise(source)
	defer recovered(&err, o.Name, source)
	l := &lexer{src: source}
	l.run()
	p := &parser{tokens: l.tokens, slots: map[string]int{}, loads: map[string]int{}, scan: newScanner()}
	body, _ := p.body(token{})
	t = &Template{name: o.Name, source: source, body: body, slots: p.slots, names: p.scan.names(), now: -1}
	t.globals = make([]Value, len(p.names))
	for i, name := range p.names {
		t.globals[i] = global(name)
		if name == "strftime_now" {
			t.now = i
		}
	}
	return t, nil
}

// Names returns the variables and attributes that the template mentions.
func (t *Template) Names() Names { return t.names }

// Execute renders the template with the variables. Its error is an *Error.
func (t *Template) Execute(ctx context.Context, vars *Dict, l Limits) (out Output, err error) {
	defer recovered(&err, t.name, t.source)
	r := &run{ctx: ctx, limits: l.withDefaults(), root: &builder{}, at: -1}
	r.out = r.root
	r.frame = &frame{root: make([]Value, len(t.globals))}
	copy(r.frame.root, t.globals)
	if t.now >= 0 && !l.Now.IsZero() {
		r.frame.root[t.now] = function(strftimeNow)
	}
	if vars != nil {
		for name, v := range vars.All() {
			if slot, ok := t.slots[name]; ok {
				r.frame.root[slot] = v
			}
		}
	}
	r.canceled()
	r.block(t.body)
	r.at = -1
	text := r.root.text()
	text.spans(func(s string, trusted bool) { out.Spans = append(out.Spans, Span{s, trusted}) })
	out.Generated = r.generated
	return out, nil
}
