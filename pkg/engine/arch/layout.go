package arch

import (
	"fmt"
	"strings"

	"glossa/pkg/engine/transformer"
)

// A layout names the tensors of a model. Names are without the common prefix, and without
// ".weight" and ".bias"; %d is the number of a layer.
type layout struct {
	prefix    string
	embed     string // alternatives are separated by spaces
	positions string
	skip      int    // rows of positions before that of the first position
	head      linear // has the embedding's weight if tied
	copies    string // tensors that may repeat the embedding, and must then be equal
	tied      bool

	norm, encoderNorm string
	decoder, encoder  layers
}

// layers names the tensors of a stack.
type layers struct {
	attentionNorm, crossNorm, ffnNorm string

	qkv, out        linear
	crossQ, crossKV linear
	crossOut        linear
	up, gate, down  linear
}

// A linear names a matrix and its bias. Several names, separated by spaces, are its parts
// one below the other.
type linear struct {
	names      string
	bias       bias
	transposed bool // stored as (in, out)
	perHead    bool // rows of a head's query, key and value, then of the next head's
}

// A bias specifies whether a matrix has one.
type bias uint8

const (
	never bias = iota
	always
	stored // if the file has it
)

// A builder looks up the tensors of a file by their role.
type builder struct {
	*source
	spec *transformer.Spec
}

// build finds the weights of a model. Every tensor of the file must be used.
func build(src *source, s *transformer.Spec, l *layout, buffers []string) (*transformer.Weights, error) {
	b := &builder{source: src, spec: s}
	w := &transformer.Weights{Embed: b.embedding(l)}
	if s.Position == transformer.Learned {
		table := b.matrix(l.positions+".weight", s.Context+l.skip, s.Width, false)
		w.Positions = transformer.Linear{Weight: []transformer.Tensor{table.rows(l.skip, s.Context)}}
	}
	if !l.tied {
		w.Head = b.linear(&l.head, 0, s.Vocab, s.Width)
	} else if l.head.bias == always {
		w.Head.Bias = b.biasOf(&l.head, 0, []int{s.Vocab})
	}
	w.DecoderNorm = b.norm(l.norm, 0)
	w.Decoder = b.stack(s.Decoder, &l.decoder)
	if len(s.Encoder) > 0 {
		w.EncoderNorm = b.norm(l.encoderNorm, 0)
		w.Encoder = b.stack(s.Encoder, &l.encoder)
	}
	b.unused(buffers)
	return w, b.err
}

// embedding returns the table of tokens. Tensors that repeat it must be equal.
func (b *builder) embedding(l *layout) transformer.Linear {
	name, ok := b.first(l.embed)
	if !ok && l.tied {
		name, _ = b.first(l.embed + " " + l.copies)
	}
	t := b.matrix(name+".weight", b.spec.Vocab, b.spec.Width, false).rows(0, b.spec.Vocab)
	copies := strings.Fields(l.embed)
	if l.tied {
		copies = append(copies, strings.Fields(l.copies)...)
	}
	for _, other := range copies {
		if other != name && b.has(other+".weight") {
			t.Read = same(t, b.matrix(other+".weight", b.spec.Vocab, b.spec.Width, false).rows(0, b.spec.Vocab))
			t.ReadStored = nil // reading stored values would skip the comparison
		}
	}
	return transformer.Linear{Weight: []transformer.Tensor{t}}
}

// same reads a tensor that repeats another one, and fails if they differ.
func same(t, other transformer.Tensor) func([]float32, int) error {
	return func(dst []float32, from int) error {
		if err := t.Read(dst, from); err != nil {
			return err
		}
		again := make([]float32, len(dst))
		if err := other.Read(again, from); err != nil {
			return err
		}
		for i, v := range again {
			if v != dst[i] {
				return fmt.Errorf("tensor %q: value %d is %v, where tensor %q, which it is tied to, has %v", other.Name, from+i, v, t.Name, dst[i])
			}
		}
		return nil
	}
}

