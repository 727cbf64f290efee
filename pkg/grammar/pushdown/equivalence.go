package pushdown

import "encoding/binary"

// maxEquivalentBytes is the longest suffix over which states are compared. In Llama 3's
// trie, all but a twentieth of the nodes have no more bytes below them.
const maxEquivalentBytes = 8

// maxEquivalentStates bounds the states that are compared: each takes about a microsecond.
const maxEquivalentStates = 1 << 13

// equivalent reports whether two states, -1 for none, behave the same over the next
// bytes: where the text may end, what it costs to end, and where characters begin. It may
// return false for states that do.
func (t *textIndex) equivalent(a, b int32, bytes uint8) bool {
	if a == b {
		return true
	}
	if bytes > maxEquivalentBytes {
		return false
	}
	k := t.walkTables()
	k.equivalenceOnce.Do(k.findEquivalence)
	return k.equivalence != nil && k.equivalence[bytes][a+1] == k.equivalence[bytes][b+1]
}

// findEquivalence numbers the equivalence classes of states: over no byte by their marks,
// over one byte more by where each byte leads (Moore 1956).
func (k *walkTables) findEquivalence() {
	if k.steps == nil || len(k.marks) > maxEquivalentStates {
		return
	}
	numbers, first := map[int32]int32{}, make([]int32, len(k.marks)+1)
	for i, mark := range k.marks {
		if _, ok := numbers[mark]; !ok {
			numbers[mark] = int32(len(numbers)) + 1 // 0 is for none
		}
		first[i+1] = numbers[mark]
	}
	k.equivalence = append(k.equivalence, first)
	for n := len(numbers); len(k.equivalence) <= maxEquivalentBytes; {
		last := k.equivalence[len(k.equivalence)-1]
		next, count := k.refine(last)
		if count == n {
			next = last // a fixed point
		}
		k.equivalence, n = append(k.equivalence, next), count
	}
}

// refine returns the class numbers over one byte more, and how many there are.
func (k *walkTables) refine(last []int32) (next []int32, n int) {
	next = make([]int32, len(last))
	numbers, key := map[string]int32{}, make([]byte, 0, 4*k.classes+4)
	for i := range k.marks {
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(last[i+1]))
		for _, step := range k.steps[(i+1)*k.classes : (i+2)*k.classes] {
			key = binary.LittleEndian.AppendUint32(key, uint32(2*last[step>>1+1]+step&1))
		}
		number, ok := numbers[string(key)]
		if !ok {
			number = int32(len(numbers)) + 1
			numbers[string(key)] = number
		}
		next[i+1] = number
	}
	return next, len(numbers)
}
