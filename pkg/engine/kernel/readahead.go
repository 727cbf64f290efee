package kernel

// A readahead says what a routine brings to the second-level cache: for each piece of its
// work, step bytes, from ahead bytes after its weights on. Routines of NEON bring nothing.
type readahead struct{ ahead, step int }

// spread returns the readahead of call i of several, which together bring as many bytes as they
// multiply, from ahead bytes after these on; a single call would bring each bytes for a piece.
// So reading takes no time of its own: all calls for the same weights but the first find them
// in the cache, and would leave the memory idle (768 inputs, weights in memory that a Sapphire
// Rapids core reads at 16 GB/s: Q8_0 on AVX-512 45 % of the peak instead of 35 with 16 rows, 65
// instead of 43 with 32; float32 90 instead of 60 with 128).
func spread(i, calls, bytes, ahead, each int) readahead {
	return readahead{ahead: ahead + bytes/calls*i, step: (each + calls - 1) / calls}
}

// follows reports whether panels that the same worker multiplies next follow panel end in
// memory. In the slab of a model's weights, the next matrix follows the last panel.
func (p *Packed) follows(end, from, to int) bool { return end < to || from == 0 && to == p.Panels() }

// pieces returns the number of pieces of a superblock after which a readahead advances.
func (k Kind) pieces() int {
	switch k {
	case Q8W:
		return 4
	case BF16:
		return 8
	}
	return formats[k].cols / superCols
}