func (b *builder) norm(name string, layer int) (n transformer.Norm) {
	name = at(name, layer)
	n.Weight = transformer.Vector{b.vector(name+".weight", b.spec.Width).rows(0, b.spec.Width)}
	if b.spec.Norm == transformer.LayerNorm {
		n.Bias = transformer.Vector{b.vector(name+".bias", b.spec.Width).rows(0, b.spec.Width)}
	}
	return n
}

func (b *builder) stack(kinds []int, l *layers) []transformer.Layer {
	var out []transformer.Layer
	for i, kind := range kinds {
		if b.err != nil { // before allocating much for missing tensors
			return nil
		}
		k := &b.spec.Kinds[kind]
		a, width, ffn := &k.Attention, b.spec.Width, k.FeedForward.Width
		queries, keys := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
		var o transformer.Layer
		o.AttentionNorm = b.norm(l.attentionNorm, i)
		if l.qkv.perHead {
			o.QKV = b.perHead(&l.qkv, i, a, width)
		} else {
			o.QKV = b.pieces(&l.qkv, i, width, queries, keys, keys)
		}
		o.Out = b.linear(&l.out, i, width, queries)
		if l.crossNorm != "" {
			o.CrossNorm = b.norm(l.crossNorm, i)
			o.CrossQ = b.linear(&l.crossQ, i, queries, width)
			o.CrossKV = b.pieces(&l.crossKV, i, width, keys, keys)
			o.CrossOut = b.linear(&l.crossOut, i, width, queries)
		}
		if l.ffnNorm != "" {
			o.FFNNorm = b.norm(l.ffnNorm, i)
		}
		o.Up = b.linear(&l.up, i, ffn, width)
		if k.FeedForward.Gated {
			o.Gate = b.linear(&l.gate, i, ffn, width)
		}
		o.Down = b.linear(&l.down, i, width, ffn)
		out = append(out, o)
	}
	return out
}

func (b *builder) linear(l *linear, layer, rows, cols int) transformer.Linear {
	return b.pieces(l, layer, cols, rows)
}

// pieces returns a matrix of parts with the given numbers of rows, stored separately or
// as one.
func (b *builder) pieces(l *linear, layer, cols int, rows ...int) (out transformer.Linear) {
	names := strings.Fields(l.names)
	if len(names) != len(rows) {
		total := 0
		for _, n := range rows {
			total += n
		}
		rows = []int{total}
		name, _ := b.first(at(l.names, layer)) // alternatives
		names = []string{name}
	}
	for i, n := range rows {
		t := b.matrix(at(names[i], layer)+".weight", n, cols, l.transposed)
		out.Weight = append(out.Weight, t.rows(0, n))
	}
	out.Bias = b.biasOf(&linear{names: strings.Join(names, " "), bias: l.bias}, layer, rows)
	return out
}

// biasOf returns the bias of parts with the given numbers of rows; nil if there is none.
func (b *builder) biasOf(l *linear, layer int, rows []int) (v transformer.Vector) {
	names := strings.Fields(l.names)
	for i, name := range names {
		name = at(name, layer) + ".bias"
		if l.bias == never || l.bias == stored && !b.has(at(names[0], 0)+".bias") {
			return nil
		}
		v = append(v, b.vector(name, rows[i]).rows(0, rows[i]))
	}
	return v
}

// perHead returns a matrix whose rows are stored as (Heads, 3, HeadDim), separated into
// the queries of all heads, their keys and their values.
func (b *builder) perHead(l *linear, layer int, a *transformer.Attention, cols int) (out transformer.Linear) {
	name, rows := at(l.names, layer), 3*a.Heads*a.HeadDim
	weight := b.matrix(name+".weight", rows, cols, false)
	var offsets span
	if l.bias == always {
		offsets = b.vector(name+".bias", rows)
	}
	for part := range 3 {
		for head := range a.Heads {
			from := (3*head + part) * a.HeadDim
			out.Weight = append(out.Weight, weight.rows(from, a.HeadDim))
			if l.bias == always {
				out.Bias = append(out.Bias, offsets.rows(from, a.HeadDim))
			}
		}
	}
	return out
}

// at returns the name of a tensor in a layer.
func at(name string, layer int) string {
	return strings.ReplaceAll(name, "%d", fmt.Sprint(layer))
}
