package arch

import (
	"fmt"
	"slices"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// level returns number i of a stream of numbers of at most 8 bits, the lowest bits of each byte
// first. The bytes of GPTQ's, AWQ's and MLX's words are such streams.
func level(stream []byte, i, bits int) int {
	at := i * bits
	pair := int(stream[at/8])
	if at%8+bits > 8 {
		pair |= int(stream[at/8+1]) << 8
	}
	return pair >> (at % 8) & (1<<bits - 1)
}

// setLevel sets number i of a stream to the lowest bits of n.
func setLevel(stream []byte, i, bits, n int) {
	for bit := range bits {
		at, mask := i*bits+bit, byte(1)<<((i*bits+bit)%8)
		if stream[at/8] &^= mask; n>>bit&1 == 1 {
			stream[at/8] |= mask
		}
	}
}

// need returns the tensor with an ending behind the stem. If there is none it fails and returns nil.
func (p *parts) need(ending string) *checkpoint.TensorInfo {
	t := p.find(ending)
	if t == nil {
		p.fail(p.mark, "tensor %.80q is missing", p.stem+ending)
	}
	return t
}

// levelGroups are the groups of inputs of a matrix (out, in) of levels. Each has a scale for each
// output, and a level that means zero.
type levelGroups struct {
	bits, out int
	of        []int     // (in): the group of each input
	zeros     []byte    // (groups, out*bits/32) words: a stream for each group
	scales    []float32 // (groups, out)
}

// A groupParts has the tensors of levelGroups.
type groupParts struct {
	bits, out, in, count int
	zeros, scales, order *checkpoint.TensorInfo // order is nil if groups are equal
}

// groups returns the groups of a matrix (out, in); nil after an error.
func (p *parts) groups(bits, out, in int) *groupParts {
	g := &groupParts{bits: bits, out: out, in: in, zeros: p.need(".qzeros"), scales: p.need(".scales"), order: p.find(".g_idx")}
	if p.err != nil {
		return nil
	}
	s := g.scales
	if !s.Type.Convertible() || len(s.Shape) != 2 || s.Shape[0] < 1 || s.Shape[0] > in || s.Shape[1] != out || g.order == nil && in%s.Shape[0] != 0 {
		p.fail(s, "type %s and shape %v do not fit a weight of shape %v", s.Type, s.Shape, []int{out, in})
		return nil
	}
	g.count = s.Shape[0]
	if z := g.zeros; z.Type != dtype.I32 || !slices.Equal(z.Shape, []int{g.count, out * bits / 32}) {
		p.fail(z, "type %s and shape %v do not fit %d groups of %d outputs", z.Type, z.Shape, g.count, out)
		return nil
	}
	return g
}

// read reads the groups.
func (g *groupParts) read(file *checkpoint.File) (all levelGroups, err error) {
	all = levelGroups{bits: g.bits, out: g.out, zeros: make([]byte, g.zeros.Size)}
	if err := readRange(file, g.zeros.Name, all.zeros, 0); err != nil {
		return all, err
	}
	if all.scales, err = file.Float32(g.scales.Name, nil); err != nil {
		return all, err
	}
	if g.order == nil {
		for i := range g.in {
			all.of = append(all.of, i/(g.in/g.count))
		}
		return all, nil
	}
	if all.of, err = file.Integers(g.order.Name); err != nil {
		return all, err
	}
	for i, group := range all.of {
		if group < 0 || group >= g.count {
			return all, fmt.Errorf("tensor %q: input %d is in group %d of %d", g.order.Name, i, group, g.count)
		}
	}
	return all, nil
}

// scalesOf fills scales with those of an output in each group.
func (g *levelGroups) scalesOf(output int, scales []float32) {
	for i := range scales {
		scales[i] = g.scales[i*g.out+output]
	}
}

// zero returns the level of zero that is at a place of the stream of a group.
func (g *levelGroups) zero(group, place int) int {
	size := g.out * g.bits / 8
	return level(g.zeros[group*size:][:size], place, g.bits)
}
