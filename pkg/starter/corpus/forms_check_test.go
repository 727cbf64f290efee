package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// formPattern recognises the sentences of one alternative.
type formPattern struct {
	re    *regexp.Regexp
	slots []string // of the groups
}

// newFormPatterns compiles the alternatives of a rule.
func newFormPatterns(g *grammar, rule string) (out []formPattern) {
	for _, seq := range g.rules[rule] {
		var p formPattern
		p.re = regexp.MustCompile(`^(?:` + p.source(g, seq) + `)$`)
		out = append(out, p)
	}
	return out
}

// source writes a sequence as a regular expression with a group for each slot.
func (p *formPattern) source(g *grammar, seq sequence) string {
	var b strings.Builder
	for _, part := range seq {
		var options []string
		switch {
		case part.bound:
			name := strings.ToLower(part.rule)
			p.slots = append(p.slots, name)
			b.WriteString("(" + formSlots[name].source(g, name, name != part.rule) + ")")
			continue
		case part.choices != nil:
			for _, c := range part.choices {
				options = append(options, p.source(g, c))
			}
		case part.rule != "":
			for _, c := range g.rules[part.rule] {
				options = append(options, p.source(g, c))
			}
		default:
			b.WriteString(regexp.QuoteMeta(part.text))
			continue
		}
		b.WriteString("(?:" + strings.Join(options, "|") + ")")
	}
	return b.String()
}

// source returns the regular expression of the slot's text in a sentence.
func (s formSlot) source(g *grammar, name string, capital bool) string {
	switch s.kind {
	case listed:
		return `(?:(?:` + s.pattern + `, )?` + s.pattern + ` and )?` + s.pattern
	case copied, bare:
		return s.pattern
	}
	var options []string
	for _, v := range s.values {
		for _, seq := range g.rules[name+"."+v] {
			text := seq[0].text
			if capital {
				text = capitalised(text)
			}
			options = append(options, regexp.QuoteMeta(text))
		}
	}
	return strings.Join(options, "|")
}

// value returns the JSON of the slot's text in a sentence.
func (s formSlot) value(g *grammar, name, text string) string {
	switch s.kind {
	case copied:
		return quoted(text)
	case listed:
		return list(strings.Split(strings.ReplaceAll(text, " and ", ", "), ", "))
	case bare:
		return text
	}
	for _, v := range s.values {
		if slices.ContainsFunc(g.rules[name+"."+v], func(seq sequence) bool { return seq[0].text == text }) {
			if s.kind == phrasedWord {
				return quoted(v)
			}
			return v
		}
	}
	return ""
}

// match returns the sentence's value of each slot, or nil.
func (p *formPattern) match(text string) map[string]string {
	groups := p.re.FindStringSubmatch(text)
	if groups == nil {
		return nil
	}
	said := map[string]string{}
	for i, name := range p.slots {
		text := groups[i+1]
		if len(formSlots[name].values) > 0 {
			text = uncapitalised(text)
		}
		if before, ok := said[name]; ok && before != text {
			return nil // a slot has one value
		}
		said[name] = text
	}
	return said
}

// formPatterns recognises the alternatives of each kind and of each question.
var formPatterns = sync.OnceValue(func() map[string][]formPattern {
	g, out := formsGrammar(), map[string][]formPattern{}
	for _, f := range forms {
		out[f.rule] = newFormPatterns(g, f.rule)
	}
	for rule := range g.rules {
		if strings.HasPrefix(rule, "ask.") {
			out[rule] = newFormPatterns(g, rule)
		}
	}
	return out
})

// Filled is a form with every key that its sentence contains: names in the order of the
// form, values as JSON.
type Filled struct {
	Kind   string // rule of the sentence
	Keys   []string
	Values map[string]string
}

// FillForm parses a sentence of Forms, perhaps with a question, and fills in the form.
func FillForm(text string) (*Filled, error) {
	text = strings.TrimSuffix(text, "\n")
	sentence, question := text, ""
	if strings.HasSuffix(text, "?") {
		at := strings.LastIndex(text, ". ")
		if at < 0 {
			return nil, errors.New("form: a question without a sentence")
		}
		sentence, question = text[:at+1], text[at+2:]
	}
	for _, f := range forms {
		for _, p := range formPatterns()[f.rule] {
			if said := p.match(sentence); said != nil {
				return f.fill(said, question)
			}
		}
	}
	return nil, fmt.Errorf("form: unknown sentence %q", sentence)
}

// fill makes the form of a sentence's texts of slots, or the answer to the question.
func (f *form) fill(texts map[string]string, question string) (*Filled, error) {
	g, values := formsGrammar(), map[string]string{}
	for name, text := range texts {
		values[name] = formSlots[name].value(g, name, text)
	}
	entries := entriesOf(f.fields, values)
	if question != "" {
		at := slices.IndexFunc(askable(g, entries), func(e entry) bool { return asks(e.key, question, texts) })
		if at < 0 {
			return nil, fmt.Errorf("form: the question %q does not follow", question)
		}
		entries = answered(&writer{g: g, bound: texts}, askable(g, entries)[at])
	}
	out := &Filled{Kind: f.rule, Values: map[string]string{}}
	for _, e := range entries {
		out.Keys = append(out.Keys, e.key)
		out.Values[e.key] = e.value
	}
	return out, nil
}

// asks reports whether a question asks for that key and repeats the sentence's texts.
func asks(key, question string, texts map[string]string) bool {
	return slices.ContainsFunc(formPatterns()["ask."+key], func(p formPattern) bool {
		asked := p.match(question)
		for name, text := range asked {
			if texts[name] != text {
				return false
			}
		}
		return asked != nil
	})
}

// CheckForm returns the first fault of a piece of Forms: a sentence that the grammar
// cannot produce, a form that is not compact JSON, keys that the sentence does not
// contain or in another order, a value that differs from the sentence's.
func CheckForm(piece string) error {
	text, object := SplitForm(piece)
	want, err := FillForm(text)
	if err != nil {
		return err
	}
	keys, values, err := ReadForm(object)
	if err != nil {
		return err
	}
	from := 0
	for _, k := range keys {
		at := slices.Index(want.Keys[from:], k)
		if at < 0 {
			return fmt.Errorf("form: key %q does not belong there", k)
		}
		if values[k] != want.Values[k] {
			return fmt.Errorf("form: %s is %s, not %s", k, want.Values[k], values[k])
		}
		from += at + 1
	}
	return nil
}

// SplitForm splits a piece where its form begins: at the first brace from which on it is
// JSON. Without one it is all text.
func SplitForm(piece string) (text, object string) {
	for at := range len(piece) {
		if piece[at] == '{' && json.Valid([]byte(piece[at:])) {
			return piece[:at], piece[at:]
		}
	}
	return piece, ""
}

// ReadForm parses a compact JSON object: its keys in order and their values.
func ReadForm(text string) (keys []string, values map[string]string, err error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, nil, fmt.Errorf("form: %q: %w", text, err)
	}
	values = map[string]string{}
	for k, v := range raw {
		keys, values[k] = append(keys, k), string(v)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Index(text, `"`+a+`":`) - strings.Index(text, `"`+b+`":`) })
	entries := make([]entry, len(keys))
	for i, k := range keys {
		entries[i] = entry{k, values[k]}
	}
	if len(keys) == 0 || object(entries) != text {
		return nil, nil, fmt.Errorf("form: %q has no keys or is not compact", text)
	}
	return keys, values, nil
}
