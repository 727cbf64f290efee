package transformer_test

import (
	"slices"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Runs whose pieces end next to the edges of panels, tiles and blocks of keys give the exact
// bits of one full pass, for every capacity of the cache and number of workers.
func TestAttentionEdges(t *testing.T) {
	pieces := []int{1, 15, 16, 17, 14, 1, 1, 30, 32, 1, 33, 94, 1, 1, 20} // ends among others 31-33, 63-65, 127-129, 255-257
	for _, dim := range []int{16, 21, 32} {
		ck := randomShape(checkpoint.ModelConfig{VocabSize: 37, BlockSize: 300, NLayer: 2, NEmbd: 3 * dim, NHead: 3}, true)
		for _, k := range kernel.Implementations() {
			m := open(t, ck, k, "")
			ids := tokens(277, m.Vocab)
			want := slices.Clone(all(m, ids))
			for workers := 1; workers <= 3; workers++ {
				team := transformer.NewTeam(workers)
				if got := inPieces(m, team, ids, pieces); !slices.Equal(got, want) {
					t.Errorf("%s, dim %d, %d workers: the pieces differ from the full pass", k.Name(), dim, workers)
				}
				team.Close()
			}
		}
	}
}

// inPieces returns the logits after every token. The cache is copied after each piece.
func inPieces(m *transformer.Model, team *transformer.Team, ids, pieces []int) (logits []float32) {
	p := m.NewPass(team)
	p.ShareAll = true
	cache := m.NewCache(1)
	for _, n := range pieces {
		cache = m.Prefix(cache, cache.Len, cache.Len+n)
		logits = append(logits, must(p.Forward([]transformer.Sequence{{Cache: cache, Tokens: ids[:n], Logits: n}}))...)
		ids = ids[n:]
	}
	return logits
}

// A cache has the size of CacheBytes, which is minimal: keys in whole panels, values in whole
// cache lines.
func TestCacheBytes(t *testing.T) {
	ck := randomShape(checkpoint.ModelConfig{VocabSize: 37, BlockSize: 300, NLayer: 2, NEmbd: 63, NHead: 3}, true)
	m := open(t, ck, kernel.Best(), "")
	for _, test := range []struct {
		tokens int
		floats int64 // of one head
	}{{1, 16*21 + 32}, {16, 16*21 + 16*32}, {17, 32*21 + 17*32}, {300, 304*21 + 300*32}, {1000, 304*21 + 300*32}} {
		if got, want := m.CacheBytes(test.tokens), 4*2*3*test.floats; got != want {
			t.Errorf("%d tokens take %d bytes, want %d", test.tokens, got, want)
		}
	}
}
