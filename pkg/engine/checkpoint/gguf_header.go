package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of a GGUF header, bytes.
const (
	maxGGUFHeader = 256 << 20
	maxGGUFKey    = 65535 // the format's limit
	maxGGUFString = 16 << 20
)

// ggufChunk is the number of values allocated before the first of them is read: the file
// may be shorter than its stated size.
const ggufChunk = 4096

// ggufHeader reads the part of a GGUF file before the tensors: little-endian, nothing
// aligned.
type ggufHeader struct {
	r    *bufio.Reader
	pos  int64
	end  int64 // at most the file's
	size int64 // of the file
}

func newGGUFHeader(r io.ReaderAt, size int64) *ggufHeader {
	end := min(size, maxGGUFHeader)
	return &ggufHeader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, end), 64<<10), end: end, size: size}
}

// need checks that n times width bytes follow, before anything is allocated for them.
func (g *ggufHeader) need(n uint64, width int64) error {
	if n <= uint64((g.end-g.pos)/width) {
		return nil
	}
	if g.end < g.size {
		return fmt.Errorf("offset %d: the header is larger than %d bytes", g.pos, g.end)
	}
	return fmt.Errorf("offset %d: truncated in a file of %d bytes", g.pos, g.size)
}

// fixed are the types with a fixed size.
type fixed interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | float32 | uint64 | int64 | float64
}

func number[T fixed](g *ggufHeader) (v T, err error) {
	list, err := values[T](g, 1)
	if err != nil {
		return v, err
	}
	return list[0], nil
}

func values[T fixed](g *ggufHeader, n uint64) ([]T, error) {
	var zero T
	width := int64(binary.Size(zero))
	if err := g.need(n, width); err != nil {
		return nil, err
	}
	list := make([]T, 0, min(n, ggufChunk))
	for uint64(len(list)) < n {
		k := int(min(n-uint64(len(list)), ggufChunk))
		list = slices.Grow(list, k)[:len(list)+k]
		if err := binary.Read(g.r, binary.LittleEndian, list[len(list)-k:]); err != nil {
			return nil, fmt.Errorf("offset %d: %w", g.pos, noEOF(err))
		}
		g.pos += int64(k) * width
	}
	return list, nil
}

// text reads a length as uint64 and that many bytes.
func (g *ggufHeader) text(limit uint64) (string, error) {
	n, err := number[uint64](g)
	if err != nil {
		return "", err
	}
	if err := g.need(n, 1); err != nil {
		return "", err
	}
	if n > limit {
		return "", fmt.Errorf("offset %d: string of %d bytes, at most %d", g.pos, n, limit)
	}
	var b strings.Builder
	b.Grow(int(min(n, ggufChunk)))
	if _, err := io.CopyN(&b, g.r, int64(n)); err != nil {
		return "", fmt.Errorf("offset %d: %w", g.pos, noEOF(err))
	}
	g.pos += int64(n)
	return b.String(), nil
}

// Types of values.
const (
	ggufUint8 = iota
	ggufInt8
	ggufUint16
	ggufInt16
	ggufUint32
	ggufInt32
	ggufFloat32
	ggufBool
	ggufString
	ggufArray
	ggufUint64
	ggufInt64
	ggufFloat64
)

// value reads a value of a type.
func (g *ggufHeader) value(kind uint32) (any, error) {
	switch kind {
	case ggufArray:
		of, err := number[uint32](g)
		if err != nil {
			return nil, err
		}
		n, err := number[uint64](g)
		if err != nil {
			return nil, err
		}
		return g.array(of, n)
	case ggufString:
		return g.text(maxGGUFString)
	case ggufUint8:
		return number[uint8](g)
	case ggufInt8:
		return number[int8](g)
	case ggufUint16:
		return number[uint16](g)
	case ggufInt16:
		return number[int16](g)
	case ggufUint32:
		return number[uint32](g)
	case ggufInt32:
		return number[int32](g)
	case ggufFloat32:
		return number[float32](g)
	case ggufUint64:
		return number[uint64](g)
	case ggufInt64:
		return number[int64](g)
	case ggufFloat64:
		return number[float64](g)
	case ggufBool:
		list, err := g.bools(1)
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	return nil, fmt.Errorf("value of unknown type %d", kind)
}

// array reads n values of a type.
func (g *ggufHeader) array(of uint32, n uint64) (any, error) {
	switch of {
	case ggufArray:
		return nil, errors.New("arrays of arrays are not supported")
	case ggufString:
		return g.texts(n)
	case ggufBool:
		return g.bools(n)
	case ggufUint8:
		return values[uint8](g, n)
	case ggufInt8:
		return values[int8](g, n)
	case ggufUint16:
		return values[uint16](g, n)
	case ggufInt16:
		return values[int16](g, n)
	case ggufUint32:
		return values[uint32](g, n)
	case ggufInt32:
		return values[int32](g, n)
	case ggufFloat32:
		return values[float32](g, n)
	case ggufUint64:
		return values[uint64](g, n)
	case ggufInt64:
		return values[int64](g, n)
	case ggufFloat64:
		return values[float64](g, n)
	}
	return nil, fmt.Errorf("array of unknown type %d", of)
}

func (g *ggufHeader) texts(n uint64) ([]string, error) {
	if err := g.need(n, 8); err != nil {
		return nil, err
	}
	list := make([]string, 0, min(n, ggufChunk))
	for i := range n {
		text, err := g.text(maxGGUFString)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		list = append(list, text)
	}
	return list, nil
}

func (g *ggufHeader) bools(n uint64) ([]bool, error) {
	raw, err := values[uint8](g, n)
	if err != nil {
		return nil, err
	}
	list := make([]bool, n)
	for i, b := range raw {
		if b > 1 {
			return nil, fmt.Errorf("bool %d is %d", i, b)
		}
		list[i] = b == 1
	}
	return list, nil
}
