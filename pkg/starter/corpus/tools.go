package corpus

import (
	_ "embed" // the grammar
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

//go:embed tools.grammar
var toolsSource string

// toolsGrammar parses the embedded grammar once.
var toolsGrammar = sync.OnceValue(func() *grammar {
	g, err := parseGrammar(toolsSource)
	if err != nil {
		panic(err) // the grammar is a constant that the tests parse
	}
	return g
})

//go:embed tools.jinja
var toolsTemplate string

// ToolsTemplate returns the chat template of the model that [Tools] trains.
func ToolsTemplate() string { return toolsTemplate }

// Marks of the turns: special tokens of the model.
const (
	userMark   = "<|user|>"
	answerMark = "<|answer|>"
	endMark    = "<|end|>"
	resultMark = "<|result|>"
)

// A Tool is a function of a generated chat.
type Tool struct {
	Name, About string
	Parameters  []Parameter
}

// A Parameter is one of a Tool.
type Parameter struct {
	Name, Type string // Type is that of JSON Schema
	Enum       []string
	Optional   bool
}

// A ToolChat is a generated chat: earlier turns and the one that the model has to write.
type ToolChat struct {
	System string
	Tools  []Tool
	Before []ToolTurn
	ToolTurn
}

// A ToolTurn is a request, the calls that it needs, their results and the final answer.
// Without calls, Answer answers the request.
type ToolTurn struct {
	Ask    string
	Calls  []ToolCall
	Answer string
}

// A ToolCall is a call with its result.
type ToolCall struct {
	Name      string
	Arguments string // JSON without spaces
	Result    string
	spaced    string // Arguments as Python's json.dumps writes them
}

// Schema returns the JSON Schema of the tool's parameters.
func (t *Tool) Schema() json.RawMessage {
	var properties, required []entry
	for _, p := range t.Parameters {
		of := []entry{{"type", quoted(p.Type)}}
		if p.Enum != nil {
			of = append(of, entry{"enum", list(p.Enum)})
		}
		properties = append(properties, entry{p.Name, object(of)})
		if !p.Optional {
			required = append(required, entry{value: quoted(p.Name)})
		}
	}
	names := make([]string, len(required))
	for i, r := range required {
		names[i] = r.value
	}
	return json.RawMessage(object([]entry{
		{"type", `"object"`}, {"properties", object(properties)}, {"required", "[" + strings.Join(names, ",") + "]"}, {"additionalProperties", "false"},
	}))
}

// line writes the tool as the chat template does.
func (t *Tool) line() string {
	params := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		params[i] = p.Name
		if p.Optional {
			params[i] += "?"
		}
		if p.Enum == nil {
			params[i] += ": " + p.Type
		} else {
			params[i] += ": " + strings.Join(p.Enum, "|")
		}
	}
	line := t.Name + "(" + strings.Join(params, ", ") + ")"
	if t.About != "" {
		line += " " + t.About
	}
	return line + "\n"
}

// Prompt returns the chat up to the place of its first answer, in the training text's form.
func (c *ToolChat) Prompt() string {
	var b strings.Builder
	if c.System != "" {
		b.WriteString(c.System + "\n")
	}
	for i := range c.Tools {
		b.WriteString(c.Tools[i].line())
	}
	for i := range c.Before {
		b.WriteString(userMark + c.Before[i].Ask + answerMark)
		c.Before[i].write(&b, true)
	}
	return b.String() + userMark + c.Ask + answerMark
}

// Text returns the chat in the form of the training text: up to the calls or, if answered,
// with their results and the last answer. A model writes calls without spaces, as grammars
// have it; the chat template writes calls that were made with spaces.
func (c *ToolChat) Text(answered bool) string {
	var b strings.Builder
	b.WriteString(c.Prompt())
	c.write(&b, answered)
	return b.String()
}

// write writes what follows the request.
func (t *ToolTurn) write(b *strings.Builder, answered bool) {
	if len(t.Calls) == 0 {
		b.WriteString(t.Answer + endMark)
		return
	}
	for i, call := range t.Calls {
		if i > 0 {
			b.WriteString("\n")
		}
		arguments := call.Arguments
		if answered {
			arguments = call.spaced
		}
		b.WriteString(`{"name": ` + quoted(call.Name) + `, "arguments": ` + arguments + `}`)
	}
	b.WriteString(endMark)
	if !answered {
		return
	}
	for _, call := range t.Calls {
		b.WriteString(resultMark + call.Result)
	}
	b.WriteString(answerMark + t.Answer + endMark)
}

// answeredPct is the percentage of chats with results.
const answeredPct = 40

// Tools writes chats of about size bytes in all, a line feed after each.
func Tools(seed uint64, size int) string {
	d := newDice(seed, "tools")
	return fill(size, func(b *strings.Builder) { b.WriteString(oneToolChat(d, false).Text(d.chance(answeredPct)) + "\n") })
}

