package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"glossa/pkg/engine/dtype"
)

// Bounds of a safetensors header.
const (
	maxSafetensorsHeader = 100_000_000          // bytes, the format's limit
	maxSafetensorsText   = maxSafetensorsHeader // bytes of a string of __metadata__ as written
	maxSafetensorsKeys   = 1 << 14              // of __metadata__
	maxTensors           = 1 << 20
)

// OpenSafetensors reads the header of a safetensors file of size bytes. Errors name the
// file by name, the tensor and the reason. Tensors may begin at any byte, as in the
// format.
func OpenSafetensors(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, Meta: Meta{}, parts: []part{{name, r}}, index: map[string]int{}}
	if err := f.readSafetensors(r, size); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return f, nil
}

// foreign returns the error of a file that begins differently from its format: err, or that it is
// the pointer that Git LFS (docs/spec.md) leaves in place of a file which was not downloaded.
func foreign(first []byte, err error) error {
	if bytes.HasPrefix(first, []byte("vers")) { // version https://git-lfs.github.com/spec/v1
		return errors.New("is a Git LFS pointer, not the model's file: run git lfs pull")
	}
	return err
}

// readSafetensors reads the header's length as a little-endian uint64 and the header
// in JSON; the tensors fill the rest of the file.
func (f *File) readSafetensors(r io.ReaderAt, size int64) error {
	var prefix [9]byte
	if size < int64(len(prefix)) {
		return fmt.Errorf("%d bytes are too short for a header", max(size, 0))
	}
	if k, err := r.ReadAt(prefix[:], 0); k < len(prefix) {
		return fmt.Errorf("header length: %w", noEOF(err))
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxSafetensorsHeader {
		return foreign(prefix[:], fmt.Errorf("is not a safetensors file: it does not begin with the length of a header of at most %d bytes", maxSafetensorsHeader))
	}
	if n > uint64(size-8) {
		return fmt.Errorf("header of %d bytes in a file of %d bytes (at most %d)", n, size, maxSafetensorsHeader)
	}
	if n == 0 || prefix[8] != '{' {
		return errors.New("header: does not begin with an object")
	}
	s := newStream(io.NewSectionReader(r, 8, int64(n)))
	err := s.object(func(key string) error {
		if key == "__metadata__" {
			return f.safetensorsMeta(s)
		}
		t, err := safetensorsEntry(s)
		if err != nil {
			return fmt.Errorf("tensor %.80q: %w", key, err)
		}
		if len(f.Tensors) == maxTensors {
			return fmt.Errorf("tensor %.80q: more than %d tensors", key, maxTensors)
		}
		t.Name = key
		f.Tensors = append(f.Tensors, t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if c, err := s.peek(); err == nil {
		return fmt.Errorf("header: %q after the object", c)
	} else if err != io.ErrUnexpectedEOF {
		return fmt.Errorf("header: %w", err)
	}
	return f.checkSafetensorsLayout(8+int64(n), size)
}

func (f *File) safetensorsMeta(s *stream) error {
	return s.object(func(key string) error {
		var text *string
		if err := s.decode(maxSafetensorsText, &text); err != nil {
			return fmt.Errorf("__metadata__ %.80q: %w", key, err)
		}
		if text == nil {
			return fmt.Errorf("__metadata__ %.80q: null", key)
		}
		if len(f.Meta) == maxSafetensorsKeys {
			return fmt.Errorf("__metadata__: more than %d keys", maxSafetensorsKeys)
		}
		f.Meta[key] = *text
		return nil
	})
}

// safetensorsEntry reads {dtype, shape, data_offsets}. The offset of the result
// counts from the end of the header.
func safetensorsEntry(s *stream) (t TensorInfo, err error) {
	var shape, offsets []int64
	err = s.object(func(key string) (err error) {
		switch key {
		case "dtype":
			var text string
			err = s.decode(maxShape, &text)
			t.Type = dtype.Type(text)
		case "shape":
			shape, err = s.integers()
		case "data_offsets":
			offsets, err = s.integers()
		default:
			return fmt.Errorf("unknown member %.80q", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if t.Type == "" || shape == nil || offsets == nil {
		return t, errors.New("dtype, shape or data_offsets is missing")
	}
	if err := safetensorsType(t.Type); err != nil {
		return t, err
	}
	if len(offsets) != 2 || offsets[0] < 0 || offsets[1] < offsets[0] {
		return t, fmt.Errorf("data_offsets %v are not a range", offsets)
	}
	t.Shape = make([]int, len(shape))
	for i, d := range shape {
		if t.Shape[i] = int(d); int64(t.Shape[i]) != d {
			return t, fmt.Errorf("shape %v is impossible", shape)
		}
	}
	if t.Size, err = sizeOf(t.Type, t.Shape); err != nil {
		return t, err
	}
	if t.Offset = offsets[0]; offsets[1]-offsets[0] != t.Size {
		return t, fmt.Errorf("data_offsets %v, but shape %v of %s needs %d bytes", offsets, t.Shape, t.Type, t.Size)
	}
	return t, nil
}

func safetensorsType(d dtype.Type) error {
	if d.InSafetensors() {
		return nil
	}
	if strings.HasPrefix(string(d), "F8_") {
		return fmt.Errorf("dtype %.40q: of the eight-bit floats only %s is supported", string(d), dtype.F8E4M3)
	}
	return fmt.Errorf("dtype %.40q is not supported", string(d))
}

// integers reads an array of integers; nil stands for null.
func (s *stream) integers() ([]int64, error) {
	var list []*int64
	if err := s.decode(maxShape, &list); err != nil || list == nil {
		return nil, err
	}
	values := make([]int64, len(list))
	for i, p := range list {
		if p == nil {
			return nil, fmt.Errorf("element %d is null", i)
		}
		values[i] = *p
	}
	return values, nil
}

// checkSafetensorsLayout sorts the tensors by position and checks that they cover the
// file from byte start on, each byte once.
func (f *File) checkSafetensorsLayout(start, size int64) error {
	slices.SortFunc(f.Tensors, func(a, b TensorInfo) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Name, b.Name))
	})
	end := int64(0) // of the covered part, from start
	for i := range f.Tensors {
		t := &f.Tensors[i]
		switch {
		case t.Offset < end:
			return fmt.Errorf("tensor %.80q: begins at %d within tensor %.80q, which ends at %d", t.Name, t.Offset, f.Tensors[i-1].Name, end)
		case t.Offset > end:
			return fmt.Errorf("tensor %.80q: begins at %d, a hole of %d bytes", t.Name, t.Offset, t.Offset-end)
		case t.Size > size-start-end:
			return fmt.Errorf("tensor %.80q: %d bytes from offset %d in a file of %d bytes: truncated", t.Name, t.Size, start+end, size)
		}
		t.Offset += start
		end += t.Size
		f.index[t.Name] = i
	}
	if start+end != size {
		return fmt.Errorf("%d bytes after the last tensor", size-start-end)
	}
	return nil
}

// noEOF returns err, but io.ErrUnexpectedEOF instead of io.EOF: the file is shorter than
// its size.
func noEOF(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
