package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// TensorInfo describes a stored tensor.
type TensorInfo struct {
	Name   string
	Type   DType
	Shape  []int // row-major, the last dimension contiguous
	Offset int64 // of the first byte in the tensor's file
	Size   int64 // bytes

	part int // index in File.parts
}

// Elements is the number of values.
func (t *TensorInfo) Elements() int {
	n, _ := product(t.Shape) // was checked
	return n
}

// part is one of the files that hold the tensors.
type part struct {
	name string
	r    io.ReaderAt
}

// File is an open weight file, or the shards of one. Its tensors were checked: their
// names differ, their byte ranges lie in their file without overlap, and their sizes
// fit types and shapes. Their values are not read before they are asked for. It is
// safe for concurrent use if its io.ReaderAt is.
type File struct {
	Tensors []TensorInfo // in the order of the file, shard after shard
	Meta    Meta         // GGUF's keys, or the strings of safetensors' __metadata__

	parts   []part
	index   map[string]int // of Tensors by name
	closers []io.Closer
}

// Close closes the files that opening by name opened; none for an io.ReaderAt.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (*TensorInfo, bool) {
	i, ok := f.index[name]
	if !ok {
		return nil, false
	}
	return &f.Tensors[i], true
}

// Raw returns a reader of a tensor's bytes as they are stored.
func (f *File) Raw(name string) (*io.SectionReader, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("checkpoint %s: tensor %.80q: missing", f.parts[0].name, name)
	}
	return io.NewSectionReader(f.parts[t.part].r, t.Offset, t.Size), nil
}

// Float32 reads and converts a tensor. The result holds its values alone, in dst's
// memory if that has room. Values that are not finite as float32 are refused.
func (f *File) Float32(name string, dst []float32) ([]float32, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("checkpoint %s: tensor %.80q: missing", f.parts[0].name, name)
	}
	p := f.parts[t.part]
	dst, err := t.read(p.r, dst)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: tensor %q: %w", p.name, name, err)
	}
	return dst, nil
}

// readBuffer is about how much is read at once, bytes.
const readBuffer = 256 << 10

func (t *TensorInfo) read(r io.ReaderAt, dst []float32) ([]float32, error) {
	layout, _ := t.Type.format()
	if layout.convert == nil {
		return nil, fmt.Errorf("type %s cannot be converted to float32", t.Type)
	}
	n := t.Elements()
	dst = slices.Grow(dst[:0], n)[:n]
	blocks := min(n/layout.values, readBuffer/layout.bytes)
	buf := make([]byte, blocks*layout.bytes)
	for done, offset := 0, t.Offset; done < n; {
		out := dst[done:min(n, done+blocks*layout.values)]
		b := buf[:len(out)/layout.values*layout.bytes]
		if k, err := r.ReadAt(b, offset); k < len(b) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("offset %d: %w", offset+int64(k), err)
		}
		layout.convert(out, b)
		if i := slices.IndexFunc(out, notFinite); i >= 0 {
			return nil, fmt.Errorf("value %d is %v", done+i, out[i])
		}
		done += len(out)
		offset += int64(len(b))
	}
	return dst, nil
}

func notFinite(v float32) bool { return math.Float32bits(v)&0x7f800000 == 0x7f800000 }

// add appends a tensor and refuses a name that is taken.
func (f *File) add(t TensorInfo) error {
	if _, ok := f.index[t.Name]; ok {
		return fmt.Errorf("tensor %.80q appears twice", t.Name)
	}
	f.index[t.Name] = len(f.Tensors)
	f.Tensors = append(f.Tensors, t)
	return nil
}
