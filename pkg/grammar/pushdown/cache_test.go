package pushdown

import (
	"fmt"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// What walks need is kept for so many bytes alone: a form may have many large automata.
func TestCacheEvicts(t *testing.T) {
	v := NewVocabulary(vocabularies()["bytes"].tokens)
	var all []*textIndex
	want := ""
	for n := range 80 {
		text := []byte{'"'}
		for i := range 2500 {
			text = append(text, byte(' '+(i*7+n)%95))
		}
		index := v.textIndex(textKey{d: automaton.Literals([]string{automaton.Quote(string(text))})})
		all = append(all, index)
		index.walkTables()
		if inside := index.tokenSets(0).buckets; n == 0 {
			want = fmt.Sprint(inside)
		}
		if v.cacheBytes > maxCacheBytes {
			t.Fatalf("%d bytes are kept", v.cacheBytes)
		}
	}
	evicted := 0
	for _, index := range all {
		if index.tables.Load() == nil {
			evicted++
		}
	}
	if evicted == 0 || evicted == len(all) {
		t.Errorf("%d of %d are forgotten", evicted, len(all))
	}
	if got := fmt.Sprint(all[0].tokenSets(0).buckets); got != want {
		t.Errorf("made again it is %s, was %s", got, want)
	}
}
