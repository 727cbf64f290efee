package arch_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// levelled is a matrix (out, in) of levels, of which each input is in a group.
type levelled struct {
	bits, out, in, groups int
	levels                []int     // (out, in)
	zeros                 []int     // (groups, out)
	scales                []float32 // (groups, out)
	order                 []int     // (in)
}

// newLevelled returns a random matrix. Groups are equal, or if shuffled in any order.
func newLevelled(bits, out, in, groups int, shuffled bool) *levelled {
	rng := rand.New(rand.NewPCG(uint64(bits), uint64(out*in)))
	m := &levelled{bits: bits, out: out, in: in, groups: groups}
	for range out * in {
		m.levels = append(m.levels, rng.IntN(1<<bits))
	}
	for range groups * out {
		m.zeros, m.scales = append(m.zeros, rng.IntN(1<<bits)), append(m.scales, float32(1+rng.IntN(15))/64)
	}
	for i := range in {
		m.order = append(m.order, i*groups/in)
	}
	if shuffled {
		rng.Shuffle(in, func(i, j int) { m.order[i], m.order[j] = m.order[j], m.order[i] })
	}
	return m
}

// values returns the matrix.
func (m *levelled) values() (all []float32) {
	for at, level := range m.levels {
		g := m.order[at%m.in]*m.out + at/m.in
		all = append(all, float32(level-m.zeros[g])*m.scales[g])
	}
	return all
}

// stream packs numbers, the lowest bits of each word first.
func stream(numbers []int, bits int) []uint32 {
	words := make([]uint32, (len(numbers)*bits+31)/32)
	for i, n := range numbers {
		for bit := range bits {
			at := i*bits + bit
			words[at/32] |= uint32(n>>bit&1) << (at % 32)
		}
	}
	return words
}

// wordsOf returns a tensor of words.
func wordsOf(kind string, words []uint32, shape ...int) stored {
	var data []byte
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	return stored{kind, shape, data}
}

func floatsOf(values []float32, shape ...int) stored {
	var words []uint32
	for _, v := range values {
		words = append(words, math.Float32bits(v))
	}
	return wordsOf("F32", words, shape...)
}

// gptq returns the tensors of GPTQ's packages; zeros are stored minus less. GPTQModel subtracts it from
// words, so that a zero of 0 takes from its neighbour, unless a word has a part of a zero.
func (m *levelled) gptq(stem string, less int) map[string]stored {
	rows := m.in * m.bits / 32
	levels := make([]uint32, rows*m.out)
	for o := range m.out {
		for k, w := range stream(m.levels[o*m.in:][:m.in], m.bits) {
			levels[k*m.out+o] = w
		}
	}
	var zeros, order []uint32
	for row := range slices.Chunk(m.zeros, m.out) {
		if m.bits == 3 {
			row = slices.Clone(row)
			for i := range row {
				row[i] = (row[i] - less) & 7
			}
		}
		for _, word := range stream(row, m.bits) {
			for at := 0; at < 32 && m.bits != 3; at += m.bits {
				word -= uint32(less) << at
			}
			zeros = append(zeros, word)
		}
	}
	for _, g := range m.order {
		order = append(order, uint32(g))
	}
	return map[string]stored{
		stem + ".qweight": wordsOf("I32", levels, rows, m.out),
		stem + ".qzeros":  wordsOf("I32", zeros, m.groups, m.out*m.bits/32),
		stem + ".scales":  floatsOf(m.scales, m.groups, m.out),
		stem + ".g_idx":   wordsOf("I32", order, m.in),
	}
}

// awq returns the tensors of AutoAWQ.
func (m *levelled) awq(stem string) map[string]stored {
	pack := func(level func(output int) int) (words []uint32) {
		for w := range m.out / 8 {
			word := uint32(0)
			for place, within := range []int{0, 2, 4, 6, 1, 3, 5, 7} {
				word |= uint32(level(8*w+within)) << (4 * place)
			}
			words = append(words, word)
		}
		return words
	}
	var levels, zeros []uint32
	for i := range m.in {
		levels = append(levels, pack(func(o int) int { return m.levels[o*m.in+i] })...)
	}
	for g := range m.groups {
		zeros = append(zeros, pack(func(o int) int { return m.zeros[g*m.out+o] })...)
	}
	return map[string]stored{
		stem + ".qweight": wordsOf("I32", levels, m.in, m.out/8),
		stem + ".qzeros":  wordsOf("I32", zeros, m.groups, m.out/8),
		stem + ".scales":  floatsOf(m.scales, m.groups, m.out),
	}
}

