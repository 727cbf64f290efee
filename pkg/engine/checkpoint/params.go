package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Param is the name and shape of a parameter.
type Param struct {
	Name  string
	Shape []int
}

// Elements returns the number of values.
func (p *Param) Elements() int { return elements(p.Shape) }

// Params lists the parameters of the architecture in the order of upstream's files. fused
// selects one wqkv instead of wq, wk and wv. All matrices are (out, in): y = x Wᵀ.
func Params(c *ModelConfig, fused bool) []Param {
	e := c.NEmbd
	ps := []Param{
		{"wte", []int{c.VocabSize, e}},
		{"wpe", []int{c.BlockSize, e}},
		{"lmHead", []int{c.VocabSize, e}},
		{"lnF.weight", []int{e}},
		{"lnF.bias", []int{e}},
	}
	for i := range c.NLayer {
		prefix := "layer." + strconv.Itoa(i) + "."
		for _, p := range layerParams(c, fused) {
			ps = append(ps, Param{prefix + p.Name, p.Shape})
		}
	}
	return ps
}

// Elements returns the number of values of all parameters of a validated configuration.
func Elements(c *ModelConfig) (n int64) {
	for _, p := range Params(c, false) {
		size := int64(1)
		for _, d := range p.Shape {
			size *= int64(d)
		}
		n += size
	}
	return n
}

func layerParams(c *ModelConfig, fused bool) []Param {
	e, f := c.NEmbd, c.FFN()
	ps := []Param{{"ln1.weight", []int{e}}, {"ln1.bias", []int{e}}}
	if fused {
		ps = append(ps, Param{"attn.wqkv", []int{3 * e, e}}) // rows of q, then k, then v
	} else {
		ps = append(ps, Param{"attn.wq", []int{e, e}}, Param{"attn.wk", []int{e, e}}, Param{"attn.wv", []int{e, e}})
	}
	ps = append(ps, Param{"attn.wo", []int{e, e}}, Param{"ln2.weight", []int{e}}, Param{"ln2.bias", []int{e}})
	if c.Activation() == SwiGLU {
		return append(ps, Param{"mlp.fc_gate", []int{f, e}}, Param{"mlp.fc_up", []int{f, e}}, Param{"mlp.fc_proj", []int{e, f}})
	}
	ps = append(ps, Param{"mlp.fc1", []int{f, e}}, Param{"mlp.fc2", []int{e, f}})
	switch c.Activation() {
	case Universal:
		ps = append(ps, Param{"mlp.act_gate", []int{1, f}}, Param{"mlp.act_skip", []int{1, f}})
	case KANSpline:
		for k := range 5 {
			ps = append(ps, Param{"mlp.kan_c" + strconv.Itoa(k), []int{1, f}})
		}
	}
	return ps
}

// elements is product of a shape that has been checked.
func elements(shape []int) int {
	n, _ := product(shape)
	return n
}

// product returns the number of values of a shape. It rejects negative dimensions, more
// than eight of them and overflow.
func product(shape []int) (int, error) {
	n := 1
	if len(shape) > 8 {
		return 0, fmt.Errorf("shape has %d dimensions", len(shape))
	}
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/4/d {
			return 0, fmt.Errorf("shape %v is impossible", shape)
		}
		n *= d
	}
	return n, nil
}

// architecture holds the parameters that a configuration allows in a file.
type architecture struct {
	config ModelConfig
	shapes map[string][]int // of both spellings of attention
}

func newArchitecture(c ModelConfig) *architecture {
	a := &architecture{config: c, shapes: map[string][]int{}}
	for _, fused := range []bool{false, true} {
		for _, p := range Params(&c, fused) {
			a.shapes[p.Name] = p.Shape
		}
	}
	return a
}

// check returns an error unless the configuration has a parameter with that name and
// shape.
func (a *architecture) check(name string, shape []int) error {
	want, ok := a.shapes[name]
	if !ok {
		return fmt.Errorf("tensor %.80q: the configuration has no such parameter", name)
	}
	if !slices.Equal(want, shape) {
		return fmt.Errorf("tensor %q: shape %v, but the configuration has %v", name, shape, want)
	}
	return nil
}

// complete checks that names are exactly the parameters of the configuration.
func (a *architecture) complete(names map[string]Tensor) error {
	_, fused := names["layer.0.attn.wqkv"]
	want := Params(&a.config, fused)
	for _, p := range want {
		if _, ok := names[p.Name]; !ok {
			return fmt.Errorf("tensor %q: missing", p.Name)
		}
	}
	if len(names) == len(want) {
		return nil
	}
	extra := maps.Clone(names)
	for _, p := range want {
		delete(extra, p.Name)
	}
	return fmt.Errorf("tensor %q: the file has both fused and separate attention", slices.Min(slices.Collect(maps.Keys(extra))))
}

// Validate checks the invariants of readers and writers: a valid configuration and
// exactly its parameters, of the right shapes and finite.
func (a *Alpha) Validate() error {
	if err := a.ModelConfig.Validate(); err != nil {
		return fmt.Errorf("modelConfig: %w", err)
	}
	if a.Step < 0 || a.OptimizerStep < 0 {
		return errors.New("step: negative")
	}
	arch := newArchitecture(a.ModelConfig)
	for _, name := range slices.Sorted(maps.Keys(a.Params)) {
		t := a.Params[name]
		if err := arch.check(name, t.Shape); err != nil {
			return err
		}
		if err := t.check(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Optimizer)) {
		t := a.Optimizer[name]
		if err := t.check("optimizer " + name); err != nil {
			return err
		}
	}
	return arch.complete(a.Params)
}

// check checks that the values match the shape and are finite.
func (t *Tensor) check(name string) error {
	if n, err := product(t.Shape); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	} else if n != len(t.Data) {
		return fmt.Errorf("tensor %q: %d values for shape %v", name, len(t.Data), t.Shape)
	}
	if i := slices.IndexFunc(t.Data, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return fmt.Errorf("tensor %q: value %d is %v", name, i, t.Data[i])
	}
	return nil
}
