package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// A reasoner says how a model is asked to reason: the value of the key thinking. It is
// request.reasoning of a record.
type reasoner struct {
	models     []string // of the ids of its models, parts; nil: all
	on         *template
	off        any            // nil: nothing is sent
	always     bool           // the model cannot answer without reasoning
	efforts    map[string]any // words of the model, or budgets, by the words of clients
	effort     string         // if the client sends none; may be ""
	minBudget  int            // tokens
	excludes   []string       // parameters that cannot be sent with reasoning
	afterCalls bool           // the model reasons in a chat whose last assistant message has calls
}

const maxReasoners = 16

// reasoners checks a reasoner, or a list of which all but the last name their models.
func (c *check) reasoners(pointer string, v any) {
	if !c.schema.Takes("thinking") {
		c.wrong(pointer, "the mapping lacks thinking")
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		list = []any{v}
	case len(list) == 0 || len(list) > maxReasoners:
		c.wrong(pointer, "it has %d elements, not 1 to %d", len(list), maxReasoners)
		return
	}
	for i, v := range list {
		at := pointer
		if ok {
			at = fmt.Sprint(pointer, "/", i)
		}
		r := c.reasoning(at, v)
		switch last := i == len(list)-1; {
		case r == nil:
		case last != (r.models == nil):
			c.wrong(at+"/models", "all elements except the last name their models")
		case last:
			c.schema.reasoner = r
		default:
			c.schema.others = append(c.schema.others, r)
		}
	}
}

// For returns the schema of the model with this id: a record may ask models to reason in
// different ways. The first way is used whose models have a name that is part of the id.
func (s *Schema) For(id string) *Schema {
	if s == nil || len(s.others) == 0 && s.Alternative == nil {
		return s
	}
	own := *s
	own.Alternative = s.Alternative.For(id)
	for _, r := range s.others {
		if slices.ContainsFunc(r.models, func(part string) bool { return strings.Contains(id, part) }) {
			own.reasoner = r
			break
		}
	}
	return &own
}

// reasoning checks the reasoner at pointer.
func (c *check) reasoning(pointer string, v any) *reasoner {
	m, ok := c.object(pointer, v, "models", "on", "off", "always", "efforts", "effort", "min_budget", "excludes", "after_calls")
	if !ok {
		return nil
	}
	r := &reasoner{off: m["off"], afterCalls: true}
	r.always = c.flag(pointer, m, "always", false)
	r.afterCalls = c.flag(pointer, m, "after_calls", true)
	if v, ok := m["models"]; ok {
		r.models = c.parts(pointer+"/models", v)
	}
	if v, ok := m["on"]; ok {
		r.on = c.template(pointer+"/on", v, "effort", "budget")
	} else {
		c.wrong(pointer+"/on", "it is missing")
	}
	if r.always && r.off != nil {
		c.wrong(pointer+"/off", "a model that always reasons cannot be told not to")
	}
	if v, ok := m["min_budget"]; ok {
		if r.minBudget, ok = wholeOf(v); !ok {
			c.wrong(pointer+"/min_budget", "it is not a number of tokens")
		}
	}
	if v, ok := m["excludes"]; ok {
		r.excludes = c.excluded(pointer+"/excludes", v)
	}
	c.efforts(pointer, m, r)
	return r
}

func (c *check) parts(pointer string, v any) (parts []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if part, ok := e.(string); ok && part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || len(parts) != len(list) {
		c.wrong(pointer, "it is not a list of parts of ids")
	}
	return parts
}

func (c *check) flag(pointer string, m map[string]any, name string, otherwise bool) bool {
	v, sent := m[name]
	if !sent {
		return otherwise
	}
	is, ok := v.(bool)
	if !ok {
		c.wrong(pointer+"/"+name, "it is %s, not true or false", kindOf(v))
	}
	return is
}

