package arch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// openGGUF opens a GGUF file.
func openGGUF(fsys fs.FS, p *location) (*Model, error) {
	o, err := openGGUFWeights(fsys, p)
	if err != nil {
		return nil, err
	}
	if err := o.readGGUFTokens(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), o.Close())
	}
	if err := o.readGGUFTask(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), o.Close())
	}
	return o.Model, nil
}

func openGGUFWeights(fsys fs.FS, p *location) (*opened, error) {
	file, err := checkpoint.Open(fsys, p.weights)
	if err != nil {
		return nil, err
	}
	o := &opened{Model: &Model{closer: file}, file: file}
	if err := o.readGGUF(); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *opened) readGGUF() error {
	named := func(err error) error { return fmt.Errorf("checkpoint %s: %w", o.file.Name(), err) }
	kind, err := o.file.Meta.Text("general.architecture")
	if err != nil {
		return named(err)
	}
	t, ok := ggufTypes[kind]
	if !ok {
		return named(refuse("general.architecture", kind, ggufTypes))
	}
	o.Type, o.family = t.kind, t.family
	c, err := ggufConfig(o.file, kind)
	if err != nil {
		return named(err)
	}
	c.needs("context_length", "embedding_length", "block_count", "attention.head_count", cmp.Or(t.family.decoder.ffn.names, "feed_forward_length"), "vocab_size")
	router := t.family.tensors.decoder.experts.router + t.family.tensors.encoder.experts.router
	if n := c.integer("expert_count", 0, 0, math.MaxInt32); n > 0 && router == "" {
		c.reject("expert_count", "%d experts are not supported in this architecture", n)
	}
	s, l, err := t.family.read(c)
	if err != nil {
		return named(err)
	}
	if o.Seq2Seq, err = ggufSeq2Seq(c, s); err != nil {
		return named(err)
	}
	src := newSource(o.file)
	l.tied = !src.has("output.weight")
	if t.family.detect != nil {
		t.family.detect(src, s, l)
	}
	if err := readFactors(src, c, s.Rotaries[:cmp.Or(t.family.factored, len(s.Rotaries))]); err != nil {
		return err
	}
	o.Spec, o.Version = s, version(nil, o.file)
	if err := o.readGGUFClassifier(src, s, l); err != nil {
		return named(err)
	}
	if err := o.readGGUFDense(src, s); err != nil {
		return named(err)
	}
	o.Weights, err = build(src, s, l, t.family.buffers)
	return err
}

// ggufConfig makes a configuration of the keys of an architecture. If the keys lack the
// number of tokens, it is that of the embedding.
func ggufConfig(f *checkpoint.File, kind string) (*config, error) {
	c := &config{fields: map[string]json.RawMessage{}, within: kind + ".", err: new(error)}
	for key, value := range f.Meta {
		name, ok := strings.CutPrefix(key, kind+".")
		if !ok {
			continue
		}
		raw, err := json.Marshal(finite(value))
		if err != nil {
			return nil, fmt.Errorf("key %.80q: %w", key, err)
		}
		c.fields[name] = raw
	}
	if t, ok := f.Tensor("token_embd.weight"); ok && len(t.Shape) == 2 && !c.has("vocab_size") {
		c.fields["vocab_size"] = fmt.Append(nil, t.Shape[0])
	}
	return c, nil
}
