package kernel

import (
	"encoding/binary"
	"fmt"

	"glossa/pkg/engine/dtype"
)

// LoadRows replaces rows of p, beginning with row from, by w: whole rows, row-major (n,
// p.Cols), quantised as ggml's reference does, or as [dtype.QuantizeQ4K]. Products with a block
// that has a NaN or an infinity are NaN. It panics unless p.Kind.Rounds.
func (p *Packed) LoadRows(from int, w []float32) {
	if !p.Kind.Rounds() {
		panic(fmt.Sprintf("kernel: weights cannot be rounded to %v", p.Kind))
	}
	rows := whole(w, p.Cols, from, p.Rows)
	if p.Kind.coded() {
		p.roundCoded(from, rows, w)
		return
	}
	block, each := p.Kind.shared(), p.Kind.inputs()/p.Kind.shared() // of a superblock
	for i := range rows {
		row := w[i*p.Cols : (i+1)*p.Cols]
		panel, size := p.panel(from + i)
		for c, half := 0, 0; c < p.Cols; c += block {
			var x [wideCols]float32
			copy(x[:block], row[c:])
			packBlock(p.Kind, panel[:size], &x, half, (from+i)%packedRows)
			if half++; half == each {
				panel, half = panel[size:], 0
			}
		}
	}
}

// packBlock quantises the inputs of a row that share a scale into a superblock, of which they
// are a half or all.
func packBlock(kind Kind, b []byte, x *[wideCols]float32, half, row int) {
	var raw [dtype.WideBytes]byte
	switch kind {
	case Q8_0:
		dtype.QuantizeQ8((*[dtype.Q8Bytes]byte)(raw[:]), (*[quantCols]float32)(x[:]))
	case Q8W:
		dtype.QuantizeQ8W(&raw, x)
	case Q4_0:
		dtype.QuantizeQ4((*[dtype.Q4Bytes]byte)(raw[:]), (*[quantCols]float32)(x[:]))
	case BF16:
		for i := range quantCols / 2 {
			pair := uint32(dtype.ToBFloat16(x[2*i])) | uint32(dtype.ToBFloat16(x[2*i+1]))<<16
			binary.LittleEndian.PutUint32(b[1024*half+line*i+4*row:], pair)
		}
		return
	case F16:
		for i, v := range x[:quantCols] {
			binary.LittleEndian.PutUint16(b[2*(packedRows*(quantCols*half+i)+row):], dtype.ToFloat16(v))
		}
		return
	}
	setBlock(kind, b, raw[:formats[kind].raw], half, row)
}

// roundCoded is LoadRows for kinds with blocks of 256 inputs, the last of which ends with zeros.
func (p *Packed) roundCoded(from, rows int, w []float32) {
	f, s := &formats[p.Kind], new(dtype.Split)
	blocks, split := p.superblocks(), f.stored.Splitter()
	raw := make([]byte, blocks*f.raw)
	for i := range rows {
		row := w[i*p.Cols:][:p.Cols]
		for j := range blocks {
			var x [dtype.Coarse]float32
			copy(x[:], row[j*dtype.Coarse:])
			if to := raw[j*f.raw:]; p.Kind == Q4K {
				dtype.QuantizeQ4K((*[dtype.Q4KBytes]byte)(to), &x)
			} else {
				dtype.QuantizeQ6K((*[dtype.Q6KBytes]byte)(to), &x)
			}
		}
		p.setCoded(from+i, raw, split, s)
	}
}

// LoadBlocks replaces rows of p, beginning with row from, by those of GGUF and
// safetensors files: whole rows of blocks, or of numbers of 16 bits. p.Cols must be a
// multiple of the block's values. Nothing is rounded.
func (p *Packed) LoadBlocks(from int, raw []byte) {
	f := formats[p.Kind]
	size := p.Kind.StoredBytes(p.Cols) // of a row
	if p.Cols%f.run != 0 || len(raw)%size != 0 || from < 0 || from > p.Rows || len(raw)/size > p.Rows-from {
		panic(fmt.Sprintf("kernel: %d bytes of %v blocks put at row %d of (%d, %d)", len(raw), p.Kind, from, p.Rows, p.Cols))
	}
	if p.Kind.coded() {
		split, s := f.stored.Splitter(), new(dtype.Split)
		for r := from; len(raw) > 0; r, raw = r+1, raw[size:] {
			p.setCoded(r, raw[:size], split, s)
		}
		return
	}
	for r := from; len(raw) > 0; r, raw = r+1, raw[size:] {
		p.setRow(r, raw[:size])
	}
}

// StoredBytes returns the size of the given number of values, whole blocks, in GGUF and
// safetensors files.
func (k Kind) StoredBytes(values int) int { return values / formats[k].run * formats[k].raw }

// setRow replaces one row by that of a file.
func (p *Packed) setRow(r int, raw []byte) {
	row := r % packedRows
	switch p.Kind {
	case BF16:
		p.setPairs(r, raw)
		return
	case F16:
		p.setHalves(r, raw)
		return
	}
	f := &formats[p.Kind]
	panel, size := p.panel(r)
	each, half := f.cols/f.run, 0 // blocks of a superblock
	for ; len(raw) > 0; raw = raw[f.raw:] {
		setBlock(p.Kind, panel[:size], raw[:f.raw], half, row)
		if half++; half == each {
			panel, half = panel[size:], 0
		}
	}
}

// setPairs replaces one row of bfloat16 numbers.
func (p *Packed) setPairs(r int, raw []byte) {
	panel, size := p.panel(r)
	for ; len(panel) > 0; panel = panel[size:] {
		var in [2 * superCols]byte
		raw = raw[copy(in[:], raw):]
		b := panel[4*(r%packedRows):]
		for i := 0; i < len(in); i += 16 {
			setWords(b[line/4*i:], in[i:], 0)
		}
	}
}

// setHalves replaces one row of half-precision numbers.
func (p *Packed) setHalves(r int, raw []byte) {
	panel, size := p.panel(r)
	for ; len(panel) > 0; panel = panel[size:] {
		var in [2 * superCols]byte
		raw = raw[copy(in[:], raw):]
		for i := range superCols {
			*(*[2]byte)(panel[2*(packedRows*i+r%packedRows):]) = [2]byte(in[2*i:])
		}
	}
}

// setBlock writes a stored block into a superblock. In every kind, groups of four bytes are a
// line apart.
func setBlock(kind Kind, b, raw []byte, half, row int) {
	scale := formats[kind].scales + 32*half + 2*row
	b[scale], b[scale+1] = raw[0], raw[1]
	var flip uint32
	if kind == Q8_0 {
		flip = 0x80808080
	}
	q := raw[2:]
	dst := b[packedRows*len(q)*half+4*row:]
	for ; len(q) > 0; q, dst = q[16:], dst[4*line:] {
		setWords(dst, q, flip)
	}
}

// setWords writes groups of four bytes a line apart.
func setWords(dst, q []byte, flip uint32) {
	d, s := (*[3*line + 4]byte)(dst), (*[16]byte)(q)
	binary.LittleEndian.PutUint32(d[:], binary.LittleEndian.Uint32(s[:])^flip)
	binary.LittleEndian.PutUint32(d[line:], binary.LittleEndian.Uint32(s[4:])^flip)
	binary.LittleEndian.PutUint32(d[2*line:], binary.LittleEndian.Uint32(s[8:])^flip)
	binary.LittleEndian.PutUint32(d[3*line:], binary.LittleEndian.Uint32(s[12:])^flip)
}
