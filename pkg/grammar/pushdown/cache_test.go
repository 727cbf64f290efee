package pushdown

import (
	"fmt"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// The cache of walk tables is bounded: a grammar may have many large automata.
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
			t.Fatalf("%d bytes are cached", v.cacheBytes)
		}
	}
	evicted := 0
	for _, index := range all {
		if index.tables.Load() == nil {
			evicted++
		}
	}
	if evicted == 0 || evicted == len(all) {
		t.Errorf("%d of %d are evicted", evicted, len(all))
	}
	if got := fmt.Sprint(all[0].tokenSets(0).buckets); got != want {
		t.Errorf("computed again: %s, was %s", got, want)
	}
}
