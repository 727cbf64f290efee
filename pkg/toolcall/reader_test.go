package toolcall_test

import (
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/toolcall"
)

// written is the parameters that tagged syntaxes write as they are.
func written(_, parameter string) bool { return parameter == "city" || parameter == "s" }

// read pushes the pieces of an answer and returns its text and its calls.
func read(t *testing.T, s *toolcall.Syntax, pieces ...string) string {
	t.Helper()
	r := toolcall.NewReader(s, written)
	var text strings.Builder
	var calls []toolcall.Call
	for i, piece := range pieces {
		p := r.Push(piece, i == len(pieces)-1)
		text.WriteString(p.Text)
		for _, c := range p.Calls {
			switch {
			case c.Index == len(calls) && c.Name != "":
				calls = append(calls, c)
			case c.Index == len(calls)-1 && c.Name == "" && c.Arguments != "":
				calls[c.Index].Arguments += c.Arguments
			default:
				t.Fatalf("%q: after %d calls a piece is %+v", pieces, len(calls), c)
			}
		}
	}
	out := text.String()
	for _, c := range calls {
		out += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
	}
	return out
}

func family(t *testing.T, name string) *toolcall.Syntax {
	t.Helper()
	for _, s := range toolcall.Families() {
		if s.Family == name {
			return &s
		}
	}
	t.Fatalf("there is no family %q", name)
	return nil
}

