package sealed

import "testing"

// The tokens of a block are compared one by one, as if chains could be alike.
func TestSealedTokens(t *testing.T) {
	c := Begin("model").Next([]int{1, 2})
	for _, tokens := range [][]int{{1, 3}, {3, 2}, {1, 2, 3}, {3}} {
		data := c.seal("all", []int{1, 2}, []byte{9, 0, 0, 0, 8, 0, 0, 0})
		if got, err := c.open("all", tokens, data); err == nil {
			t.Errorf("tokens %v: %v", tokens, got)
		}
	}
	if got, err := c.open("all", []int{1, 2}, c.seal("all", []int{1, 2}, []byte{9})); err != nil || len(got) != 1 || got[0] != 9 {
		t.Error(got, err)
	}
}