func (c *check) excluded(pointer string, v any) (names []string) {
	list, ok := v.([]any)
	if !ok {
		c.wrong(pointer, "it is %s, not a list of keys", kindOf(v))
	}
	for i, e := range list {
		name, _ := e.(string)
		if !slices.ContainsFunc(requestKeys(), func(k Key) bool { return k.Name == name }) {
			c.wrong(fmt.Sprint(pointer, "/", i), "it is not a canonical key")
		}
		names = append(names, name)
	}
	return names
}

// efforts checks the efforts: budgets if the template has {budget}, and words otherwise.
func (c *check) efforts(pointer string, m map[string]any, r *reasoner) {
	budgets := r.on.has("budget")
	if v, ok := m["efforts"]; ok {
		r.efforts, ok = v.(map[string]any)
		if !ok {
			c.wrong(pointer+"/efforts", "it is %s, not an object", kindOf(v))
		}
	}
	for name, v := range r.efforts {
		at := pointer + "/efforts/" + escape(name)
		word, isWord := v.(string)
		n, isBudget := wholeOf(v)
		switch {
		case budgets && (!isBudget || n < max(1, r.minBudget)):
			c.wrong(at, "it is not a number of tokens from %d", max(1, r.minBudget))
		case !budgets && (!isWord || word == ""):
			c.wrong(at, "it is %s, not a word; only a template with {budget} takes numbers", kindOf(v))
		}
	}
	if v, ok := m["effort"]; ok {
		if r.effort, _ = v.(string); r.efforts[r.effort] == nil {
			c.wrong(pointer+"/effort", "it is not among the efforts")
		}
	} else if budgets {
		c.wrong(pointer+"/effort", "it is missing: a template with {budget} needs a budget if the client sends none")
	}
}

// wholeOf returns a number of tokens.
func wholeOf(v any) (int, bool) {
	number, _ := v.(json.Number)
	n, err := number.Int64()
	return int(n), err == nil && n >= 0 && n <= 1<<30
}

// says reports whether r takes a key that no path leads to.
func (r *reasoner) says(name string) bool {
	switch {
	case r == nil:
		return false
	case name == "reasoning_effort":
		return len(r.efforts) > 0
	}
	return name == "max_thinking_tokens" && r.on.has("budget")
}

// Reason separates from p how the model is asked to reason: value is the value of the key
// thinking, nil if the model needs none, and rest has the parameters that value does not
// say. An effort or a budget asks for reasoning, unless p turns it off. A budget from
// an effort is at most half of MaxTokens; without MaxTokens, the record's own limit grows by the budget.
// A chat in the middle of calls is sent without reasoning to models that would then need
// the signature of the reasoning before the calls, which clients do not return.
func (s *Schema) Reason(p llm.Params, chat []llm.Message) (value any, rest llm.Params, err error) {
	r := s.reasoner
	if r == nil || p.Thinking == nil && p.Effort == nil && p.MaxThinking == nil {
		return nil, p, nil
	}
	rest = p
	rest.Thinking = nil
	none := p.MaxThinking != nil && *p.MaxThinking == 0 && r.on.has("budget")
	switch {
	case none || p.Thinking != nil && !*p.Thinking:
		if r.always {
			return nil, p, r.unstoppable(p)
		}
		rest.Effort, rest.MaxThinking = nil, nil
		value = plain(r.off)
	case !r.afterCalls && endsWithCalls(chat):
		rest.Effort, rest.MaxThinking = nil, nil
	default:
		if err := r.combines(&p); err != nil {
			return nil, p, err
		}
		if value, err = s.ask(p, &rest); err != nil {
			return nil, p, err
		}
	}
	return s.withVariables(value, &rest), rest, nil
}

// unstoppable returns the error of a request without reasoning.
func (r *reasoner) unstoppable(p llm.Params) error {
	name := "thinking"
	if p.Thinking == nil {
		name = "max_thinking_tokens"
	}
	return &llm.Error{Code: llm.Unsupported, Param: name, Message: "this model always reasons before it answers"}
}

// endsWithCalls reports whether the last message of an assistant has calls.
func endsWithCalls(chat []llm.Message) bool {
	for _, m := range slices.Backward(chat) {
		if m.Role == "assistant" {
			return len(m.Calls) > 0
		}
	}
	return false
}

