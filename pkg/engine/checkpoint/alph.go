package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"glossa/pkg/engine/dtype"
)

// maxHeader bounds the header of the binary encoding, in bytes: the tokenizer's limit and
// the same for the list of tensors.
const maxHeader = 2 * maxTokenizer

// entry is an element of the header's list of tensors.
type entry struct {
	Name     string `json:"name"` // "p." and a parameter or "o." and an optimizer buffer
	Shape    []int  `json:"shape"`
	Elements *int64 `json:"elements"`

	offset int64 // in the file, bytes
}

// label returns the entry's name in errors.
func (e *entry) label() string {
	if name, ok := strings.CutPrefix(e.Name, "p."); ok {
		return name
	}
	return "optimizer " + strings.TrimPrefix(e.Name, "o.")
}

// readALPH reads the binary encoding: "ALPH", the header's length as a little-endian
// uint32, the header in JSON, then little-endian float32s in the order of
// header.tensors without padding; they are not aligned.
func readALPH(r io.ReaderAt, size int64, opt Options) (*Alpha, error) {
	var prefix [8]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("header length: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(prefix[4:]))
	if n > size-8 || n > maxHeader {
		return nil, fmt.Errorf("header of %d bytes in a file of %d bytes (at most %d)", n, size, maxHeader)
	}
	h := header{Alpha: &Alpha{}, opt: opt}
	entries, err := readHeader(&h, io.NewSectionReader(r, 8, n))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := h.checkEntries(entries, 8+n, size, opt); err != nil {
		return nil, err
	}
	if opt.leave != nil {
		return h.Alpha, h.leave(entries)
	}
	h.Params = map[string]Tensor{}
	if opt.Optimizer {
		h.Optimizer = map[string]Tensor{}
	}
	for i := range entries {
		if err := h.load(r, &entries[i], opt); err != nil {
			return nil, err
		}
	}
	return h.Alpha, nil
}

func readHeader(h *header, r io.Reader) (entries []entry, err error) {
	s := newStream(r)
	err = s.object(func(key string) error {
		switch key {
		case "optimizerStep":
			if c, err := s.peek(); err != nil || c == 'n' {
				return errors.Join(err, s.skip())
			}
			h.OptimizerStep, err = s.count()
			return err
		case "tensors":
			if err := s.decode(maxHeader, &entries); err != nil {
				return fmt.Errorf("tensors: %w", err)
			}
			return nil
		}
		if ok, err := h.member(s, key); ok {
			return err
		}
		return s.skip()
	})
	if err != nil {
		return nil, err
	}
	if err := h.finish(); err != nil {
		return nil, err
	}
	if _, err := s.peek(); err != io.ErrUnexpectedEOF {
		return nil, errors.New("data after the object")
	}
	return entries, nil
}

// checkEntries checks every entry against the configuration and the file's size before
// anything is allocated, and computes its offset.
func (h *header) checkEntries(entries []entry, offset, size int64, opt Options) error {
	seen := map[string]Tensor{} // parameters, without data
	names := map[string]bool{}
	budget := opt.MaxBytes
	for i := range entries {
		e := &entries[i]
		param, isParam := strings.CutPrefix(e.Name, "p.")
		if !isParam && !strings.HasPrefix(e.Name, "o.") {
			return fmt.Errorf("tensor %.80q: the name begins with neither \"p.\" nor \"o.\"", e.Name)
		}
		if names[e.Name] {
			return fmt.Errorf("tensor %q appears twice", e.label())
		}
		names[e.Name] = true
		if isParam {
			if err := h.arch.check(param, e.Shape); err != nil {
				return err
			}
			seen[param] = Tensor{}
		}
		n, err := product(e.Shape)
		if err != nil {
			return fmt.Errorf("tensor %.80q: %w", e.label(), err)
		}
		if e.Elements == nil || *e.Elements != int64(n) {
			return fmt.Errorf("tensor %.80q: elements is not %d, as shape %v has it", e.label(), n, e.Shape)
		}
		if int64(n) > (size-offset)/4 {
			return fmt.Errorf("tensor %.80q: %d values from offset %d in a file of %d bytes: truncated", e.label(), n, offset, size)
		}
		if isParam || opt.Optimizer {
			if budget -= 4 * int64(n); budget < 0 {
				return fmt.Errorf("tensor %.80q: over the budget of %d bytes", e.label(), opt.MaxBytes)
			}
		}
		e.offset = offset
		offset += 4 * int64(n)
	}
	if offset != size {
		return fmt.Errorf("%d bytes after the last tensor", size-offset)
	}
	return h.arch.complete(seen)
}

// load reads the values of an entry.
func (h *header) load(r io.ReaderAt, e *entry, opt Options) error {
	dst := h.Params
	name, isParam := strings.CutPrefix(e.Name, "p.")
	if !isParam {
		if !opt.Optimizer {
			return nil
		}
		dst, name = h.Optimizer, strings.TrimPrefix(e.Name, "o.")
	}
	t := Tensor{Shape: e.Shape, Data: make([]float32, *e.Elements)}
	if err := e.info().values(r, 0, t.Data); err != nil {
		return fmt.Errorf("tensor %.80q: %w", e.label(), err)
	}
	dst[name] = t
	return nil
}

// info describes the entry's values.
func (e *entry) info() *TensorInfo {
	return &TensorInfo{Name: e.label(), Type: dtype.F32, Shape: e.Shape, Offset: e.offset, Size: 4 * *e.Elements}
}

// leave leaves the parameters in the file.
func (h *header) leave(entries []entry) error {
	from := h.opt.leave
	f := &File{name: from.name, parts: []part{{from.name, from.r}}, index: map[string]int{}, closers: []io.Closer{from}}
	h.Params, h.file = map[string]Tensor{}, f
	for i := range entries {
		e := &entries[i]
		if !strings.HasPrefix(e.Name, "p.") {
			continue
		}
		h.Params[e.label()] = Tensor{Shape: e.Shape}
		if err := f.add(*e.info()); err != nil {
			return err
		}
	}
	return nil
}
