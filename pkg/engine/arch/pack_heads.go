package arch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A headPart is a tensor that follows the layers of a model that embeds, ranks or reads pictures: of a
// step after the pooling, of a classifier, or of what follows the encoder of pictures. A packed model holds it in float32, row-major.
type headPart struct {
	name       string
	rows, cols int
	from       *transformer.Tensor       // nil: the model does not have it
	set        func(*transformer.Tensor) // stores the tensor of a packed model
	required   bool
}

// headParts returns the tensors that a model has.
func headParts(s *Sentence, r *Ranking, v *Vision) []headPart {
	return slices.DeleteFunc(allHeadParts(s, r, v), func(p headPart) bool { return p.from == nil || p.from.Read == nil })
}

// allHeadParts returns the tensors that a model with these descriptions can have.
func allHeadParts(s *Sentence, r *Ranking, v *Vision) (list []headPart) {
	if v != nil {
		if v.Hidden != nil {
			list = v.Hidden.parts(list, "hidden")
		}
		list = normParts(v.Project.parts(list, "project"), "project_norm", v.Project.In, &v.Norm)
		for i, m := range v.Deep {
			name := "deep." + strconv.Itoa(i)
			list = m.Project.parts(m.Hidden.parts(list, name+".hidden"), name+".project")
			list = normParts(list, name+".norm", m.Hidden.In, &m.Norm)
		}
	}
	if s != nil {
		for i := range s.Steps {
			if d := s.Steps[i].Dense; d != nil {
				list = d.parts(list, "step."+strconv.Itoa(i))
			}
		}
		list = s.Multi.parts(s.Sparse.parts(list))
	}
	if r == nil || r.Head == nil {
		return list
	}
	h := r.Head
	list = h.Out.parts(h.Dense.parts(list, "classifier.dense"), "classifier.out")
	return normParts(list, "classifier.norm", h.Dense.Out, &h.Norm)
}

// normParts appends the tensors of a norm of n values, which the model may lack.
func normParts(list []headPart, name string, n int, at **transformer.Norm) []headPart {
	norm := transformer.Norm{}
	if *at != nil {
		norm = **at
	}
	vector := func(name string, from transformer.Vector, to func(*transformer.Norm) *transformer.Vector) {
		p := headPart{name: name, rows: n, cols: 1, set: func(t *transformer.Tensor) {
			if *at == nil {
				*at = &transformer.Norm{}
			}
			*to(*at) = transformer.Vector{*t}
		}}
		if len(from) > 0 {
			p.from = &from[0]
		}
		list = append(list, p)
	}
	vector(name, norm.Weight, func(n *transformer.Norm) *transformer.Vector { return &n.Weight })
	vector(name+".bias", norm.Bias, func(n *transformer.Norm) *transformer.Vector { return &n.Bias })
	return list
}

// parts appends the tensors of d.
func (d *Dense) parts(list []headPart, name string) []headPart {
	return append(list,
		headPart{name: name, rows: d.Out, cols: d.In, from: &d.Weight, set: func(t *transformer.Tensor) { d.Weight = *t }, required: true},
		headPart{name: name + ".bias", rows: d.Out, cols: 1, from: d.Bias, set: func(t *transformer.Tensor) { d.Bias = t }})
}

// headMemory returns the memory of the tensors after the layers. They are float32 in every
// format, and products read them in panels.
func headMemory(s *Sentence, r *Ranking, v *Vision) (n int64) {
	for _, p := range headParts(s, r, v) {
		if p.required {
			n += kernel.MatrixBytes(p.rows, p.cols)
		} else {
			n += 4 * int64(p.rows)
		}
	}
	return n
}

// size returns the bytes of p in a packed model.
func (p *headPart) size() int { return (4*p.rows*p.cols + packUnit - 1) / packUnit * packUnit }

func (p *headPart) tensor() checkpoint.PackTensor {
	return checkpoint.PackTensor{Name: p.name, Type: dtype.F32, Shape: []int{p.size() / 4}}
}

