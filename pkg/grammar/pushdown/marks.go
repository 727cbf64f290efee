package pushdown

import "slices"

// FirstMark is the first of MaxMarks bytes that no text in UTF-8 has (Unicode 16, table 3-7).
const (
	FirstMark = 0xF5
	MaxMarks  = 1<<8 - FirstMark
)

// WithMarks returns a vocabulary in which token ids[i] is the byte FirstMark+i, and tokens with
// other such bytes are never allowed. There are at most MaxMarks ids.
func (v *Vocabulary) WithMarks(ids []int) *Vocabulary {
	w := &Vocabulary{tokens: slices.Clone(v.tokens)}
	for id, token := range w.tokens {
		if !withoutMarks(token) {
			w.tokens[id] = ""
		}
	}
	marks := make([]int32, len(ids))
	for i, id := range ids {
		w.tokens[id] = string([]byte{byte(FirstMark + i)})
		marks[i] = int32(id)
	}
	for _, id := range v.ids { // in the order of their texts, and marks come last
		if w.tokens[id] != "" && !slices.Contains(marks, id) {
			w.ids = append(w.ids, id)
		}
	}
	w.ids = append(w.ids, marks...)
	w.nodes = newTrie(len(w.ids), func(i int) string { return w.tokens[w.ids[i]] })
	w.index()
	return w
}

func withoutMarks(token string) bool {
	for i := range len(token) {
		if token[i] >= FirstMark {
			return false
		}
	}
	return true
}
