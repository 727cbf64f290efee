package arch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// A source returns the tensors of a file by name and records which were used. After an
// error it returns empty ones.
type source struct {
	file    *checkpoint.File
	renames []rename
	names   map[string]string // maps names as layouts have them to names in the file
	used    map[string]bool   // names in the file
	err     error             // the first

	adapter *adapter                // what changes the tensors, or nil
	coded   map[string]*dequantised // weights that are read from several tensors, by their names in layouts
}

// newSource renames the tensors of the file: the first of renames that fits applies.
func newSource(file *checkpoint.File, renames ...rename) *source {
	s := &source{file: file, renames: renames, names: map[string]string{}, used: map[string]bool{}}
	for i := range file.Tensors {
		t := &file.Tensors[i]
		name := s.short(t.Name)
		if stem, old := strings.CutSuffix(name, "LayerNorm.gamma"); old { // BERT as TensorFlow named it
			name = stem + "LayerNorm.weight"
		} else if stem, old := strings.CutSuffix(name, "LayerNorm.beta"); old {
			name = stem + "LayerNorm.bias"
		}
		if other, ok := s.names[name]; ok {
			s.fail(t, "conflicts with tensor %.80q", other)
		}
		s.names[name] = t.Name
	}
	return s
}

// short returns the name of a tensor of the file as layouts have it.
func (s *source) short(name string) string {
	for _, r := range s.renames {
		if rest, ok := strings.CutPrefix(name, r.from); ok {
			return r.to + rest
		}
	}
	return name
}

func (s *source) fail(t *checkpoint.TensorInfo, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("checkpoint %s: tensor %.80q: %s", s.file.Holder(t), t.Name, fmt.Sprintf(format, args...))
	}
}

func (s *source) has(name string) bool {
	_, ok := s.names[name]
	return ok || s.coded[name] != nil
}

// first returns the first of the names, without ".weight", that the file has, or else the
// first name.
func (s *source) first(names string) (name string, ok bool) {
	for name := range strings.FieldsSeq(names) {
		if s.has(name + ".weight") {
			return name, true
		}
	}
	name, _, _ = strings.Cut(names, " ")
	return name, false
}

// A span is a tensor from which rows can be selected. The zero span is empty.
type span struct {
	kind       dtype.Type
	file       *checkpoint.File
	name       string
	cols       int
	transposed bool
	coded      *dequantised // of a quantised weight
	delta      *lowRank     // what an adapter adds
}

// matrix uses a tensor as (rows, cols).
func (s *source) matrix(name string, rows, cols int, transposed bool) span {
	shape := []int{rows, cols}
	if transposed {
		shape = []int{cols, rows}
	}
	return s.take(name, shape, span{cols: cols, transposed: transposed})
}

// stacked uses a tensor as matrices of (rows, cols), one after another.
func (s *source) stacked(name string, count, rows, cols int) span {
	return s.take(name, []int{count, rows, cols}, span{cols: cols})
}

// vector uses a tensor of n values.
func (s *source) vector(name string, n int) span { return s.take(name, []int{n}, span{cols: 1}) }

func (s *source) take(name string, shape []int, out span) span {
	if s.err != nil {
		return span{}
	}
	t, stored, ok := s.look(name, &out)
	switch {
	case !ok:
		s.err = fmt.Errorf("checkpoint %s: tensor %q: missing", s.file.Name(), name)
	case !slices.Equal(stored, shape) && !(shape[0] == 1 && slices.Equal(stored, shape[1:])): // converters may drop a dimension of 1
		s.fail(t, "shape %v, but the configuration has %v", stored, shape)
	case !out.kind.Convertible():
		s.fail(t, "weights of type %s are not supported", t.Type)
	case out.kind == dtype.F8E4M3 && s.coded != nil:
		s.fail(t, "its scale is missing")
	default:
		if s.adapter != nil {
			s.err = s.adapter.apply(name, shape, &out)
		}
		return out
	}
	return span{}
}