// write reads p and writes it as a tensor of a packed model.
func (p *headPart) write(w *checkpoint.PackWriter, index int) error {
	values := make([]float32, p.rows*p.cols)
	if err := p.from.Read(values, 0); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	data := make([]byte, 0, p.size())
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return w.Write(index, data[:p.size()])
}

// heads finds the tensors after the layers in a packed model.
func (u *unpacking) heads(s *Sentence, r *Ranking, v *Vision) error {
	for _, p := range allHeadParts(s, r, v) {
		index, ok := u.file.Index(p.name)
		switch {
		case !ok && p.required:
			return fmt.Errorf("tensor %q: missing", p.name)
		case !ok:
			continue
		}
		info := &u.file.Tensors[index]
		if info.Type != dtype.F32 || !slices.Equal(info.Shape, p.tensor().Shape) {
			return fmt.Errorf("tensor %q: shape %v does not fit a tensor of (%d, %d)", p.name, info.Shape, p.rows, p.cols)
		}
		u.used[p.name] = true
		p.set(&transformer.Tensor{Name: p.name, Rows: p.rows, Cols: p.cols, Stored: transformer.F32, Read: u.reader(index)})
	}
	return nil
}

// reader returns how the values of a tensor in float32 are read, once they are in memory.
func (u *unpacking) reader(index int) func(dst []float32, from int) error {
	return func(dst []float32, from int) error {
		if err := u.fetch.Wait(index); err != nil {
			return err
		}
		data := u.bytes(index)[4*from:]
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return nil
	}
}

// checkTask rejects a description whose layers do not fit what the model does with texts.
func (d *description) checkTask() error {
	s, tasks := d.Spec, 0
	for _, is := range []bool{d.Translation != nil, d.Seq2Seq != nil, d.Sentence != nil, d.Ranking != nil} {
		if is {
			tasks++
		}
	}
	encodes := len(s.Decoder) == 0 // without a decoder
	switch {
	case tasks > 1:
		return errors.New("more than one of translation, seq2seq, sentence and ranking")
	case encodes && d.Sentence == nil && d.Ranking == nil:
		return errors.New("spec: no layers of a decoder")
	case !encodes && (len(s.Encoder) > 0) != (d.Translation != nil || d.Seq2Seq != nil):
		return fmt.Errorf("%d layers of an encoder, translation %v and seq2seq %v", len(s.Encoder), d.Translation != nil, d.Seq2Seq != nil)
	}
	if d.Vision != nil && tasks > 0 {
		return errors.New("vision: the model does not continue texts")
	}
	if err := d.Vision.check(s); err != nil {
		return fmt.Errorf("vision: %w", err)
	}
	if err := d.Sentence.check(s); err != nil {
		return fmt.Errorf("sentence: %w", err)
	}
	if err := d.Ranking.check(s); err != nil {
		return fmt.Errorf("ranking: %w", err)
	}
	return nil
}

// check rejects a description that the engine cannot compute.
func (s *Sentence) check(spec *transformer.Spec) error {
	if s == nil {
		return nil
	}
	around := slices.Concat(s.Before, s.After)
	switch {
	case len(s.Pooling) == 0 && (s.Sparse == nil && s.Multi == nil || len(s.Steps) > 0) || len(s.Pooling) > maxPoolings || len(s.Steps) > maxModules || len(s.Prompts) > maxPrompts:
		return fmt.Errorf("%d poolings, %d steps, %d prompts", len(s.Pooling), len(s.Steps), len(s.Prompts))
	case s.MaxTokens <= len(around) || s.MaxTokens > spec.Context:
		return fmt.Errorf("texts of at most %d tokens, %d of which the tokenizer adds, in a context of %d", s.MaxTokens, len(around), spec.Context)
	case slices.ContainsFunc(around, func(id int) bool { return id < 0 || id >= spec.Vocab }):
		return fmt.Errorf("tokens %v around a text are not below %d", around, spec.Vocab)
	}
	for _, mode := range s.Pooling {
		if !mode.known() {
			return fmt.Errorf("pooling %.40q is unknown", mode)
		}
	}
	width := spec.Width * len(s.Pooling)
	for i, step := range s.Steps {
		if step.Dense == nil {
			continue
		}
		if err := step.Dense.check(width, maxFFN); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		width = step.Dense.Out
	}
	if s.Truncate < 0 || s.Truncate > width {
		return fmt.Errorf("%d dimensions of %d", s.Truncate, width)
	}
	if _, ok := s.Prompts[s.Prompt]; s.Prompt != "" && !ok {
		return fmt.Errorf("there is no prompt %.40q", s.Prompt)
	}
	if err := s.Sparse.check(spec); err != nil {
		return fmt.Errorf("sparse: %w", err)
	}
	if err := s.Multi.check(s, spec); err != nil {
		return fmt.Errorf("multi: %w", err)
	}
	return nil
}

