package checkpoint

import (
	"fmt"
	"math"
)

// DType is the element type of a stored tensor, as safetensors and GGUF spell it.
type DType string

// Element types of stored tensors. [File.Float32] and [File.Values] convert the floats and the
// quantised types down to Q6_K; the others can only be read raw.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	Q4_0 DType = "Q4_0"
	Q4_1 DType = "Q4_1"
	Q5_0 DType = "Q5_0"
	Q5_1 DType = "Q5_1"
	Q8_0 DType = "Q8_0"
	Q4K  DType = "Q4_K"
	Q5K  DType = "Q5_K"
	Q6K  DType = "Q6_K"

	Q8_1 DType = "Q8_1"
	Q2K  DType = "Q2_K"
	Q3K  DType = "Q3_K"
	Q8K  DType = "Q8_K"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

// Convertible tells whether values of the type can be read as float32.
func (d DType) Convertible() bool {
	f, _ := d.format()
	return f.convert != nil
}

// format is the storage of an element type: blocks of values.
type format struct {
	values int // in a block
	bytes  int // of a block
	// convert fills dst from whole blocks; nil if the type can only be read raw.
	convert func(dst []float32, src []byte)
}

// format returns the storage of d; ok is false if d is unknown.
func (d DType) format() (f format, ok bool) {
	switch d {
	case F64:
		return format{1, 8, convertF64}, true
	case F32:
		return format{1, 4, convertF32}, true
	case F16:
		return format{1, 2, convertF16}, true
	case BF16:
		return format{1, 2, convertBF16}, true
	case I64, U64:
		return format{1, 8, nil}, true
	case I32, U32:
		return format{1, 4, nil}, true
	case I16, U16:
		return format{1, 2, nil}, true
	case I8, U8, Bool:
		return format{1, 1, nil}, true
	}
	return d.quantised()
}

func (d DType) quantised() (f format, ok bool) {
	switch d {
	case Q4_0:
		return format{32, 18, convertQ4_0}, true
	case Q4_1:
		return format{32, 20, convertQ4_1}, true
	case Q5_0:
		return format{32, 22, convertQ5_0}, true
	case Q5_1:
		return format{32, 24, convertQ5_1}, true
	case Q8_0:
		return format{32, 34, convertQ8_0}, true
	case Q8_1:
		return format{32, 40, nil}, true
	case Q2K:
		return format{256, 84, nil}, true
	case Q3K:
		return format{256, 110, nil}, true
	case Q4K:
		return format{256, 144, convertQ4K}, true
	case Q5K:
		return format{256, 176, convertQ5K}, true
	case Q6K:
		return format{256, 210, convertQ6K}, true
	case Q8K:
		return format{256, 292, nil}, true
	}
	return format{}, false
}

// size returns how many bytes a tensor takes. It refuses shapes that overflow and
// rows that are not whole blocks.
func (d DType) size(shape []int) (int64, error) {
	f, ok := d.format()
	if !ok {
		return 0, fmt.Errorf("type %.40q is not supported", string(d))
	}
	n, err := product(shape)
	if err != nil {
		return 0, err
	}
	row := 1
	if len(shape) > 0 {
		row = shape[len(shape)-1]
	}
	if row%f.values != 0 {
		return 0, fmt.Errorf("shape %v: rows of %d values are not whole blocks of %d, as %s has", shape, row, f.values, d)
	}
	blocks := int64(n / f.values)
	if blocks > math.MaxInt64/int64(f.bytes) {
		return 0, fmt.Errorf("shape %v is impossible", shape)
	}
	return blocks * int64(f.bytes), nil
}
