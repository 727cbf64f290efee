package arch

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// Vision is how a model reads pictures: an encoder of their patches, and what makes of its vectors
// inputs of the decoder, in place of tokens.
type Vision struct {
	Spec    *transformer.Spec    `json:"spec"`
	Weights *transformer.Weights `json:"-"`

	Processor picture.Processor `json:"processor"`
	Patch     int               `json:"patch"`               // pixels of a side
	Positions []int             `json:"positions,omitempty"` // of the patches of a frame, in the encoder's table; nil: one after the other
	Window    int               `json:"window,omitempty"`    // pixels of a side of the windows that Local layers see, with Multiple

	// Skip is the number of vectors that the encoder returns first and that are left out (LLaVA).
	// Merge×Merge neighbouring patches become one input: their vectors side by side (Idefics 3), or
	// with Mean their mean (Gemma 3). Norm, if set, is an RMS norm of the result. Hidden, if set, is a
	// matrix with a GELU after it, Project the last one.
	Skip    int               `json:"skip,omitempty"`
	Merge   int               `json:"merge"`
	Mean    bool              `json:"mean,omitempty"`
	Norm    *transformer.Norm `json:"-"`
	Hidden  *Dense            `json:"hidden,omitempty"`
	Project *Dense            `json:"project"`

	// Deep are the steps that follow layers of the encoder, Spec.Kept, in turn. Each makes vectors that are
	// added to what one of the first layers of the decoder returns (Qwen3-VL).
	Deep []*Merger `json:"deep,omitempty"`

	Mark string  `json:"mark"` // what a chat template writes for a picture
	Text Framing `json:"text"`
}

// A Merger makes inputs of vectors side by side: a layer norm, a matrix with a GELU after it, and a matrix.
type Merger struct {
	Norm    *transformer.Norm `json:"-"`
	Hidden  *Dense            `json:"hidden"`
	Project *Dense            `json:"project"`
}

// Framing is the text around the inputs of a picture's frames.
type Framing struct {
	Tile    string `json:"tile,omitempty"`     // before a tile; %r and %c are its row and column, counted from 1
	RowEnd  string `json:"row_end,omitempty"`  // after the last tile of a row
	TileEnd string `json:"tile_end,omitempty"` // after all tiles
	Before  string `json:"before"`             // before the whole picture
	After   string `json:"after"`
}

// Side returns the number of patches of a frame's side.
func (v *Vision) Side() int { return v.Processor.Side / v.Patch }

// Vectors returns the number of vectors that the encoder returns for a frame.
func (v *Vision) Vectors() int {
	n := v.Side() * v.Side()
	if v.Spec.Class {
		n++
	}
	return n
}

// HeadBytes returns the memory of the matrices and norms after the encoder.
func (v *Vision) HeadBytes() int64 { return headMemory(nil, nil, v) }

// Inputs returns the number of inputs of a frame; with Multiple, of the smallest.
func (v *Vision) Inputs() int {
	if p := &v.Processor; p.Multiple > 0 {
		square := p.Multiple * p.Multiple
		return (p.Least + square - 1) / square
	}
	return (v.Vectors() - v.Skip) / (v.Merge * v.Merge)
}

// Grid returns the rows and columns of the inputs of the only frame of a picture of a size in pixels, with
// Multiple; 0, 0 without it: inputs have no places then.
func (v *Vision) Grid(width, height int) (rows, columns int) {
	p := &v.Processor
	if p.Multiple == 0 {
		return 0, 0
	}
	width, height = p.Size(width, height)
	return height / p.Multiple, width / p.Multiple
}

// A viewer is the table of an architecture that reads pictures.
type viewer struct {
	title   string
	inner   string   // model_type of text_config if absent
	flat    bool     // without text_config, its members are those of the whole
	tower   *family  // of vision_config if its model_type names none of towers; nil: it must
	renames []rename // of the tensors' names, before the prefix of the text's model is cut off: that has none then, the tower "vision."
	mark    string
	text    Framing

	// skipped is what the names of tensors begin with that are not read.
	skipped []string

	// project reads what follows the encoder, for a decoder of a width. It is nil if the engine reads
	// the text's model alone: then the other fields are not used.
	project func(c *config, v *Vision, src *source, width int)
	// process reads the processor's settings.
	process   func(c *config, p *picture.Processor)
	mean, std [3]float64 // of red, green and blue if absent
	// optional says that the model of text is read alone of a directory without settings of an image
	// processor, and below an adapter.
	optional bool
	// mutual says that the inputs of a frame see each other.
	mutual bool
}