// combines returns an error if a parameter was sent that cannot be sent with reasoning.
func (r *reasoner) combines(p *llm.Params) (err error) {
	_ = p.Apply(func(name string, v any) bool {
		idle := v == false || v == 1.0 && name != "presence_penalty" && name != "frequency_penalty" || name == "top_k" && v == 0
		if err == nil && !idle && slices.Contains(r.excludes, name) {
			err = &llm.Error{Code: llm.Invalid, Param: name, Message: "this model does not accept it while it reasons: omit it, or turn reasoning off"}
		}
		return true
	})
	return err
}

// ask returns the value that asks for reasoning, and removes from rest what it says.
func (s *Schema) ask(p llm.Params, rest *llm.Params) (any, error) {
	r, word := s.reasoner, s.reasoner.effort
	if p.Effort != nil && len(r.efforts) > 0 {
		if word = *p.Effort; r.efforts[word] == nil {
			return nil, &llm.Error{Code: llm.Unsupported, Param: "reasoning_effort", Message: "this model supports " + words(r.efforts)}
		}
		rest.Effort = nil
	}
	values := map[string]any{}
	if r.on.has("budget") {
		budget, err := s.budget(p, word, rest)
		if err != nil {
			return nil, err
		}
		rest.MaxThinking, values["budget"] = nil, budget
	} else if text, ok := r.efforts[word].(string); ok {
		values["effort"] = text
		if p.Effort != nil && s.slot("reasoning_effort") != nil {
			rest.Effort = &text
		}
	}
	return r.on.fill(values), nil
}

// words lists the efforts, the least first.
func words(efforts map[string]any) string {
	order := []string{"minimal", "low", "medium", "high", "xhigh"}
	rank := func(word string) int {
		if i := slices.Index(order, word); i >= 0 {
			return i
		}
		return len(order)
	}
	list := slices.SortedFunc(maps.Keys(efforts), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return strings.Join(list, ", ")
}

// budget returns the budget, and sets MaxTokens of rest, which must exceed it.
func (s *Schema) budget(p llm.Params, word string, rest *llm.Params) (int, error) {
	r := s.reasoner
	budget, _ := wholeOf(r.efforts[word])
	if p.MaxThinking != nil {
		budget = *p.MaxThinking
	}
	if p.MaxTokens == nil {
		if n, ok := s.limit(); ok {
			rest.MaxTokens = new(n + budget)
		}
	} else if p.MaxThinking == nil {
		budget = min(budget, max(*p.MaxTokens/2, r.minBudget))
	}
	switch {
	case budget < r.minBudget:
		return 0, &llm.Error{Code: llm.Invalid, Param: "max_thinking_tokens", Message: fmt.Sprintf("must be at least %d for this model, or 0", r.minBudget)}
	case rest.MaxTokens == nil || budget < *rest.MaxTokens:
		return budget, nil
	}
	return 0, &llm.Error{Code: llm.Invalid, Param: "max_new_tokens", Message: fmt.Sprintf("must exceed the %d tokens of reasoning, which it includes", budget)}
}

// limit returns the record's own value of max_new_tokens.
func (s *Schema) limit() (int, bool) {
	slot := s.slot("max_new_tokens")
	if slot == nil || !slot.path.definite() {
		return 0, false
	}
	at, _ := slot.path.only(s.defaults)
	return wholeOf(at.value)
}

// withVariables returns value with the variables of the chat template that a client sent, if both
// have the same place.
func (s *Schema) withVariables(value any, rest *llm.Params) any {
	here, there := s.slot("thinking"), s.slot("chat_template_kwargs")
	own, isObject := value.(map[string]any)
	if len(rest.TemplateArgs) == 0 || there == nil || !isObject || !slices.EqualFunc(here.path, there.path, sameOf) {
		return value
	}
	variables := map[string]any{}
	if json.Unmarshal(rest.TemplateArgs, &variables) != nil {
		return value // the dialect has checked it
	}
	rest.TemplateArgs = nil
	for name, v := range own {
		variables[name] = v
	}
	return variables
}
