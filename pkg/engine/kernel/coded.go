package kernel

import (
	"encoding/binary"
	"math/bits"

	"glossa/pkg/engine/dtype"
)

// A scaling is the encoding of the scales of a coded kind.
type scaling uint8

const (
	halves  scaling = iota // half precision, and so are the minima
	bfloats                // bfloat16
	signed                 // multipliers of D, 8 bits with a sign
	bytes8                 // multipliers of D, 8 bits, and so are those of DMin
	nibbles                // multipliers of D, 4 bits, below those of DMin
)

// A coding describes a kind whose weights are codes of 2 to 6 bits, see [dtype.Split]. A
// superblock begins with a header if blocks have 256 inputs: 16 half-precision D, then 16
// DMin. Slices of 64 inputs follow. A slice has these sections, and zeros up to a cache line:
//
//   - The low bits of the codes, 4 or 2, then the high bits, 0, 1 or 2. With 4 bits, line
//     4h+g holds inputs 32h+4g+j and, in the next 4 bits, inputs 16 further on; with 2 bits,
//     line g holds inputs 4g+j, and those 16, 32 and 48 further on; with 1 bit, line h
//     holds inputs 32h+j, and those 4, 8, ..., 28 further on. A line is (row, j) bytes.
//   - The scales: (sub-block, row).
//   - The minima, if they are not in the scales: (sub-block, row).
type coding struct {
	low, high int // bits of a code
	sub       int // inputs that share a scale: 16 or 32
	scaling   scaling
	minima    bool
	offset    int  // subtracted from codes
	levels    bool // codes select values
}

var codings = [...]coding{
	Q2K:   {low: 2, sub: 16, scaling: nibbles, minima: true},
	Q3K:   {low: 2, high: 1, sub: 16, scaling: signed, offset: 4},
	Q4K:   {low: 4, sub: 32, scaling: bytes8, minima: true},
	Q5K:   {low: 4, high: 1, sub: 32, scaling: bytes8, minima: true},
	Q6K:   {low: 4, high: 2, sub: 16, scaling: signed, offset: 32},
	Q4_1:  {low: 4, sub: 32, minima: true},
	Q5_0:  {low: 4, high: 1, sub: 32, offset: 16},
	Q5_1:  {low: 4, high: 1, sub: 32, minima: true},
	IQ4NL: {low: 4, sub: 32, levels: true},
	IQ4XS: {low: 4, sub: 32, scaling: signed, levels: true},
	MXFP4: {low: 4, sub: 32, scaling: bfloats, levels: true},
}

// coded reports whether a kind has a coding.
func (k Kind) coded() bool { return k > F16 && k.valid() }

// plane is the size of a bit of every code of a slice.
const plane = packedRows * superCols / 8

// header is the size of the header of a superblock.
func (c *coding) header() int {
	if c.scaling >= signed {
		return line
	}
	return 0
}

// scaleBytes is the size of the scale of a sub-block of a row.
func (c *coding) scaleBytes() int {
	if c.scaling < signed {
		return 2
	}
	return 1
}

// scales is the offset of a slice's scales, minimaAt that of its minima.
func (c *coding) scales() int { return plane * (c.low + c.high) }

func (c *coding) minimaAt() int { return c.scales() + superCols/c.sub*packedRows*c.scaleBytes() }

// slice is the size of a slice.
func (c *coding) slice() int {
	size := c.minimaAt()
	if c.minima && c.scaling != nibbles {
		size += size - c.scales()
	}
	return (size + line - 1) / line * line
}

// group returns the sub-block of 16 inputs, and the four inputs of it, that take item i of
// a line with so many bits each.
func group(width, line, i int) (sub, four int) {
	switch width {
	case 4:
		return line/4*2 + i, line % 4
	case 2:
		return i, line
	}
	return line*2 + i/4, i % 4
}

// setPlane writes bits of codes from a shift on to the lines from, ..., to-1 of a plane.
func setPlane(b []byte, row, width, shift, from, to int, codes []uint8) {
	mask := uint32(1<<width-1) * 0x01010101
	for l := from; l < to; l++ {
		sub, four := group(width, l, 0)
		in, step := codes[16*sub+4*four:], 16 // codes that an item is past the previous one
		if width == 1 {
			step = 4
		}
		word := binary.LittleEndian.Uint32(in) >> shift & mask
		for i := width; i < 8; i += width {
			in = in[step:]
			word |= binary.LittleEndian.Uint32(in) >> shift & mask << i
		}
		binary.LittleEndian.PutUint32(b[line*l+4*row:], word)
	}
}

// addPlane adds the bits of a plane to codes.
func addPlane(codes *[superCols]uint8, b []byte, row, width, shift int) {
	mask := uint32(1<<width-1) * 0x01010101
	for l := range 2 * width {
		word := binary.LittleEndian.Uint32(b[line*l+4*row:])
		for i := range 8 / width {
			sub, four := group(width, l, i)
			to := codes[16*sub+4*four:]
			binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(to)|word>>(width*i)&mask<<shift)
		}
	}
}

