package transformer

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"glossa/pkg/engine/kernel"
)

// New reads the weights of a model and keeps them in a format, in one allocation. Tensors
// that are stored in that format already are used in place and awaited when a pass needs
// them. A tensor that does not fit the spec is an error with its name. Loading takes about
// a MiB for each processor in addition to the model.
func New(spec *Spec, w *Weights, k *kernel.Kernels, format Format) (*Model, error) {
	m, parts, err := prepare(spec, w, k, format)
	if err != nil {
		return nil, err
	}
	unread, err := m.place(parts, format)
	if err != nil {
		return nil, err
	}
	if m.pager, err = newPager(w, parts, format); err != nil {
		return nil, err
	}
	if m.pager != nil {
		m.bytes -= m.pager.outside
	}
	m.await = newAwaiter(w, parts)
	for i := range unread {
		if (*unread[i].from)[0].Packed != nil { // in another format
			if err := m.await.all(); err != nil {
				return nil, err
			}
		}
	}
	return m, fill(unread, k)
}

// prepare makes a model without weights and lists its parts.
func prepare(spec *Spec, w *Weights, k *kernel.Kernels, format Format) (*Model, []part, error) {
	activations, err := spec.activations()
	if err != nil {
		return nil, nil, err
	}
	if err := w.check(spec, activations); err != nil {
		return nil, nil, err
	}
	m := newModel(spec, w)
	m.kernels, m.elements = k, w.Elements()
	if m.headBlock.act, err = spec.headActivation(); err != nil {
		return nil, nil, err
	}
	for i, kind := range spec.Decoder {
		m.decoder[i].setActivation(activations[kind])
	}
	for i, kind := range spec.Encoder {
		m.encoder[i].setActivation(activations[kind])
	}
	switch spec.Position {
	case Sinusoidal:
		m.frequencies = sinusoidFrequencies(spec.InputWidth())
	case SinusoidalFirst:
		m.divisors = sinusoidDivisors(spec.InputWidth())
	}
	if spec.RelativeBuckets > 0 {
		m.buckets = relativeBuckets(spec.RelativeBuckets/2, spec.RelativeDistance)
		m.causalBuckets = relativeBuckets(spec.RelativeBuckets, spec.RelativeDistance)
	}
	if spec.Norm.Plain() || slices.ContainsFunc(spec.Kinds, func(k Kind) bool { return k.Attention.ValueNorm }) {
		m.ones = slices.Repeat([]float32{1}, m.widest())
	}
	parts := m.parts(w, m, format)
	m.packed = anyPacked(parts, format)
	for i := range parts {
		if err := parts[i].check(); err != nil {
			return nil, nil, err
		}
	}
	m.active = m.elements
	for i := range parts {
		p := &parts[i]
		n := int64(p.rows) * int64(p.cols)
		switch {
		case p.name == layerEmbedPart:
			m.active -= n
		case p.experts != nil && !p.absent():
			m.active -= n - n/int64(p.experts.Count)*int64(p.experts.Used)
		}
	}
	return m, parts, nil
}