// sees reports whether the pictures of a directory's model are read.
func (v *viewer) sees(fsys fs.FS, p *location) bool {
	if v == nil || v.project == nil {
		return false
	}
	return !v.optional || p.adapter == "" && (exists(fsys, p.in(processorFile)) || exists(fsys, p.in(imagesFile)))
}

// A rename is a prefix of names, and what stands for it.
type rename struct{ from, to string }

// viewers maps config.json's model_type to architectures that read pictures.
var viewers = map[string]*viewer{"idefics3": &idefics3, "smolvlm": &smolVLM, "gemma3": &gemma3Vision, "llava": &llava, "mistral3": &mistral3, "gemma4": &gemma4, "gemma3n": &gemma3n, "qwen2_vl": &qwen2VL, "qwen2_5_vl": &qwen25VL, "qwen3_vl": &qwen3VL, "qwen3_5": &qwen35Pictures, "qwen3_5_moe": &qwen35MoEPictures}

// towers maps model_type of a vision_config to encoders that several architectures have.
var towers = map[string]*family{"siglip_vision_model": &siglip, "clip_vision_model": &clip}

// siglip is the encoder of Zhai et al. 2023, without the pooling after it.
var siglip = family{
	vocab: field{"", 1}, context: field{"", 1},
	width: field{"hidden_size", 768},
	encoder: dimensions{
		depth: field{"num_hidden_layers", 12},
		heads: field{"num_attention_heads", 12},
		ffn:   field{"intermediate_size", 3072},
	},
	activation: text{"hidden_act", "gelu_pytorch_tanh"},
	eps:        real{"layer_norm_eps", 1e-6},
	fixed:      []requiredValue{{"num_channels", "3"}, {"vision_use_head", "false"}},
	spec:       transformer.Spec{Norm: transformer.LayerNorm, Position: transformer.Learned},
	tensors: layout{
		embed: "vision.embeddings.patch_embedding", positions: "vision.embeddings.position_embedding", encoderNorm: "vision.post_layernorm",
		encoder: layers{
			attentionNorm: "vision.encoder.layers.%d.layer_norm1", ffnNorm: "vision.encoder.layers.%d.layer_norm2",
			qkv: linear{names: "vision.encoder.layers.%d.self_attn.q_proj vision.encoder.layers.%d.self_attn.k_proj vision.encoder.layers.%d.self_attn.v_proj", bias: always},
			out: linear{names: "vision.encoder.layers.%d.self_attn.out_proj", bias: always},
			up:  linear{names: "vision.encoder.layers.%d.mlp.fc1", bias: always}, down: linear{names: "vision.encoder.layers.%d.mlp.fc2", bias: always},
		},
	},
	adjust: func(c *config, s *transformer.Spec, _ *layout) { setPatches(c, s, 224, 16) },
}

// setPatches makes the inputs of an encoder patches. The defaults are in pixels.
func setPatches(c *config, s *transformer.Spec, size, patch int) {
	size, patch = c.integer("image_size", size, 1, maxPixels), c.integer("patch_size", patch, 1, maxPatch)
	if patch > size {
		c.reject("patch_size", "%d, of pictures with %d pixels a side", patch, size)
		return
	}
	s.Vocab, s.Patch, s.Context = 0, 3*patch*patch, (size/patch)*(size/patch)
}

// Bounds of pictures: a side in pixels, and one of their patches.
const (
	maxPixels = 8192
	maxPatch  = 512
)

// readViewer reads the config.json of a model that reads pictures: its text's model is that of
// text_config.
func (o *opened) readViewer(c *config, kind string) (*transformer.Spec, *layout, error) {
	o.viewer, o.outer = viewers[kind], c
	inner, of := c, o.viewer.inner
	if !o.viewer.flat || c.has("text_config") {
		inner = c.inner("text_config")
		of = inner.text("model_type", of)
	}
	if *c.err != nil {
		return nil, nil, *c.err
	}
	if o.family = families[of]; o.family == nil && *c.err == nil {
		return nil, nil, refuse("text_config.model_type", of, families)
	}
	inner.require([]requiredValue{{"qk_layer_norms", "false"}, {"use_resampler", "false"}})
	if *c.err != nil {
		return nil, nil, *c.err
	}
	o.Model, o.config = &Model{Type: kind}, inner
	s, l, err := o.family.read(inner)
	if err == nil && len(s.Encoder) > 0 {
		err = fmt.Errorf("text_config.model_type: %q is not a decoder", of)
	}
	return s, l, err
}