// mlx returns the tensors of MLX: groups have offsets instead of zeros.
func (m *levelled) mlx(stem string) map[string]stored {
	var levels []uint32
	var scales, offsets []float32
	for o := range m.out {
		levels = append(levels, stream(m.levels[o*m.in:][:m.in], m.bits)...)
		for g := range m.groups {
			at := g*m.out + o
			scales, offsets = append(scales, m.scales[at]), append(offsets, -float32(m.zeros[at])*m.scales[at])
		}
	}
	return map[string]stored{
		stem + ".weight": wordsOf("U32", levels, m.out, m.in*m.bits/32),
		stem + ".scales": floatsOf(scales, m.out, m.groups),
		stem + ".biases": floatsOf(offsets, m.out, m.groups),
	}
}

// downProj is the matrix (32, 96) of model llama that these tests replace.
const downProj = "model.layers.1.mlp.down_proj"

// replaced returns llama with other tensors for downProj, and with changes of its configuration.
func replaced(t *testing.T, changes members, parts map[string]stored) fstest.MapFS {
	t.Helper()
	fsys := bare(t, "llama")
	set(t, fsys, "config.json", changes)
	tensors(t, fsys, func(all map[string]stored) {
		delete(all, downProj+".weight")
		for name, p := range parts {
			all[name] = p
		}
	})
	return fsys
}

// Levels with zeros and scales are read as GPTQ's packages, AutoAWQ and MLX store them: in all numbers
// of bits, and with groups of neighbours, of any inputs and of all inputs.
func TestLevels(t *testing.T) {
	method := func(name string, more members) members {
		q := members{"quant_method": name}
		for key, value := range more {
			q[key] = value
		}
		return members{"quantization_config": q}
	}
	for _, c := range []struct {
		bits, groups int
		shuffled     bool
	}{{2, 3, false}, {3, 1, false}, {3, 3, true}, {4, 1, false}, {4, 3, false}, {4, 6, true}, {8, 3, false}, {8, 2, true}} {
		m := newLevelled(c.bits, 32, 96, c.groups, c.shuffled)
		v1 := m.gptq(downProj, 1)
		checkDown(t, fmt.Sprint("gptq ", c), replaced(t, method("gptq", members{"bits": c.bits}), v1), m)
		checkDown(t, fmt.Sprint("gptq_v2 ", c), replaced(t, method("gptq", members{"bits": c.bits, "checkpoint_format": "gptq_v2"}), m.gptq(downProj, 0)), m)
		if c.shuffled {
			continue
		}
		delete(v1, downProj+".g_idx")
		checkDown(t, fmt.Sprint("gptq without g_idx ", c), replaced(t, method("gptq", members{"bits": c.bits}), v1), m)
		if c.bits == 4 {
			checkDown(t, fmt.Sprint("awq ", c), replaced(t, method("awq", members{"bits": 4, "version": "gemm", "zero_point": true}), m.awq(downProj)), m)
		}
		checkDown(t, fmt.Sprint("mlx ", c), replaced(t, members{"quantization": members{"bits": c.bits, "group_size": 96 / c.groups}}, m.mlx(downProj)), m)
	}
	for _, bits := range []int{5, 6} {
		m := newLevelled(bits, 32, 96, 3, false)
		other := members{"bits": 4, "group_size": 64, downProj: members{"bits": bits, "group_size": 32}, "lm_head": false}
		checkDown(t, fmt.Sprint("mlx of ", bits, " bits"), replaced(t, members{"quantization": other, "quantization_config": other}, m.mlx(downProj)), m)
	}
}

// checkDown checks the values of downProj, all at once and some rows at a time.
func checkDown(t *testing.T, what string, fsys fstest.MapFS, want *levelled) {
	t.Helper()
	m, err := arch.Open(fsys, "m")
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer m.Close()
	weight := m.Weights.Decoder[1].Down.Weight
	if got := valuesOf(t, weight); !slices.Equal(got, want.values()) {
		t.Errorf("%s: %v, want %v", what, got, want.values())
	}
	some := make([]float32, 5*want.in)
	if err := weight[0].Read(some, 7*want.in); err != nil || !slices.Equal(some, want.values()[7*want.in:12*want.in]) {
		t.Errorf("%s: rows 7 to 12 differ (%v)", what, err)
	}
}

// Biases of zeros, which older versions of AutoGPTQ write for all modules, change nothing; others are rejected.
func TestZeroBiases(t *testing.T) {
	m := newLevelled(4, 32, 96, 3, false)
	parts, config := m.gptq(downProj, 1), members{"quantization_config": members{"quant_method": "gptq", "bits": 4}}
	parts[downProj+".bias"] = floatsOf(make([]float32, 32), 32)
	checkDown(t, "biases of zeros", replaced(t, config, parts), m)
	parts[downProj+".bias"].data[127] = 1
	checkRejected(t, "a bias", replaced(t, config, parts), `down_proj.bias": unknown in this architecture`)
}
