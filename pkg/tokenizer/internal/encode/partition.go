package encode

import (
	"cmp"
	"slices"
)

// A Match is a token that is read in the bytes [From, To) of a text.
type Match struct{ ID, From, To int }

// Partition returns the tokens that are read in a text of n bytes, in order. Of those that
// overlap it takes the longest, then the smallest id, then the leftmost. longest returns the id
// and the length of the longest token that begins at from and ends at to or before, 0 for none.
//
// Source: llama.cpp, tokenizer_st_partition.
func Partition(n int, longest func(from, to int) (id, length int)) (out []Match) {
	var byLength [][]Match // at most one at each place
	add := func(from, to int) {
		id, length := longest(from, to)
		for len(byLength) <= length {
			byLength = append(byLength, nil)
		}
		if length > 0 {
			byLength[length] = append(byLength[length], Match{id, from, from + length})
		}
	}
	for from := range n {
		add(from, n)
	}
	if len(byLength) <= 1 {
		return nil
	}
	taken := make([]bool, n)
	for _, matches := range slices.Backward(byLength) {
		slices.SortFunc(matches, func(a, b Match) int { return cmp.Or(a.ID-b.ID, a.From-b.From) })
		for _, m := range matches {
			switch { // what is taken is as long as m, or longer
			case taken[m.From]:
			case taken[m.To-1]: // a shorter one may fit
				to := m.From + 1
				for !taken[to] {
					to++
				}
				add(m.From, to)
			default:
				out = append(out, m)
				for i := m.From; i < m.To; i++ {
					taken[i] = true
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Match) int { return a.From - b.From })
	return out
}
