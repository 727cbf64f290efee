package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// An adapter is a LoRA (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models") in
// the files of PEFT. It changes weights of a base model as they are read: to the matrix of a
// module, W + s·B·A, with A (rank, in), B (out, rank) and s = alpha/rank; other tensors take the
// place of the base's.
//
// Source: the behaviour of PEFT's LoraLayer (tuners/lora/layer.py) and of what it saves
// (utils/save_and_load.py).
type adapter struct {
	file    *checkpoint.File
	base    string              // the directory of its base, for errors
	modules map[string]*lowRank // by the name of the base's weight, as layouts have it
	tensors map[string]string   // likewise: names in file of tensors that replace the base's
	used    map[string]bool     // keys of both
}

// An adapterConfig has the keys of adapter_config.json that change what an adapter computes.
type adapterConfig struct {
	Type       string  `json:"peft_type"`
	Base       string  `json:"base_model_name_or_path"`
	Alpha      float64 `json:"lora_alpha"`
	Alphas     alphas  `json:"alpha_pattern"`
	RankStable bool    `json:"use_rslora"`
	Init       any     `json:"init_lora_weights"`
}

// Variants of LoRA: keys of adapter_config.json that must be null, false or empty.
var variants = []string{
	"use_dora", "use_qalora", "use_bdlora", "alora_invocation_tokens", "arrow_config", "kasa_config", "layer_replication", "lora_ga_config",
	"megatron_config", "monteclora_config", "target_parameters", "trainable_token_indices", "velora_config",
}

// inits are the ways to initialise an adapter that leave its base as it was.
var inits = []any{nil, true, false, "gaussian", "orthogonal", "eva"}

// alphas are the alpha of modules whose names match patterns, in the order of the file: the
// first that matches counts.
type alphas []struct {
	pattern *regexp.Regexp
	alpha   float64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *alphas) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return err // null
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var alpha float64
		if err := d.Decode(&alpha); err != nil {
			return err
		}
		pattern, err := regexp.Compile(`^(.*\.)?(` + key.(string) + `)$`)
		if err != nil {
			return err
		}
		*a = append(*a, struct {
			pattern *regexp.Regexp
			alpha   float64
		}{pattern, alpha})
	}
	return nil
}

