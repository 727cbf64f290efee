package corpus

import (
	_ "embed" // the grammar
	"slices"
	"strings"
	"sync"
)

//go:embed forms.grammar
var formsSource string

// formsGrammar parses the embedded grammar once.
var formsGrammar = sync.OnceValue(func() *grammar {
	g, err := parseGrammar(formsSource)
	if err != nil {
		panic(err) // the grammar is a constant that the tests parse
	}
	return g
})

const maxForm = 208 // bytes of a piece, both parts

// form is a kind of form: its grammar rule, its keys in the order of writing, and its
// weight in draws.
type form struct {
	rule   string
	fields []field
	weight int
}

// field is a key of a form. Its value is that of the slot with its name, or a nested
// object.
type field struct {
	key    string
	nested []field
}

// forms are the kinds. A sentence need not contain every key.
var forms = []form{
	{"person", []field{{key: "name"}, {key: "age"}, {key: "trade"}, {key: "town"}, {key: "married"}, {key: "children"}}, 24},
	{"order", []field{{key: "customer"}, {key: "items"}, {key: "total"}, {key: "paid"},
		{key: "ship_to", nested: []field{{key: "street"}, {key: "number"}}}}, 20},
	{"meeting", []field{{key: "topic"}, {key: "day"}, {key: "hour"}, {key: "room"}, {key: "guests"}}, 18},
	{"weather", []field{{key: "place"}, {key: "sky"}, {key: "temp"}, {key: "wind"}, {key: "warning"}}, 16},
	{"access", []field{{key: "user"}, {key: "door"}, {key: "code"}, {key: "active"}}, 14},
	{"message", []field{{key: "from"}, {key: "to"}, {key: "urgent"}, {key: "text"}}, 24},
}

// Forms writes pieces of two parts, a blank line after each, about size bytes in all: a
// sentence, sometimes followed by a question, and the form that it fills, a JSON object
// without spaces. A line feed separates them, except in each fourth piece, as with a
// grammar of JSON that allows no line feed. The form has all or some of the keys that the
// sentence contains, in a fixed order. An answer repeats the facts and may include their
// unit.
func Forms(seed uint64, size int) string {
	d := newDice(seed, "forms")
	return fill(size, func(b *strings.Builder) {
		for {
			if piece := oneForm(d); len(piece) <= maxForm {
				b.WriteString(piece)
				b.WriteString("\n\n")
				return
			}
		}
	})
}

// questionPct is the percentage of sentences followed by a question, if there is one to
// ask.
const questionPct = 30

// oneForm writes a piece.
func oneForm(d *dice) string {
	g, f := formsGrammar(), pickForm(d)
	seq := pick(d, g.rules[f.rule])
	w := &writer{g: g, d: d, bound: map[string]string{}}
	values := map[string]string{} // JSON, by slot
	for _, name := range slotsOf(seq) {
		w.bound[name], values[name] = formSlots[name].draw(d, g, name)
	}
	text, entries := w.sequence(seq), entriesOf(f.fields, values)
	if asked := askable(g, entries); len(asked) > 0 && d.chance(questionPct) {
		e := pick(d, asked)
		text += " " + w.expand("ask."+e.key, false)
		entries = answered(w, e)
	}
	if !d.chance(25) {
		text += "\n"
	}
	return text + object(chosen(d, entries))
}

// pickForm draws a kind by weight.
func pickForm(d *dice) form {
	w := make([]int, len(forms))
	for i, f := range forms {
		w[i] = f.weight
	}
	return forms[d.weighted(w)]
}

// slotsOf lists the slots of an alternative in the order of the text. A slot may begin
// with a capital, to begin a sentence.
func slotsOf(seq sequence) (names []string) {
	for _, p := range seq {
		if p.bound && !slices.Contains(names, strings.ToLower(p.rule)) {
			names = append(names, strings.ToLower(p.rule))
		}
	}
	return names
}

// entry is a key of a form with its value as JSON.
type entry struct{ key, value string }

// entriesOf lists the fields filled by the values of slots.
func entriesOf(fields []field, values map[string]string) (out []entry) {
	for _, f := range fields {
		if f.nested != nil {
			if inner := entriesOf(f.nested, values); len(inner) == len(f.nested) {
				out = append(out, entry{f.key, object(inner)})
			}
			continue
		}
		if v, ok := values[f.key]; ok {
			out = append(out, entry{f.key, v})
		}
	}
	return out
}

// askable returns the entries for which the grammar has a question.
func askable(g *grammar, entries []entry) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return g.rules["ask."+e.key] == nil })
}

// answered lists the entries of an answer: a sentence, the requested value and its unit.
func answered(w *writer, e entry) []entry {
	out := []entry{{"answer", quoted(w.sequence(w.g.rules["answer."+e.key][0]))}, e}
	if unit := w.g.rules["units."+e.key]; unit != nil {
		out = append(out, entry{"units", quoted(unit[0][0].text)})
	}
	return out
}

// chosen draws the entries that a form asks for: often all, otherwise some or few.
func chosen(d *dice, all []entry) []entry {
	if d.chance(45) {
		return all
	}
	keep := pick(d, []int{25, 60})
	for {
		some := slices.DeleteFunc(slices.Clone(all), func(entry) bool { return !d.chance(keep) })
		if len(some) > 0 {
			return some
		}
	}
}

// object writes a JSON object without spaces.
func object(entries []entry) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = quoted(e.key) + ":" + e.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// quoted writes a JSON string, with the two escapes that ASCII text needs.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// list writes a JSON array of strings.
func list(items []string) string {
	out := make([]string, len(items))
	for i, s := range items {
		out[i] = quoted(s)
	}
	return "[" + strings.Join(out, ",") + "]"
}
