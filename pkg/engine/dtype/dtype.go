// Package dtype lists the number formats of stored tensors and converts between them and
// float32. It knows blocks of bytes; it does not know files, shapes or matrices.
//
// A NaN stays a NaN, with its sign and as much of its payload as fits. It becomes quiet, as
// F16C's instructions make it, except where bits are copied: from bfloat16 and float32.
//
// Start with [Type.Decoder] and [Type.Encoder].
//
// Source: the safetensors format; GGUF and ggml's reference quantisation.
package dtype

import (
	"fmt"
	"strings"
)

// A Type is the number format of a stored tensor, as safetensors and GGUF spell it.
type Type string

// The types. Q8W is glossa's own: Q8_0 with a scale for 128 values.
const (
	F64   Type = "F64"
	F32   Type = "F32"
	F16   Type = "F16"
	BF16  Type = "BF16"
	Q4_0  Type = "Q4_0"
	Q4_1  Type = "Q4_1"
	Q5_0  Type = "Q5_0"
	Q5_1  Type = "Q5_1"
	Q8_0  Type = "Q8_0"
	Q8_1  Type = "Q8_1"
	Q8W   Type = "Q8_128"
	Q2K   Type = "Q2_K"
	Q3K   Type = "Q3_K"
	Q4K   Type = "Q4_K"
	Q5K   Type = "Q5_K"
	Q6K   Type = "Q6_K"
	Q8K   Type = "Q8_K"
	IQ4NL Type = "IQ4_NL"
	IQ4XS Type = "IQ4_XS"
	MXFP4 Type = "MXFP4"
	I64   Type = "I64"
	I32   Type = "I32"
	I16   Type = "I16"
	I8    Type = "I8"
	U64   Type = "U64"
	U32   Type = "U32"
	U16   Type = "U16"
	U8    Type = "U8"
	Bool  Type = "BOOL"

	F8E4M3 Type = "F8_E4M3" // safetensors: no infinities
)

// A Decoder fills dst from whole blocks.
type Decoder func(dst []float32, src []byte)

// An Encoder appends whole blocks. Values that the type cannot hold are an error.
type Encoder func(dst []byte, src []float32) ([]byte, error)

// A row describes a type.
type row struct {
	name        Type
	gguf        int  // ggml's number; -1: GGUF does not have the type
	safetensors bool // safetensors has the type
	values      int  // in a block
	bytes       int  // of a block
	decode      Decoder
	encode      Encoder
	split       Splitter
}

var rows = [...]row{
	{F32, 0, true, 1, 4, decodeF32, encodeF32, nil},
	{F16, 1, true, 1, 2, decodeF16, encodeF16, nil},
	{Q4_0, 2, false, 32, Q4Bytes, decodeQ4_0, encodeQ4_0, nil},
	{Q4_1, 3, false, 32, 20, decodeQ4_1, nil, splitQ4_1},
	{Q5_0, 6, false, 32, 22, decodeQ5_0, nil, splitQ5_0},
	{Q5_1, 7, false, 32, 24, decodeQ5_1, nil, splitQ5_1},
	{Q8_0, 8, false, 32, Q8Bytes, decodeQ8_0, encodeQ8_0, nil},
	{Q8_1, 9, false, 32, 40, nil, nil, nil},
	{Q8W, -1, false, WideValues, WideBytes, decodeQ8W, encodeQ8W, nil},
	{Q2K, 10, false, 256, 84, decodeQ2K, nil, splitQ2K},
	{Q3K, 11, false, 256, 110, decodeQ3K, nil, splitQ3K},
	{Q4K, 12, false, Coarse, Q4KBytes, decodeQ4K, encodeQ4K, splitQ4K},
	{Q5K, 13, false, 256, 176, decodeQ5K, nil, splitQ5K},
	{Q6K, 14, false, Coarse, Q6KBytes, decodeQ6K, encodeQ6K, splitQ6K},
	{Q8K, 15, false, 256, 292, nil, nil, nil},
	{IQ4NL, 20, false, 32, 18, decodeIQ4NL, nil, splitIQ4NL},
	{IQ4XS, 23, false, 256, 136, decodeIQ4XS, nil, splitIQ4XS},
	{MXFP4, 39, false, 32, 17, decodeMXFP4, nil, splitMXFP4},
	{I8, 24, true, 1, 1, nil, nil, nil},
	{I16, 25, true, 1, 2, nil, nil, nil},
	{I32, 26, true, 1, 4, nil, nil, nil},
	{I64, 27, true, 1, 8, nil, nil, nil},
	{F64, 28, true, 1, 8, decodeF64, nil, nil},
	{BF16, 30, true, 1, 2, decodeBF16, encodeBF16, nil},
	{U8, -1, true, 1, 1, nil, nil, nil},
	{U16, -1, true, 1, 2, nil, nil, nil},
	{U32, -1, true, 1, 4, nil, nil, nil},
	{U64, -1, true, 1, 8, nil, nil, nil},
	{Bool, -1, true, 1, 1, nil, nil, nil},
	{F8E4M3, -1, true, 1, 1, decodeF8E4M3, nil, nil},
}

