package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"glossa/pkg/engine/dtype"
)

const (
	ggufMagic        = "GGUF"
	ggufAlignmentKey = "general.alignment"
	maxGGUFDims      = 4
	maxGGUFAlignment = 1 << 20 // bytes
	maxGGUFKeys      = 1 << 16
)

// OpenGGUF reads the header of a GGUF file, version 2 or 3, of size bytes. Errors name
// the file by name, the key or tensor and the reason. Dimensions are reversed: shapes are
// row-major as everywhere here. It reads one file of a split model; [Open] reads all.
func OpenGGUF(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, Meta: Meta{}, parts: []part{{name, r}}, index: map[string]int{}}
	if err := f.readGGUF(newGGUFHeader(r, max(size, 0))); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return f, nil
}

// readGGUF reads "GGUF", the version, the numbers of tensors and keys, the keys and the
// tensors' descriptions.
func (f *File) readGGUF(g *ggufHeader) error {
	magic, err := values[uint8](g, uint64(len(ggufMagic)))
	if err != nil {
		return err
	}
	if string(magic) != ggufMagic {
		return foreign(magic, errors.New(`is not a GGUF file: it does not begin with "GGUF"`))
	}
	version, err := number[uint32](g)
	if err != nil {
		return err
	}
	switch {
	case version == 2 || version == 3:
	case version&0xffff == 0 && version != 0:
		return errors.New("big-endian GGUF is not supported")
	default:
		return fmt.Errorf("GGUF version %d is not supported (2 and 3 are)", version)
	}
	counts, err := values[uint64](g, 2)
	if err != nil {
		return err
	}
	if err := f.ggufKeys(g, counts[1]); err != nil {
		return err
	}
	alignment, err := f.ggufAlignment()
	if err != nil {
		return err
	}
	if err := f.ggufTensors(g, counts[0]); err != nil {
		return err
	}
	return f.checkGGUFLayout(g.pos, g.size, alignment)
}

func (f *File) ggufKeys(g *ggufHeader, n uint64) error {
	const least = 8 + 4 + 1 // bytes of a key, a type and a value
	if n > maxGGUFKeys {
		return fmt.Errorf("%d keys, at most %d", n, maxGGUFKeys)
	}
	if err := g.need(n, least); err != nil {
		return fmt.Errorf("%d keys: %w", n, err)
	}
	for i := range n {
		key, err := g.text(maxGGUFKey)
		if err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		if _, ok := f.Meta[key]; ok {
			return fmt.Errorf("key %.80q appears twice", key)
		}
		kind, err := number[uint32](g)
		if err != nil {
			return fmt.Errorf("key %.80q: %w", key, err)
		}
		if f.Meta[key], err = g.value(kind); err != nil {
			return fmt.Errorf("key %.80q: %w", key, err)
		}
	}
	return nil
}

// ggufAlignment returns the alignment of tensors, in bytes.
func (f *File) ggufAlignment() (int64, error) {
	if _, ok := f.Meta[ggufAlignmentKey]; !ok {
		return 32, nil
	}
	a, err := f.Meta.Int(ggufAlignmentKey)
	if err == nil && (a <= 0 || a&(a-1) != 0 || a > maxGGUFAlignment) {
		err = fmt.Errorf("key %q: %d is not a power of two up to %d", ggufAlignmentKey, a, maxGGUFAlignment)
	}
	return a, err
}

func (f *File) ggufTensors(g *ggufHeader, n uint64) error {
	const least = 8 + 4 + 4 + 8 // bytes of a name, no dimensions, a type and an offset
	if n > maxTensors {
		return fmt.Errorf("%d tensors, at most %d", n, maxTensors)
	}
	if err := g.need(n, least); err != nil {
		return fmt.Errorf("%d tensors: %w", n, err)
	}
	for i := range n {
		name, err := g.text(maxGGUFKey)
		if err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
		t, err := ggufTensor(g)
		if err != nil {
			return fmt.Errorf("tensor %.80q: %w", name, err)
		}
		t.Name = name
		if err := f.add(t); err != nil {
			return err
		}
	}
	return nil
}

// ggufTensor reads the description after a tensor's name: the number of dimensions, the
// dimensions with the contiguous one first, the type and the offset from the start of the
// data.
func ggufTensor(g *ggufHeader) (t TensorInfo, err error) {
	count, err := number[uint32](g)
	if err != nil {
		return t, err
	}
	if count > maxGGUFDims {
		return t, fmt.Errorf("%d dimensions, at most %d", count, maxGGUFDims)
	}
	dims, err := values[uint64](g, uint64(count))
	if err != nil {
		return t, err
	}
	t.Shape = make([]int, count)
	for i, d := range dims {
		if d > math.MaxInt {
			return t, fmt.Errorf("dimensions %d are impossible", dims)
		}
		t.Shape[i] = int(d)
	}
	slices.Reverse(t.Shape)
	kind, err := number[uint32](g)
	if err != nil {
		return t, err
	}
	if t.Type = dtype.FromGGUF(kind); t.Type == "" {
		return t, dtype.Unsupported(kind)
	}
	offset, err := number[uint64](g)
	if err != nil {
		return t, err
	}
	if offset > math.MaxInt64 {
		return t, fmt.Errorf("offset %d is impossible", offset)
	}
	t.Offset = int64(offset)
	t.Size, err = sizeOf(t.Type, t.Shape)
	return t, err
}

// checkGGUFLayout checks that the tensors follow each other in the order of their
// descriptions, with no more than alignment between them, and end with the file. The last
// may be padded.
func (f *File) checkGGUFLayout(header, size, alignment int64) error {
	pad := func(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
	if size > math.MaxInt64-2*maxGGUFAlignment {
		return fmt.Errorf("a file of %d bytes is impossible", size)
	}
	start := pad(header)
	end := int64(0) // of the tensors so far, from start, padded
	for i := range f.Tensors {
		t := &f.Tensors[i]
		switch {
		case t.Offset%alignment != 0:
			return fmt.Errorf("tensor %.80q: offset %d is not a multiple of %d", t.Name, t.Offset, alignment)
		case t.Offset != end:
			return fmt.Errorf("tensor %.80q: offset %d where %d was expected: a hole or an overlap", t.Name, t.Offset, end)
		case t.Size > size-start-end:
			return fmt.Errorf("tensor %.80q: %d bytes from offset %d in a file of %d bytes: truncated", t.Name, t.Size, start+end, size)
		}
		t.Offset += start
		end = pad(end + t.Size)
	}
	if size > start+end {
		return fmt.Errorf("%d bytes after the last tensor", size-start-end)
	}
	return nil
}
