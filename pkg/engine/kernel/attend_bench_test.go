package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkAttendHeads compares attention of one token, whose queries share heads of keys, with plain
// reading of the same bytes from DRAM: as in a batch of sequences, each head has keys of its own.
func BenchmarkAttendHeads(b *testing.B) {
	const dim, size = 64, 64 << 20
	for _, k := range Implementations()[1:] {
		for _, f := range formatsKV {
			for _, group := range []int{1, 4, 8} {
				for _, seen := range []int{300, 2000} {
					b.Run(fmt.Sprintf("%s/format=%d/heads=%d/seen=%d", k.Name(), f, group, seen), func(b *testing.B) {
						keys, values := KVLen(f, seen, dim)
						data := memory(size)
						rest, r := Floats(data), source()
						one := newKV(k, f, random(r, seen*dim), random(r, seen*dim), seen, dim)
						var heads []KV
						for len(rest) >= keys+values {
							kv := KV{Keys: rest[:keys], Values: rest[keys:][:values], Dim: dim, Format: f}
							copy(kv.Keys, one.Keys)
							copy(kv.Values, one.Values)
							heads, rest = append(heads, kv), rest[keys+values:]
						}
						q := Queries{In: random(r, group*dim), Out: make([]float32, group*dim), InStride: group * dim, OutStride: group * dim,
							Tokens: 1, Heads: group, Seen: seen, Causal: true, Scale: 0.2}
						a := NewAttention(dim)
						versus(b, "GB/s", float64(size-4*len(rest)), func() {
							for _, kv := range heads {
								k.Attend(a, &q, kv)
							}
						}, func() float64 { return float64(k.ReadMemory(data)) })
					})
				}
			}
		}
	}
}
