package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"glossa/pkg/engine/dtype"
)

// TensorInfo describes a stored tensor.
type TensorInfo struct {
	Name   string
	Type   dtype.Type
	Shape  []int // row-major, the last dimension contiguous
	Offset int64 // of the first byte in the tensor's file
	Size   int64 // bytes

	part int // index in File.parts
}

// Elements returns the number of values.
func (t *TensorInfo) Elements() int { return elements(t.Shape) }

// part is one of the files of the tensors.
type part struct {
	name string
	r    io.ReaderAt
}

// File is an open weight file, or the shards of one. Its tensors are checked: their names
// differ, their byte ranges lie in their file without overlap, and their sizes match
// types and shapes. Their values are read only on request. It is safe for concurrent use
// if its io.ReaderAt is.
type File struct {
	Tensors []TensorInfo // in the order of the file, shard after shard
	Meta    Meta         // GGUF's keys, or the strings of safetensors' __metadata__

	name    string
	parts   []part
	index   map[string]int // of Tensors by name
	closers []io.Closer
}

// Close closes the files that were opened by name, but not an io.ReaderAt.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// Tensor returns the tensor with the given name.
func (f *File) Tensor(name string) (*TensorInfo, bool) {
	i, ok := f.index[name]
	if !ok {
		return nil, false
	}
	return &f.Tensors[i], true
}

// Index returns the index of a tensor in Tensors.
func (f *File) Index(name string) (int, bool) {
	i, ok := f.index[name]
	return i, ok
}

// Raw returns a reader of a tensor's bytes as stored.
func (f *File) Raw(name string) (*io.SectionReader, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(f.parts[t.part].r, t.Offset, t.Size), nil
}

// Float32 reads and converts a tensor. The result holds only its values, in dst's memory
// if that has room. Values that are not finite as float32 are rejected.
func (f *File) Float32(name string, dst []float32) ([]float32, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, err
	}
	n := t.Elements()
	if t.Type.Convertible() {
		dst = slices.Grow(dst[:0], n)[:n]
	}
	if err := t.values(f.parts[t.part].r, 0, dst); err != nil {
		return nil, f.fail(t, err)
	}
	return dst, nil
}

// Values reads and converts len(dst) values of a tensor, beginning with value from, in
// stored order. Both must be multiples of the block size of the tensor's type. Values
// that are not finite as float32 are rejected.
func (f *File) Values(name string, from int, dst []float32) error {
	t, err := f.find(name)
	if err != nil {
		return err
	}
	err = within(t.Elements(), from, len(dst))
	if err == nil {
		err = t.values(f.parts[t.part].r, from, dst)
	}
	if err != nil {
		return f.fail(t, err)
	}
	return nil
}

// within returns an error unless count values from a place on are among all.
func within(all, from, count int) error {
	if from < 0 || from > all || count > all-from {
		return fmt.Errorf("values %d to %d of %d were requested", from, from+count, all)
	}
	return nil
}

// Stored reads values of a tensor as stored, beginning with value from, as many as dst
// has room for: numbers of 16 bits, or whole blocks of a quantised type. Values that are not finite
// are rejected.
func (f *File) Stored(name string, from int, dst []byte) error {
	t, err := f.find(name)
	if err != nil {
		return err
	}
	values, bytes := t.Type.Block()
	at := int64(from / values * bytes)
	switch {
	case t.Type != dtype.BF16 && t.Type != dtype.F16 && (values == 1 || !t.Type.Convertible()):
		return f.fail(t, fmt.Errorf("type %s cannot be read as blocks", t.Type))
	case from < 0 || from%values != 0 || len(dst)%bytes != 0 || at > t.Size || int64(len(dst)) > t.Size-at:
		return f.fail(t, fmt.Errorf("%d bytes from value %d were requested", len(dst), from))
	}
	if k, err := f.parts[t.part].r.ReadAt(dst, t.Offset+at); k < len(dst) {
		return f.fail(t, fmt.Errorf("offset %d: %w", t.Offset+at+int64(k), noEOF(err)))
	}
	if i, v := t.Type.NotFinite(dst); i >= 0 {
		return f.fail(t, fmt.Errorf("value %d is %v", from+i*values, v))
	}
	return nil
}

