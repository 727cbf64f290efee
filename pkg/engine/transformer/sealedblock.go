package transformer

import (
	"encoding/binary"
	"errors"
	"math"
)

// Whole reports whether b has BlockTokens tokens, of which some layers may have dropped the
// first.
func (b *Block) Whole() bool { return b.From%BlockTokens == 0 && b.To == b.From+BlockTokens }

// EncodedBytes returns the size of an encoded whole block, in bytes.
func (m *Model) EncodedBytes(rings bool) int64 {
	return 4*int64(len(m.slots)) + m.BlockBytes(rings, BlockTokens)
}

// AppendBinary appends b, which is whole, in a form that [Model.DecodeBlock] of the same model
// reads: the first token of each layer as its distance from From, all in 4 bytes,
// little-endian, then the memory of the keys and values. It implements [encoding.BinaryAppender].
func (b *Block) AppendBinary(data []byte) ([]byte, error) {
	if !b.Whole() {
		return data, errors.New("transformer: only whole blocks are encoded")
	}
	for i := range b.layers {
		data = binary.LittleEndian.AppendUint32(data, uint32(max(0, b.layers[i].first-b.From)))
	}
	at := len(data)
	data = append(data, make([]byte, 4*len(b.slab))...)
	for i, x := range b.slab {
		binary.LittleEndian.PutUint32(data[at+4*i:], math.Float32bits(x))
	}
	return data, nil
}

// DecodeBlock reads the block of tokens from, ..., from+BlockTokens-1 that AppendBinary wrote.
func (m *Model) DecodeBlock(rings bool, from int, data []byte) (*Block, error) {
	if int64(len(data)) != m.EncodedBytes(rings) {
		return nil, errors.New("transformer: the block has another size than the model's")
	}
	b := m.newBlock(rings, from, from+BlockTokens)
	for i := range b.layers {
		first := binary.LittleEndian.Uint32(data[4*i:])
		if first > BlockTokens || first > 0 && !rings {
			return nil, errors.New("transformer: the block begins outside of its tokens")
		}
		if b.layers[i].heads > 0 {
			b.layers[i].first = from + int(first)
		}
	}
	data = data[4*len(b.layers):]
	for i := range b.slab {
		b.slab[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return b, nil
}