// openVision finds the weights of the encoder of pictures, and reads its settings.
func (o *opened) openVision(fsys fs.FS, p *location, src *source, s *transformer.Spec) error {
	c := o.outer.object("vision_config")
	if c == nil {
		o.outer.reject("vision_config", "missing")
		return fmt.Errorf("%s: %w", p.config, *o.outer.err)
	}
	kind := c.text("model_type", "")
	table := towers[kind]
	if table == nil {
		table = o.viewer.tower
	}
	if table == nil {
		return fmt.Errorf("%s: %w", p.config, refuse("vision_config.model_type", kind, towers))
	}
	tower, l, err := table.read(c)
	if err != nil {
		return fmt.Errorf("%s: %w", p.config, err)
	}
	v := &Vision{Spec: tower, Mark: o.viewer.mark, Text: o.viewer.text, Patch: root(tower.Patch / 3)}
	if err := o.readProcessor(fsys, p, &v.Processor); err != nil {
		return err
	}
	o.viewer.project(o.outer, v, src, s.Width)
	v.Weights = (&builder{source: src, spec: tower, layout: l}).weights()
	s.Deep = len(v.Deep)
	if *o.outer.err != nil {
		return fmt.Errorf("%s: %w", p.config, *o.outer.err)
	}
	if src.err != nil {
		return src.err
	}
	if err := v.check(s); err != nil {
		return fmt.Errorf("%s: %w", p.config, err)
	}
	if o.viewer.mutual {
		s.Mutual = v.Inputs()
	}
	o.Vision = v
	return nil
}

// root returns the root of a square.
func root(n int) int { return int(math.Round(math.Sqrt(float64(n)))) }

// readProcessor reads the settings of the image processor: in processor_config.json since
// transformers 5, before that in a file of its own.
func (o *opened) readProcessor(fsys fs.FS, p *location, to *picture.Processor) error {
	name := processorFile
	c, err := readConfig(fsys, p.in(name), maxConfigFile)
	if err != nil {
		return err
	}
	within := c.object("image_processor")
	if within == nil {
		name = imagesFile
		if !exists(fsys, p.in(name)) {
			return fmt.Errorf("%s: it has no %s, which says how pictures are prepared", p.dir, name)
		}
		if within, err = readConfig(fsys, p.in(name), maxConfigFile); err != nil {
			return err
		}
	}
	within.require([]requiredValue{{"do_resize", "true"}, {"do_rescale", "true"}, {"do_normalize", "true"}, {"do_pan_and_scan", "false"}})
	to.Scale = within.number("rescale_factor", 1.0/255, 1e-9, 1e9)
	to.Mean, to.Std = within.channels("image_mean", o.viewer.mean), within.channels("image_std", o.viewer.std)
	o.viewer.process(within, to)
	if *within.err == nil {
		*within.err = to.Check()
	}
	if *within.err != nil {
		return fmt.Errorf("%s: %w", p.in(name), *within.err)
	}
	return nil
}

// channels reads a number for each of red, green and blue.
func (c *config) channels(name string, absent [3]float64) [3]float64 {
	out := absent
	if name, list, ok := read[[]float64](c, name, "list of numbers"); ok {
		if len(list) != len(out) {
			c.reject(name, "%d numbers, for three colours", len(list))
			return out
		}
		copy(out[:], list)
	}
	return out
}