// row returns the description of t, a zero one if t is unknown.
func (t Type) row() row {
	for i := range rows {
		if rows[i].name == t {
			return rows[i]
		}
	}
	return row{gguf: -1}
}

// Block returns the number of values in a block and its length in bytes. Both are 0 if t
// is unknown.
func (t Type) Block() (values, bytes int) {
	r := t.row()
	return r.values, r.bytes
}

// Convertible reports whether values of the type can be read as float32.
func (t Type) Convertible() bool { return t.row().decode != nil }

// Decoder returns the function that reads values of t, or nil if t cannot be read as
// float32.
func (t Type) Decoder() Decoder { return t.row().decode }

// Encoder returns the function that writes values of t, or nil if there is none.
func (t Type) Encoder() Encoder { return t.row().encode }

// InSafetensors reports whether safetensors has the type.
func (t Type) InSafetensors() bool { return t.row().safetensors }

// GGUF returns ggml's number of the type; ok is false if it has none.
func (t Type) GGUF() (number uint32, ok bool) {
	n := t.row().gguf
	return uint32(max(n, 0)), n >= 0
}

// FromGGUF returns the type of a number of ggml, "" if it is unknown.
func FromGGUF(number uint32) Type {
	for i := range rows {
		if n := rows[i].gguf; n >= 0 && uint32(n) == number {
			return rows[i].name
		}
	}
	return ""
}

// others names the types of GGUF that are not read.
var others = map[uint32]string{
	4: "Q4_2", 5: "Q4_3", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 21: "IQ3_S", 22: "IQ2_S", 29: "IQ1_M",
	31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8", 34: "TQ1_0", 35: "TQ2_0", 36: "IQ4_NL_4_4", 40: "NVFP4", 41: "Q1_0",
}

// Unsupported returns an error that names a type of GGUF which is not read, and those that
// are.
func Unsupported(number uint32) error {
	name := others[number]
	if name == "" {
		name = fmt.Sprintf("%d, which is unknown,", number)
	}
	var read []string
	for i := range rows {
		if r := &rows[i]; r.gguf >= 0 && r.decode != nil {
			read = append(read, string(r.name))
		}
	}
	return fmt.Errorf("type %s is not supported, only %s", name, strings.Join(read, ", "))
}

// Option returns the name of t in records and options, such as "q8_0".
func (t Type) Option() string { return strings.ToLower(string(t)) }

// Weights lists the types in which models can keep their weights in memory and in packed
// files.
func Weights() []Type { return []Type{F32, BF16, Q8_0, Q8W, Q6K, Q4K, Q4_0} }

// Options lists the names of [Weights].
func Options() []string {
	var names []string
	for _, t := range Weights() {
		names = append(names, t.Option())
	}
	return names
}
