package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"glossa/pkg/engine/dtype"
)

// A Kind is the number format of packed weights.
type Kind uint8

// The kinds. In GGUF's Q8_0 and Q4_0, 32 inputs of a row share a half-precision scale d,
// and a weight is d*q with q in -128..127, or d*(q-8) with q in 0..15.
const (
	Q8_0 Kind = iota + 1
	Q4_0
	BF16
)

// PackedRows is the number of rows of a panel of packed weights, which are interleaved;
// PackedCols is the number of inputs of a superblock.
const (
	PackedRows = packedRows
	PackedCols = superCols
)

const (
	packedRows = 16
	superCols  = 64 // inputs of a superblock
	quantCols  = 32 // inputs that share a scale
)

// A format describes how a kind is stored and multiplied.
type format struct {
	stored dtype.Type
	raw    int // bytes of a block of one row in files
	run    int // inputs of such a block
	bytes  int // bytes of a superblock: packedRows rows of superCols inputs
	scales int // offset of its half-precision scales: (block, row)
	words  int // 32-bit words of one token's activations for a superblock
}

var formats = [...]format{
	Q8_0: {stored: dtype.Q8_0, raw: dtype.Q8Bytes, run: quantCols, bytes: 1088, scales: 1024, words: 22},
	Q4_0: {stored: dtype.Q4_0, raw: dtype.Q4Bytes, run: quantCols, bytes: 576, scales: 512, words: 22},
	BF16: {stored: dtype.BF16, raw: 2, run: 1, bytes: 2048, words: superCols},
}

// String returns the name of the kind: "q8_0", "q4_0" or "bf16".
func (k Kind) String() string {
	if !k.valid() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return formats[k].stored.Option()
}

func (k Kind) valid() bool { return k >= Q8_0 && k <= BF16 }

// Bytes returns the memory of packed weights of the given shape, including padding. Sizes
// beyond int64 are the largest int64; shapes and kinds that [OpenPacked] rejects have
// size 0.
func (k Kind) Bytes(rows, cols int) int64 {
	if !k.valid() || rows < 1 || cols < 1 {
		return 0
	}
	high, low := bits.Mul64(up(rows, packedRows), up(cols, superCols))
	if high > 0 {
		return math.MaxInt64
	}
	if high, low = bits.Mul64(low, uint64(formats[k].bytes)); high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// up returns n/by, rounded up.
func up(n, by int) uint64 { return (uint64(n) + uint64(by) - 1) / uint64(by) }

// A Packed holds weights of shape (Rows = outputs, Cols = inputs) in a layout that does
// not depend on the instruction set and may be kept in files: panels of 16 rows, in a
// panel the superblocks of 64 inputs in order, each a whole number of cache lines.
//
//   - Q8_0, 1088 bytes: (block of 32 inputs, 4 inputs, row, input) bytes q+128, then
//     (block, row) scales.
//   - Q4_0, 576 bytes: (block, 4 inputs, row, input) bytes, the low nibble the first 16
//     inputs of the block and the high one the others, then (block, row) scales.
//   - BF16, 2048 bytes: (2 inputs, row, input) bfloat16.
//
// Numbers are little-endian. Rows and inputs beyond the shape hold zeros.
type Packed struct {
	Kind       Kind
	Rows, Cols int
	data       []byte // (panels, superblocks, formats[Kind].bytes), 64-byte aligned
}

// OpenPacked returns the weights in data, written by [Packed.Data]. It keeps data and
// neither copies nor reads it: data may be a mapped file, and must be aligned to 64 bytes
// in memory.
func OpenPacked(kind Kind, rows, cols int, data []byte) (*Packed, error) {
	size := kind.Bytes(rows, cols)
	switch {
	case !kind.valid():
		return nil, fmt.Errorf("kernel: packed weights of unknown kind %d", uint8(kind))
	case size < 1:
		return nil, fmt.Errorf("kernel: packed %v weights of shape (%d, %d)", kind, rows, cols)
	case int64(len(data)) != size:
		return nil, fmt.Errorf("kernel: packed %v weights of shape (%d, %d) take %d bytes, not %d", kind, rows, cols, size, len(data))
	}
	if off := uintptr(unsafe.Pointer(unsafe.SliceData(data))) % line; off != 0 {
		return nil, fmt.Errorf("kernel: packed %v weights start %d bytes after a multiple of %d", kind, off, line)
	}
	return &Packed{Kind: kind, Rows: rows, Cols: cols, data: data}, nil
}

// Data returns the packed bytes themselves. Changing them changes the weights.
func (p *Packed) Data() []byte { return p.data }

// Bytes returns the memory of the weights, including padding.
func (p *Packed) Bytes() int64 { return int64(len(p.data)) }

// Panels returns the number of panels, which are groups of 16 rows; the last may be
// partly padding.
func (p *Packed) Panels() int { return int(up(p.Rows, packedRows)) }

// superblocks returns the number of superblocks in a panel.
func (p *Packed) superblocks() int { return int(up(p.Cols, superCols)) }

// superblock returns superblock s of the panel that holds row r.
func (p *Packed) superblock(r, s int) []byte {
	size := formats[p.Kind].bytes
	return p.data[(r/packedRows*p.superblocks()+s)*size:][:size:size]
}

// Row writes row r, Cols values, to dst.
func (p *Packed) Row(dst []float32, r int) {
	dst = dst[:p.Cols]
	var block [superCols]float32
	for s := range p.superblocks() {
		unpack(p.Kind, &block, p.superblock(r, s), r%packedRows)
		copy(dst[s*superCols:], block[:])
	}
}

// unpack dequantises one row of a superblock.
func unpack(kind Kind, dst *[superCols]float32, b []byte, row int) {
	if kind == BF16 {
		for i := range superCols / 2 {
			pair := binary.LittleEndian.Uint32(b[64*i+4*row:])
			dst[2*i], dst[2*i+1] = dtype.FromBFloat16(uint16(pair)), dtype.FromBFloat16(uint16(pair>>16))
		}
		return
	}
	for half := range superCols / quantCols {
		out := (*[quantCols]float32)(dst[half*quantCols:])
		d := dtype.FromFloat16(binary.LittleEndian.Uint16(b[formats[kind].scales+32*half+2*row:]))
		if kind == Q8_0 {
			for i := range 8 {
				q := (*[4]byte)(b[512*half+64*i+4*row:])
				for j, v := range q {
					out[4*i+j] = d * float32(int(v)-128)
				}
			}
			continue
		}
		for i := range 4 {
			q := (*[4]byte)(b[256*half+64*i+4*row:])
			for j, v := range q {
				out[4*i+j] = d * float32(int(v&15)-8)
				out[4*i+j+16] = d * float32(int(v>>4)-8)
			}
		}
	}
}

// Clear sets memory that holds zero bytes to weights that are zero.
func (p *Packed) Clear() {
	fill := map[Kind]byte{Q8_0: 0x80, Q4_0: 0x88}[p.Kind]
	f := formats[p.Kind]
	for at := 0; fill != 0 && at < len(p.data); at += f.bytes {
		block := p.data[at:][:f.scales]
		for i := range block {
			block[i] = fill
		}
	}
}
