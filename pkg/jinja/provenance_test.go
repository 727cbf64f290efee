package jinja_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"glossa/pkg/jinja"
)

// marker is in every string of the data and in no template. It has no case and is no white space or digit.
const marker = "\u2603"

// marked returns JSON with the marker around each character of each string value, so that slices keep one, and the keys
// as they are.
func marked(v any) any {
	switch v := v.(type) {
	case string:
		var b strings.Builder
		for _, c := range v {
			b.WriteString(marker + string(c))
		}
		return b.String() + marker
	case []any:
		for i := range v {
			v[i] = marked(v[i])
		}
	case map[string]any:
		for k := range v {
			if k != "role" && k != "type" { // templates compare these
				v[k] = marked(v[k])
			}
		}
	}
	return v
}

// checkSpans checks that spans alternate, and that no trusted one has a marker.
func checkSpans(t *testing.T, name string, out jinja.Output) (untrusted int) {
	t.Helper()
	for i, s := range out.Spans {
		if s.Text == "" || i > 0 && out.Spans[i-1].Trusted == s.Trusted {
			t.Errorf("%s: span %d of %d is empty or like its neighbour", name, i, len(out.Spans))
		}
		if !s.Trusted {
			untrusted++
		} else if strings.Contains(s.Text, marker) {
			t.Errorf("%s: data in a trusted span: %.200q", name, s.Text)
		}
	}
	return untrusted
}

