package pushdown

import (
	"reflect"
	"testing"
)

// Marks replace what tokens were, and no other token has their bytes.
func TestWithMarks(t *testing.T) {
	tokens := []string{"", "b", "a\xf5", "\xf5", "\xff\x80", "ab", "", "é", "\xf4", "c"}
	got := NewVocabulary(tokens).WithMarks([]int{6, 9, 0})
	want := NewVocabulary([]string{"\xf7", "b", "", "", "", "ab", "\xf5", "é", "\xf4", "\xf6"})
	if !reflect.DeepEqual(got.tokens, want.tokens) || !reflect.DeepEqual(got.ids, want.ids) || !reflect.DeepEqual(got.nodes, want.nodes) ||
		got.roots != want.roots || got.isToken != want.isToken || got.inToken != want.inToken {
		t.Errorf("got %q %v, want %q %v", got.tokens, got.ids, want.tokens, want.ids)
	}
}