// check rejects a description that the engine cannot compute, for a decoder.
func (v *Vision) check(decoder *transformer.Spec) error {
	if v == nil {
		return nil
	}
	if v.Spec == nil || v.Project == nil {
		return errors.New("no spec, or no project")
	}
	if err := checkSpec(v.Spec); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if err := v.Processor.Check(); err != nil {
		return fmt.Errorf("processor: %w", err)
	}
	if err := v.checkFrames(decoder); err != nil {
		return err
	}
	text := len(v.Mark) + len(v.Text.Tile) + len(v.Text.RowEnd) + len(v.Text.TileEnd) + len(v.Text.Before) + len(v.Text.After)
	switch {
	case v.Inputs() >= decoder.Context:
		return fmt.Errorf("a frame takes %d tokens, in a context of %d", v.Inputs(), decoder.Context)
	case decoder.Mutual > 0 && v.Text.Before+v.Text.After == "":
		return errors.New("there is no text between pictures whose inputs see each other")
	case decoder.Mutual > 0 && decoder.Mutual < v.Inputs():
		return fmt.Errorf("%d inputs see each other, of %d", decoder.Mutual, v.Inputs())
	case v.Project.Out != decoder.Width:
		return fmt.Errorf("inputs of width %d, where the decoder's is %d", v.Project.Out, decoder.Width)
	case v.Mark == "" || text > maxFraming:
		return fmt.Errorf("mark and text: %d bytes, at most %d, and a mark", text, maxFraming)
	case len(decoder.Decoder) == 0 || decoder.EmbedWidth > 0 || decoder.Position != transformer.NoPosition:
		return errors.New("the model of text is not a decoder that takes vectors")
	}
	return v.checkHeads(decoder)
}

// checkFrames rejects frames that do not divide into patches and inputs.
func (v *Vision) checkFrames(decoder *transformer.Spec) error {
	if v.Processor.Multiple > 0 {
		return v.checkFlexible(decoder)
	}
	if v.Patch < 1 || 3*v.Patch*v.Patch != v.Spec.Patch || v.Patch > v.Processor.Side {
		return fmt.Errorf("patches of %d pixels a side, for an encoder of %d values and frames of %d", v.Patch, v.Spec.Patch, v.Processor.Side)
	}
	switch patches := v.Side() * v.Side(); {
	case v.Merge < 1 || v.Side()%v.Merge != 0:
		return fmt.Errorf("squares of %d patches a side become one input, of %d", v.Merge, v.Side())
	case v.Skip < 0 || v.Skip > 1 || v.Merge > 1 && (v.Skip > 0 || v.Spec.Class) || v.Inputs() < 1:
		return fmt.Errorf("%d vectors are left out before squares of %d patches a side", v.Skip, v.Merge)
	case v.Positions == nil && v.Vectors() != v.Spec.Context, v.Positions != nil && (len(v.Positions) != patches || v.Spec.Class):
		return fmt.Errorf("%d patches, with %d positions of %d", patches, len(v.Positions), v.Spec.Context)
	case slices.ContainsFunc(v.Positions, func(at int) bool { return at < 0 || at >= v.Spec.Context }):
		return fmt.Errorf("positions: one is not below %d", v.Spec.Context)
	}
	return nil
}

// checkHeads rejects steps after the encoder that do not fit it, or a decoder.
func (v *Vision) checkHeads(decoder *transformer.Spec) error {
	if n := len(v.Deep); n != decoder.Deep || n != len(v.Spec.Kept) {
		return fmt.Errorf("%d steps follow %d layers of the encoder, for %d of the decoder", n, len(v.Spec.Kept), decoder.Deep)
	}
	for i, m := range v.Deep {
		if m == nil || m.Hidden == nil || m.Project == nil || m.Project.Out != decoder.Width {
			return fmt.Errorf("deep %d: it does not make vectors of width %d", i, decoder.Width)
		}
		if err := errors.Join(m.Hidden.check(v.merged(), maxWidth), m.Project.check(m.Hidden.Out, maxWidth)); err != nil {
			return fmt.Errorf("deep %d: %w", i, err)
		}
	}
	width := v.merged()
	if h := v.Hidden; h != nil {
		if err := h.check(width, maxWidth); err != nil {
			return fmt.Errorf("hidden: %w", err)
		}
		width = h.Out
	}
	return v.Project.check(width, maxWidth)
}

// merged returns the width of what Project reads.
func (v *Vision) merged() int {
	if v.Mean {
		return v.Spec.Width
	}
	return v.Spec.Width * v.Merge * v.Merge
}

// maxFraming bounds the texts of a [Vision], in bytes.
const maxFraming = 1024

// elements returns the number of weights, of the encoder of pictures too.
func (m *Model) elements() int64 {
	n := m.Weights.Elements()
	if v := m.Vision; v != nil {
		n += v.Weights.Elements()
		for _, p := range headParts(nil, nil, v) {
			n += int64(p.rows) * int64(p.cols)
		}
	}
	return n
}

// Bytes returns the memory of the encoder's weights for a decoder in a format.
func (v *Vision) Bytes(f transformer.Format) int64 {
	if v == nil {
		return 0
	}
	return v.Weights.Bytes(v.Spec, f.Head())
}