// ToolChats returns n chats. With unseen, tools and parameters have names that the training
// text does not use for them.
func ToolChats(seed uint64, n int, unseen bool) []ToolChat {
	d := newDice(seed, "tools")
	out := make([]ToolChat, n)
	for i := range out {
		out[i] = *oneToolChat(d, unseen)
	}
	return out
}

// Percentages of the kinds of chats.
const (
	nonePct    = 9  // no tool fits
	helloPct   = 3  // nothing is asked for
	twoPct     = 8  // two requests
	withoutPct = 5  // no tools at all
	beforePct  = 20 // one turn or two before
	systemPct  = 15
	strangePct = 20 // of names
)

// oneToolChat draws a chat.
func oneToolChat(d *dice, unseen bool) *ToolChat {
	var kinds []*made
	for n := 1 + d.weighted([]int{28, 28, 22, 14, 5, 3}); len(kinds) < n; {
		kinds = addTool(d, kinds, unseen)
	}
	c, w := &ToolChat{}, &writer{g: toolsGrammar(), d: d}
	if d.chance(systemPct) {
		c.System = w.expand("system", false)
	}
	if d.chance(withoutPct) {
		c.Ask, c.Answer = w.expand("hello.ask", false), w.expand("hello.say", false)
		if d.chance(60) {
			c.Ask, _, _ = kinds[0].request(d)
			c.Answer = w.expand("none.say", false)
		}
		return c
	}
	for _, m := range kinds {
		c.Tools = append(c.Tools, m.tool)
	}
	if d.chance(beforePct) {
		for range 1 + d.n(2) {
			c.Before = append(c.Before, toolTurn(d, kinds, unseen))
		}
	}
	c.ToolTurn = toolTurn(d, kinds, unseen)
	return c
}

// toolTurn draws a request to tools, and its answer.
func toolTurn(d *dice, kinds []*made, unseen bool) (t ToolTurn) {
	w := &writer{g: toolsGrammar(), d: d}
	switch at := d.n(100); {
	case at < helloPct:
		t.Ask, t.Answer = w.expand("hello.ask", false), w.expand("hello.say", false)
		return t
	case at < helloPct+nonePct:
		other := addTool(d, kinds, unseen)
		t.Ask, _, _ = other[len(other)-1].request(d)
		t.Answer = w.expand("none.say", false)
		return t
	}
	n := 1
	if d.chance(twoPct) {
		n = 2
	}
	for i := range n {
		ask, call, say := pick(d, kinds).request(d)
		if i > 0 {
			t.Ask += pick(d, []string{" ", " And ", " Then ", "\n"})
			t.Answer += " "
		}
		t.Ask, t.Answer, t.Calls = t.Ask+ask, t.Answer+say, append(t.Calls, call)
	}
	return t
}

// A made tool is a tool of a chat with its kind.
type made struct {
	kind        toolKind
	tool        Tool
	verb, thing string // of an odd tool
}

// addTool appends a tool that no other tool of the list resembles.
func addTool(d *dice, list []*made, unseen bool) []*made {
	for {
		i := d.n(len(toolKinds) + oddShare)
		m := makeTool(d, toolKinds[min(i, len(toolKinds)-1)], unseen)
		if !slices.ContainsFunc(list, func(o *made) bool {
			return o.tool.Name == m.tool.Name || o.resembles(m)
		}) {
			return append(slices.Clone(list), m)
		}
	}
}

// resembles reports whether a request could be one to both.
func (m *made) resembles(o *made) bool {
	if m.kind.rule == o.kind.rule {
		return m.verb == o.verb || m.thing == o.thing
	}
	return slices.ContainsFunc(alike, func(rules []string) bool {
		return slices.Contains(rules, m.kind.rule) && slices.Contains(rules, o.kind.rule) && (m.kind.rule == rules[0] || o.kind.rule == rules[0])
	})
}

// makeTool draws the names and types of a tool.
func makeTool(d *dice, kind toolKind, unseen bool) *made {
	w := &writer{g: toolsGrammar(), d: d, bound: map[string]string{}}
	m := &made{kind: kind}
	if kind.rule == oddRule {
		m.verb, m.thing = w.expand("verb", true), w.expand("thing", true)
		m.tool.Name = pick(d, []string{m.verb + "_" + m.thing, m.verb + "_" + m.thing, m.verb + "_the_" + m.thing, m.thing + "_" + m.verb, m.verb + capitalised(m.thing)})
	} else {
		m.tool.Name = w.name(kind.rule+".name", nil, unseen)
	}
	strange := !unseen && kind.rule != oddRule && d.chance(strangePct)
	if strange {
		m.tool.Name = strangeName(d)
	}
	if strange || d.chance(92) {
		m.tool.About = w.expand(kind.rule+".about", false)
	}
	var used []string
	for i, p := range kind.params {
		name := w.name(kind.rule+"."+slotName(i), used, unseen)
		if !unseen && d.chance(strangePct) {
			name = strangeParameter(d, i)
		}
		used = append(used, name)
		m.tool.Parameters = append(m.tool.Parameters, Parameter{
			Name: name, Type: pick(d, p.types), Enum: p.enum, Optional: kind.optional && i > 0 && i == len(kind.params)-1,
		})
	}
	return m
}