// set writes a slice of a row, or one half of it in kinds with blocks of 32: codes are
// those of the slice, s has the scales from sub-block first on.
func (c *coding) set(b []byte, row int, codes []uint8, s *dtype.Split, first, half, halves int) {
	setPlane(b, row, c.low, 0, half*c.low, (half+halves)*c.low, codes)
	if c.high > 0 {
		setPlane(b[plane*c.low:], row, c.high, c.low, half*c.high, (half+halves)*c.high, codes)
	}
	for i := range halves * quantCols / c.sub {
		at, scale, minimum := packedRows*(half*quantCols/c.sub+i)+row, s.Scales[first+i], s.Minima[first+i]
		switch {
		case c.scaleBytes() == 2:
			binary.LittleEndian.PutUint16(b[c.scales()+2*at:], scale)
			if c.minima {
				binary.LittleEndian.PutUint16(b[c.minimaAt()+2*at:], minimum)
			}
		case c.scaling == nibbles:
			b[c.scales()+at] = byte(scale | minimum<<4)
		default:
			b[c.scales()+at] = byte(scale)
			if c.minima {
				b[c.minimaAt()+at] = byte(minimum)
			}
		}
	}
}

// setCoded replaces one row by that of a file.
func (p *Packed) setCoded(r int, raw []byte, split dtype.Splitter, s *dtype.Split) {
	f, c, row := formats[p.Kind], &codings[p.Kind], r%packedRows
	for i := range len(raw) / f.raw {
		split(s, raw[i*f.raw:][:f.raw])
		if c.header() == 0 { // half a slice
			var codes [superCols]uint8
			copy(codes[i%2*quantCols:], s.Codes[:quantCols])
			c.set(p.superblock(r, i/2), row, codes[:], s, 0, i%2, 1)
			continue
		}
		b := p.superblock(r, i)
		binary.LittleEndian.PutUint16(b[2*row:], s.D)
		binary.LittleEndian.PutUint16(b[32+2*row:], s.DMin)
		for j := range f.cols / superCols {
			c.set(b[line+j*c.slice():], row, s.Codes[j*superCols:][:superCols], s, j*superCols/c.sub, 0, 2)
		}
	}
}

// half returns number i of a list in half precision.
func half(b []byte, i int) float32 {
	return dtype.FromFloat16(binary.LittleEndian.Uint16(b[2*i:]))
}

// multipliers returns the scale and the minimum of a sub-block of a row. Both are exact.
func (c *coding) multipliers(head, b []byte, sub, row int) (scale, minimum float32) {
	at := packedRows*sub + row
	scales, minima := b[c.scales():], b[min(c.minimaAt(), len(b)):]
	switch c.scaling {
	case bfloats:
		return dtype.FromBFloat16(binary.LittleEndian.Uint16(scales[2*at:])), 0
	case signed:
		return half(head, row) * float32(int8(scales[at])), 0
	case bytes8:
		return half(head, row) * float32(scales[at]), half(head[32:], row) * float32(minima[at])
	case nibbles:
		return half(head, row) * float32(scales[at]&15), half(head[32:], row) * float32(scales[at]>>4)
	}
	if scale = half(scales, at); c.minima {
		minimum = half(minima, at)
	}
	return scale, minimum
}

// levels returns the values of all codes of a kind.
func (k Kind) levels() (levels [64]int8) {
	c := &codings[k]
	if c.levels {
		of, _ := formats[k].stored.Levels()
		copy(levels[:], of[:])
		return levels
	}
	for i := range levels {
		levels[i] = int8(i - c.offset)
	}
	return levels
}

// rowCoded writes row r to dst.
func (p *Packed) rowCoded(dst []float32, r int) {
	f, c, row, levels := formats[p.Kind], &codings[p.Kind], r%packedRows, p.Kind.levels()
	shift := bits.TrailingZeros(uint(c.sub))
	for s := range p.superblocks() {
		b := p.superblock(r, s)
		for j := range f.cols / superCols {
			var codes [superCols]uint8
			slice := b[c.header()+j*c.slice():][:c.slice()]
			addPlane(&codes, slice, row, c.low, 0)
			if c.high > 0 {
				addPlane(&codes, slice[plane*c.low:], row, c.high, c.low)
			}
			var scale, minimum [4]float32
			for i := range superCols / c.sub {
				scale[i], minimum[i] = c.multipliers(b, slice, i, row)
			}
			out := dst[min(len(dst), s*f.cols+j*superCols):]
			for i := range min(superCols, len(out)) {
				if out[i] = scale[i>>shift] * float32(levels[codes[i]]); c.minima {
					out[i] -= minimum[i>>shift]
				}
			}
		}
	}
}
