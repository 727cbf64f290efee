package arch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// bitsAndBytes is the method bitsandbytes: 4 bits that choose a value of a table, with a scale for
// each block of neighbours (Dettmers et al. 2023, QLoRA), or 8 bits with one for each row (Dettmers et
// al. 2022, LLM.int8).
func bitsAndBytes(*config) *scheme {
	return &scheme{
		marks: []string{".weight.absmax", ".SCB"}, unread: []string{".weight_format"},
		weight: func(p *parts) *dequantised {
			if p.find(".SCB") == p.mark {
				return p.rows8()
			}
			return p.nibbles()
		},
	}
}

// rows8 returns a weight of 8 bits.
func (p *parts) rows8() *dequantised {
	codes := p.need(".weight")
	if codes == nil {
		return nil
	}
	if len(codes.Shape) != 2 || slices.Contains(codes.Shape, 0) || codes.Type != dtype.I8 {
		p.fail(codes, "type %s and shape %v instead of a matrix of type I8", codes.Type, codes.Shape)
		return nil
	}
	rows, cols := codes.Shape[0], codes.Shape[1]
	if !p.mark.Type.Convertible() || p.mark.Elements() != rows {
		p.fail(p.mark, "type %s and shape %v do not fit a weight of shape %v", p.mark.Type, p.mark.Shape, codes.Shape)
		return nil
	}
	file, scales := p.file, p.mark.Name
	read := func(dst []float32, row int) error {
		raw, scale := make([]byte, len(dst)), make([]float32, len(dst)/cols)
		if err := readRange(file, codes.Name, raw, int64(row)*int64(cols)); err != nil {
			return err
		}
		if err := file.Values(scales, row, scale); err != nil {
			return err
		}
		decodeInt8(dst, raw)
		for i := range dst {
			dst[i] *= scale[i/cols] * (1.0 / 127)
		}
		return nil
	}
	return &dequantised{name: p.stem + ".weight", shape: codes.Shape, kind: p.computed, read: read}
}

// nibbles are a weight of 4 bits.
type nibbles struct {
	nibbleState
	file          *checkpoint.File
	codes, scales string    // names
	table         []float32 // the values of the 16 codes

	nested      string    // the name of the scales of blocks of scales, which are codes then; "" if they are numbers
	nestedTable []float32 // the values of these codes
}

// A nibbleState is what bitsandbytes writes about a weight of 4 bits, as JSON.
type nibbleState struct {
	Type        string  `json:"dtype"`
	Block       int     `json:"blocksize"`
	Shape       []int   `json:"shape"`
	NestedBlock int     `json:"nested_blocksize"`
	Offset      float32 `json:"nested_offset"` // of scales
}

// maxState bounds this JSON, in bytes.
const maxState = 1 << 16

// nibbles returns a weight of 4 bits.
func (p *parts) nibbles() *dequantised {
	codes := p.need(".weight")
	state := p.find(".weight.quant_state.bitsandbytes__fp4")
	if state == nil {
		state = p.need(".weight.quant_state.bitsandbytes__nf4")
	}
	table := p.table(".weight.quant_map", 16)
	if p.err != nil {
		return nil
	}
	q := &nibbles{file: p.file, codes: codes.Name, scales: p.mark.Name, table: table}
	if err := q.readState(state); err != nil {
		p.fail(state, "%v", err)
		return nil
	}
	count := q.Shape[0] * q.Shape[1]
	if codes.Size != int64(count+1)/2 {
		p.fail(codes, "%d bytes for a weight of shape %v", codes.Size, q.Shape)
		return nil
	}
	if blocks := (count-1)/q.Block + 1; !p.nested(q, blocks) {
		return nil
	}
	read := func(dst []float32, row int) error { return q.read(dst, row*q.Shape[1]) }
	return &dequantised{name: p.stem + ".weight", shape: q.Shape, kind: floatType(q.Type), read: read}
}

// nested checks the scales of some blocks, and finds those of blocks of them.
func (p *parts) nested(q *nibbles, blocks int) bool {
	scales, nested := p.mark, p.find(".weight.nested_absmax")
	if scales.Elements() != blocks || (scales.Type == dtype.U8) != (nested != nil) || nested == nil && !scales.Type.Convertible() {
		p.fail(scales, "type %s and shape %v do not fit %d blocks", scales.Type, scales.Shape, blocks)
		return false
	}
	if nested == nil {
		return true
	}
	if q.NestedBlock < 1 || !nested.Type.Convertible() || nested.Elements() != (blocks-1)/q.NestedBlock+1 {
		p.fail(nested, "type %s and shape %v do not fit %d scales in blocks of %d", nested.Type, nested.Shape, blocks, q.NestedBlock)
		return false
	}
	q.nested, q.nestedTable = nested.Name, p.table(".weight.nested_quant_map", 256)
	return p.err == nil
}

// table returns the n values of a tensor with an ending; nil after an error.
func (p *parts) table(ending string, n int) []float32 {
	t := p.need(ending)
	if t == nil {
		return nil
	}
	if t.Elements() != n {
		p.fail(t, "shape %v instead of %d values", t.Shape, n)
		return nil
	}
	values, err := p.file.Float32(t.Name, nil)
	if err != nil {
		p.fail(t, "%v", err)
	}
	return values
}

// readState reads the description of a weight.
func (q *nibbles) readState(t *checkpoint.TensorInfo) error {
	if t.Size > maxState {
		return fmt.Errorf("%d bytes of JSON, at most %d", t.Size, maxState)
	}
	raw := make([]byte, t.Size)
	if err := readRange(q.file, t.Name, raw, 0); err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimRight(raw, "\x00"), &q.nibbleState); err != nil {
		return err
	}
	if s := q.Shape; len(s) != 2 || s[0] < 1 || s[1] < 1 || s[0] > maxVocab || s[1] > maxVocab {
		return fmt.Errorf("shape: %v is not that of a matrix", s)
	}
	if q.Block < 1 {
		return fmt.Errorf("blocksize: %d", q.Block)
	}
	return nil
}

// read reads values from one on: the first of a byte is in its upper half.
func (q *nibbles) read(dst []float32, from int) error {
	first, odd := from/q.Block, from%2
	scales, err := q.blocks(first, (from+len(dst)-1)/q.Block+1-first)
	if err != nil {
		return err
	}
	raw := make([]byte, (odd+len(dst)+1)/2)
	if err := readRange(q.file, q.codes, raw, int64(from/2)); err != nil {
		return err
	}
	for i := range dst {
		at := odd + i
		dst[i] = q.table[raw[at/2]>>(4-at%2*4)&15] * scales[(from+i)/q.Block-first]
	}
	return nil
}

// blocks reads the scales of n blocks from one on.
func (q *nibbles) blocks(first, n int) ([]float32, error) {
	scales := make([]float32, n)
	if q.nested == "" {
		return scales, q.file.Values(q.scales, first, scales)
	}
	outer, codes := first/q.NestedBlock, make([]byte, n)
	nested := make([]float32, (first+n-1)/q.NestedBlock+1-outer)
	if err := q.file.Values(q.nested, outer, nested); err != nil {
		return nil, err
	}
	if err := readRange(q.file, q.scales, codes, int64(first)); err != nil {
		return nil, err
	}
	for i := range scales {
		scales[i] = float32(q.nestedTable[codes[i]]*nested[(first+i)/q.NestedBlock-outer]) + q.Offset
	}
	return scales, nil
}
