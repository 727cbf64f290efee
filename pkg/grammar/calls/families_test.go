package calls

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
	"glossa/pkg/toolcall"
)

const weather = `{"type":"object","properties":{
	"city":{"type":"string","minLength":1,"maxLength":12},
	"days":{"type":"integer","minimum":0,"maximum":20},
	"unit":{"enum":["C","F"]},
	"when":{"anyOf":[{"type":"boolean"},{"type":"null"},{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":2}]}},
	"required":["city"]}`

func families(t *testing.T) map[string]*Syntax {
	t.Helper()
	all := map[string]*Syntax{}
	for _, s := range toolcall.Families() {
		all[s.Family] = &s
	}
	return all
}

func weatherProgram(t *testing.T, s *Syntax, must, one bool) *pushdown.Program {
	t.Helper()
	p, err := Compile(s, []Tool{{Name: "weather", Parameters: []byte(weather)}, {Name: "now"}}, Form{Must: must, One: one}, automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	check(t, p)
	return p
}

func TestFamilies(t *testing.T) {
	for _, test := range []struct{ family, yes, no string }{
		{"hermes", "Hi\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", "Hi\n<tool_call>\n{\"name\": \"now\"}\n</tool_call>"},
		{"mistral", `[TOOL_CALLS] [{"name": "weather", "arguments": {"city":"Ulm"}}, {"name": "now", "arguments": {}}]`, `[TOOL_CALLS] []`},
		{"mistral-args", `[TOOL_CALLS]weather[ARGS]{"city":"Ulm"}[TOOL_CALLS]now[ARGS]{}`, `[TOOL_CALLS]weather[ARGS]{}`},
		{"phi4", `a<|tool_call|>[{"name": "now", "arguments": {}}]<|/tool_call|>`, `a<|tool_call|>[{"name": "now", "arguments": {}}]`},
		{"deepseek", "é<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "é<｜tool▁calls▁begin｜>"},
		{"qwen-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nSt. \"Ulm\"\n\n</parameter>\n<parameter=unit>\nF\n</parameter>\n<parameter=when>\n[\"a\",\"b\"]\n</parameter>\n</function>\n</tool_call>", "<tool_call>\n<function=weather>\n<parameter=unit>\nC\n</parameter>\n</function>\n</tool_call>"},
		{"qwen-coder", "<tool_call>\n<function=weather>\n<parameter=city>\n</parameter>\n</parameter>\n</function>\n</tool_call>", "<tool_call>\n<function=weather>\n<parameter=city>\n\n</parameter>\n</function>\n</tool_call>"},
		{"qwen-coder", "<tool_call>\n<function=now>\n</function>\n</tool_call>", "<tool_call>\n<function=weather>\n<parameter=city>\nUlm\n</parameter>\n<parameter=unit>\n\"C\"\n</parameter>\n</function>\n</tool_call>"},
		{"glm", "ok <tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>é\\</arg_value>\n<arg_key>days</arg_key>\n<arg_value>7</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>1234567890123</arg_value>\n</tool_call>"},
		{"lfm2", `<|tool_call_start|>[weather(city="Ulm", unit="C", when=None), weather(city="a", when=True), now()]<|tool_call_end|>`, `<|tool_call_start|>[weather(city="Ulm", when=null)]<|tool_call_end|>`},
		{"lfm2", `<|tool_call_start|>[weather(city="Ulm", when=["a"])]<|tool_call_end|>`, `<|tool_call_start|>[weather(city="Ulm", when=true)]<|tool_call_end|>`},
		{"harmony", `<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Ulm"}<|call|>`, `<|channel|>commentary to=functions.weather<|channel|>commentary json<|message|>{"city":"Ulm"}<|call|>`},
		{"harmony", ` to=functions.now<|channel|>commentary json<|message|>{}<|call|>`, ` to=functions.weather<|channel|>commentary json<|message|>{}<|call|>`},
		{"harmony", "<|channel|>final<|message|>", "Hello"},
		{"dsml", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Ulm</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">7</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"false\">Ulm</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
		{"dsml-4", "a<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>", "<｜DSML｜tool_calls>\n</｜DSML｜tool_calls>"},
		{"hunyuan", `Hi<tool_calls>[{"name": "weather", "arguments": {"city":"Ulm"}}, {"name": "now", "arguments": {}}]</tool_calls>`, `<tool_calls>[{"name": "now", "arguments": {}}]</tool_calls><tool_calls>`},
		{"ernie", "Hi\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n", "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n\n"},
		{"gemma4", `Hi<|tool_call>call:weather{city:<|"|>St. "Ulm"<|"|>,days:7,unit:<|"|>C<|"|>,when:[<|"|>a<|"|>,<|"|>b<|"|>]}<tool_call|><|tool_call>call:now{}<tool_call|>`, `<|tool_call>call:weather{city:<|"|>1234567890123<|"|>}<tool_call|>`},
		{"gemma4", `<|tool_call>call:weather{city:<|"|>é\<|"|>,when:null}<tool_call|>`, `<|tool_call>call:weather{city:"Ulm"}<tool_call|>`},
		{"gemma4", `<|tool_call>call:weather{city:<|"|><|"<|"|>,when:true}<tool_call|>`, `<|tool_call>call:weather{city:<|"|>Ulm<|"|>,unit:<|"|>K<|"|>}<tool_call|>`},
		{"deepseek-r1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
		{"minicpm3", "<|tool_call_start|>\n```python\nweather(city=\"Ulm\",when=None)\nnow()\n```\n<|tool_call_end|>", "<|tool_call_start|>\n```python\nnow()\n\n```\n<|tool_call_end|>"},
		{"hammer", "[\n    {\"name\": \"now\", \"arguments\": {}},\n    {\"name\": \"weather\", \"arguments\": {\"city\":\"Ulm\"}}\n]", "[\n    {\"name\": \"now\", \"arguments\": {}}, \n]"},
		{"functionary", ">>>weather\n{\"city\":\"Ulm\"}>>>now\n{}", ">>>now\n{}>>>all\nHi"},
		{"functionary", ">>>all\nHi >>>now\n", "Hi"},
		{"hammer", "[]", "[\n    {}\n]"},
		{"olmo3", "<function_calls>weather(city=\"Ulm\", days=20)\nnow()</function_calls>", "<function_calls>weather(city=\"Ulm\", days=21)</function_calls>"},
	} {
		p := weatherProgram(t, families(t)[test.family], false, false)
		if !matches(p, test.yes) {
			t.Errorf("%s: %q does not match", test.family, test.yes)
		}
		if matches(p, test.no) {
			t.Errorf("%s: %q matches", test.family, test.no)
		}
	}
}

// A function cannot have the name that begins a text.
func TestNameOfText(t *testing.T) {
	for _, must := range []bool{false, true} {
		_, err := Compile(families(t)["functionary"], []Tool{{Name: "all"}}, Form{Must: must}, automaton.Generating())
		if err == nil || !strings.Contains(err.Error(), `cannot call a function with the name "all"`) {
			t.Errorf("must %t: %v", must, err)
		}
	}
}

// A limit on the number of arguments holds in every notation.
func TestCountedMembers(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"minProperties":1,"maxProperties":2}`
	p, err := Compile(families(t)["lfm2"], []Tool{{Name: "f", Parameters: []byte(schema)}}, Form{Must: true, One: true}, automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]bool{"": false, "a=1": true, "c=1": true, "a=1, c=2": true, "a=1, b=2, c=3": false, "b=1, a=2": false, "d=1": false, ", a=1": false} {
		if text := "<|tool_call_start|>[f(" + arguments + ")]<|tool_call_end|>"; matches(p, text) != want {
			t.Errorf("%q: want %t", arguments, want)
		}
	}
}

// The memory of many parameters that may be left out is bounded, and a limit that they cannot reach costs nothing.
func TestManyParameters(t *testing.T) {
	properties := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + `}`
	}
	for _, test := range []struct{ family, schema, want string }{
		{"qwen-coder", properties(600) + `}`, ""},
		{"gemma4", properties(600) + `}`, ""},
		{"qwen-coder", properties(6000) + `}`, "exceeds the limit"},
		{"qwen-coder", properties(5) + `,"maxProperties":1000000000}`, ""},
		{"gemma4", `{"properties":{"o":` + properties(5) + `,"maxProperties":1000000000}}}`, "exceeds the limit"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Compile(families(t)[test.family], []Tool{{Name: "f", Parameters: []byte(test.schema)}}, Form{}, automaton.Generating())
		runtime.ReadMemStats(&after)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %.40s: got %v, want %s", test.family, test.schema, err, test.want)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 512 {
			t.Errorf("%s, %.40s: %d MiB are allocated", test.family, test.schema, n)
		}
	}
}

func TestUnwritable(t *testing.T) {
	for _, test := range []struct{ family, schema, want string }{
		{"lfm2", `{"properties":{"a b":{"type":"integer"}}}`, `cannot write a parameter with the name "a b"`},
		{"qwen-coder", `{"properties":{"a>":{"type":"integer"}}}`, `cannot write a parameter with the name "a>"`},
		{"gemma4", `{"properties":{"a{":{"type":"integer"}}}`, `cannot write a parameter with the name "a{"`},
		{"gemma4", `{"properties":{"o":{"type":"object","properties":{"a:b":{"type":"integer"}},"required":["a:b"],"additionalProperties":false}}}`, `cannot write a parameter with the name "a:b"`},
		{"gemma4", `{"properties":{"o":{"type":"object","minProperties":2}}}`, "every required parameter must be among the properties"},
		{"glm", `{"minProperties":1}`, "every required parameter must be among the properties"},
		{"qwen-coder", `{"properties":{"a":{"const":"x\n</parameter>\ny"}},"required":["a"]}`, "cannot write such a string"},
	} {
		_, err := Compile(families(t)[test.family], []Tool{{Name: "f", Parameters: []byte(test.schema)}}, Form{}, automaton.Generating())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: got %v, want %s", test.family, test.schema, err, test.want)
		}
	}
}

// Whatever a program generates, the reader of the same syntax takes for the same calls: each
// has arguments that the tool's schema accepts.
func TestReaderOfPrograms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	object := &Syntax{Trigger: "\x00", Call: "\x00", Middle: "\x01", Between: "\x02"} // arguments alone
	accept := weatherProgram(t, object, true, true)
	for name, s := range families(t) {
		p, free, calls := weatherProgram(t, s, true, false), weatherProgram(t, s, false, false), 0
		for range 100 {
			text := generate(p, random)
			if s.Anywhere && random.IntN(2) == 0 {
				text = "é < " + s.Trigger[:1] + text
			}
			if !matches(free, text) {
				t.Fatalf("%s: the generator made %q", name, text)
			}
			r := toolcall.NewReader(s, func(_, parameter string) bool { return toolcall.Strings([]byte(weather))[parameter] })
			var got []toolcall.Call
			for _, c := range r.Push(text, true).Calls {
				if c.Name != "" {
					got = append(got, c)
				} else {
					got[c.Index].Arguments += c.Arguments
				}
			}
			calls += len(got)
			for _, c := range got {
				if compact := compactJSON(t, c.Arguments); !matches(accept, "\x00"+c.Name+"\x01"+compact) {
					t.Errorf("%s: %q has the call %s %s", name, text, c.Name, c.Arguments)
				}
			}
		}
		if calls < 50 {
			t.Errorf("%s: only %d calls", name, calls)
		}
	}
}

func compactJSON(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	quoted, escaped := false, false
	for _, c := range text {
		if c == ' ' && !quoted {
			continue
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		fmt.Fprint(&b, string(c))
	}
	return b.String()
}

// generate returns a text of a program: a random walk that prefers to end.
func generate(p *pushdown.Program, random *rand.Rand) string {
	g := generator{p, random, &strings.Builder{}, map[*automaton.DFA][]int{}}
	g.rule(p.Start)
	return g.out.String()
}

type generator struct {
	*pushdown.Program
	random *rand.Rand
	out    *strings.Builder

	distances map[*automaton.DFA][]int
}

func (g *generator) rule(id pushdown.ID) {
	switch r := g.Rules[id]; {
	case r.Text != nil:
		g.text(r.Text)
	case r.Array != nil:
		g.array(r.Array)
	case r.Object != nil:
		g.object(r.Object)
	case r.Proc != nil:
		g.proc(r.Proc)
	default:
		g.rule(r.Any[g.random.IntN(len(r.Any))])
	}
}

func (g *generator) text(text *pushdown.Text) {
	for state, chars := int32(0), 0; ; {
		s := &text.DFA.States[state]
		if s.Accept && (len(s.Edges) == 0 || g.random.IntN(3) == 0) {
			return
		}
		e := s.Edges[g.random.IntN(len(s.Edges))]
		if g.random.IntN(2) == 0 {
			e = slices.MinFunc(s.Edges, func(a, b automaton.Edge) int { return g.distance(text.DFA)[a.To] - g.distance(text.DFA)[b.To] })
		}
		b := e.Lo + byte(g.random.IntN(int(e.Hi-e.Lo)+1))
		if far := g.distance(text.DFA); s.Plain && text.Counted && chars+1+far[e.To] > text.Max {
			e = slices.MinFunc(s.Edges, func(a, b automaton.Edge) int { return far[a.To] - far[b.To] })
			b = e.Lo
		}
		if quote := text.DFA.Next(state, '"'); text.Counted && !s.Plain && s.Content && quote >= 0 && chars >= text.Min {
			if g.random.IntN(2) == 0 || chars == text.Max {
				b, e.To = '"', quote
			}
		} else if text.Counted && s.Content && !s.Plain && b == '"' {
			b = 'x'
			e.To = text.DFA.Next(state, b)
		}
		if text.Counted && s.Content {
			chars++
		}
		g.out.WriteByte(b)
		state = e.To
	}
}

// distance returns how many bytes each state is from accepting.
func (g *generator) distance(d *automaton.DFA) []int {
	if g.distances[d] == nil {
		far := make([]int, len(d.States))
		for i := range far {
			if !d.States[i].Accept {
				far[i] = len(far)
			}
		}
		for range far {
			for i, s := range d.States {
				for _, e := range s.Edges {
					far[i] = min(far[i], far[e.To]+1)
				}
			}
		}
		g.distances[d] = far
	}
	return g.distances[d]
}

func (g *generator) array(a *pushdown.Array) {
	g.out.WriteByte('[')
	for n := 0; a.Max < 0 || n < a.Max; n++ {
		if n >= a.Min && g.random.IntN(2) == 0 {
			break
		}
		if n > 0 {
			g.out.WriteByte(',')
		}
		g.rule(a.Items)
	}
	g.out.WriteByte(']')
}

// object writes declared members only.
func (g *generator) object(o *pushdown.Object) {
	g.out.WriteByte('{')
	n := 0
	for _, p := range o.Props {
		if !p.Required && g.random.IntN(2) == 0 {
			continue
		}
		if n++; n > 1 {
			g.out.WriteByte(',')
		}
		g.out.WriteString(`"` + p.Name + `":`)
		g.rule(p.Value)
	}
	g.out.WriteByte('}')
}

func (g *generator) proc(p *pushdown.Proc) {
	for state := int32(0); ; {
		s := &p.States[state]
		if s.Accept && g.random.IntN(2) == 0 || len(s.Calls)+len(s.Edges) == 0 {
			return
		}
		n := g.random.IntN(len(s.Calls) + len(s.Edges))
		if n < len(s.Calls) {
			g.rule(s.Calls[n].Rule)
			state = s.Calls[n].Return
			continue
		}
		e := s.Edges[n-len(s.Calls)]
		g.out.WriteByte(e.Lo + byte(g.random.IntN(int(e.Hi-e.Lo)+1)))
		state = e.To
	}
}

// The longest strings of tagged calls have as many characters as the schema says, with quotes
// and with the beginnings of marks.
func TestLongestStrings(t *testing.T) {
	longestStrings(t, "glm", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>", "</arg_value>\n</tool_call>", "</")
	longestStrings(t, "gemma4", `<|tool_call>call:f{s:<|"|>`, `<|"|>}<tool_call|>`, `<|`)
}

func longestStrings(t *testing.T, family, before, after, mark string) {
	t.Helper()
	for _, text := range []string{`"type":"string","maxLength":4`, `"type":"string","minLength":2,"maxLength":4`, `"type":"string","pattern":"^[^z]*$","maxLength":4`} {
		tool := Tool{Name: "f", Parameters: []byte(`{"type":"object","properties":{"s":{` + text + `}},"required":["s"]}`)}
		p, err := Compile(families(t)[family], []Tool{tool}, Form{Must: true, One: true}, automaton.Generating())
		if err != nil {
			t.Fatal(err)
		}
		machine, err := pushdown.New(p)
		if err != nil {
			t.Fatal(err)
		}
		least := strings.Count(text, "minLength") * 2
		var try func(s string, more int)
		try = func(s string, more int) {
			n := utf8.RuneCountInString(s)
			if want := n >= least && n <= 4; machine.Match(before+s+after) != want {
				t.Errorf("%s: %q matches: %t", text, s, !want)
			}
			for _, piece := range []string{"a", `"`, "é", "<", mark, "\n"} {
				if more > 0 {
					try(s+piece, more-1)
				}
			}
		}
		try("", 5)
	}
}

