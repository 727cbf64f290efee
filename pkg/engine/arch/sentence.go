package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// A Sentence is how a model makes the embedding of a text from the vectors of its tokens, as
// the files of sentence-transformers describe it. A directory of an encoder without these
// files has the mean of all tokens, as in sentence-transformers. A model has dense embeddings,
// sparse ones, multi-vectors, or several of these.
type Sentence struct {
	Pooling       []Pooling `json:"pooling"`                  // their vectors, one after the other; none: no dense embeddings
	ExcludePrompt bool      `json:"exclude_prompt,omitempty"` // the pooling leaves out the tokens of the prompt and those before it
	Steps         []Step    `json:"steps,omitempty"`          // after the pooling

	Sparse *Sparse      `json:"sparse,omitempty"` // nil: no sparse embeddings
	Multi  *MultiVector `json:"multi,omitempty"`  // nil: no vectors of tokens

	MaxTokens int               `json:"max_tokens"`          // of a text, including those that the tokenizer puts around it
	Lowercase bool              `json:"lowercase,omitempty"` // letters become small before the tokenizer reads a text
	Prompts   map[string]string `json:"prompts,omitempty"`   // texts before the client's, by name
	Prompt    string            `json:"prompt,omitempty"`    // the name of the prompt of requests that name none; "": they have no prompt
	Truncate  int               `json:"truncate,omitempty"`  // dimensions of requests that name none; 0: all

	Before []int `json:"before,omitempty"` // tokens that the tokenizer puts before a text
	After  []int `json:"after,omitempty"`  // tokens that the tokenizer puts after a text
}

// A Pooling combines the vectors of a text's tokens into one.
type Pooling string

// The poolings, in the order in which a module that names several concatenates them.
const (
	PoolFirst    Pooling = "cls"                  // of the first token
	PoolMax      Pooling = "max"                  // the largest of each element
	PoolMean     Pooling = "mean"                 // Σ/n
	PoolRoot     Pooling = "mean_sqrt_len_tokens" // Σ/√n
	PoolWeighted Pooling = "weightedmean"         // Σ i·x_i / Σ i, where i counts from 1
	PoolLast     Pooling = "lasttoken"            // of the last token
)

// poolings maps the boolean settings of older files to poolings, in their order.
var poolings = []struct {
	key  string
	mode Pooling
}{
	{"pooling_mode_cls_token", PoolFirst},
	{"pooling_mode_max_tokens", PoolMax},
	{"pooling_mode_mean_tokens", PoolMean},
	{"pooling_mode_mean_sqrt_len_tokens", PoolRoot},
	{"pooling_mode_weightedmean_tokens", PoolWeighted},
	{"pooling_mode_lasttoken", PoolLast},
}

// A Step changes the vector of a text: it normalises it to length 1, unless Dense is set.
type Step struct {
	Dense *Dense `json:"dense,omitempty"`
}

// A Dense step computes act(W x + b).
type Dense struct {
	In     int                 `json:"in"`
	Out    int                 `json:"out"`
	Weight transformer.Tensor  `json:"-"`              // (Out, In)
	Bias   *transformer.Tensor `json:"-"`              // (Out), or nil
	Tanh   bool                `json:"tanh,omitempty"` // an activation
	ReLU   bool                `json:"relu,omitempty"` // another; there is none without the two
}

// Files of sentence-transformers.
const (
	modulesFile   = "modules.json"
	promptsFile   = "config_sentence_transformers.json"
	maxModules    = 16
	maxPrompts    = 256
	maxDense      = 1 << 26 // values of a matrix
	maxPoolings   = 6
	unlimitedText = 1 << 53 // tokenizer_config.json has 1e30 for a model without a limit
)

// limitFiles are the names of the settings of the module Transformer.
var limitFiles = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// sentenceReader reads the files of sentence-transformers.
type sentenceReader struct {
	*opened
	*location
	fsys fs.FS
	out  *Sentence

	late      lateInteraction // of vectors of tokens
	spellings map[string]int  // of all tokens; nil until they are needed
}

// readSentence reads how the model embeds texts, if it does. Weights are not read yet.
func (o *opened) readSentence(fsys fs.FS, p *location) error {
	if !exists(fsys, p.beside(modulesFile)) && len(o.Spec.Decoder) > 0 {
		return nil
	}
	r := &sentenceReader{opened: o, location: p, fsys: fsys, out: &Sentence{}}
	width, err := r.modules()
	if err != nil {
		return err
	}
	if err := r.heads(); err != nil {
		return err
	}
	for _, read := range []func(int) error{r.prompts, r.limits} {
		if err := read(width); err != nil {
			return err
		}
	}
	if t, ok := o.Tokenizer.(tokenizer.Affixes); ok {
		r.out.Before, r.out.After = t.Affixes()
	}
	if err := r.finishVectors(); err != nil {
		return err
	}
	if limit := r.out.MaxTokens; limit <= len(r.out.Before)+len(r.out.After) {
		return fmt.Errorf("%s: texts have at most %d tokens, %d of which the tokenizer adds", p.dir, limit, len(r.out.Before)+len(r.out.After))
	}
	o.Sentence = r.out
	return nil
}

