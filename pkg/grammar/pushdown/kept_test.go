package pushdown

import (
	"fmt"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// What walks need is kept for so many bytes alone: a form may have many large automata.
func TestKeptWalks(t *testing.T) {
	v := NewVocabulary(vocabularies()["bytes"].tokens)
	var all []*texts
	want := ""
	for n := range 80 {
		text := []byte{'"'}
		for i := range 2500 {
			text = append(text, byte(' '+(i*7+n)%95))
		}
		one := v.text(textKey{d: automaton.Literals([]string{automaton.Quote(string(text))})})
		all = append(all, one)
		one.walking()
		if inside := one.local(0).inside; n == 0 {
			want = fmt.Sprint(inside)
		}
		if v.keptBytes > maxKept {
			t.Fatalf("%d bytes are kept", v.keptBytes)
		}
	}
	forgotten := 0
	for _, one := range all {
		if one.walk.Load() == nil {
			forgotten++
		}
	}
	if forgotten == 0 || forgotten == len(all) {
		t.Errorf("%d of %d are forgotten", forgotten, len(all))
	}
	if got := fmt.Sprint(all[0].local(0).inside); got != want {
		t.Errorf("made again it is %s, was %s", got, want)
	}
}