// Many parameters with long strings are as little work as short ones.
func TestManyLongStrings(t *testing.T) {
	for name, s := range families(t) {
		var work [2]int
		for i, longest := range []int{10, 100_000} {
			var tools []Tool
			for n := range 20 {
				var properties []string
				for p := range 30 {
					properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string","maxLength":%d}`, p, longest-p%5))
				}
				tools = append(tools, Tool{Name: fmt.Sprint("f", n), Parameters: []byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)})
			}
			budget := automaton.NewBudget(t.Context())
			p, err := CompileWithin(budget, s, tools, Form{Must: true}, automaton.Generating())
			if err == nil {
				_, err = pushdown.NewWithin(budget, p)
			}
			if err != nil {
				t.Fatalf("%s, strings of %d: %v", name, longest, err)
			}
			work[i], _ = budget.Spent()
		}
		if work[1] > work[0]*11/10 || work[1] > 20_000_000 {
			t.Errorf("%s: %d steps for long strings, %d for short ones", name, work[1], work[0])
		}
	}
}

// Parameters of equal strings share an automaton, and with it the tables of a vocabulary.
func TestSharedStrings(t *testing.T) {
	tool := Tool{Name: "f", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","maxLength":7},"c":{"type":"string","maxLength":9}}}`)}
	other := tool
	other.Name = "g"
	p, err := Compile(families(t)["glm"], []Tool{tool, other}, Form{Must: true, One: true}, automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	of := map[*automaton.DFA]int{}
	for _, r := range p.Rules {
		if r.Text != nil && r.Text.DFA.States[0].Plain {
			of[r.Text.DFA]++
		}
	}
	if n := slices.Collect(maps.Values(of)); !slices.Equal(n, []int{6}) {
		t.Errorf("the automata have %d rules", n)
	}
}

// A schema that lists parameters and says nothing of others allows none in any syntax; one
// that speaks of others allows them.
func TestDeclaredArguments(t *testing.T) {
	const declared = `"type":"object","properties":{"n":{"type":"integer"}}`
	for _, test := range []struct {
		schema  string
		yes, no []string
	}{
		{`{` + declared + `}`, []string{`{}`, `{"n":1}`}, []string{`{"x":1}`, `{"n":1,"x":1}`}},
		{`{"type":"object","properties":{}}`, []string{`{}`}, []string{`{"x":1}`}},
		{`{` + declared + `,"additionalProperties":true}`, []string{`{"n":1}`, `{"x":1}`}, nil},
		{`{` + declared + `,"additionalProperties":{"type":"string"}}`, []string{`{"x":"a"}`}, []string{`{"x":1}`}},
		{`{` + declared + `,"patternProperties":{"^x":{"type":"integer"}}}`, []string{`{"x":1}`}, nil},
		{`{` + declared + `,"propertyNames":{"maxLength":1}}`, []string{`{"x":1}`}, []string{`{"xx":1}`}},
		{`{"type":"object"}`, []string{`{}`, `{"x":1}`}, nil},
		// Of nested objects the schema's word holds.
		{`{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, []string{`{"o":{"x":1}}`}, []string{`{"x":1}`}},
		{`{"properties":{"o":{"$ref":"#"}}}`, []string{`{"o":{"x":1}}`}, []string{`{"x":1}`}},
		// Required parameters that are not declared are needed.
		{`{` + declared + `,"required":["x"]}`, []string{`{"x":1}`}, []string{`{}`}},
		{`{` + declared + `,"minProperties":2}`, []string{`{"n":1,"x":1}`}, []string{`{"n":1}`}},
		// Each alternative has its own.
		{`{` + declared + `,"anyOf":[{"required":["n"]},{"properties":{"m":{"type":"integer"}},"required":["m"]}]}`,
			[]string{`{"n":1}`, `{"m":1}`, `{"n":1,"m":1}`}, []string{`{}`, `{"n":1,"x":1}`}},
	} {
		p, err := Compile(braces, []Tool{{Name: "f", Parameters: []byte(test.schema)}}, Form{Must: true, One: true}, automaton.Generating())
		if err != nil {
			t.Fatalf("%s: %v", test.schema, err)
		}
		check(t, p)
		written := func(arguments string) bool { return matches(p, `{"name": "f", "args": `+arguments+`}`) }
		for _, arguments := range test.yes {
			if !written(arguments) {
				t.Errorf("%s: %s does not match", test.schema, arguments)
			}
		}
		for _, arguments := range test.no {
			if written(arguments) {
				t.Errorf("%s: %s matches", test.schema, arguments)
			}
		}
	}
}
