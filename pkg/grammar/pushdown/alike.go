package pushdown

import "encoding/binary"

// alikeFor is over how many bytes states are looked at for whether they go on alike: of
// Llama 3's trie all but a twentieth of the nodes have no more below them.
const alikeFor = 8

// likened is up to how many states are compared: it takes about a
// microsecond a state.
const likened = 1 << 13

// alike reports that two states, of which -1 is none, go on alike over so many bytes:
// where the text may end, what it costs to end, and where characters begin. It may miss
// some that do.
func (t *texts) alike(a, b int32, bytes uint8) bool {
	if a == b {
		return true
	}
	if bytes > alikeFor {
		return false
	}
	k := t.walking()
	k.likeOnce.Do(k.findLike)
	return k.like != nil && k.like[bytes][a+1] == k.like[bytes][b+1]
}

// findLike numbers the states that go on alike: over no byte by their marks, over more by
// where each byte leads (Moore 1956).
func (k *walking) findLike() {
	if k.steps == nil || len(k.marks) > likened {
		return
	}
	numbers, first := map[int32]int32{}, make([]int32, len(k.marks)+1)
	for i, mark := range k.marks {
		if _, ok := numbers[mark]; !ok {
			numbers[mark] = int32(len(numbers)) + 1 // 0 is for none
		}
		first[i+1] = numbers[mark]
	}
	k.like = append(k.like, first)
	for n := len(numbers); len(k.like) <= alikeFor; {
		last := k.like[len(k.like)-1]
		next, more := k.refine(last)
		if more == n {
			next = last // for good
		}
		k.like, n = append(k.like, next), more
	}
}

// refine returns the numbers over a byte more, and how many there are.
func (k *walking) refine(last []int32) (next []int32, n int) {
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