// TestMarkersStayUntrusted renders Python's own cases and the random ones with data full of markers.
func TestMarkersStayUntrusted(t *testing.T) {
	b, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Ctx   map[string]any
		Cases []struct{ Template string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	ctx, err := json.Marshal(marked(file.Ctx))
	if err != nil {
		t.Fatal(err)
	}
	vars, spans := variables(t, ctx), 0
	for _, c := range file.Cases {
		template, err := jinja.Compile(c.Template, jinja.Options{})
		if err != nil {
			continue
		}
		if out, err := template.Execute(t.Context(), vars, jinja.Limits{Now: goldenTime}); err == nil {
			spans += checkSpans(t, c.Template, out)
		}
	}
	if spans < 200 {
		t.Errorf("only %d untrusted spans: the test proves nothing", spans)
	}
}

func TestMarkersInChats(t *testing.T) {
	cases, templates := suite(t)
	spans := 0
	for _, c := range cases {
		var ctx map[string]any
		if err := json.Unmarshal(c.Ctx, &ctx); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(marked(ctx))
		if err != nil {
			t.Fatal(err)
		}
		template, err := jinja.Compile(templates[c.Template], jinja.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := template.Execute(t.Context(), variables(t, data), jinja.Limits{Now: suiteTime}); err == nil {
			spans += checkSpans(t, c.ID, out)
		}
	}
	t.Logf("%d untrusted spans", spans)
}

// TestOtherDataSameTemplate replaces data by data of the same shape: the trusted bytes stay.
func TestOtherDataSameTemplate(t *testing.T) {
	for _, source := range []string{
		"<|u|>{{ s }}<|e|>", "{{ s.upper() ~ '<|e|>' }}", "{{ [s, {'k': s}] | tojson(indent=2) }}", "{{ [s, (s,)] }}",
		"{{ '%-12s|%s' % (s, 'x') }}", "{{ s[::-1] + 'x' }}", "{{ (s ~ '|x|' ~ s).split('|') | join('<|>') }}",
		"{{ (s ~ 'a' ~ s).replace('a', '[' ~ s ~ ']') }}", "{% set b %}a{{ s }}b{% endset %}{{ b | trim | title }}",
		"{% macro m(x) %}<{{ x }}>{{ caller() }}{% endmacro %}{% call m(s) %}{{ s }}!{% endcall %}",
		"{% filter upper %}a{{ s }}b{{ s }}{% endfilter %}", "{{ n }}|{{ n + 1 }}|{{ '%05d' % n }}|{{ n * 2 }}|{{ f | round(1) }}",
		"{{ s | center(20) }}{{ s.ljust(9, '*') }}{{ s | indent(2, true) }}{{ s | truncate(3, true, '…', 0) }}",
		"{% for c in s %}{{ c }}-{% endfor %}{{ s | first }}{{ s | list }}{{ s | reverse }}", "{{ (s ~ '{}') | e }}",
		"{{ ('[\"' ~ s ~ '\", \"t\", 5]') | from_json | join('+') }}", "{{ dict([(s, 1)]) }}{{ {s: s} | tojson }}{{ {s: 1} | dictsort }}",
		"{{ s.partition('q') }}{{ ' '.join([s, 'a']) }}{{ s.zfill(9) }}{{ s.splitlines() }}{{ [s] | map('upper') | list }}",
	} {
		template, err := jinja.Compile(source, jinja.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var known []string
		for _, d := range []string{`{"s": "bcdf", "n": 3, "f": 2.34}`, `{"s": "ghjk", "n": 4, "f": 5.67}`} {
			out, err := template.Execute(t.Context(), variables(t, []byte(d)), jinja.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, s := range out.Spans {
				if s.Trusted {
					b.WriteString(s.Text + "\x00")
				}
			}
			known = append(known, b.String())
		}
		if known[0] != known[1] {
			t.Errorf("%s: trusted %q and %q", source, known[0], known[1])
		}
	}
}

func TestTrusted(t *testing.T) {
	template, err := jinja.Compile("{{ bos }}{{ d.k[0] }}{{ s }}{% generation %}{{ s }}!{% endgeneration %}", jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := jinja.FromJSON([]byte(`{"k": ["x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := template.Execute(t.Context(), new(jinja.Dict).Set("bos", jinja.Trusted("<s>")).Set("d", jinja.Trust(d)).Set("s", jinja.String("u\xff")), jinja.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []jinja.Span{{Text: "<s>x", Trusted: true}, {Text: "u\uFFFDu\uFFFD"}, {Text: "!", Trusted: true}}
	if len(out.Spans) != 3 || out.Spans[0] != want[0] || out.Spans[1] != want[1] || out.Spans[2] != want[2] {
		t.Errorf("got %v", out.Spans)
	}
	if len(out.Generated) != 1 || out.String()[out.Generated[0].Start:out.Generated[0].End] != "u\uFFFD!" {
		t.Errorf("generated %v", out.Generated)
	}
}

// TestSpans shows the spans of operations on "some data" between trusted text: {} encloses what is not trusted.
func TestSpans(t *testing.T) {
	for source, want := range map[string]string{
		"{{ ('ab' ~ data ~ 'cd')[1:] }}":                          "b{some data}cd",
		"{{ ('ab' ~ data ~ 'cd')[3:8] }}":                         "{ome d}",
		"{{ ('ab' ~ data ~ 'cd')[8:] }}":                          "{ata}cd",
		"{{ ('ab' ~ data ~ 'cd')[::-1] }}":                        "dc{atad emos}ba",
		"{{ ('ab' ~ data ~ 'cd')[::4] }}":                         "a{ma}d",
		"{{ (' ' ~ data ~ ' ') | trim }}":                         "{some data}",
		"{{ data.replace(' ', '-') }}":                            "{some}-{data}",
		"{{ 'x y'.replace(' ', data) }}":                          "x{some data}y",
		"{{ ('a' ~ data).split(' ') | join('+') }}":               "a{some}+{data}",
		"{{ ('a' ~ data ~ 'b').upper() }}":                        "A{SOME DATA}B",
		"{{ ('a' ~ data ~ 'b').title() }}":                        "A{some Data}b",
		"{{ [data, 1] | tojson }}":                                "[\"{some data}\", 1]",
		"{{ [data] }}":                                            "['{some data}']",
		"{{ '%s|%6.2s|%s' % (data, data, 'x') }}":                 "{some data}|    {so}|x",
		"{% set x %}<{{ data }}>{% endset %}{{ x * 2 }}":          "<{some data}><{some data}>",
		"{{ (data ~ '\n' ~ data) | indent(1, true) }}":            " {some data}\n {some data}",
		"{{ data.partition(' ') | list | join('|') }}":            "{some}|{ }|{data}",
		"{% for c in 'a' ~ data[:2] %}{{ c }}.{% endfor %}":       "a.{s}.{o}.",
		"{{ ('[1, \"' ~ data ~ '\"]') | from_json | join(',') }}": "1,{some data}",
	} {
		out, err := execute(t.Context(), source, jinja.Limits{})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got := ""
		for _, s := range out.Spans {
			if s.Trusted {
				got += s.Text
			} else {
				got += "{" + s.Text + "}"
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}