var answers = []struct{ family, answer, want string }{
	{"lines", `{"name": "f", "arguments": {}}`, "[f {}]"},
	{"lines", `{"name": "f", "arguments": {"a":[1,{"b":"}]\"\\"}]}}` + "\n" + `{"name": "g-2_Z", "arguments": {"é":"\u00e9"}}`, `[f {"a":[1,{"b":"}]\"\\"}]}][g-2_Z {"é":"\u00e9"}]`},
	{"llama3", `{"name": "f", "parameters": {"a":"{"}}; {"name": "f", "parameters": {}}`, `[f {"a":"{"}][f {}]`},
	{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>", `[f {"a":1}]`},
	{"hermes", "Let me see.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>", "Let me see.[f {}][g {}]"},
	{"mistral", `[TOOL_CALLS] [{"name": "f", "arguments": {"a":[]}}, {"name": "g", "arguments": {}}]`, `[f {"a":[]}][g {}]`},
	{"mistral-args", `One moment [TOOL_CALLS]f[ARGS]{"a":"[TOOL_CALLS]"}[TOOL_CALLS]g[ARGS]{}`, `One moment[f {"a":"[TOOL_CALLS]"}][g {}]`},
	{"phi4", `<|tool_call|>[{"name": "f", "arguments": {}}]<|/tool_call|>`, "[f {}]"},
	{"granite", `<tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"x":null}}]`, `[f {}][g {"x":null}]`},
	{"command-r", `<|START_ACTION|>[{"tool_name": "f", "parameters": {}}]<|END_ACTION|>`, "[f {}]"},
	{"deepseek", "é<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `é[f {"a":1}][g {}]`},
	{"qwen-coder", "<tool_call>\n<function=f>\n<parameter=city>\nNew \"Yörk\"\n\n</parameter>\n<parameter=n>\n[1,\"a\"]\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>", `[f {"city":"New \"Yörk\"\n","n":[1,"a"]}][g {}]`},
	{"glm", "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value></arg_value>\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", `[f {"city":"","n":2}]`},
	{"dsml", "So:\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"true\">\" string=\"false\">\n</｜DSML｜parameter>\n<｜DSML｜parameter name=\"s\" string=\"false\">[\"\\\" string=\\\"true\\\">\"]</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `So:[f {"a":"\" string=\"false\">\n","s":["\" string=\"true\">"]}][g {}]`},
	{"dsml-4", "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"n\" string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>", `[f {"n":2}]`},
	{"lfm2", `<|tool_call_start|>[f(s="a\"b, c)", n=-1.5e3, ok=True, none=None, list=[True, {"k": False}]), g()]<|tool_call_end|>`, `[f {"s":"a\"b, c)","n":-1.5e3,"ok":true,"none":null,"list":[true, {"k": false}]}][g {}]`},
	{"lfm2", `<|tool_call_start|>[f(s='a"b\'c\n')]<|tool_call_end|>`, `[f {"s":"a\"b'c\n"}]`},
	{"hunyuan", `Hm. <tool_calls>[{"name": "f", "arguments": {"a":"]</tool_calls>"}}, {"name": "g", "arguments": {}}]</tool_calls>`, `Hm.[f {"a":"]</tool_calls>"}][g {}]`},
	{"ernie", "So:\n\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n\n<tool_call>\n{\"name\": \"g\", \"arguments\": {\"a\":1}}\n</tool_call>\n", `So:[f {}][g {"a":1}]`},
	{"olmo3", "<function_calls>f(n=1)\ng()</function_calls>", `[f {"n":1}][g {}]`},

	{"gemma4", `So: <|tool_call>call:f{city:<|"|>New "Yörk"\n{,}:<|"|>,deep:{a b:[1,<|"|>x<|"|>,{},[],None],k:{z:true}},n:-1.5e3}<tool_call|><|tool_call>call:g{}<tool_call|>`, `So:[f {"city":"New \"Yörk\"\\n{,}:","deep":{"a b":[1,"x",{},[],null],"k":{"z":true}},"n":-1.5e3}][g {}]`},
	{"gemma4", `<|tool_call>call:f{s:<|"|>}<tool_call|><|"x<<|"|>,t:<|"|><|"|>,u:{<|"|>k:,<|"|>:null}}<tool_call|>`, `[f {"s":"}<tool_call|><|\"x<","t":"","u":{"k:,":null}}]`},
	{"deepseek-r1", "é<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\":\"```\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "é[f {\"a\":\"```\"}][g {}]"},
	{"minicpm3", "<|tool_call_start|>\n```python\nf(s=\"a)\",n=1)\ng()\n```\n<|tool_call_end|>", `[f {"s":"a)","n":1}][g {}]`},
	{"hammer", "[\n    {\"name\": \"f\", \"arguments\": {\"a\":1}},\n    {\"name\": \"g\", \"arguments\": {}}\n]", `[f {"a":1}][g {}]`},
	{"hammer", "[]", "[]"},
	{"functionary", ">>>f\n{\"a\":\">>>g\"}>>>g\n{}", `[f {"a":">>>g"}][g {}]`},
	{"functionary", ">>>allow\n{}", "[allow {}]"},
	{"functionary", ">>>all\nSo: >>>f\n{}", "So: >>>f\n{}"},
	{"functionary", ">>>al", ">>>al"},

	{"harmony", `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>`, `[f {"a":1}]`},
	{"harmony", ` to=functions.f<|channel|>commentary json<|message|>{}<|call|>`, "[f {}]"},
	{"harmony", "<|channel|>final<|message|> It is <|channel|>commentary to=functions.f", " It is <|channel|>commentary to=functions.f"},
	{"harmony", "<|channel|>fin", "<|channel|>fin"},
	{"harmony", ` to=functions.f <|constrain|>json<|message|>{}`, ` to=functions.f <|constrain|>json<|message|>{}`},

	// Text.
	{"lines", "", ""},
	{"lines", "Hello", "Hello"},
	{"lines", `{"names": 1}`, `{"names": 1}`},
	{"lines", "{é", "{é"},
	{"lines", "{", "{"},
	{"hermes", "<think>\n</think> ", "<think>\n</think> "},
	{"hermes", "It is 1 < 2.\n<tool_cal", "It is 1 < 2.\n<tool_cal"},
	{"deepseek", "<｜tool▁calls▁beg", "<｜tool▁calls▁beg"},

	// Possible in unconstrained text only.
	{"lines", `{"name": "no name", "arguments": {}}`, `{"name": "no name", "arguments": {}}`},
	{"lines", `{"name": "", "arguments": {}}`, `{"name": "", "arguments": {}}`},
	{"lines", `{"name": "f", "arguments": 1}`, "1}[f ]"},
	{"lines", `{"name": "f", "parameters": {}}`, `{"name": "f", "parameters": {}}`},
	{"lines", `{"name": "f", "arguments": {}}. That is it.`, ". That is it.[f {}]"},
	{"hermes", "<tool_call>\nno", "<tool_call>\nno"},
	{"mistral", `[TOOL_CALLS] [{"name": "f", "arguments": {}}] more`, " more[f {}]"},
	{"qwen-coder", "<tool_call>\n<function=f>\nno", "no[f ]"},

	// Answers that a deadline cuts off.
	{"lines", `{"name": "f", "arguments": {"a":"x\`, `[f {"a":"x\]`},
	{"lines", `{"name": "f", "arguments": {}}` + "\n" + `{"name": "g`, "[f {}]"},
	{"hermes", "A <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool", "A[f {}]"},
	{"qwen-coder", "<tool_call>\n<function=f>\n<parameter=city>\nNew\n</param", `[f {"city":"New]`},
	{"gemma4", `<|tool_call>call:f{a:{b:<|"|>New<|"`, `[f {"a":{"b":"New]`},
}

func TestReader(t *testing.T) {
	for _, test := range answers {
		s := family(t, test.family)
		if got := read(t, s, test.answer); got != test.want {
			t.Errorf("%s: %q is %q, want %q", test.family, test.answer, got, test.want)
			continue
		}
		for i := range len(test.answer) + 1 {
			for j := i; j <= len(test.answer); j++ {
				if got := read(t, s, test.answer[:i], test.answer[i:j], test.answer[j:], ""); got != test.want {
					t.Fatalf("%s: %q, cut at %d and %d: %q", test.family, test.answer, i, j, got)
				}
			}
		}
		var bytes []string
		for i := range len(test.answer) {
			bytes = append(bytes, test.answer[i:i+1])
		}
		if got := read(t, s, append(bytes, "")...); got != test.want {
			t.Errorf("%s: %q, byte by byte: %q", test.family, test.answer, got)
		}
	}
}

// Nothing is held longer than it could be part of something else.
func TestReaderStreams(t *testing.T) {
	for _, test := range []struct {
		family string
		pieces []string
		want   []string // text, then of each call its index, name and arguments
	}{
		{"hermes", []string{"a ", "b", "<", "t", "h", "ink>"}, []string{"a", " b", "", "", "<th", "ink>"}},
		{"lines", []string{"{", `"`, "x", "{"}, []string{"", "", `{"x`, "{"}},
		{"lines", []string{`{"name": "f`, `o", "arguments": `, `{"a":"`, `x`, `"}`, `}`}, []string{"", "(0 fo )", `(0  {"a":")`, "(0  x)", `(0  "})`, ""}},
		{"llama3", []string{`{"name": "f", "parameters": {"a":1`, `}}; {"name": "g", "parameters": {`, `}}`}, []string{`(0 f {"a":1)`, "(0  })(1 g {)", "(1  })"}},
		{"glm", []string{"<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Pa", "ris", "</arg", "_value>\n</tool_call>"}, []string{`(0 f {"city":"Pa)`, "(0  ris)", "", `(0  "})`}},
		{"gemma4", []string{`<|tool_call>call:f{a:`, `<|"`, `|>`, `x`, `<|`, `y`, `<|"|>,b:`, `{k`, `:1}`, `}<tool_call|>`}, []string{`(0 f {"a":)`, "", `(0  ")`, "(0  x)", "", "(0  <|y)", `(0  ","b":)`, "(0  {)", `(0  "k":1})`, `(0  })`}},
		{"lfm2", []string{"<|tool_call_start|>[f(a=", "1", "2, b=", `"x`, `y")`, "]<|tool_call_end|>"}, []string{`(0 f {"a":)`, "(0  1)", `(0  2,"b":)`, `(0  "x)`, `(0  y"})`, ""}},
	} {
		r := toolcall.NewReader(family(t, test.family), written)
		for i, piece := range test.pieces {
			p := r.Push(piece, false)
			got := p.Text
			for _, call := range p.Calls {
				got += fmt.Sprintf("(%d %s %s)", call.Index, call.Name, call.Arguments)
			}
			if got != test.want[i] {
				t.Errorf("%q: piece %d gives %q, want %q", test.pieces, i, got, test.want[i])
			}
		}
	}
}

// The first byte of a trigger of calls after text occurs in it once, and the trigger begins the calls: readers
// and grammars rely on both.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range toolcall.Families() {
		if seen[s.Family] || s.Family == "" {
			t.Errorf("there are two families %q", s.Family)
		}
		seen[s.Family] = true
		if !strings.HasPrefix(s.Begin(), s.Trigger) || s.Anywhere && strings.Count(s.Trigger, s.Trigger[:1]) != 1 {
			t.Errorf("%s: the trigger is %q", s.Family, s.Trigger)
		}
		if s.Middle == "" || toolcall.IsName(s.Middle[0]) || s.Between+s.Call == "" {
			t.Errorf("%s: %+v", s.Family, s)
		}
		next := s.Between + s.Call
		if rest, ok := strings.CutPrefix(s.Close, next); s.Close != "" && (strings.HasPrefix(next, s.Close) || ok && toolcall.IsName(rest[0])) {
			t.Errorf("%s: %q and %q cannot be told apart", s.Family, next, s.Close)
		}
	}
}

