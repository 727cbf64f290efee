package jinja_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/jinja"
)

// execute compiles and executes a template with the variable "data", an untrusted string.
func execute(ctx context.Context, source string, l jinja.Limits) (jinja.Output, error) {
	template, err := jinja.Compile(source, jinja.Options{})
	if err != nil {
		return jinja.Output{}, err
	}
	return template.Execute(ctx, new(jinja.Dict).Set("data", jinja.String("some data")), l)
}

// faultOf returns the fault of an error.
func faultOf(err error) jinja.Fault {
	var e *jinja.Error
	if errors.As(err, &e) {
		return e.Fault
	}
	return 0
}

func TestBounds(t *testing.T) {
	grow := func(set string) string {
		return "{% set ns = namespace(x='ab', l=[1]) %}{% for i in range(100000) %}{% set " + set + " %}{% endfor %}"
	}
	for name, source := range map[string]string{
		"endless loops":         "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
		"recursion":             "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"recursion by default":  "{% macro f(x=f()) %}{% endmacro %}{{ f() }}",
		"recursion by caller":   "{% macro f() %}{% if no %}{{ caller() }}{% endif %}{% call f() %}{% endcall %}{% endmacro %}{{ f() }}",
		"recursive loop":        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"repeated string":       "{{ 'a' * 10**12 }}",
		"repeated list":         "{{ [1] * 10**12 }}",
		"huge repetition":       "{{ 'a' * 10**30 }}",
		"doubled string":        grow("ns.x = ns.x ~ ns.x"),
		"added string":          grow("ns.x = ns.x + ns.x"),
		"doubled list":          grow("ns.l = ns.l + ns.l"),
		"replaced string":       grow("ns.x = ns.x.replace('a', ns.x)"),
		"replaced nothing":      grow("ns.x = ns.x.replace('', 'abc')"),
		"joined string":         grow("ns.x = ns.x.join(ns.x)"),
		"nested list":           grow("ns.l = [ns.l, ns.l]") + "{{ ns.l }}",
		"compared nested list":  grow("ns.l = [ns.l]") + "{{ ns.l == [ns.l] }}",
		"nested generators":     strings.Replace(grow("ns.l = ns.l | map('string')"), "100000", "1000", 1) + "{{ ns.l | list }}",
		"namespace in itself":   "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
		"padding":               "{{ 'a'.center(10**12) }}",
		"indentation":           "{{ 'a' | indent(10**12, true) }}",
		"format width":          "{{ '%1000000000d' % 1 }}",
		"format precision":      "{{ '%.1000000000f' % 1 }}",
		"format star":           "{{ '%*d' % (10**12, 1) }}",
		"fill":                  "{{ [1] | batch(10**12, 0) | list }}",
		"slices":                "{{ [1] | slice(10**12) | list }}",
		"range":                 "{{ range(10**9) }}",
		"huge range":            "{{ range(10**30) }}",
		"power":                 "{{ 9 ** 99999 }}",
		"power of floats":       "{% for i in range(100000) %}{{ 1.0000001 ** 1024 }}{% endfor %}",
		"squares":               "{% set ns = namespace(x=3) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
		"output":                "{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
		"captured output":       "{% set x %}{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}{% endset %}",
		"scans of a long text":  "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{{ 'b' in x }}{% endfor %}",
		"searches":              "{% set x = 'a' * 1000000 %}{% for i in range(20000) %}{{ x.find('b') }}{% endfor %}",
		"hashes of a long text": "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{{ x in {'b': 1} }}{% endfor %}",
		"mixed spans":           "{% set x = (data * 10000) | join('x') %}{% for i in range(100000) %}{% set y = x[1:] %}{% endfor %}",
	} {
		_, err := execute(t.Context(), source, jinja.Limits{Steps: 500_000, Memory: 32 << 20})
		if faultOf(err) != jinja.Limit {
			t.Errorf("%s: got %v, want a limit", name, err)
		}
	}
}

