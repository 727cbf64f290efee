package subword

import (
	"strings"
	"testing"
)

// The double array finds the same pieces as a map of all prefixes.
func FuzzPieceTrie(f *testing.F) {
	f.Add("a ab abc b \xff \xff\xff \x00 \x00\x01", "abcabx\xff\x00\x01")
	f.Fuzz(func(t *testing.T, list, text string) {
		pieces := strings.Split(list, " ")
		ids := map[string]int{}
		all := make([]int, len(pieces))
		for id, piece := range pieces {
			ids[piece], all[id] = id, id
		}
		trie, err := NewTrie(pieces, all)
		if err != nil {
			t.Fatal(err)
		}
		for from := range len(text) {
			wantID, wantLength := -1, 0
			for to := from + 1; to <= len(text); to++ {
				if id, ok := ids[text[from:to]]; ok {
					wantID, wantLength = id, to-from
				}
			}
			if id, length := trie.Longest(text[from:]); id != wantID || length != wantLength {
				t.Fatalf("%q of %q: piece %d of %d bytes, want %d of %d", text[from:], pieces, id, length, wantID, wantLength)
			}
		}
	})
}
