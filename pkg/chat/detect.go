package chat

import (
	"regexp"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// family is the syntax of calls of templates that contain all of the texts, from the special to
// the general.
type family struct {
	syntax toolcall.Syntax
	texts  []string
}

// families recognise templates by what they write, or tell the model to write.
//
// Sources: the published templates; the parsers of vLLM 0.26.
func families() []family {
	granite := toolcall.Granite()
	granite.Trigger, granite.Open = "<|tool_call|>", "<|tool_call|>[" // as the template of 3.3 says
	return []family{
		{toolcall.Harmony(), []string{"<|channel|>commentary", "<|call|>"}},
		{toolcall.DSML(), []string{"｜DSML｜", "function_calls>"}},
		{toolcall.DSML4(), []string{"｜DSML｜", "tool_calls>"}},
		{toolcall.QwenCoder(), []string{"<function=", "<parameter="}},
		{toolcall.GLM(), []string{"<arg_key>", "<arg_value>"}},
		{toolcall.Gemma4(), []string{"<|tool_call>call:", `<|"|>`}},
		{toolcall.DeepSeekR1(), []string{"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```json"}},
		{toolcall.DeepSeek(), []string{"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"}},
		{toolcall.MistralArgs(), []string{"[TOOL_CALLS]", "[ARGS]"}},
		{toolcall.Mistral(), []string{"[TOOL_CALLS]"}},
		{toolcall.MiniCPM3(), []string{"<|tool_call_start|>", "```python"}},
		{toolcall.LFM2(), []string{"<|tool_list_start|>"}},
		{toolcall.LFM2(), []string{"List of tools: ["}}, // LFM 2.5
		{toolcall.LFM2(), []string{"<|tool_call_start|>"}},
		{granite, []string{"<|start_of_role|>", "<|tool_call|>"}},
		{toolcall.Phi4(), []string{"<|tool|>", "<|/tool|>"}},
		{toolcall.OLMo3(), []string{"<function_calls>"}},
		{toolcall.Functionary(), []string{">>>${recipient}", ">>>all"}},
		{toolcall.Kimi(), []string{"<|tool_call_begin|>", "<|tool_call_argument_begin|>"}},
		{toolcall.Cohere2(), []string{"<|START_ACTION|>", "<|START_TEXT|>"}},
		{toolcall.CommandR(), []string{"<|START_ACTION|>", "tool_name"}},
		{toolcall.Llama3(), []string{"<|start_header_id|>", `"parameters"`}},
		{toolcall.HunYuan(), []string{"<tool_calls>", "<|extra_4|>"}},
		{toolcall.Ernie(), []string{"<tool_call>", "<global_setting>"}},
		{toolcall.Hermes(), []string{"<tool_call>", "arguments"}},
		{toolcall.Hammer(), []string{"[BEGIN OF AVAILABLE_TOOLS]", "[\n    {\"name\": "}},
	}
}

// detect finds out how the model writes calls. A template that writes calls itself has the
// family whose calls it writes, or one that the written calls show; one that drops them has the
// family that its text names.
func (t *Template) detect(source Source) (toolcall.Syntax, bool) {
	switch t.name {
	case Concat:
		return toolcall.Lines(), true
	case Llama3:
		return toolcall.Llama3(), true
	case ChatML:
		return toolcall.Hermes(), true
	}
	text := source.Templates[DefaultTemplate] + source.Templates[ToolsTemplate]
	for _, f := range families() {
		if slices.ContainsFunc(f.texts, func(part string) bool { return !strings.Contains(text, part) }) {
			continue
		}
		if !t.nature.calls || t.writes(&f.syntax) {
			return f.syntax, true
		}
	}
	if !t.nature.calls {
		return toolcall.Syntax{}, false
	}
	return t.derive()
}

// probeChat is a chat of a user, and a message that follows.
func probeChat(m turn) []turn { return []turn{{role: "user", text: probeUser}, m} }

// writes reports whether the template writes calls in a syntax: the mark before the name, the
// name, and what follows up to the first argument.
func (t *Template) writes(s *toolcall.Syntax) bool {
	text, err := t.closed(probeChat(probeCall()))
	text = ids.ReplaceAllString(text, "")
	_, after, ok := strings.Cut(text, probeTool)
	if err != nil || !ok {
		return false
	}
	for i, head := range s.Heads() {
		begin, call, end := strings.TrimRight(head.Call, " \n"), s.Call, head.Middle
		if i > 0 {
			call = head.Call
		}
		if s.Arguments.Style == toolcall.JSON {
			end += `{"` + probeKey
		}
		if strings.Contains(text, begin) && strings.Contains(text, call+probeTool) && strings.HasPrefix(after, end) {
			return true
		}
	}
	return false
}

// closed renders a chat of a probe that has ended, with the tool of probes.
func (t *Template) closed(turns []turn) (string, error) {
	return t.try(turns, []llm.Tool{probedTool()}, false)
}

// ids matches what a template writes of the id or the number of a call. The model need not write
// it: calls get ids of the engine's own.
var ids = regexp.MustCompile(`, "(?:id|tool_call_id)": "(?:` + probeCallID + `|\d)"|"(?:id|tool_call_id)": "(?:` + probeCallID + `|\d)", |\[CALL_ID\]` + probeCallID)

// written returns what the template writes of n calls: what follows the header of the message,
// up to the end of the turn if it ends as an answer does.
func (t *Template) written(n int) (string, bool) {
	m := probeCall()
	for len(m.calls) < n {
		m.calls = append(m.calls, m.calls[0])
	}
	text, err := t.closed(probeChat(m))
	answer, err2 := t.closed(probeChat(turn{role: "assistant", text: probeAnswer}))
	header, end, ok := strings.Cut(answer, probeAnswer)
	if err != nil || err2 != nil || !ok {
		return "", false
	}
	rest, ok := strings.CutPrefix(text, header)
	if !ok { // answers have a mark of their own
		prompt, err := t.try(probeChat(m)[:1], []llm.Tool{probedTool()}, true)
		if rest, ok = strings.CutPrefix(text, prompt); err != nil || !ok {
			return "", false
		}
	}
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, end), messageEnd)
	return strings.TrimSpace(ids.ReplaceAllString(rest, "")), true
}