// modules reads modules.json, and returns the width of an embedding.
func (r *sentenceReader) modules() (width int, err error) {
	width = r.Spec.Width
	if !exists(r.fsys, r.beside(modulesFile)) && r.stanford != nil {
		r.out.Multi = &MultiVector{Steps: []*Dense{r.stanford}}
		return r.stanford.Out, nil
	}
	if !exists(r.fsys, r.beside(modulesFile)) {
		r.out.Pooling = []Pooling{PoolMean}
		return width, nil
	}
	list, err := readModules(r.fsys, r.beside(modulesFile))
	if err != nil {
		return 0, err
	}
	read := r.denseModule
	if len(list) > 1 {
		switch list[1].kind() {
		case spladeModule:
			read = r.sparseModule
		case denseModule, maskModule:
			read = r.multiModule
		}
	}
	for i := range list {
		switch m := &list[i]; {
		case !fs.ValidPath(path.Join(".", m.Path)):
			err = fmt.Errorf("the path %.80q leaves the directory", m.Path)
		case m.transforms() != (i == 0):
			err = errors.New("only Transformer, then Pooling, then other modules are supported")
		case i > 0:
			width, err = read(i, m, width)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: module %d, %.80q: %w", r.beside(modulesFile), i, list[i].Type, err)
		}
	}
	if len(r.out.Pooling) == 0 && r.out.Sparse == nil && r.out.Multi == nil {
		return 0, fmt.Errorf("%s: there is no module Pooling: vectors of tokens need a module Dense or MultiVectorMask", r.beside(modulesFile))
	}
	return width, nil
}

// denseModule reads a module of an encoder with one vector for a text.
func (r *sentenceReader) denseModule(i int, m *module, width int) (int, error) {
	kind := m.kind()
	switch {
	case (kind == "Pooling") != (i == 1):
		return 0, errors.New("only Transformer, then Pooling, then other modules are supported")
	case kind == "Pooling":
		return r.pooling(r.beside(m.Path), width)
	case kind == denseModule:
		d, err := r.dense(r.beside(m.Path), width, sentenceInput)
		if err != nil {
			return 0, err
		}
		r.out.Steps = append(r.out.Steps, Step{Dense: d})
		return d.Out, nil
	case kind == normalizeModule:
		r.out.Steps = append(r.out.Steps, Step{})
		return width, r.checkInput(r.beside(m.Path), sentenceInput)
	case kind == "Dropout":
		return width, nil
	}
	return 0, errors.New("it is not supported, only Transformer, Pooling, Dense, Normalize and Dropout")
}

// What modules read.
const (
	sentenceInput = `"sentence_embedding"`
	tokensInput   = `"token_embeddings"`
)

// checkInput rejects a module that reads something else.
func (r *sentenceReader) checkInput(dir, input string) error {
	name := path.Join(dir, configFile)
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return err
	}
	if c.require([]requiredValue{{"module_input_name", input}, {"module_output_name", input}}); *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	return nil
}

// A module is an entry of modules.json.
type module struct{ Path, Type string }

// kind returns the last part of the name of a module's class.
func (m *module) kind() string { return m.Type[strings.LastIndex(m.Type, ".")+1:] }

// transforms reports whether m is the model of transformers.
func (m *module) transforms() bool { return m.kind() == transformModule || m.kind() == mlmModule }

// readModules reads modules.json.
func readModules(fsys fs.FS, name string) (list []module, err error) {
	raw, err := readFile(fsys, name, maxConfigFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &list); err != nil || len(list) > maxModules {
		return nil, fmt.Errorf("%s: not a list of at most %d modules", name, maxModules)
	}
	return list, nil
}

// pooling reads the settings of the module Pooling, and returns the width of its result.
func (r *sentenceReader) pooling(dir string, width int) (int, error) {
	c, err := readConfig(r.fsys, path.Join(dir, configFile), maxConfigFile)
	if err != nil {
		return 0, err
	}
	if in := c.integer("embedding_dimension word_embedding_dimension", width, 1, maxWidth); in != width {
		c.reject("word_embedding_dimension", "%d, but the model has width %d", in, width)
	}
	r.out.ExcludePrompt = !c.flag("include_prompt", true)
	for _, mode := range c.poolings() {
		if !slices.ContainsFunc(poolings, func(p struct {
			key  string
			mode Pooling
		},
		) bool {
			return string(p.mode) == mode
		}) {
			c.reject("pooling_mode", "%.40q is not supported", mode)
		}
		r.out.Pooling = append(r.out.Pooling, Pooling(mode))
	}
	if *c.err != nil {
		return 0, fmt.Errorf("%s: %w", path.Join(dir, configFile), *c.err)
	}
	return width * len(r.out.Pooling), nil
}

