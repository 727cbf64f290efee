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
// and a weight is d*q with q in -128..127, or d*(q-8) with q in 0..15. Q8W is Q8_0 with
// 128 inputs to a scale, of weights and of activations: four times as many products of
// bytes between two conversions. The kinds after F16 are other types of GGUF, exactly as
// files hold them; weights can be rounded to Q4K and Q6K only.
const (
	Q8_0 Kind = iota + 1
	Q4_0
	Q8W
	BF16
	F16
	Q2K
	Q3K
	Q4K
	Q5K
	Q6K
	Q4_1
	Q5_0
	Q5_1
	IQ4NL
	IQ4XS
	MXFP4
)

// PackedRows is the number of rows of a panel of packed weights, which are interleaved.
const PackedRows = packedRows

const (
	packedRows = 16
	superCols  = 64  // inputs of a superblock, or of a slice of a superblock of 256
	quantCols  = 32  // inputs that share a scale of activations
	wideCols   = 128 // of Q8W: inputs of a superblock, which share a scale
)

// A format describes how a kind is stored and multiplied.
type format struct {
	stored dtype.Type
	raw    int // bytes of a block of one row in files
	run    int // inputs of such a block
	cols   int // inputs of a superblock
	bytes  int // bytes of a superblock: packedRows rows of cols inputs
	scales int // offset of its half-precision scales: (block, row)
	words  int // 32-bit words of one token's activations for 64 inputs, or 128 of Q8W
}

var formats = [...]format{
	Q8_0:  {stored: dtype.Q8_0, raw: dtype.Q8Bytes, run: 32, cols: 64, bytes: 1088, scales: 1024, words: 22},
	Q4_0:  {stored: dtype.Q4_0, raw: dtype.Q4Bytes, run: 32, cols: 64, bytes: 576, scales: 512, words: 22},
	Q8W:   {stored: dtype.Q8W, raw: dtype.WideBytes, run: wideCols, cols: wideCols, bytes: 2112, scales: 2048, words: wideWords},
	BF16:  {stored: dtype.BF16, raw: 2, run: 1, cols: 64, bytes: 2048, words: superCols},
	F16:   {stored: dtype.F16, raw: 2, run: 1, cols: 64, bytes: 2048, words: superCols},
	Q2K:   {stored: dtype.Q2K, raw: 84, run: 256, cols: 256, bytes: 1344, words: codedWords},
	Q3K:   {stored: dtype.Q3K, raw: 110, run: 256, cols: 256, bytes: 1856, words: codedWords},
	Q4K:   {stored: dtype.Q4K, raw: 144, run: 256, cols: 256, bytes: 2368, words: codedWords},
	Q5K:   {stored: dtype.Q5K, raw: 176, run: 256, cols: 256, bytes: 2880, words: codedWords},
	Q6K:   {stored: dtype.Q6K, raw: 210, run: 256, cols: 256, bytes: 3392, words: codedWords},
	Q4_1:  {stored: dtype.Q4_1, raw: 20, run: 32, cols: 64, bytes: 640, words: codedWords},
	Q5_0:  {stored: dtype.Q5_0, raw: 22, run: 32, cols: 64, bytes: 704, words: codedWords},
	Q5_1:  {stored: dtype.Q5_1, raw: 24, run: 32, cols: 64, bytes: 768, words: codedWords},
	IQ4NL: {stored: dtype.IQ4NL, raw: 18, run: 32, cols: 64, bytes: 576, words: codedWords},
	IQ4XS: {stored: dtype.IQ4XS, raw: 136, run: 256, cols: 256, bytes: 2368, words: codedWords},
	MXFP4: {stored: dtype.MXFP4, raw: 17, run: 32, cols: 64, bytes: 576, words: codedWords},
}

// Kinds returns all kinds.
func Kinds() (list []Kind) {
	for k := Q8_0; k.valid(); k++ {
		list = append(list, k)
	}
	return list
}

// Type returns the type of GGUF and safetensors that the kind holds.
func (k Kind) Type() dtype.Type { return formats[k].stored }

// Rounds reports whether weights can be rounded to the kind, as [Packed.LoadRows] does.
func (k Kind) Rounds() bool { return k <= F16 && k.valid() || k == Q4K || k == Q6K }

// SharesActivations reports whether products with both kinds can read the same
// [Activations].
func (k Kind) SharesActivations(other Kind) bool { return formats[k].words == formats[other].words }

// String returns the name of the kind: "q8_0", "bf16", "q4_k".
func (k Kind) String() string {
	if !k.valid() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return formats[k].stored.Option()
}