// look uses a tensor, or all tensors of a quantised weight. t is the one that errors name.
func (s *source) look(name string, out *span) (t *checkpoint.TensorInfo, shape []int, ok bool) {
	out.file = s.file
	if c := s.coded[name]; c != nil {
		for _, full := range c.names {
			s.used[full] = true
		}
		t, _ = s.file.Tensor(c.names[0])
		out.coded, out.name, out.kind = c, t.Name, c.kind
		return t, c.shape, true
	}
	full, ok := s.names[name]
	if !ok {
		return nil, nil, false
	}
	t, _ = s.file.Tensor(full)
	s.used[full] = true
	out.name, out.kind = full, t.Type
	return t, t.Shape, true
}

// bytes uses a tensor of bytes of a shape.
func (s *source) bytes(name string, shape []int) *io.SectionReader {
	if s.err != nil {
		return nil
	}
	full, ok := s.names[name]
	if !ok {
		s.err = fmt.Errorf("checkpoint %s: tensor %q: missing", s.file.Name(), name)
		return nil
	}
	t, _ := s.file.Tensor(full)
	s.used[full] = true
	if t.Type != dtype.U8 || !slices.Equal(t.Shape, shape) {
		s.fail(t, "type %s and shape %v, but the configuration has bytes of shape %v", t.Type, t.Shape, shape)
		return nil
	}
	raw, err := s.file.Raw(full)
	if err != nil {
		s.fail(t, "%v", err)
	}
	return raw
}

// rows returns n rows of t, beginning with row from; all of them if t is transposed.
func (t span) rows(from, n int) transformer.Tensor {
	base := from * t.cols
	values, stored := t.readers()
	out := transformer.Tensor{
		Name: t.name, Rows: n, Cols: t.cols, Transposed: t.transposed, Stored: transformer.FormatOf(t.kind),
		Read: func(dst []float32, from int) error { return values(dst, base+from) },
	}
	if out.Stored != transformer.F32 {
		out.ReadStored = func(dst []byte, from int) error { return stored(dst, base+from) }
	}
	if t.delta != nil {
		return t.delta.merged(out, base)
	}
	return out
}

// readers returns what reads values of the whole tensor, and the same as they are stored.
func (t span) readers() (values func([]float32, int) error, stored func([]byte, int) error) {
	if t.coded != nil {
		return t.coded.values, t.coded.stored
	}
	values = func(dst []float32, from int) error { return t.file.Values(t.name, from, dst) }
	stored = func(dst []byte, from int) error { return t.file.Stored(t.name, from, dst) }
	return values, stored
}

// ignore uses the tensors whose names have a prefix, without reading them.
func (s *source) ignore(prefix string) {
	for name, full := range s.names {
		if strings.HasPrefix(name, prefix) {
			s.used[full] = true
		}
	}
}

// unused rejects a file with tensors that are not used and that match none of the
// patterns.
func (s *source) unused(patterns []string) {
	for i := range s.file.Tensors {
		t := &s.file.Tensors[i]
		name := s.short(t.Name)
		if !s.used[t.Name] && !slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }) && !s.zeroBias(name, t) {
			s.fail(t, "unknown in this architecture")
			return
		}
	}
}

// zeroBias reports whether a tensor is a bias of zeros next to a quantised weight: older versions of
// AutoGPTQ write them for all modules.
func (s *source) zeroBias(name string, t *checkpoint.TensorInfo) bool {
	stem, ok := strings.CutSuffix(name, ".bias")
	if !ok || s.coded[stem+".weight"] == nil || t.Elements() > maxFFN {
		return false
	}
	values, err := s.file.Float32(t.Name, nil)
	return err == nil && !slices.ContainsFunc(values, func(v float32) bool { return v != 0 })
}

// matches reports whether name matches pattern, in which * is a number.
func matches(pattern, name string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(name, ".")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		if want == "*" {
			return got != "" && strings.Trim(got, "0123456789") == ""
		}
		return got == want
	})
}
