package transformer

import (
	"fmt"
	"slices"

	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
)

// A Layout lists the tensors of a model in one format, in the order in which a pass needs
// them. A packed file holds them in this order.
type Layout struct {
	Tensors []PackedTensor

	parts   []part
	kernels *kernel.Kernels
}

// A PackedTensor is one tensor of a Layout. Matrices of products have package kernel's
// layout, in panels of rows; other tensors are row-major float32. Zeros pad a tensor to
// whole cache lines.
type PackedTensor struct {
	Name   string
	Format Format // not Stored
	// Shape is (panels, superblocks, bytes) in packed formats. In float32 it is (panels,
	// cols, rows of a panel) for matrices of products, else (values).
	Shape []int
	Size  int64 // bytes, a multiple of 64
}

// NewLayout lays out the weights of a model in a format.
func NewLayout(spec *Spec, w *Weights, k *kernel.Kernels, format Format) (*Layout, error) {
	_, parts, err := prepare(spec, w, k, format)
	if err != nil {
		return nil, err
	}
	l := &Layout{kernels: k}
	for _, p := range parts {
		if p.absent() {
			continue
		}
		f := p.format(format)
		l.parts = append(l.parts, p)
		l.Tensors = append(l.Tensors, PackedTensor{Name: p.name, Format: f, Shape: p.shape(f), Size: p.bytes(f)})
	}
	return l, nil
}

// Load reads one tensor and returns its bytes, which the caller must not change. It is safe
// for concurrent use. Packed tensors must have been awaited, see [Weights.Await]; those in
// the same format are returned without a copy.
func (l *Layout) Load(tensor int) ([]byte, error) {
	t, p := &l.Tensors[tensor], l.parts[tensor]
	if int64(int(t.Size)) != t.Size {
		return nil, fmt.Errorf("%s: %d bytes do not fit in memory", t.Name, t.Size)
	}
	if data := p.stored(t.Format); data != nil {
		return data, nil
	}
	var matrix linear
	var values []float32
	p.matrix, p.values = &matrix, &values // local to this call
	data := kernel.Allocate(int(t.Size))
	if err := p.place(t.Format, data); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	ld := &loader{kernels: l.kernels}
	return data, ld.load(&p)
}

// A StoredTensor is a tensor of a packed file.
type StoredTensor struct {
	Floats bool       // its elements are float32, else bytes
	Type   dtype.Type // of a packed matrix; "": BF16, Q8_0 or Q4_0, as its shape tells
	Shape  []int
	Bytes  func() []byte
	Page   int // see [Tensor]
}

// A Find looks up a tensor of a packed model, with the stage of a pass that needs it. expert says
// that only the tokens that choose its expert do.
type Find func(name string, stage int, expert bool) (StoredTensor, bool)

// Unpack returns the weights of a packed model. Missing tensors and wrong shapes are errors that name the tensor.
func Unpack(spec *Spec, find Find) (*Weights, error) {
	activations, err := spec.activations()
	if err != nil {
		return nil, err
	}
	layers := func(kinds []int) []Layer {
		list := make([]Layer, len(kinds))
		for i, kind := range kinds {
			list[i].Learned = make([]Vector, activations[kind].learned)
			if e := spec.Kinds[kind].FeedForward.Experts; e != nil {
				list[i].Experts = make([]Expert, e.Count)
			}
			list[i].DistanceHeads = make([]DistanceHead, spec.Kinds[kind].Attention.distanceHeads())
			list[i].LatentHeads = make([]LatentHead, spec.Kinds[kind].Attention.latentHeads())
		}
		return list
	}
	w := &Weights{Decoder: layers(spec.Decoder), Encoder: layers(spec.Encoder), StreamsOut: make([]Linear, max(0, spec.Streams-1))}
	if _, ok := find("head", len(spec.Encoder)+len(spec.Decoder)+1, false); ok {
		w.Head.Weight = []Tensor{{}} // separate from the embedding
	}
	parts := spec.parts(w, newModel(spec, w), F32)
	for i := range parts {
		p := &parts[i]
		*p.from = nil
		t, ok := find(p.name, p.stage, p.experts != nil)
		if !ok {
			if *p.from, err = p.unpackPieces(find); err != nil {
				return nil, err
			}
		}
		switch {
		case len(*p.from) > 0:
			continue
		case !ok && p.optional():
			continue
		case !ok:
			return nil, fmt.Errorf("tensor %q: missing", p.name)
		}
		f, ok := p.formatOf(&t)
		if !ok {
			return nil, fmt.Errorf("tensor %q: shape %v does not fit a tensor of (%d, %d)", p.name, t.Shape, p.rows, p.cols)
		}
		*p.from = []Tensor{{Name: p.name, Rows: p.rows, Cols: p.cols, Stored: f, Packed: t.Bytes, Page: t.Page}}
	}
	return w, nil
}

// shape returns the [PackedTensor.Shape] of a part.
func (p *part) shape(f Format) []int {
	kind, packed := f.kind()
	switch {
	case packed:
		return kind.Shape(p.rows, p.cols)
	case p.usage == multiplied:
		const rows = kernel.PanelRows
		return []int{(p.rows + rows - 1) / rows, p.cols, rows}
	}
	return []int{int(p.bytes(f) / 4)}
}

// formatOf returns the format in which a part is stored.
func (p *part) formatOf(t *StoredTensor) (Format, bool) {
	formats := []Format{F32, BF16, Q8_0, Q4_0}
	if t.Type != "" {
		formats = []Format{FormatOf(t.Type)}
	}
	for _, f := range formats {
		if (f == F32) == t.Floats && (f == F32 || p.usage != plain) && slices.Equal(t.Shape, p.shape(f)) {
			return f, true
		}
	}
	return 0, false
}