// floating reports whether weights are floating-point numbers without scales.
func (k Kind) floating() bool { return k == BF16 || k == F16 }

func (k Kind) valid() bool { return k >= Q8_0 && int(k) < len(formats) }

// Shape returns the layout of packed weights: the numbers of panels and of superblocks in
// each, and the bytes of a superblock.
func (k Kind) Shape(rows, cols int) []int {
	f := formats[k]
	return []int{int(up(rows, packedRows)), int(up(cols, f.cols)), f.bytes}
}

// Bytes returns the memory of packed weights of the given shape, including padding. Sizes
// beyond int64 are the largest int64; shapes and kinds that [OpenPacked] rejects have
// size 0.
func (k Kind) Bytes(rows, cols int) int64 {
	if !k.valid() || rows < 1 || cols < 1 {
		return 0
	}
	high, low := bits.Mul64(up(rows, packedRows), up(cols, formats[k].cols))
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
// panel the superblocks of 64 or 256 inputs in order, each a whole number of cache lines.
//
//   - Q8_0, 1088 bytes: (block of 32 inputs, 4 inputs, row, input) bytes q+128, then
//     (block, row) scales.
//   - Q4_0, 576 bytes: (block, 4 inputs, row, input) bytes, the low nibble the first 16
//     inputs of the block and the high one the others, then (block, row) scales.
//   - BF16, 2048 bytes: (2 inputs, row, input) bfloat16.
//   - F16, 2048 bytes: (input, row) half-precision numbers.
//   - Q8W, 2112 bytes: (4 inputs, row, input) bytes q of 128 inputs, then (row) scales
//     and 32 bytes of zeros.
//   - The other kinds, in bytes for 256 inputs of a row, where files need those in
//     parentheses: Q2_K 84 (84), Q3_K 116 (110), Q4_K 148 (144), Q5_K 180 (176), Q6_K 212
//     (210), IQ4_XS 148 (136), Q4_1 160 (160), Q5_0 176 (176), Q5_1 192 (192), IQ4_NL 144
//     (144), MXFP4 144 (136). The comment on coding in coded.go has their layout.
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
func (p *Packed) superblocks() int { return int(up(p.Cols, formats[p.Kind].cols)) }

// panel returns the panel that holds row r, and the size of its superblocks.
func (p *Packed) panel(r int) (panel []byte, size int) {
	size = formats[p.Kind].bytes
	n := p.superblocks() * size
	return p.data[r/packedRows*n:][:n:n], size
}

// superblock returns superblock s of the panel that holds row r.
func (p *Packed) superblock(r, s int) []byte {
	panel, size := p.panel(r)
	return panel[s*size:][:size:size]
}

// Row writes row r, Cols values, to dst.
func (p *Packed) Row(dst []float32, r int) {
	dst = dst[:p.Cols]
	if p.Kind.coded() {
		p.rowCoded(dst, r)
		return
	}
	if p.Kind == Q8W {
		p.rowWide(dst, r)
		return
	}
	var block [superCols]float32
	for s := range p.superblocks() {
		unpack(p.Kind, &block, p.superblock(r, s), r%packedRows)
		copy(dst[s*superCols:], block[:])
	}
}

// unpack dequantises one row of a superblock.
func unpack(kind Kind, dst *[superCols]float32, b []byte, row int) {
	switch kind {
	case BF16:
		for i := range superCols / 2 {
			pair := binary.LittleEndian.Uint32(b[64*i+4*row:])
			dst[2*i], dst[2*i+1] = dtype.FromBFloat16(uint16(pair)), dtype.FromBFloat16(uint16(pair>>16))
		}
		return
	case F16:
		for i := range dst {
			dst[i] = dtype.FromFloat16(binary.LittleEndian.Uint16(b[32*i+2*row:]))
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

// Pad makes the padding of memory that holds zero bytes weights that are zero: the rows of the
// last panel past Rows, and the inputs past Cols. What has not been loaded is not touched.
func (p *Packed) Pad() {
	fill := map[Kind]byte{Q8_0: 0x80, Q4_0: 0x88}[p.Kind]
	if fill == 0 {
		return
	}
	f, each := &formats[p.Kind], p.superblocks()
	for panel := range p.Panels() {
		from := p.Cols / f.cols // the superblock that ends with padding
		if (panel+1)*packedRows > p.Rows {
			from = 0
		}
		for s := from; s < each; s++ {
			block := p.superblock(panel*packedRows, s)[:f.scales]
			for i := range block {
				block[i] = fill
			}
		}
	}
}