// readAdapterConfig reads adapter_config.json of a directory.
func readAdapterConfig(fsys fs.FS, dir string) (*adapterConfig, error) {
	name := path.Join(dir, checkpoint.AdapterConfig)
	raw, err := readFile(fsys, name, maxConfigFile)
	if err != nil {
		return nil, err
	}
	c, all := &adapterConfig{}, map[string]json.RawMessage{}
	err = json.Unmarshal(raw, c)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err == nil {
		err = c.check(all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// check refuses what is not supported; all are the keys of the file.
func (c *adapterConfig) check(all map[string]json.RawMessage) error {
	switch {
	case c.Type != "LORA":
		return fmt.Errorf("peft_type: adapters of type %.40q are not supported, only LORA", c.Type)
	case c.Base == "":
		return errors.New("base_model_name_or_path: missing")
	case !slices.Contains(inits, c.Init):
		return fmt.Errorf("init_lora_weights: %.40q changes the base model: convert the adapter with PEFT", fmt.Sprint(c.Init))
	}
	for _, name := range variants {
		if raw := string(all[name]); !slices.Contains([]string{"", "null", "false", "[]", "{}"}, raw) {
			return fmt.Errorf("%s: not supported", name)
		}
	}
	return nil
}

// scale returns what the product of a module's matrices is multiplied by.
func (c *adapterConfig) scale(module string, rank int) float64 {
	alpha := c.Alpha
	for _, a := range c.Alphas {
		if a.pattern.MatchString(module) {
			alpha = a.alpha
			break
		}
	}
	if c.RankStable {
		return alpha / math.Sqrt(float64(rank))
	}
	return alpha / float64(rank)
}

// findBase finds the base model of the adapter in dir: the directory that its configuration c
// names, or one of the last part of this name, in the file system or next to dir.
func findBase(fsys fs.FS, dir string) (base string, c *adapterConfig, err error) {
	if c, err = readAdapterConfig(fsys, dir); err != nil {
		return "", nil, err
	}
	name := path.Clean(strings.ReplaceAll(c.Base, `\`, "/"))
	for _, in := range []string{path.Dir(dir), "."} {
		for _, base := range []string{path.Join(in, name), path.Join(in, path.Base(name))} {
			if fs.ValidPath(base) && exists(fsys, path.Join(base, configFile)) && !exists(fsys, path.Join(base, checkpoint.AdapterConfig)) {
				return base, c, nil
			}
		}
	}
	return "", nil, fmt.Errorf("%s: its base model %.80q is not among the models: put it into a directory %q next to the adapter", dir, c.Base, path.Base(name))
}

// locateAdapter returns the location of the base of the adapter in dir, with the adapter's own
// tokenizer if it has one.
func locateAdapter(fsys fs.FS, dir string) (*location, error) {
	if !exists(fsys, path.Join(dir, checkpoint.AdapterWeights)) {
		return nil, fmt.Errorf("%s: it has %s, but no %s", dir, checkpoint.AdapterConfig, checkpoint.AdapterWeights)
	}
	for _, name := range []string{weightsFile, indexFile} {
		if exists(fsys, path.Join(dir, name)) {
			return nil, fmt.Errorf("%s: it has %s and %s: the weights of a model, or of an adapter?", dir, name, checkpoint.AdapterWeights)
		}
	}
	base, c, err := findBase(fsys, dir)
	if err != nil {
		return nil, err
	}
	p, err := find(fsys, base)
	if err != nil {
		return nil, fmt.Errorf("%s: its base: %w", dir, err)
	}
	if p.config == "" {
		return nil, fmt.Errorf("%s: its base %s is packed: an adapter needs the %s of its base", dir, base, weightsFile)
	}
	p.adapter, p.lora = dir, c
	p.own, err = adapterFiles(fsys, dir)
	return p, err
}

// adapterFiles returns the names of tokenizer files and templates that an adapter brings.
func adapterFiles(fsys fs.FS, dir string) (own []string, err error) {
	template := exists(fsys, path.Join(dir, templateFile))
	if exists(fsys, path.Join(dir, tokenizerFile)) {
		own = []string{tokenizerFile, tokenizerConfig, vocabFile, mergesFile, addedFile, wordPieceFile, tokenMapFile}
		settings, err := readConfig(fsys, path.Join(dir, tokenizerConfig), maxTokenizerFile)
		if err != nil {
			return nil, err
		}
		template = template || settings.has(templateKey)
	}
	if template {
		own = append(own, templateFile, toolsTemplateFile, templateJSON)
	}
	return own, nil
}

// openAdapter opens the adapter of a location, whose base is src.
func openAdapter(fsys fs.FS, p *location, src *source) (*adapter, error) {
	file, err := checkpoint.Open(fsys, path.Join(p.adapter, checkpoint.AdapterWeights))
	if err != nil {
		return nil, err
	}
	a := &adapter{file: file, base: p.dir, modules: map[string]*lowRank{}, tensors: map[string]string{}, used: map[string]bool{}}
	if err := a.read(p.lora, src.short); err != nil {
		return nil, errors.Join(err, a.file.Close())
	}
	return a, nil
}

// lowRankName matches the names of the matrices of a module; older versions of PEFT name the adapter.
var lowRankName = regexp.MustCompile(`^(.+)\.lora_(A|B)(\.default)?\.weight$`)

// read sorts the tensors of the file. short returns names as layouts have them: PEFT writes those of the
// class in memory, which may be that of the whole model or of its text.
func (a *adapter) read(c *adapterConfig, short func(name string) string) error {
	for i := range a.file.Tensors {
		t := &a.file.Tensors[i]
		name, ok := strings.CutPrefix(t.Name, "base_model.model.")
		found := lowRankName.FindStringSubmatch(name)
		switch {
		case !ok || !t.Type.Convertible():
			return a.refuse(t.Name, "unknown in an adapter")
		case found == nil && strings.Contains(name, "lora_"):
			return a.refuse(t.Name, "not supported: only lora_A and lora_B of matrices are")
		case found == nil:
			name = strings.Replace(strings.Replace(name, ".modules_to_save.default", "", 1), ".base_layer", "", 1)
			key := short(name)
			if other, ok := a.tensors[key]; ok {
				return a.refuse(t.Name, fmt.Sprintf("it takes the place of the same tensor as %.80q: save the adapter again", other))
			}
			a.tensors[key] = t.Name
			continue
		case len(t.Shape) != 2 || slices.Contains(t.Shape, 0):
			return a.refuse(t.Name, fmt.Sprintf("shape %v is not a matrix", t.Shape))
		}
		key := short(found[1] + ".weight")
		m := a.modules[key]
		if m == nil {
			m = &lowRank{file: a.file, module: found[1]}
			m.read = sync.OnceValues(m.values)
			a.modules[key] = m
		}
		if found[2] == "A" && m.a != "" || found[2] == "B" && m.b != "" {
			return a.refuse(t.Name, "its module has two of this")
		}
		if found[2] == "A" {
			m.a, m.rank, m.in = t.Name, t.Shape[0], t.Shape[1]
		} else {
			m.b, m.out, m.rankB = t.Name, t.Shape[0], t.Shape[1]
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.modules)) {
		m := a.modules[key]
		switch {
		case m.a == "" || m.b == "":
			return fmt.Errorf("checkpoint %s: module %.80q: it has only one of lora_A and lora_B", a.file.Name(), m.module)
		case m.rank != m.rankB:
			return fmt.Errorf("checkpoint %s: module %.80q: lora_A has rank %d, lora_B %d", a.file.Name(), m.module, m.rank, m.rankB)
		}
		m.scale = float32(c.scale(m.module, m.rank))
		m.update = &transformer.LowRank{Name: m.module, Rank: m.rank, In: m.in, Out: m.out, Read: m.scaled}
	}
	return nil
}

func (a *adapter) refuse(tensor, why string) error {
	return fmt.Errorf("checkpoint %s: tensor %.80q: %s", a.file.Name(), tensor, why)
}

// apply changes a span of the base: name is without the source's prefix. A matrix that is not
// alone in its tensor is left, and so unused.
func (a *adapter) apply(name string, shape []int, out *span) error {
	if full, ok := a.tensors[name]; ok {
		t, _ := a.file.Tensor(full)
		if !slices.Equal(t.Shape, shape) {
			return a.refuse(full, fmt.Sprintf("shape %v, but the base %s has %v", t.Shape, a.base, shape))
		}
		a.used[name], out.file, out.name, out.kind, out.coded = true, a.file, full, t.Type, nil
	}
	m, ok := a.modules[name]
	if !ok || len(shape) != 2 {
		return nil
	}
	rows, cols := shape[0], shape[1]
	if out.transposed {
		rows, cols = cols, rows
	}
	if m.out != rows || m.in != cols {
		return fmt.Errorf("checkpoint %s: module %.80q: lora_B·lora_A is (%d, %d), but the base %s has (%d, %d): it is the adapter of another base", a.file.Name(), m.module, m.out, m.in, a.base, rows, cols)
	}
	a.used[name], out.delta = true, m
	return nil
}

// added returns the memory of what the adapter adds to the base, see [Model.Shares]. ok is false
// if it must be merged.
func (a *adapter) added(s *transformer.Spec, w *transformer.Weights) (bytes int64, ok bool) {
	if a == nil {
		return 0, len(s.Encoder) == 0
	}
	bytes, ok = w.Adapter(s)
	return bytes, ok && len(a.tensors) == 0
}

// unused refuses an adapter with parts that the base does not have, or that are not read since their
// names begin with one of skipped.
func (a *adapter) unused(skipped []string) error {
	why := func(name, what string) string {
		if slices.ContainsFunc(skipped, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return fmt.Sprintf("this part of the base %s is not read", a.base)
		}
		return fmt.Sprintf("the base %s has no such %s: it is the adapter of another base", a.base, what)
	}
	for _, name := range slices.Sorted(maps.Keys(a.modules)) {
		if m := a.modules[name]; !a.used[name] {
			return fmt.Errorf("checkpoint %s: module %.80q: %s", a.file.Name(), m.module, why(name, "matrix"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.tensors)) {
		if !a.used[name] {
			return a.refuse(a.tensors[name], why(name, "tensor"))
		}
	}
	return nil
}

// A lowRank is what an adapter adds to the matrix (out, in) of a module.
type lowRank struct {
	file        *checkpoint.File
	module      string
	a, b        string // names of the tensors (rank, in) and (out, rank)
	rank, rankB int
	in, out     int
	scale       float32
	update      *transformer.LowRank // the same for [transformer.Model.NewAdapter]
	read        func() (product, error)
}

// A product has the matrices of a lowRank: A (rank, in) and the transpose of B (rank, out).
type product struct{ a, b []float32 }

func (m *lowRank) values() (p product, err error) {
	if p.a, err = m.file.Float32(m.a, nil); err != nil {
		return p, err
	}
	b, err := m.file.Float32(m.b, nil)
	if err != nil {
		return p, err
	}
	p.b = make([]float32, len(b))
	for o := range m.out {
		for k := range m.rank {
			p.b[k*m.out+o] = b[o*m.rank+k]
		}
	}
	return p, err
}

// scaled returns A and the transpose of B with the scale.
func (m *lowRank) scaled() (a, b []float32, err error) {
	p, err := m.read()
	if err != nil {
		return nil, nil, err
	}
	b = slices.Clone(p.b)
	kernel.Best().Scale(b, m.scale)
	return p.a, b, nil
}

// add adds to values of the matrix, whole rows from index from on: in stored order, which is
// (in, out) if transposed.
func (m *lowRank) add(dst []float32, from int, transposed bool) error {
	p, err := m.read()
	if err != nil {
		return err
	}
	k, by, along, width := kernel.Best(), p.b, p.a, m.in
	count := m.out
	if transposed {
		by, along, width, count = p.a, p.b, m.out, m.in
	}
	sum := make([]float32, width)
	for row := from / width; len(dst) > 0; row++ {
		clear(sum)
		for r := range m.rank {
			k.Axpy(sum, by[r*count+row], along[r*width:][:width])
		}
		k.Axpy(dst[:width], m.scale, sum)
		dst = dst[width:]
	}
	return nil
}

// merged returns a tensor with what an adapter adds to its matrix. Rows of t begin with value
// base of the stored matrix. Formats that weights can be rounded to are kept, as PEFT keeps the
// type of the base that it merges into.
func (m *lowRank) merged(t transformer.Tensor, base int) transformer.Tensor {
	read := t.Read
	t.Read = func(dst []float32, from int) error {
		if err := read(dst, from); err != nil {
			return err
		}
		return m.add(dst, base+from, t.Transposed)
	}
	t.ReadStored = nil
	t.Update, t.UpdateRow = m.update, base/t.Cols
	return t
}
