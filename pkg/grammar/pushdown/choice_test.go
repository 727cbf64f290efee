package pushdown

import (
	"fmt"
	"testing"
)

// If one member distinguishes many objects, all of them stay possible until it is read.
func TestWideChoice(t *testing.T) {
	const many = 10_000
	p := &rules{}
	any := p.literals(`1`, `2`)
	var list []ID
	for i := range many {
		tag := p.literals(fmt.Sprintf(`"k%d"`, i))
		list = append(list, p.add(Rule{Object: &Object{Props: []Prop{{"kind", tag, true}, {fmt.Sprint("v", i), any, true}}, Max: -1}}))
	}
	m := p.machine(t, p.add(Rule{Any: list}))
	for _, i := range []int{0, many / 2, many - 1} {
		if text := fmt.Sprintf(`{"kind":"k%d","v%d":2}`, i, i); !m.Match(text) {
			t.Errorf("%s does not match", text)
		}
		if text := fmt.Sprintf(`{"kind":"k%d","v%d":2}`, i, i+1); m.Match(text) {
			t.Errorf("%s matches", text)
		}
	}
	c, err := Bind(m, vocabularies()["words"])
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Start().end()
	if err != nil || !m.Match(text) {
		t.Errorf("the shortest text is %q: %v", text, err)
	}
}