// messageEnd is Llama's end of a message whose turn goes on. It ends the answer, as the end of a
// turn does.
const messageEnd = "<|eom_id|>"

// derive returns the syntax that the template shows by writing one call and two.
func (t *Template) derive() (toolcall.Syntax, bool) {
	one, ok := t.written(1)
	open, rest, named := strings.Cut(one, probeTool)
	s := toolcall.Syntax{Family: "its own"}
	tail, ok2 := deriveArguments(&s, rest)
	if !ok || !named || !ok2 || s.Middle != "" && toolcall.IsName(s.Middle[0]) || strings.Contains(one, probeCallID) {
		return s, false
	}
	two, ok := t.written(2)
	arguments := rest[len(s.Middle) : len(rest)-len(tail)]
	gap, ok2 := strings.CutPrefix(two, open+probeTool+s.Middle+arguments)
	gap, end, ok3 := strings.Cut(gap, probeTool+s.Middle+arguments)
	switch {
	case !ok || !ok2 || !ok3: // numbered calls, or one at most
		s.Call, s.End, s.One = open, tail, true
	case end == tail && strings.HasPrefix(gap, tail) && strings.HasSuffix(gap, open) && len(gap) >= len(tail)+len(open): // each call has its marks
		s.Call, s.End, s.Between = open, tail, gap[len(tail):len(gap)-len(open)]
	default: // marks around a list of calls
		n := commonSuffix(open, gap)
		for n > 0 && strings.IndexByte("|>]", open[len(open)-n]) >= 0 {
			n-- // a mark is not divided
		}
		m := commonPrefix(tail, gap[:len(gap)-n])
		s.Open, s.Call, s.End, s.Close, s.Between = open[:len(open)-n], open[len(open)-n:], tail[:m], tail[m:], gap[m:len(gap)-n]
	}
	s.Trigger = firstMark(s.Begin())
	s.Anywhere = len(s.Trigger) > 1 // a bracket alone is common in texts
	ends := s.Arguments.Style == toolcall.JSON || s.End != ""
	return s, ends && s.Trigger != "" && !strings.HasPrefix(strings.TrimSpace(t.nature.after), s.Trigger)
}

// deriveArguments finds the notation of arguments in what follows a name, and returns what
// follows them.
func deriveArguments(s *toolcall.Syntax, text string) (tail string, ok bool) {
	if middle, tail, ok := strings.Cut(text, `{"`+probeKey+`": "`+probeValue+`"}`); ok {
		s.Middle = middle
		return tail, middle != ""
	}
	if arguments, ok := strings.CutPrefix(text, "("+probeKey+"="); ok {
		value := strings.TrimLeft(arguments, `"'`)
		quote := arguments[:len(arguments)-len(value)]
		s.Middle, s.Arguments = "(", toolcall.Arguments{Style: toolcall.Python, Middle: "=", Between: ", "}
		tail, ok := strings.CutPrefix(value, probeValue+quote)
		return tail, ok && strings.HasPrefix(tail, ")")
	}
	before, after, ok := strings.Cut(text, probeKey)
	between, rest, ok2 := strings.Cut(after, probeValue)
	n := strings.LastIndexByte(before, '<')
	m := strings.Index(rest, ">")
	if !ok || !ok2 || n < 0 || m < 0 || !strings.HasPrefix(strings.TrimLeft(rest, "\n"), "</") || between == "" {
		return "", false
	}
	if quoted := strings.HasSuffix(before, `="`) && strings.HasPrefix(between, `">`); strings.Count(between, `"`) > 1 || !quoted && strings.Contains(between, `"`) {
		return "", false // JSON, or more attributes than the name
	}
	for m++; m < len(rest) && rest[m] == '\n'; m++ {
	}
	s.Arguments = toolcall.Arguments{Style: toolcall.Tagged, Open: before[n:], Middle: between, Close: rest[:m]}
	s.Middle = before[:n]
	return rest[m:], true
}

// firstMark returns the mark that text begins with: <...>, [...], or a byte that is no letter.
func firstMark(text string) string {
	if text == "" || toolcall.IsName(text[0]) || text[0] <= ' ' {
		return ""
	}
	for begin, end := range map[byte]string{'<': ">", '[': "]"} {
		if n := strings.Index(text, end); text[0] == begin && n > 0 && !strings.Contains(text[1:n], text[:1]) {
			return text[:n+1]
		}
	}
	if strings.IndexByte(text[1:], text[0]) < 0 && text[0] != '{' {
		return text
	}
	return text[:1]
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
