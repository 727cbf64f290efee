package jinja_test

import (
	"encoding/json"
	"os"
	"testing"

	"glossa/pkg/jinja"
)

// small bounds a fuzzed execution.
var small = jinja.Limits{Steps: 50_000, Output: 1 << 20, Memory: 4 << 20, Depth: 50, Now: goldenTime}

// FuzzExecute compiles and executes arbitrary templates: no panic, bounded work, alternating spans.
func FuzzExecute(f *testing.F) {
	b, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		f.Fatal(err)
	}
	var file struct {
		Ctx   json.RawMessage
		Cases []struct{ Template string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		f.Fatal(err)
	}
	vars := variables(f, file.Ctx)
	for _, c := range file.Cases {
		f.Add(c.Template)
	}
	f.Fuzz(func(t *testing.T, source string) {
		template, err := jinja.Compile(source, jinja.Options{MaxSource: 1 << 14})
		if err != nil {
			if faultOf(err) == 0 {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		out, err := template.Execute(t.Context(), vars, small)
		if err != nil {
			if faultOf(err) == 0 {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		for i, s := range out.Spans {
			if s.Text == "" || i > 0 && s.Trusted == out.Spans[i-1].Trusted {
				t.Fatalf("span %d of %v", i, out.Spans)
			}
		}
		again, err := template.Execute(t.Context(), vars, small)
		if err != nil || again.String() != out.String() {
			t.Fatalf("a second execution gave %q %v, want %q", again.String(), err, out.String())
		}
	})
}

// FuzzFromJSON compares with encoding/json what is JSON, and writes what it read.
func FuzzFromJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.0,-0,1e5,"x\u00e9\ud83d\ude00\n",null,true,{}]}`, `[]`, `"\ud800"`, `01`, `[1,]`, `{"a":1,"a":2}`, "\"\xff\"", `1e999`, `-`} {
		f.Add([]byte(s))
	}
	template, err := jinja.Compile("{{ v | tojson }}", jinja.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jinja.FromJSON(data)
		if err != nil {
			if json.Valid(data) && len(data) < 400 {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
		out, err := template.Execute(t.Context(), new(jinja.Dict).Set("v", v), jinja.Limits{Depth: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := jinja.FromJSON([]byte(out.String())); err == nil {
			if twice, err := template.Execute(t.Context(), new(jinja.Dict).Set("v", again), jinja.Limits{Depth: 1000}); err != nil || twice.String() != out.String() {
				t.Fatalf("%q became %q, then %q", data, out.String(), twice.String())
			}
		}
	})
}

// largest returns the largest template of the suite that renders a conversation of ten turns with tools, and its variables.
func largest(b *testing.B) (string, *jinja.Dict) {
	_, templates := suite(b)
	tool := `{"type": "function", "function": {"name": "get_weather", "description": "Reports the weather", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "a city"}, "unit": {"type": "string", "enum": ["C", "F"]}}, "required": ["city"]}}}`
	turns := `{"role": "system", "content": "Be brief."}`
	for range 10 {
		turns += `, {"role": "user", "content": "What is the weather in Paris, and why?"}
, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "abcdefghi", "function": {"name": "get_weather", "arguments": {"city": "Paris", "unit": "C"}}}]}
, {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "{\"degrees\": 21}"}, {"role": "assistant", "content": "It has 21 degrees, since the sun shines."}`
	}
	vars := variables(b, []byte(`{"messages": [`+turns+`], "tools": [`+tool+`, `+tool+`], "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "documents": null}`))
	source := ""
	for _, s := range templates {
		if template, err := jinja.Compile(s, jinja.Options{}); err == nil && len(s) > len(source) {
			if _, err := template.Execute(b.Context(), vars, jinja.Limits{Now: suiteTime}); err == nil {
				source = s
			}
		}
	}
	return source, vars
}

func BenchmarkExecute(b *testing.B) {
	source, vars := largest(b)
	template, err := jinja.Compile(source, jinja.Options{})
	if err != nil {
		b.Fatal(err)
	}
	out, err := template.Execute(b.Context(), vars, jinja.Limits{Now: suiteTime})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(out.String())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := template.Execute(b.Context(), vars, jinja.Limits{Now: suiteTime}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	source, _ := largest(b)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jinja.Compile(source, jinja.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
