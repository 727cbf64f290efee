package grammar_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"glossa/pkg/grammar"
)

// hostile makes a random schema of keywords that demand much work.
type hostile struct {
	*rand.Rand
	b   *strings.Builder
	def int // references may use this definition and later ones
}

func (h *hostile) list(n int, what func(i int)) {
	for i := range n {
		if i > 0 {
			h.b.WriteByte(',')
		}
		what(i)
	}
}

func (h *hostile) size() int {
	return []int{1, 2, 3, 5, 8, 20, 70, 300, 2000}[h.IntN(9)]
}

func (h *hostile) pattern() string {
	atoms := []string{"a", "b", ".", "[a-f]", "x*", ".*", "(a|b)", `\\d`, `\\w+`, `\\p{L}`, "[^a]", "é", "(ab|a)*", "^", "$"}
	counts := []string{"", "", "", "?", "*", "+", "{3}", "{9}", "{0,20}", "{200}", "{1000}", "{2,}"}
	var b strings.Builder
	for range 1 + h.IntN(8) {
		atom := atoms[h.IntN(len(atoms))]
		if count := counts[h.IntN(len(counts))]; count != "" && atom != "^" && atom != "$" {
			atom = "(?:" + atom + ")" + count
		}
		b.WriteString(atom)
	}
	return b.String()
}

func (h *hostile) number() string {
	return []string{"0", "1", "2", "3", "7", "17", "100", "997", "30000", "1000000", "4294967296", "0.01", "1e300", "-5", "99999999999999999999"}[h.IntN(15)]
}

func (h *hostile) count() string {
	return []string{"0", "1", "2", "3", "17", "100", "900", "30000", "1000000", "4294967296"}[h.IntN(10)]
}

// schema writes a schema; room bounds its size.
func (h *hostile) schema(room int) {
	h.b.WriteByte('{')
	seen := map[int]bool{}
	h.list(1+h.IntN(3), func(int) {
		kinds := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 7, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15}
		if room < 60 {
			kinds = kinds[:11]
		}
		kind := kinds[h.IntN(len(kinds))]
		for seen[kind] { // a duplicate key is refused at once
			kind = kinds[h.IntN(len(kinds))]
		}
		seen[kind] = true
		h.keyword(kind, room)
	})
	h.b.WriteByte('}')
}

func (h *hostile) keyword(kind, room int) {
	n := min(h.size(), max(1, room/40))
	sub := func() { h.schema(room / (n + 1) / 2) }
	name := func(i int) string { return fmt.Sprintf("%c%d", 'a'+i%3, i/3) }
	write := func(format string, args ...any) { fmt.Fprintf(h.b, format, args...) }
	key := func(k string) string { return `"` + k + `"` }
	kinds := []string{"string", "integer", "number", "array", "object", "null"}
	bounds := []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
	limits := []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	switch kind {
	case 0:
		write(`%s:"%s"`, key("type"), kinds[h.IntN(len(kinds))])
	case 1:
		write(`%s:"%s"`, key("pattern"), h.pattern())
	case 2:
		write(`%s:%s`, key(bounds[h.IntN(len(bounds))]), h.count())
	case 3:
		write(`%s:%s`, key(limits[h.IntN(len(limits))]), h.number())
	case 4:
		write(`%s:%s`, key("multipleOf"), strings.Replace("1"+h.number(), "-", "", 1))
	case 5: // recursion
		write(`%s:{"$ref":"#/$defs/%d"}`, key("items"), h.IntN(4))
	case 6:
		write(`%s:"#/$defs/%d"`, key("$ref"), h.def)
	case 7:
		write(`%s:[`, key([]string{"allOf", "anyOf", "oneOf"}[h.IntN(3)]))
		h.list(n, func(int) { sub() })
		write(`]`)
	case 8:
		write(`%s:`, key("not"))
		h.schema(room / 2)
	case 9:
		write(`%s:{`, key([]string{"properties", "dependentSchemas"}[h.IntN(2)]))
		h.list(n, func(i int) { write(`"%s":`, name(i)); sub() })
		write(`}`)
	case 10:
		write(`%s:{`, key("patternProperties"))
		h.list(min(n, 20), func(i int) { write(`"%s%d":`, h.pattern(), i); sub() })
		write(`}`)
	case 11:
		write(`%s:[`, key("required"))
		h.list(n, func(i int) { write(`"%s"`, name(i)) })
		write(`]`)
	case 12:
		write(`%s:[`, key("enum"))
		h.list(n, func(i int) { write([]string{`%d`, `"v%d"`, `[%d]`, `{"a0":%d}`}[i%4], i) })
		write(`]`)
	case 13:
		write(`%s:[`, key("prefixItems"))
		h.list(n, func(int) { sub() })
		write(`]`)
	case 14:
		write(`%s:`, key([]string{"additionalItems", "additionalProperties", "propertyNames"}[h.IntN(3)]))
		h.schema(room / 2)
	case 15:
		write(`%s:`, key("if"))
		h.schema(room / 2)
		write(`,"then":`)
		h.schema(room / 2)
	}
}

var attackTries = flag.Int("attacks", 40, "how many hostile schemas TestRandomAttacks tries")

// Every schema takes bounded work and causes no panic.
func TestRandomAttacks(t *testing.T) {
	v := vocabularies(t)[0].ready
	refused := 0
	for seed := range uint64(*attackTries) {
		h := &hostile{rand.New(rand.NewPCG(seed, 17)), &strings.Builder{}, 0}
		h.b.WriteString(`{"$defs":{`)
		h.list(5, func(i int) {
			h.def = i + 1
			fmt.Fprintf(h.b, `"%d":`, i)
			if i == 4 {
				h.b.WriteString("{}")
				return
			}
			h.schema(3000)
		})
		h.def = 0
		h.b.WriteString(`},"allOf":[`)
		h.list(1, func(int) { h.schema(20_000) })
		h.b.WriteString(`]}`)
		source := h.b.String()
		err := bounded(t, fmt.Sprint("seed ", seed), func(c *grammar.Compiler) error {
			g, err := c.Schema([]byte(source), grammar.Generating())
			if err != nil {
				return err
			}
			_, err = c.Bind(g, v)
			return err
		})
		if err != nil {
			refused++
		}
		if _, ok := errors.AsType[*grammar.Error](err); err != nil && !ok {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d of %d are refused", refused, *attackTries)
}
