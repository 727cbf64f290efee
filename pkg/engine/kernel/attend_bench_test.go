package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkAttendHeads compares attention of one token, whose queries share heads of keys, with plain
// reading of the same bytes from DRAM: as in a batch of sequences, each head has keys of its own.
func BenchmarkAttendHeads(b *testing.B) {
	for _, k := range Implementations()[1:] {
		for _, f := range formatsKV {
			for _, group := range []int{1, 4, 8} {
				for _, seen := range []int{300, 2000} {
					b.Run(fmt.Sprintf("%s/format=%d/heads=%d/seen=%d", k.Name(), f, group, seen), func(b *testing.B) {
						attendHeads(b, k, f, group, seen)
					})
				}
			}
		}
	}
}

func attendHeads(b *testing.B, k *Kernels, f KVFormat, group, seen int) {
	const dim = 64
	data := memory(64 << 20)
	heads := headsIn(Floats(data), newKV(k, f, random(source(), seen*dim), random(source(), seen*dim), seen, dim))
	q := Queries{In: random(source(), group*dim), Out: make([]float32, group*dim), InStride: group * dim, OutStride: group * dim,
		Tokens: 1, Heads: group, Seen: seen, Causal: true, Scale: 0.2}
	a := NewAttention(dim)
	read := float64(4 * len(heads) * (len(heads[0].Keys) + len(heads[0].Values)))
	versus(b, "GB/s", read, func() {
		for _, kv := range heads {
			k.Attend(a, &q, kv)
		}
	}, func() float64 { return float64(k.ReadMemory(data)) })
}

// headsIn fills memory with copies of a head's keys and values.
func headsIn(memory []float32, head KV) (heads []KV) {
	keys, values := len(head.Keys), len(head.Values)
	for len(memory) >= keys+values {
		kv := head
		kv.Keys, kv.Values, memory = memory[:keys], memory[keys:][:values], memory[keys+values:]
		copy(kv.Keys, head.Keys)
		copy(kv.Values, head.Values)
		heads = append(heads, kv)
	}
	return heads
}
