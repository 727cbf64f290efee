package bpe

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// pairPatterns are pairs typical of vocabularies, and pairs on which a hash may fail.
func pairPatterns(n int) map[string][]uint64 {
	patterns := map[string][]uint64{}
	add := func(name string, left, right func(i int) int) {
		for i := range n {
			patterns[name] = append(patterns[name], PairKey(int32(left(i)), int32(right(i)))+1)
		}
	}
	same, zero := func(i int) int { return i }, func(int) int { return 0 }
	add("block", func(i int) int { return i / 100 }, func(i int) int { return i % 100 })
	add("one left", zero, same)
	add("one right", same, zero)
	add("equal", same, same)
	add("neighbours", same, func(i int) int { return i + 1 })
	add("strided left", func(i int) int { return i << 4 % (1 << 31) }, zero)
	add("strided both", func(i int) int { return i % 256 << 12 }, func(i int) int { return i / 256 << 12 })
	return patterns
}

// probes returns the mean number of slots examined to find a key in a table of
// NewPairTable's size.
func probes(keys []uint64, hash func(key uint64) uint64) float64 {
	size := len(NewPairTable(len(keys)).slots)
	used := make([]bool, size)
	total := 0
	for _, key := range keys {
		i := int(hash(key) & uint64(size-1))
		for ; used[i]; i = (i + 1) % size {
			if total++; total > 100*len(keys) {
				return 100
			}
		}
		used[i] = true
		total++
	}
	return float64(total) / float64(len(keys))
}

// maxProbes exceeds the mean for random slots at a load of two thirds: 2 (Knuth, vol. 3,
// 6.4).
const maxProbes = 2.3

// Pairs do not cluster with any seed. They do with either half of the product alone, so
// the test detects a weak hash.
func TestPairHash(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 43_000 // just below two thirds of 65,536
	if size := len(NewPairTable(n).slots); size != 1<<16 {
		t.Fatalf("%d slots for %d pairs", size, n)
	}
	worst := map[string]float64{}
	for name, keys := range pairPatterns(n) {
		for range 5 {
			seed := rng.Uint64()
			if p := probes(keys, func(key uint64) uint64 { return hashPair(key, seed) }); p > maxProbes {
				t.Errorf("%s, seed %#x: %.2f probes", name, seed, p)
			}
			for half, hash := range map[string]func(hi, lo uint64) uint64{
				"high": func(hi, _ uint64) uint64 { return hi },
				"low":  func(_, lo uint64) uint64 { return lo },
			} {
				worst[half] = max(worst[half], probes(keys, func(key uint64) uint64 {
					return hash(bits.Mul64(key^seed, 0x9e3779b97f4a7c15))
				}))
			}
		}
	}
	for half, p := range worst {
		if p <= maxProbes {
			t.Errorf("the %s half alone needs %.2f probes: the test does not tell it from a good hash", half, p)
		}
	}
}

// The table holds the inserted pairs, in the slots of their hashes.
func TestPairTable(t *testing.T) {
	for name, keys := range pairPatterns(3000) {
		table := NewPairTable(len(keys))
		for i, key := range keys {
			if !table.Put(key-1, Merged{int32(i), int32(2 * i)}) {
				t.Fatalf("%s: pair %d is not new", name, i)
			}
			if table.Put(key-1, Merged{}) {
				t.Fatalf("%s: pair %d is new twice", name, i)
			}
		}
		for i, key := range keys {
			left, right := int32((key-1)>>32), int32((key-1)&0xffffffff)
			if got := table.Get(left, right); got != (Merged{int32(i), int32(2 * i)}) {
				t.Fatalf("%s: pair %d: %v", name, i, got)
			}
			if got := table.Get(left, right+1<<20); got.Rank != Never {
				t.Fatalf("%s: a pair that is not there: %v", name, got)
			}
		}
		mask, moved := uint64(len(table.slots)-1), 0
		for i, s := range table.slots {
			if s.key != 0 {
				moved += int((uint64(i) - hashPair(s.key, table.seed)) & mask)
			}
		}
		if got := 1 + float64(moved)/float64(len(keys)); got > maxProbes+0.5 {
			t.Errorf("%s: %.2f probes", name, got)
		}
	}
}

// The table of pieces holds every length, and pieces that differ in one byte.
func TestPieceTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	want := map[string]int32{}
	for n := 1; n <= 40; n++ {
		for range 100 {
			piece := make([]byte, n)
			for i := range piece {
				piece[i] = "ab\x00"[rng.IntN(3)]
			}
			want[string(piece)] = int32(len(want))
		}
	}
	absent := 0
	table := newPieceTable(len(want))
	for piece, id := range want {
		table.put(piece, id)
	}
	for piece, id := range want {
		if got, ok := table.get(piece); !ok || got != id {
			t.Fatalf("%q: %d %v, want %d", piece, got, ok, id)
		}
		for i := range len(piece) {
			other := piece[:i] + string(piece[i]^1) + piece[i+1:]
			id, there := want[other]
			if got, ok := table.get(other); ok != there || ok && got != id {
				t.Fatalf("%q: %d %v, want %d %v", other, got, ok, id, there)
			} else if !there {
				absent++
			}
		}
	}
	if absent < 1000 {
		t.Errorf("only %d absent pieces", absent)
	}
	for i, s := range table.slots {
		home := s.key.hash(table.seed) >> table.shift
		if s.key.length > 0 && (uint64(i)-home)&uint64(len(table.slots)-1) > 100 {
			t.Errorf("slot %d is far from %d", i, home)
		}
	}
}
