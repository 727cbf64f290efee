package transformer

import (
	"encoding/json"
	"fmt"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// feedForward is the second half of a layer: down(act(up x)), for swiglu
// down(silu(gate x) ⊙ up x).
type feedForward struct {
	up, gate *kernel.Matrix // (ffn, width); gate is nil but for swiglu
	down     *kernel.Matrix // (width, ffn)
	act      activation
	learned  [][]float32 // vectors (ffn) of universal and kan_spline
}

func newFeedForward(ck *checkpoint.Alpha, prefix string, act activation) feedForward {
	if ck.ModelConfig.Activation() == checkpoint.SwiGLU {
		return feedForward{
			up: pack(ck, prefix+"fc_up"), gate: pack(ck, prefix+"fc_gate"), down: pack(ck, prefix+"fc_proj"), act: act,
		}
	}
	f := feedForward{up: pack(ck, prefix+"fc1"), down: pack(ck, prefix+"fc2"), act: act}
	for _, name := range act.learned {
		f.learned = append(f.learned, ck.Params[prefix+name].Data)
	}
	return f
}

func (f *feedForward) parameters() int {
	n := f.up.Rows*f.up.Cols + f.down.Rows*f.down.Cols
	if f.gate != nil {
		n += f.gate.Rows * f.gate.Cols
	}
	for _, v := range f.learned {
		n += len(v)
	}
	return n
}

// run computes dst (n, width) from x (n, width); h and g are scratch (n, ffn),
// row is scratch for one row.
func (f *feedForward) run(k *kernel.Kernels, dst, x, h, g, row []float32, n int) {
	ffn := f.up.Rows
	h = h[:n*ffn]
	k.MatMul(h, x, n, f.up)
	if f.gate != nil {
		g = g[:n*ffn]
		k.MatMul(g, x, n, f.gate)
		k.SiLU(g)
		k.Mul(h, g)
	} else {
		for i := range n {
			f.act.apply(k, h[i*ffn:(i+1)*ffn], f.learned, row)
		}
	}
	k.MatMul(dst, h, n, f.down)
}

// activation is applied to one row (ffn) in place; scratch has at least
// depth*ffn values.
type activation struct {
	learned []string // names of its parameters
	depth   int      // rows of scratch that it needs
	apply   func(k *kernel.Kernels, h []float32, learned [][]float32, scratch []float32)
}

func newActivation(c *checkpoint.ModelConfig) (activation, error) {
	simple := func(f func(*kernel.Kernels, []float32)) activation {
		return activation{apply: func(k *kernel.Kernels, h []float32, _ [][]float32, _ []float32) { f(k, h) }}
	}
	switch c.Activation() {
	case checkpoint.GELU:
		return simple((*kernel.Kernels).GELU), nil
	case checkpoint.SiLU, checkpoint.SwiGLU:
		return simple((*kernel.Kernels).SiLU), nil
	case checkpoint.ReLU:
		return simple((*kernel.Kernels).ReLU), nil
	case checkpoint.Universal:
		return activation{learned: []string{"act_gate", "act_skip"}, depth: 1, apply: universal}, nil
	case checkpoint.KANSpline:
		return activation{learned: []string{"kan_c0", "kan_c1", "kan_c2", "kan_c3", "kan_c4"}, depth: 2, apply: spline}, nil
	case checkpoint.Composed:
		return composed(c.ActivationGraph)
	}
	return activation{}, fmt.Errorf("unknown ffnActivation %q", c.FFNActivation)
}

// universal is silu(h)*gate + h*skip.
func universal(k *kernel.Kernels, h []float32, learned [][]float32, scratch []float32) {
	s := scratch[:len(h)]
	copy(s, h)
	k.SiLU(s)
	k.Mul(s, learned[0])
	k.Mul(h, learned[1])
	k.Add(h, s)
}

// spline is c0*silu(h) + c1*relu(h) + c2*gelu(h) + c3*h + c4*h².
func spline(k *kernel.Kernels, h []float32, c [][]float32, scratch []float32) {
	sum, t := scratch[:len(h)], scratch[len(h):2*len(h)]
	clear(sum)
	for i, f := range []func([]float32){k.SiLU, k.ReLU, k.GELU, nil, func(x []float32) { k.Mul(x, h) }} {
		copy(t, h)
		if f != nil {
			f(t)
		}
		k.Mul(t, c[i])
		k.Add(sum, t)
	}
	copy(h, sum)
}

// node is a node of a composed activation: an expression over h.
type node struct {
	Type   string   `json:"type"` // basis, scale, add or mul
	Op     string   `json:"op"`   // of basis: silu, relu, gelu, identity or square; else gelu
	Factor float32  `json:"factor"`
	Child  *node    `json:"child"`
	Left   *node    `json:"left"`
	Right  *node    `json:"right"`
	basis  basisFun // of basis
}

type basisFun func(k *kernel.Kernels, x []float32)

// maxGraphDepth bounds the scratch and the stack that a file can ask for.
const maxGraphDepth = 64

func composed(graph json.RawMessage) (activation, error) {
	var root *node
	if err := json.Unmarshal(graph, &root); err != nil || root == nil {
		return activation{}, fmt.Errorf("activationGraph is no expression: %w", err)
	}
	depth, err := root.check(1)
	if err != nil {
		return activation{}, err
	}
	return activation{depth: depth + 1, apply: func(k *kernel.Kernels, h []float32, _ [][]float32, scratch []float32) {
		out := scratch[:len(h)]
		root.eval(k, out, h, scratch[len(h):])
		copy(h, out)
	}}, nil
}

// check returns the depth of the tree below n, which is at the given level.
func (n *node) check(level int) (int, error) {
	if level > maxGraphDepth {
		return 0, fmt.Errorf("activationGraph is deeper than %d", maxGraphDepth)
	}
	var children []*node
	switch n.Type {
	case "basis":
		n.basis = basis(n.Op)
	case "scale":
		children = []*node{n.Child}
	case "add", "mul":
		children = []*node{n.Left, n.Right}
	default:
		return 0, fmt.Errorf("activationGraph: unknown node type %q", n.Type)
	}
	deepest := 0
	for _, child := range children {
		if child == nil {
			return 0, fmt.Errorf("activationGraph: a %s node lacks an operand", n.Type)
		}
		d, err := child.check(level + 1)
		if err != nil {
			return 0, err
		}
		deepest = max(deepest, d)
	}
	return deepest + 1, nil
}

func basis(op string) basisFun {
	switch op {
	case "silu":
		return (*kernel.Kernels).SiLU
	case "relu":
		return (*kernel.Kernels).ReLU
	case "identity":
		return func(*kernel.Kernels, []float32) {}
	case "square":
		return func(k *kernel.Kernels, x []float32) { k.Mul(x, x) }
	}
	return (*kernel.Kernels).GELU // upstream's meaning of an unknown op
}

// eval computes dst = n(h); free has a row for each level below.
func (n *node) eval(k *kernel.Kernels, dst, h, free []float32) {
	switch n.Type {
	case "basis":
		copy(dst, h)
		n.basis(k, dst)
	case "scale":
		n.Child.eval(k, dst, h, free)
		for i := range dst {
			dst[i] *= n.Factor
		}
	default:
		other, rest := free[:len(h)], free[len(h):]
		n.Left.eval(k, dst, h, rest)
		n.Right.eval(k, other, h, rest)
		if n.Type == "add" {
			k.Add(dst, other)
		} else {
			k.Mul(dst, other)
		}
	}
}