// strangeName draws the name of a tool that only its description explains.
func strangeName(d *dice) string {
	name := strings.ToLower(syllables(d, 2))
	switch d.n(4) {
	case 0:
		return name + "_" + strings.ToLower(syllables(d, 1))
	case 1:
		return pick(d, []string{"do", "run", "use", "call", "get", "my", "tool", "api"}) + "_" + name
	case 2:
		return pick(d, []string{"tool", "function", "fn", "action", "f"}) + pick(d, []string{"", "_"}) + string(rune('1'+d.n(9)))
	}
	return name
}

// strangeParameter draws the name of a parameter that only its place explains.
func strangeParameter(d *dice, i int) string {
	switch d.n(4) {
	case 0:
		return pick(d, []string{"arg", "param", "value", "input", "p", "x", "field"}) + string(rune('1'+i))
	case 1:
		return pick(d, []string{"the", "new", "given", "user", "my", "some"}) + "_" + strings.ToLower(syllables(d, 1)) + string(rune('a'+i))
	}
	return strings.ToLower(syllables(d, 2)) + string(rune('a'+i))
}

func slotName(i int) string { return string(rune('a' + i)) }

// name draws a name that is not used yet: the last of a rule is the one that training does
// not see.
func (w *writer) name(rule string, used []string, unseen bool) string {
	all := w.g.rules[rule]
	if last := all[len(all)-1][0].text; unseen && !slices.Contains(used, last) {
		return last
	}
	for {
		if name := pick(w.d, all[:len(all)-1])[0].text; !slices.Contains(used, name) {
			return name
		}
	}
}

// request draws a request for the tool, the call and the sentence with its result.
func (m *made) request(d *dice) (ask string, call ToolCall, say string) {
	values := m.values(d)
	ask, given := m.sentence(d, "ask", values, nil)
	var args []entry
	var spaced []string
	for i, p := range m.tool.Parameters {
		if slices.Contains(given, slotName(i)) {
			value := argument(p.Type, values[slotName(i)])
			args, spaced = append(args, entry{p.Name, value}), append(spaced, quoted(p.Name)+": "+value)
		}
	}
	call = ToolCall{m.tool.Name, object(args), m.kind.result(d), "{" + strings.Join(spaced, ", ") + "}"}
	values["r"] = call.Result
	if d.chance(25) { // as JSON
		call.Result = "{" + quoted(pick(d, []string{"result", "value", m.kind.rule})) + ": " + quoted(call.Result) + "}"
	}
	say, _ = m.sentence(d, "say", values, append(given, "r"))
	return ask, call, say
}

// values draws the values of the parameters by slot.
func (m *made) values(d *dice) map[string]string {
	values := map[string]string{}
	for i, p := range m.tool.Parameters {
		switch {
		case p.Enum != nil:
			values[slotName(i)] = pick(d, p.Enum)
		default:
			values[slotName(i)] = m.kind.params[i].one(d, p.Type)
		}
	}
	return values
}

// sentence draws a sentence of the kind and lists the slots in it: all that the tool
// requires or, if only is set, none but those.
func (m *made) sentence(d *dice, rule string, values map[string]string, only []string) (text string, slots []string) {
	g := toolsGrammar()
	hole := func(slot string) string { return "\x00" + slot }
	for {
		w := &writer{g: g, d: d, bound: map[string]string{"verb": m.verb, "thing": m.thing}}
		for _, slot := range toolSlots {
			w.bound[slot] = hole(slot)
		}
		text, slots = w.sequence(pick(d, g.rules[m.kind.rule+"."+rule])), nil
		for _, slot := range toolSlots {
			if strings.Contains(text, hole(slot)) {
				slots = append(slots, slot)
			}
		}
		if !m.fits(slots, only) {
			continue
		}
		for _, slot := range slots {
			text = strings.ReplaceAll(text, hole(slot), values[slot])
		}
		return text, slots
	}
}

// toolSlots are the parameters and the result.
var toolSlots = []string{"a", "b", "c", "r"}

// fits reports whether a sentence may have these slots.
func (m *made) fits(slots, only []string) bool {
	if only != nil {
		return !slices.ContainsFunc(slots, func(s string) bool { return !slices.Contains(only, s) })
	}
	for i, p := range m.tool.Parameters {
		if !p.Optional && !slices.Contains(slots, slotName(i)) {
			return false
		}
	}
	return len(slots) == 0 || slots[len(slots)-1] < slotName(len(m.tool.Parameters))
}

// argument writes a value as JSON.
func argument(typ, text string) string {
	switch typ {
	case "string":
		return quoted(text)
	case "boolean":
		return map[string]string{"on": "true", "off": "false"}[text]
	}
	return text
}
