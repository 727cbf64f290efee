package arch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// methods maps quant_method of quantization_config to the function that reads the other members.
// Weights are read as their authors' own code dequantises them, some rows at a time. That this code
// may round the inputs of products too is not computed.
var methods = map[string]func(q *config) *scheme{
	"fp8": blockFP8, "fbgemm_fp8": rowFP8, "compressed-tensors": compressedTensors,
	"gptq": gptq, "awq": awq, "bitsandbytes": bitsAndBytes, mlxMethod: mlx,
	modelOptMethod: modelOpt,
}

// A scheme is how the tensors of a file encode weights in few bits.
type scheme struct {
	marks  []string // endings of names: a weight has one tensor with one of them
	unread []string // endings of the names of tensors that no weight depends on
	// weight returns the weight whose tensors' names begin with p's stem: what precedes the mark. It is
	// nil after an error, or if the tensor with the mark is not part of a quantised weight.
	weight func(p *parts) *dequantised

	computed dtype.Type // that the authors round values to, unless their scales have 16 bits
}

// readQuantisation reads quantization_config, but for the methods that the family reads itself.
func (c *config) readQuantisation(own []string) {
	q, name := c.quantisation()
	if q == nil {
		return
	}
	if slices.Contains(own, name) {
		return
	}
	read := methods[name]
	if read == nil {
		q.reject("quant_method", "%.40q is not supported, only %s", name, strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
		return
	}
	c.scheme = read(q)
	c.scheme.computed = c.floats()
}

// quantisation returns the description of quantised weights and its method; nil if there is none.
func (c *config) quantisation() (q *config, method string) {
	if q = c.object("quantization"); q != nil {
		return q, mlxMethod
	}
	if q = c.object("quantization_config"); q == nil {
		return nil, ""
	}
	if method = q.text("quant_method", ""); method == "" && q.has("load_in_4bit load_in_8bit") { // of older files
		method = "bitsandbytes"
	}
	if method == "" && q.has("quant_algo") { // likewise
		method = modelOptMethod
	}
	return q, method
}

// floats returns the type in which the authors compute the model, F32 if the file does not say it.
func (c *config) floats() dtype.Type {
	_, raw := c.find("dtype torch_dtype")
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return dtype.F32
	}
	return floatType(name)
}

// floatType returns the type of a name of PyTorch, F32 for one that has not 16 bits.
func floatType(name string) dtype.Type {
	switch name {
	case "bfloat16":
		return dtype.BF16
	case "float16":
		return dtype.F16
	}
	return dtype.F32
}

// decode finds the weights that a scheme encodes. They take the place of the tensors of their names.
func (s *source) decode(scheme *scheme) {
	if scheme == nil {
		return
	}
	s.coded = map[string]*dequantised{}
	for i := range s.file.Tensors {
		t := &s.file.Tensors[i]
		name := s.short(t.Name)
		ends := func(ending string) bool { return strings.HasSuffix(name, ending) }
		if slices.ContainsFunc(scheme.unread, ends) {
			s.used[t.Name] = true
			continue
		}
		if i := slices.IndexFunc(scheme.marks, ends); i >= 0 {
			p := &parts{source: s, scheme: scheme, mark: t, stem: strings.TrimSuffix(name, scheme.marks[i])}
			if c := scheme.weight(p); c != nil {
				c.file, c.names = s.file, append(p.found, t.Name)
				s.coded[c.name] = c
			}
		}
	}
}

// parts finds the tensors of a weight.
type parts struct {
	*source
	*scheme
	stem  string // of their names
	mark  *checkpoint.TensorInfo
	found []string // names in the file
}

// find returns the tensor with an ending behind the stem; nil if there is none.
func (p *parts) find(ending string) *checkpoint.TensorInfo {
	full, ok := p.names[p.stem+ending]
	if !ok {
		return nil
	}
	t, _ := p.file.Tensor(full)
	p.found = append(p.found, full)
	return t
}

// rounded returns the type that the authors round dequantised values to: that of the scales or, if these
// are float32, of the model.
func (p *parts) rounded(scales *checkpoint.TensorInfo) dtype.Type {
	if scales.Type == dtype.BF16 || scales.Type == dtype.F16 {
		return scales.Type
	}
	return p.computed
}

// A dequantised weight is read from several tensors. Its methods are safe for concurrent use.
type dequantised struct {
	name  string     // as layouts have it
	shape []int      // without zeros
	kind  dtype.Type // that values are rounded to: F32, BF16 or F16
	// read reads whole rows, of as many values as the last dimension has, from a row on.
	read func(dst []float32, row int) error

	file  *checkpoint.File
	names []string // of the tensors, one at least
}

// codedValues is about the number of values that are read at once.
const codedValues = 64 << 10

// values reads values, which are whole rows, from value from on.
func (c *dequantised) values(dst []float32, from int) error {
	cols := c.shape[len(c.shape)-1]
	if from%cols != 0 || len(dst)%cols != 0 {
		return c.fail(fmt.Errorf("%d values from %d are not whole rows of %d", len(dst), from, cols))
	}
	for step := max(1, codedValues/cols) * cols; len(dst) > 0; {
		some := dst[:min(step, len(dst))]
		if err := c.read(some, from/cols); err != nil {
			return c.fail(err)
		}
		for i, v := range some {
			if v = round(v, c.kind); v-v != 0 {
				return c.fail(fmt.Errorf("value %d is %v", from+i, v))
			}
			some[i] = v
		}
		dst, from = dst[len(some):], from+len(some)
	}
	return nil
}

// round rounds to a type of 16 bits, or not to F32.
func round(v float32, to dtype.Type) float32 {
	switch to {
	case dtype.BF16:
		return dtype.FromBFloat16(dtype.ToBFloat16(v))
	case dtype.F16:
		return dtype.FromFloat16(dtype.ToFloat16(v))
	}
	return v
}

// stored reads values as values does, in the type of 16 bits that they are rounded to.
func (c *dequantised) stored(dst []byte, from int) error {
	cols := c.shape[len(c.shape)-1]
	buffer := make([]float32, min(len(dst)/2, max(1, codedValues/cols)*cols))
	for len(dst) > 0 {
		some := buffer[:min(len(buffer), len(dst)/2)]
		if err := c.values(some, from); err != nil {
			return err
		}
		if _, err := c.kind.Encoder()(dst[:0], some); err != nil {
			return c.fail(err)
		}
		dst, from = dst[2*len(some):], from+len(some)
	}
	return nil
}

// fail adds the location to an error that may not have it.
func (c *dequantised) fail(err error) error {
	t, _ := c.file.Tensor(c.names[0])
	return fmt.Errorf("checkpoint %s: tensor %q: %w", c.file.Holder(t), t.Name, err)
}
