package transformer

import (
	"encoding/json"
	"fmt"
	"math"

	"glossa/pkg/engine/kernel"
)

// feedForward is the second branch of a layer, see [FeedForward]. Universal's vectors are
// gate and skip, KANSpline's c0 to c4.
type feedForward struct {
	norms       norms
	upper, gate linear // (FFN, Width); gate only if gated
	lower       linear // (Width, FFN)
	gated       bool
	limit       float32
	sparse      bool    // the gate is cut off
	deviations  float64 // from its mean, of sparse
	act         activation
	learned     [][]float32 // (FFN) each, of Universal and KANSpline; of XIELU (1)
}

// up computes the worker's pieces of h = act(up in), gated act(gate in) ⊙ up in, for n rows of
// in. g is scratch of the size of h, of gated blocks.
func (f *feedForward) up(w *worker, h, g, in []float32, n int) {
	w.pieces(&f.upper, n, func(c columns, fresh bool) { f.upColumns(w, h, g, in, n, c, fresh) })
}

// upColumns computes columns of h; fresh is false if in has not changed since the last product.
func (f *feedForward) upColumns(w *worker, h, g, in []float32, n int, c columns, fresh bool) {
	k, ffn, from, to := w.m.kernels, f.upper.rows, c.from, c.to
	w.multiply(&f.upper, h, in, n, c, fresh)
	if f.gated {
		w.multiply(&f.gate, g, in, n, c, !f.gate.sharesInputs(&f.upper))
	}
	if from == to {
		return
	}
	fit(&w.row, f.act.depth*(to-from))
	w.learned = w.learned[:0]
	for _, v := range f.learned {
		if !f.act.single {
			v = v[from:to]
		}
		w.learned = append(w.learned, v)
	}
	for i := range n {
		h := h[i*ffn+from : i*ffn+to]
		if !f.gated {
			f.act.apply(k, h, w.learned, w.row)
			continue
		}
		g := g[i*ffn+from : i*ffn+to]
		if f.limit > 0 {
			bound(k, h, g, f.limit)
		}
		f.act.apply(k, g, nil, nil)
		k.Mul(h, g)
	}
}

// activation is applied to one row (ffn) in place; scratch has at least
// depth*ffn values.
type activation struct {
	learned int  // vectors of parameters
	single  bool // these have one value each
	depth   int  // rows of scratch that it needs
	apply   func(k *kernel.Kernels, h []float32, learned [][]float32, scratch []float32)
}

func newActivation(f *FeedForward) (a activation, err error) {
	simple := func(f func(*kernel.Kernels, []float32)) activation {
		return activation{apply: func(k *kernel.Kernels, h []float32, _ [][]float32, _ []float32) { f(k, h) }}
	}
	switch f.Activation {
	case GELU:
		a = simple((*kernel.Kernels).GELU)
	case GELUErf:
		a = simple((*kernel.Kernels).GELUErf)
	case SiLU:
		a = simple((*kernel.Kernels).SiLU)
	case QuickGELU:
		a = simple(quickGELU)
	case ReLU:
		a = simple((*kernel.Kernels).ReLU)
	case ReLU2:
		a = simple(squaredReLU)
	case XIELU:
		a = activation{learned: 4, single: true, apply: xielu}
	case Universal:
		a = activation{learned: 2, depth: 1, apply: universal}
	case KANSpline:
		a = activation{learned: 5, depth: 2, apply: spline}
	case Composed:
		a, err = composed(f.Graph)
	default:
		err = fmt.Errorf("unknown activation %.40q", f.Activation)
	}
	if err != nil {
		return a, err
	}
	if f.Gated && (a.learned > 0 || a.depth > 0) {
		return a, fmt.Errorf("activation %q cannot be gated", f.Activation)
	}
	return a, nil
}

// quickGELU is x·σ(ax), which is silu(ax)/a.
func quickGELU(k *kernel.Kernels, h []float32) {
	const a = 1.702
	k.Scale(h, a)
	k.SiLU(h)
	k.Scale(h, 1/float32(a))
}

// bound bounds a gate g and what it multiplies, h, as [FeedForward.Limit] says.
func bound(k *kernel.Kernels, h, g []float32, limit float32) {
	for i, v := range g {
		g[i] = min(v, limit)
	}
	k.Bound(h, kernel.Cap{Kind: kernel.CapClamp, Value: limit})
	for i := range h {
		h[i]++
	}
}

// squaredReLU is relu(h)².
func squaredReLU(k *kernel.Kernels, h []float32) {
	k.ReLU(h)
	k.Mul(h, h)
}

// xielu has its formula at [XIELU]. Most of its time is that of the exponential function, which must
// be exact near 0.
func xielu(_ *kernel.Kernels, h []float32, learned [][]float32, _ []float32) {
	number := func(i int) float64 { return float64(learned[i][0]) }
	beta, most := number(2), number(3)
	positive, negative := softplus(number(0)), beta+softplus(number(1))
	for i, v := range h {
		x := float64(v)
		if x > 0 {
			h[i] = float32(positive*x*x + beta*x)
		} else {
			h[i] = float32((math.Expm1(min(x, most))-x)*negative + beta*x)
		}
	}
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
		return activation{}, fmt.Errorf("activationGraph is not an expression: %w", err)
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