func (f *File) find(name string) (*TensorInfo, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("checkpoint %s: tensor %.80q: missing", f.name, name)
	}
	return t, nil
}

// fail adds the location of t to an error.
func (f *File) fail(t *TensorInfo, err error) error {
	return fmt.Errorf("checkpoint %s: tensor %q: %w", f.parts[t.part].name, t.Name, err)
}

// readBuffer is about the size of one read, in bytes.
const readBuffer = 256 << 10

// buffers holds memory for reads: beside a large heap, what every read allocates anew would
// stay until much is lost.
var buffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// values reads len(dst) values of the tensor, beginning with value from.
func (t *TensorInfo) values(r io.ReaderAt, from int, dst []float32) error {
	decode := t.Type.Decoder()
	perBlock, blockBytes := t.Type.Block()
	switch {
	case decode == nil:
		return fmt.Errorf("type %s cannot be converted to float32", t.Type)
	case from%perBlock != 0 || len(dst)%perBlock != 0:
		return fmt.Errorf("%d values from %d are not whole blocks of %d, as %s has", len(dst), from, perBlock, t.Type)
	}
	blocks := min(len(dst)/perBlock, readBuffer/blockBytes)
	buf := buffers.Get().(*[readBuffer]byte)
	defer buffers.Put(buf)
	offset := t.Offset + int64(from/perBlock)*int64(blockBytes)
	for done := 0; done < len(dst); {
		out := dst[done:min(len(dst), done+blocks*perBlock)]
		b := buf[:len(out)/perBlock*blockBytes]
		if k, err := r.ReadAt(b, offset); k < len(b) {
			return fmt.Errorf("offset %d: %w", offset+int64(k), noEOF(err))
		}
		decode(out, b)
		if i := indexNotFinite(out); i >= 0 {
			return fmt.Errorf("value %d is %v", from+done+i, out[i])
		}
		done += len(out)
		offset += int64(len(b))
	}
	return nil
}

// indexNotFinite returns the index of the first value that is not finite, or -1.
func indexNotFinite(x []float32) int {
	const exponent, one = 0x7f800000, 0x00800000
	var carry uint32 // an exponent of ones carries into the sign
	for _, v := range x {
		carry |= math.Float32bits(v)&exponent + one
	}
	if carry < 1<<31 {
		return -1
	}
	return slices.IndexFunc(x, func(v float32) bool { return math.Float32bits(v)&exponent == exponent })
}

// Name returns the name of the opened file.
func (f *File) Name() string { return f.name }

// Files returns the names of the files of the tensors.
func (f *File) Files() []string {
	names := make([]string, len(f.parts))
	for i := range f.parts {
		names[i] = f.parts[i].name
	}
	return names
}

// Holder returns the name of a tensor's file.
func (f *File) Holder(t *TensorInfo) string { return f.parts[t.part].name }

// add appends a tensor and rejects a duplicate name.
func (f *File) add(t TensorInfo) error {
	if _, ok := f.index[t.Name]; ok {
		return fmt.Errorf("tensor %.80q appears twice", t.Name)
	}
	f.index[t.Name] = len(f.Tensors)
	f.Tensors = append(f.Tensors, t)
	return nil
}

// Integers reads a tensor of whole numbers of 32 or 64 bits.
func (f *File) Integers(name string) ([]int, error) {
	t, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if t.Type != dtype.I32 && t.Type != dtype.I64 {
		return nil, f.fail(t, fmt.Errorf("type %s, but %s or %s is needed", t.Type, dtype.I32, dtype.I64))
	}
	raw := make([]byte, t.Size)
	if k, err := f.parts[t.part].r.ReadAt(raw, t.Offset); k < len(raw) {
		return nil, f.fail(t, fmt.Errorf("offset %d: %w", t.Offset+int64(k), noEOF(err)))
	}
	list := make([]int, t.Elements())
	for i := range list {
		if t.Type == dtype.I32 {
			list[i] = int(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		} else {
			list[i] = int(binary.LittleEndian.Uint64(raw[8*i:]))
		}
	}
	return list, nil
}