// poolings returns the modes of a pooling: pooling_mode, or else the settings of older files.
func (c *config) poolings() (modes []string) {
	if _, raw := c.find("pooling_mode"); raw != nil {
		if raw[0] != '[' {
			return []string{c.text("pooling_mode", "")}
		}
		_, modes, _ = read[[]string](c, "pooling_mode", "list of strings")
		if len(modes) > maxPoolings {
			c.reject("pooling_mode", "%d modes, at most %d", len(modes), maxPoolings)
		}
	} else {
		for _, p := range poolings {
			if c.flag(p.key, false) {
				modes = append(modes, string(p.mode))
			}
		}
	}
	if len(modes) == 0 {
		return []string{string(PoolMean)}
	}
	return modes
}

// dense reads the module Dense, whose input has a name and a width.
func (r *sentenceReader) dense(dir string, width int, input string) (*Dense, error) {
	c, err := readConfig(r.fsys, path.Join(dir, configFile), maxConfigFile)
	if err != nil {
		return nil, err
	}
	d := &Dense{In: c.integer("in_features", 0, 1, maxFFN), Out: c.integer("out_features", 0, 1, maxFFN)}
	c.needs("in_features", "out_features")
	c.require([]requiredValue{{"use_residual", "false"}, {"module_input_name", input}, {"module_output_name", input}})
	switch name := c.text("activation_function", "torch.nn.modules.activation.Tanh"); name[strings.LastIndex(name, ".")+1:] {
	case "Tanh":
		d.Tanh = true
	case "Identity":
	default:
		c.reject("activation_function", "%.60q is not supported, only Tanh and Identity", name)
	}
	switch {
	case *c.err != nil:
	case d.In != width:
		c.reject("in_features", "%d, but the module before it returns %d", d.In, width)
	case d.In*d.Out > maxDense:
		c.reject("out_features", "%d by %d values are more than %d", d.In, d.Out, maxDense)
	}
	if *c.err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, configFile), *c.err)
	}
	return d, r.readDense(d, path.Join(dir, weightsFile), "linear", c.flag("bias", true))
}

// readDense looks up the tensors of d in a file of its own.
func (r *sentenceReader) readDense(d *Dense, name, tensor string, bias bool) error {
	file, err := checkpoint.Open(r.fsys, name)
	if err != nil {
		return err
	}
	r.closer = closers{r.closer, file}
	src := newSource(file)
	d.read(src, tensor, bias)
	src.unused(nil)
	return src.err
}

// closers closes several files.
type closers []io.Closer

// Close implements [io.Closer].
func (c closers) Close() (err error) {
	for _, each := range c {
		err = errors.Join(err, each.Close())
	}
	return err
}

// prompts reads config_sentence_transformers.json.
func (r *sentenceReader) prompts(width int) error {
	c, err := readConfig(r.fsys, r.beside(promptsFile), maxConfigFile)
	if err != nil {
		return err
	}
	r.out.Prompt = c.text("default_prompt_name", "")
	r.out.Truncate = c.integer("truncate_dim", 0, 1, maxFFN)
	if r.out.Truncate >= width {
		r.out.Truncate = 0
	}
	_, prompts, _ := read[map[string]*string](c, "prompts", "object of strings")
	if len(prompts) > maxPrompts {
		c.reject("prompts", "%d, at most %d", len(prompts), maxPrompts)
	}
	r.out.Prompts = map[string]string{}
	for name, text := range prompts {
		if text != nil {
			r.out.Prompts[name] = *text
		}
	}
	if _, ok := r.out.Prompts[r.out.Prompt]; !ok && r.out.Prompt != "" {
		c.reject("default_prompt_name", "prompts has no %.40q", r.out.Prompt)
	}
	if *c.err != nil {
		return fmt.Errorf("%s: %w", r.beside(promptsFile), *c.err)
	}
	return nil
}

// limits reads the largest number of tokens of a text.
func (r *sentenceReader) limits(int) error {
	r.out.MaxTokens = r.Spec.Context
	name := r.in(tokenizerConfig)
	c, err := readConfig(r.fsys, name, maxTokenizerFile)
	if err != nil {
		return err
	}
	limit := c.number("model_max_length", 0, 0, 1e40)
	for _, file := range limitFiles {
		if *c.err != nil || !exists(r.fsys, r.in(file)) {
			continue
		}
		name = r.in(file)
		if c, err = readConfig(r.fsys, name, maxConfigFile); err != nil {
			return err
		}
		limit = c.number("max_seq_length", limit, 1, 1e40)
		r.out.Lowercase = c.flag("do_lower_case", false)
		break
	}
	if limit > 0 && limit < unlimitedText {
		r.out.MaxTokens = min(r.out.MaxTokens, int(limit))
	}
	if *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	return nil
}