// known reports whether p is one of the poolings.
func (p Pooling) known() bool {
	for _, each := range poolings {
		if each.mode == p {
			return true
		}
	}
	return false
}

// check rejects a matrix that does not read vectors of a width, or has more than most rows.
func (d *Dense) check(width, most int) error {
	if d.In != width || d.Out < 1 || d.Out > most || d.In*d.Out > maxDense {
		return fmt.Errorf("a matrix of (%d, %d) for vectors of %d", d.Out, d.In, width)
	}
	return nil
}

// check rejects a description that the engine cannot compute.
func (r *Ranking) check(spec *transformer.Spec) error {
	if r == nil {
		return nil
	}
	if r.MaxTokens < 1 || r.MaxTokens > spec.Context {
		return fmt.Errorf("pairs of at most %d tokens, in a context of %d", r.MaxTokens, spec.Context)
	}
	h := r.Head
	if h == nil {
		if len(spec.Decoder) == 0 || r.True < 0 || r.True >= spec.Vocab || r.False < -1 || r.False >= spec.Vocab || r.Pair != nil {
			return fmt.Errorf("tokens %d and %d of %d, with %d layers of a decoder", r.True, r.False, spec.Vocab, len(spec.Decoder))
		}
		return nil
	}
	if len(spec.Decoder) > 0 || h.Dense == nil || h.Out == nil {
		return errors.New("a classifier has two matrices and follows an encoder")
	}
	if err := h.Dense.check(spec.Width, spec.Width); err != nil {
		return fmt.Errorf("classifier.dense: %w", err)
	}
	if err := h.Out.check(h.Dense.Out, maxLabels); err != nil {
		return fmt.Errorf("classifier.out: %w", err)
	}
	if err := r.Classes.check(r); err != nil {
		return fmt.Errorf("classes: %w", err)
	}
	if r.Pair == nil && !r.Ranks() {
		return nil
	}
	return r.checkPair(spec)
}

// checkPair rejects a pair that does not hold both texts once, in order, with types that do
// not decrease and that the model has.
func (r *Ranking) checkPair(spec *transformer.Spec) error {
	texts := 0
	for i, p := range r.Pair {
		if p.Text != 0 {
			texts++
		}
		switch {
		case p.Text != 0 && p.Text != texts, texts > 2:
			return fmt.Errorf("pair: text %d comes as number %d", p.Text, texts)
		case p.ID < 0 || p.ID >= spec.Vocab:
			return fmt.Errorf("pair: token %d is not below %d", p.ID, spec.Vocab)
		case p.Type < 0 || p.Type > 1 || p.Type > 0 && p.Type >= spec.TokenTypes || i > 0 && p.Type < r.Pair[i-1].Type:
			return fmt.Errorf("pair: type %d of %d", p.Type, spec.TokenTypes)
		}
	}
	if len(r.Pair) > maxPair || texts != 2 || r.MaxTokens < len(r.Pair) {
		return fmt.Errorf("pair: %d texts and %d tokens around them, at most %d", texts, len(r.Pair)-texts, r.MaxTokens)
	}
	return nil
}

// maxPair bounds the parts of a pair.
const maxPair = 16