// A caller's zero Value is undefined wherever it enters.
func TestZeroValue(t *testing.T) {
	var zero jinja.Value
	if _, ok := zero.AsString(); ok || zero.Kind() != jinja.KindUndefined {
		t.Errorf("got a string or kind %d, want undefined", zero.Kind())
	}
	if _, ok := zero.AsBool(); ok {
		t.Error("got a boolean, want undefined")
	}
	if _, ok := zero.AsList(); ok {
		t.Error("got a list, want undefined")
	}
	if _, ok := zero.AsDict(); ok {
		t.Error("got a dict, want undefined")
	}
	template, err := jinja.Compile("{% for v in [set, trusted] + items %}{{ v is undefined }}[{{ v }}]{% endfor %}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	vars := new(jinja.Dict).Set("set", zero).Set("trusted", jinja.Trust(zero)).Set("items", jinja.List(zero, jinja.Trust(jinja.List(zero))))
	out, err := template.Execute(t.Context(), vars, jinja.Limits{})
	if got, want := out.String(), "True[]True[]True[]False[[Undefined]]"; err != nil || got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestCompileBounds(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":    "{{ " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " }}",
		"lists":       "{{ " + strings.Repeat("[", 100000),
		"signs":       "{{ " + strings.Repeat("-", 100000) + "1 }}",
		"nots":        "{{ " + strings.Repeat("not ", 100000) + "1 }}",
		"sums":        "{{ 1" + strings.Repeat("+1", 100000) + " }}",
		"ors":         "{{ 1" + strings.Repeat(" or 1", 100000) + " }}",
		"attributes":  "{{ a" + strings.Repeat(".a", 100000) + " }}",
		"filters":     "{{ a" + strings.Repeat("|e", 100000) + " }}",
		"conditions":  "{{ 1" + strings.Repeat(" if 1 else 1", 50000) + " }}",
		"blocks":      strings.Repeat("{% if a %}", 50000),
		"targets":     "{% set " + strings.Repeat("(", 100000) + "a = 1 %}",
		"digits":      "{{ " + strings.Repeat("9", 100000) + " }}",
		"parameters":  "{% macro f(" + strings.Repeat("a,", 100000),
		"size":        strings.Repeat(" ", 2<<20),
		"not UTF-8":   "\xff",
		"unclosed":    strings.Repeat("{%- ", 100000),
		"raw":         "{% raw %}" + strings.Repeat("{%- ", 100000),
		"raw lines":   "{% raw %}" + strings.Repeat("{% ", 300000),
		"comment":     strings.Repeat("{#", 100000),
		"bare braces": strings.Repeat("{{", 100000),
	} {
		template, err := jinja.Compile(source, jinja.Options{})
		if err == nil {
			_, err = template.Execute(t.Context(), nil, jinja.Limits{})
		}
		if f := faultOf(err); f == 0 || len(err.Error()) > 300 {
			t.Errorf("%s: got %.300v, want a short error", name, err)
		}
	}
	if _, err := jinja.Compile("{{ 1"+strings.Repeat(" ~ 1", 10000)+" }}", jinja.Options{}); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for source, want := range map[string]string{
		"a\n  {{ x.y.z }}":                "template:2:7: 'x' is undefined",
		"{{ none.x.y }}":                  "template:1:10: 'None' has no attribute 'x'",
		"é{{ {}['k'].y }}":                "template:1:12: 'dict object' has no attribute 'k'",
		"{% include 'x' %}":               "template:1:4: {% include %} is not supported: a chat template is one file",
		"{% import 'x' as y %}":           "template:1:4: {% import %} is not supported: a chat template is one file",
		"{% extends 'x' %}":               "template:1:4: {% extends %} is not supported: a chat template is one file",
		"{{ x | urlencode }}":             "template:1:8: the filter 'urlencode' is not supported",
		"{{ 'a{}'.format(1) }}":           "template:1:9: str.format is not supported",
		"{% if x %}\n{% for y in x %}":    "template:2:4: the block for has no end; close it with {% endfor %}",
		"{{ [1, 2 }}":                     "template:1:10: unexpected '}', want ']'",
		"{{ a b }}":                       "template:1:6: unexpected 'b', want the end of the tag",
		"{{ }}":                           "template:1:4: unexpected the end of the tag, want an expression",
		"{% if x %}{% endfor %}":          "template:1:14: unknown statement 'endfor', want {% elif %} or {% else %} or {% endif %} or a statement",
		"{{ 'abc }}":                      "template:1:4: the string has no end",
		"{{ 1 ? 2 }}":                     "template:1:6: unexpected character '?'",
		"{{ [].append(1) }}":              "template:1:13: access to attribute 'append' of 'list' object is unsafe",
		"{{ raise_exception('no') }}":     "template:1:19: no",
		"{% set x.y = 1 %}":               "template:1:8: cannot assign attribute 'y': the object is not a namespace",
		"{{ 'x'.split(1, 2, 3) }}":        "template:1:13: str.split takes at most 2 arguments, got 3",
		"{{ [] | tojson(color=1) }}":      "template:1:9: tojson has no argument 'color'",
		"{{ 'x'.strip(1, 2) }}":           "template:1:13: str.strip takes 0 to 1 argument, got 2",
		"{{ [1] | map('string')|tojson }": "template:1:31: unexpected '}': no bracket is open",
	} {
		_, err := execute(t.Context(), source, jinja.Limits{})
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n  got  %v\n  want %s", source, err, want)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := execute(ctx, "x", jinja.Limits{})
	if faultOf(err) != jinja.Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// A context that ends during the execution is noticed.
	done := &countdown{Context: t.Context(), left: 3}
	_, err = execute(done, "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", jinja.Limits{})
	if faultOf(err) != jinja.Canceled {
		t.Errorf("got %v", err)
	}
}

// countdown is a context that ends after some questions.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestConcurrentExecutions(t *testing.T) {
	template, err := jinja.Compile("{% set c = cycler(1, 2) %}{% set ns = namespace(x='') %}{% macro m(a) %}<{{ a }}>{% endmacro %}"+
		"{% for i in range(50) %}{% set ns.x = ns.x ~ m(i) ~ c.next() %}{% endfor %}{{ ns.x }}{{ data }}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	vars := new(jinja.Dict).Set("data", jinja.String("d"))
	want, err := template.Execute(t.Context(), vars, jinja.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got, err := template.Execute(t.Context(), vars, jinja.Limits{}); err != nil || got.String() != want.String() {
					t.Errorf("got %v %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestDifferences lists what differs from Python on purpose.
func TestDifferences(t *testing.T) {
	for _, d := range []struct{ source, want, why string }{
		{"{{ 'a'.upper }}", "error", "Python prints the method's address"},
		{"{{ [1] | map('string') }}", "error", "Python prints the generator's address"},
		{"{{ 'a{}'.format(1) }}", "error", "chat templates do not use it, and its grammar is large"},
		{"{{ 1 .real }}", "error", "attributes of numbers other than filters are not implemented"},
		{"{{ {}.keys() < {}.keys() }}", "error", "views of dicts are compared for equality only"},
		{"{{ '\\N{DASH}' }}", "error", "names of characters would need a table"},
		{"{{ '<b>' | safe | upper }}", "<B>", "equal"},
		{"{{ (('<b>' | safe)[:] + '<') }}", "<b><", "a string marked safe loses the mark in slices and methods; Python escapes the second operand"},
		{"{% macro m() %}{{ data }}{% endmacro %}{{ m() }}{% set data = 1 %}", "some data",
			"Python's compiler hides the variable from the macro because the template sets it later"},
		{"{% for x in [1] %}{{ data }}{% endfor %}{% set data = 1 %}", "some data",
			"the same in loops, and in set, filter and with blocks"},
		{"{% macro m() %}{% endmacro %}{{ {m: 1} | length }}", "error", "macros, generators and loops cannot be keys; Python hashes their addresses"},
		{"{{ false[:] }}", "error", "Python folds the constant and gets an undefined value"},
		{"{{ strftime_now('%Y') is defined }}", "error", "without Limits.Now there is no clock"},
		{"{{ '{\"a\": 1}' | from_json }}", "{'a': 1}", "transformers lacks the filter, some templates of the hub use it"},
	} {
		out, err := execute(t.Context(), d.source, jinja.Limits{})
		got := out.String()
		if err != nil {
			got = "error"
		}
		if got != d.want {
			t.Errorf("%s: got %q (%v), want %q: %s", d.source, got, err, d.want, d.why)
		}
	}
}
