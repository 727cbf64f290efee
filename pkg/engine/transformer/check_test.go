package transformer

import (
	"strings"
	"testing"
)

// Of two faults, the same one is named each time.
func TestTablesInOrder(t *testing.T) {
	s := &Spec{RelativeBuckets: 8, RelativeDistance: 20, Kinds: make([]Kind, 2), Encoder: []int{0, 1}, Decoder: []int{1, 0}}
	s.Kinds[0].Attention.Heads, s.Kinds[1].Attention.Heads = 2, 4
	for range 20 {
		if err := s.checkTables(); err == nil || !strings.HasPrefix(err.Error(), "encoder[1]: 4 heads") {
			t.Fatal(err)
		}
	}
}