func TestStrings(t *testing.T) {
	got := toolcall.Strings([]byte(`{"type":"object","properties":{
		"a":{"type":"string"},"b":{"type":["string"]},"c":{"enum":["x","y"]},"d":{"const":""},
		"e":{"type":["string","null"]},"f":{"enum":["x",1]},"g":{},"h":true,"i":{"anyOf":[{"type":"string"}]},"j":{"type":"integer"},"k":{"const":1}}}`))
	if len(got) != 4 || !got["a"] || !got["b"] || !got["c"] || !got["d"] {
		t.Errorf("got %v", got)
	}
	for _, schema := range []string{"", "null", "{}", "[", `{"properties":[]}`, `{"properties":{"a":{"type":7}}}`} {
		if got := toolcall.Strings([]byte(schema)); len(got) != 0 {
			t.Errorf("%s: got %v", schema, got)
		}
	}
}

// FuzzReader: an answer is read in the same way however it is cut, and without calls its text
// is the whole answer, but for nothing.
func FuzzReader(f *testing.F) {
	for i, test := range answers {
		f.Add(uint8(i), test.answer, uint16(3), uint16(12))
	}
	families := toolcall.Families()
	f.Fuzz(func(t *testing.T, which uint8, answer string, i, j uint16) {
		s := &families[int(which)%len(families)]
		if len(answer) > 1<<12 {
			return
		}
		whole := read(t, s, answer)
		a := min(int(i), len(answer))
		b := min(a+int(j), len(answer))
		if cut := read(t, s, answer[:a], answer[a:b], answer[b:]); cut != whole {
			t.Errorf("%s: %q cut at %d and %d: %q, want %q", s.Family, answer, a, b, cut, whole)
		}
	})
}

// A name that the arguments follow at once ends with its last letter, in whatever pieces it
// comes.
func TestReaderOfNamesWithoutMiddle(t *testing.T) {
	s := toolcall.GLM()
	s.Middle, s.Arguments.Middle, s.Arguments.Close, s.Between = "", "</arg_key><arg_value>", "</arg_value>", ""
	const text = "<tool_call>forecast<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call><tool_call>now</tool_call>"
	for size := 1; size < len(text); size++ {
		r := toolcall.NewReader(&s, func(_, _ string) bool { return true })
		var out string
		for at := 0; at < len(text); at += size {
			end := min(at+size, len(text))
			piece := r.Push(text[at:end], end == len(text))
			out += piece.Text
			for _, c := range piece.Calls {
				out += c.Name + c.Arguments
			}
		}
		if want := `forecast{"city":"Oslo"}now{}`; strings.ReplaceAll(out, " ", "") != want {
			t.Errorf("pieces of %d bytes: %s", size, out)
		}
	}
}