// activations checks a description and returns the activation of each kind.
func (s *Spec) activations() ([]activation, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	list := make([]activation, len(s.Kinds))
	for i := range list {
		if !s.Kinds[i].feeds() {
			continue
		}
		var err error
		if list[i], err = newActivation(&s.Kinds[i].FeedForward); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// newModel returns a model with the layers of w, whose number equals that of spec.
func newModel(spec *Spec, w *Weights) *Model {
	m := &Model{Spec: *spec}
	for i := range m.portioned {
		for j := range m.portioned[i] {
			m.portioned[i][j].Near = true
		}
	}
	m.Kinds = slices.Clone(spec.Kinds)
	stack := func(kinds []int, from []Layer) []layer {
		to := make([]layer, len(from))
		for i := range from {
			to[i].setKind(&m.Kinds[kinds[i]])
			to[i].ffn.learned = make([][]float32, len(from[i].Learned))
			if e := to[i].FeedForward.Experts; e != nil {
				to[i].experts = &experts{Experts: e, list: make([]feedForward, len(from[i].Experts)), pages: make([]page, len(from[i].Experts))}
			}
		}
		return to
	}
	m.decoder, m.encoder = stack(spec.Decoder, w.Decoder), stack(spec.Encoder, w.Encoder)
	if m.order = spec.Order; len(m.order) == 0 {
		for i := range m.encoder {
			m.order = append(m.order, i)
		}
	}
	m.setSlots()
	m.setLayerInputs()
	m.streamsOut = make([]linear, len(w.StreamsOut))
	return m
}

// setKind prepares a layer without weights.
func (l *layer) setKind(k *Kind) {
	l.Kind = k
	a := &k.Attention
	l.attentionNorms.Placement, l.crossNorms.Placement, l.ffn.norms.Placement = k.mixerNorms(), a.Norms, k.FeedForward.Norms
	if k.Convolution != nil {
		l.convolution = &convolution{Convolution: k.Convolution}
	}
	if k.States != nil {
		s := k.States
		l.states = &states{StateSpace: s, filter: s.filter()}
		l.states.out.scale = k.States.OutScale
	}
	if d := k.Deltas; d != nil {
		l.deltas = &deltas{DeltaNet: d, filter: filter{length: d.Taps, channels: d.channels(), first: d.inner(), products: d.products()}}
	}
	if t := a.Latent; t != nil {
		l.latent = &latent{Latent: t, keys: make([]linear, a.Heads), values: make([]linear, a.Heads)}
	}
	if d := a.Disentangled; d != nil {
		l.disentangled = newDisentangled(d, a.Heads)
	}
	l.out.scale, l.ffn.gate.scale, l.ffn.lower.scale = a.OutScale, k.FeedForward.GateScale, k.FeedForward.OutScale
	l.ffn.gated, l.ffn.limit = k.FeedForward.Gated, k.FeedForward.Limit
	l.ffn.sparse, l.ffn.deviations = k.FeedForward.Sparsity > 0, math.Sqrt2*math.Erfinv(2*float64(k.FeedForward.Sparsity)-1)
	if l.scale = a.Scale; l.scale == 0 {
		l.scale = float32(1 / math.Sqrt(float64(a.compared())))
	}
	switch {
	case a.SoftCap > 0:
		l.cap = kernel.Cap{Kind: kernel.CapTanh, Value: a.SoftCap}
	case a.Clamp > 0:
		l.cap = kernel.Cap{Kind: kernel.CapClamp, Value: a.Clamp}
	}
}

// setActivation sets the activation of all blocks of a layer.
func (l *layer) setActivation(a activation) {
	l.ffn.act = a
	if l.experts != nil {
		for i := range l.experts.list {
			f := &l.experts.list[i]
			f.act, f.gated, f.limit = a, l.FeedForward.Gated, l.FeedForward.Limit
		}
	}
}

// widest returns the length of the longest normalised vector.
func (s *Spec) widest() int {
	n := max(s.Width, s.EmbedWidth, s.LayerInputs)
	for i := range s.Kinds {
		a := &s.Kinds[i].Attention
		if n = max(n, a.Heads*a.HeadDim); a.Latent != nil {
			n = max(n, a.Latent.QueryRank)
		}
	}
	return n
}

// place gives every part its memory and returns the parts whose values must be read.
func (m *Model) place(parts []part, format Format) (unread []*part, err error) {
	var size int64
	for i := range parts {
		if p := &parts[i]; !p.absent() {
			n := p.bytes(p.format(format))
			if m.bytes += n; n > math.MaxInt64/4 || m.bytes > math.MaxInt64/4 {
				return nil, fmt.Errorf("%s: more weights than fit in memory", p.name)
			}
			if p.stored(format) == nil {
				size += n
			}
		}
	}
	slab := kernel.Allocate(int(size))
	for i := range parts {
		p := &parts[i]
		if p.absent() {
			continue
		}
		f := p.format(format)
		data := p.stored(format)
		if data == nil {
			n := p.bytes(f)
			data, slab = slab[:n:n], slab[n:]
			unread = append(unread, p)
		}
		if err := p.place(f, data); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return unread, nil
}

// isStored reports whether the part is packed in its format.
func (p *part) isStored(format Format) bool {
	t := &(*p.from)[0]
	return t.Packed != nil && len(*p.from) == 1 && t.Stored == p.format(format)
}

// stored returns the part's bytes if they are packed in its format, else nil.
func (p *part) stored(format Format) []byte {
	if !p.isStored(format) {
		return nil
	}
	return (*p.from)[0].Packed()
}

// fill reads parts, several at a time.
func fill(parts []*part, k *kernel.Kernels) error {
	var next atomic.Int64
	errs := make([]error, len(parts))
	Concurrently(min(runtime.GOMAXPROCS(0), len(parts)), func(int) {
		ld := &loader{kernels: k}
		for {
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				return
			}
			if errs[i] = ld.load(parts[i]); errs[i] != nil {
				next.Store(int64(len(parts))) // no more
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return err // the first in the order of the model
		}
	}
	return nil
}

// chunk is the approximate number of values that one read takes.
const chunk = 256 << 10

// A loader reads parts one after the other.
type loader struct {
	kernels *kernel.Kernels
	buffer  []float32
	raw     []byte
}

// load reads the values of a part into zeroed memory.
func (ld *loader) load(p *part) error {
	if p.usage == plain {
		return ld.copy(p, *p.values)
	}
	l := p.matrix
	if l.table != nil {
		return ld.copy(p, l.table)
	}
	full := l.full
	if l.packed != nil {
		l.packed.Pad()
		if (*p.from)[0].Transposed {
			full = kernel.NewMatrix(p.rows, p.cols)
		}
	}
	row := 0
	for i := range *p.from {
		t := &(*p.from)[i]
		if l.packed != nil && t.isStored(l.packed.Kind) {
			if err := ld.blocks(l.packed, row, t); err != nil {
				return err
			}
			row += t.Rows
			continue
		}
		if l.packed != nil && !l.packed.Kind.Rounds() {
			return fmt.Errorf("tensor %q: its values cannot be rounded to %v", t.Name, l.packed.Kind)
		}
		err := ld.read(p, t, func(from int, w []float32) {
			switch {
			case t.Transposed:
				ld.kernels.LoadColumns(full, from, w)
			case l.packed != nil:
				l.packed.LoadRows(row+from, w)
			default:
				ld.kernels.LoadRows(full, row+from, w)
			}
		})
		if err != nil {
			return err
		}
		row += t.Rows
	}
	if l.packed != nil && full != nil {
		repack(l.packed, full)
	}
	return nil
}

// repack quantises a matrix that was stored transposed. Packed weights are filled by rows
// only.
func repack(packed *kernel.Packed, full *kernel.Matrix) {
	row := make([]float32, full.Cols)
	for r := range full.Rows {
		full.Row(row, r)
		packed.LoadRows(r, row)
	}
}

// copy reads all pieces of a part into dst, row-major.
func (ld *loader) copy(p *part, dst []float32) error {
	for i := range *p.from {
		t := &(*p.from)[i]
		n := t.Rows * t.Cols
		if err := t.reader(p.usage)(dst[:n], 0); err != nil {
			return err // names the file and the tensor
		}
		for j := range dst[:n] {
			if p.lessOne {
				dst[j]++
			}
		}
		dst = dst[n:]
	}
	return nil
}

// read calls use with the stored rows of t, some at a time, and the index of the first.
func (ld *loader) read(p *part, t *Tensor, use func(from int, w []float32)) error {
	rows, cols := t.Rows, t.Cols
	if t.Transposed {
		rows, cols = cols, rows
	}
	const panel = 32 // whole panels of a packed matrix are faster
	step := min(rows, max(panel, chunk/cols/panel*panel))
	if len(ld.buffer) < step*cols {
		ld.buffer = make([]float32, max(step*cols, chunk))
	}
	read := t.reader(p.usage)
	for from := 0; from < rows; from += step {
		w := ld.buffer[:min(step, rows-from)*cols]
		if err := read(w, from*cols); err != nil {
			return err
		}
		use(from, w)
	}
	return nil
}

// isStored reports whether the file encodes rows of t in the encoding of packed weights of
// kind k.
func (t *Tensor) isStored(k kernel.Kind) bool {
	kind, ok := t.Stored.kind()
	return t.ReadStored != nil && ok && kind == k && !t.Transposed
}

// blocks copies the encoded rows of t to packed weights, starting at a row.
func (ld *loader) blocks(to *kernel.Packed, row int, t *Tensor) error {
	size := to.Kind.StoredBytes(t.Cols)
	step := max(1, min(t.Rows, 4*chunk/size))
	if len(ld.raw) < step*size {
		ld.raw = make([]byte, max(step*size, 4*chunk))
	}
	for from := 0; from < t.Rows; from += step {
		b := ld.raw[:min(step, t.Rows-from)*size]
		if err := t.ReadStored(b, from*t.Cols); err != nil {
			return err
		}
		to.LoadBlocks(row+from, b)
	}
	return nil
}

// reader returns a function that reads the values of a tensor with a usage.
func (t *Tensor) reader(u usage) func(dst []float32, from int) error {
	if t.Packed == nil {
		return t.Read
	}
	var l linear
	var values []float32
	p := part{usage: u, rows: t.Rows, cols: t.Cols, matrix: &l, values: &values}
	err := p.place(t.Stored, t.Packed())
	if l.table != nil {
		values = l.table
	}
	return func(dst []float32, from int) error {
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if values != nil {
			copy(dst, values[from:])
			return nil
		}
		for at := 0; at < len(dst); at += t.Cols {
			l.row(dst[at:at+t.Cols], (from+at)/t.Cols)
		}
		return nil
	}
}
