package arch

import (
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// qwen3VLText is the model of text of Qwen Team 2025 (Qwen3-VL): Qwen3, whose heads turn by the places
// of a picture's tokens.
var qwen3VLText = func() family {
	f := qwen3
	f.title = "Qwen3-VL"
	return f.placed([3]int{24, 20, 20})
}()

// qwen3VL is Qwen3-VL: an encoder of pictures of any shape, which adds to the first layers of the decoder too.
var qwen3VL = viewer{
	title: "Qwen3-VL", inner: "qwen3_vl_text", tower: &qwenTower,
	renames: []rename{{"model.language_model.", ""}, {"model.visual.", "vision."}, {"visual.", "vision."}},
	mark:    "<|image_pad|>", // between <|vision_start|> and <|vision_end|>, which templates write
	project: projectQwen, process: processQwen, mean: clipMean, std: clipStd,
}

// qwenTower is the encoder of Qwen3-VL: its positions are a table, enlarged or reduced to the shape of a
// picture, and those of rows and columns by which heads turn.
var qwenTower = family{
	vocab: field{"", 1}, context: field{"num_position_embeddings", 2304},
	width: field{"hidden_size", 1152},
	encoder: dimensions{
		depth: field{"depth num_hidden_layers", 27},
		heads: field{"num_heads num_attention_heads", 16},
		ffn:   field{"intermediate_size", 4304},
	},
	activation: text{"hidden_act", "gelu_pytorch_tanh"},
	eps:        real{"", 1e-6},
	fixed:      []requiredValue{{"in_channels", "3"}, {"temporal_patch_size", "2"}},
	spec:       transformer.Spec{Norm: transformer.LayerNorm, Position: transformer.Learned},
	tensors: layout{
		embed: "vision.patch_embed.proj", positions: "vision.pos_embed", encoderNorm: "vision.merger.norm",
		encoder: layers{
			attentionNorm: "vision.blocks.%d.norm1", ffnNorm: "vision.blocks.%d.norm2",
			qkv: linear{names: "vision.blocks.%d.attn.qkv", bias: always}, out: linear{names: "vision.blocks.%d.attn.proj", bias: always},
			up: linear{names: "vision.blocks.%d.mlp.linear_fc1", bias: always}, down: linear{names: "vision.blocks.%d.mlp.linear_fc2", bias: always},
		},
	},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		patch := c.integer("patch_size", 16, 1, maxPatch)
		s.Vocab, s.Patch = 0, 3*patch*patch
		if side := root(s.Context); side*side != s.Context {
			c.reject("num_position_embeddings", "%d are not a square", s.Context)
		}
		turnByPlaces(c, s)
		_, s.Kept, _ = read[[]int](c, "deepstack_visual_indexes", "list of integers")
		for i := range s.Kept { // counted from 0
			s.Kept[i]++
		}
	},
}

// turnByPlaces makes half of the pairs of the heads of an encoder turn by rows, the others by columns,
// with the same frequencies.
func turnByPlaces(c *config, s *transformer.Spec) {
	dim, base := s.Kinds[0].Attention.HeadDim, 10000.0
	if dim%4 != 0 {
		c.reject("num_heads", "heads of %d values do not divide into pairs of rows and of columns", dim)
		return
	}
	if r := c.object("rope_parameters"); r != nil {
		r.require([]requiredValue{{"rope_type", `"axial"`}})
		base = r.number("rope_theta", base, 1, 1e12)
	}
	each := transformer.Frequencies(base, dim/2)
	setRotary(s, transformer.Rotary{
		Dims: dim, Frequencies: slices.Concat(each, each),
		Axes: slices.Concat(slices.Repeat([]int{1}, len(each)), slices.Repeat([]int{2}, len(each))),
	})
}

// projectQwen reads what follows the encoder: for its result, and for those of its layers that are added
// to layers of the decoder.
func projectQwen(c *config, v *Vision, src *source, width int) {
	v.Merge = c.object("vision_config").integer("spatial_merge_size", 2, 1, maxPatch)
	v.Hidden, v.Project = v.readMerger(src, "vision.merger", width)
	if slices.ContainsFunc(v.Spec.Kinds, func(k transformer.Kind) bool { return k.Attention.Local }) {
		v.Window = c.object("vision_config").integer("window_size", 112, 1, maxPixels)
	}
	for i := range v.Spec.Kept {
		m, name := &Merger{}, fmt.Sprintf("vision.deepstack_merger_list.%d", i)
		weight, bias := src.vector(name+".norm.weight", v.merged()), src.vector(name+".norm.bias", v.merged())
		m.Norm = &transformer.Norm{Weight: transformer.Vector{weight.rows(0, v.merged())}, Bias: transformer.Vector{bias.rows(0, v.merged())}}
		m.Hidden, m.Project = v.readMerger(src, name, width)
		v.Deep = append(v.Deep, m)
	}
}

// readMerger reads the two matrices that make inputs of a width.
func (v *Vision) readMerger(src *source, name string, width int) (hidden, project *Dense) {
	n := v.merged()
	first, last := name+".linear_fc1", name+".linear_fc2"
	if src.has(name + ".mlp.0.weight") { // Qwen2-VL
		first, last = name+".mlp.0", name+".mlp.2"
	}
	hidden, project = &Dense{In: n, Out: n}, &Dense{In: n, Out: width}
	hidden.read(src, first, true)
	project.read(src, last, true)
	return hidden, project
}

// processQwen reads the settings of Qwen2-VL's image processor, which the later models have too.
func processQwen(c *config, p *picture.Processor) {
	c.require([]requiredValue{{"temporal_patch_size", "2"}})
	p.Filter = picture.Filter(c.integer("resample", int(picture.Bicubic), 0, 5))
	p.Multiple = c.integer("patch_size", 14, 1, maxPatch) * c.integer("merge_size", 2, 1, maxPatch)
	p.Least, p.Most = 56*56, 28*28*1280
	if size := c.object("size"); size != nil {
		p.Least = size.integer("shortest_edge", p.Least, 1, maxPixels*maxPixels)
		p.Most = size.integer("longest_edge", p.Most, 1, maxPixels*maxPixels)
	}
	p.Least = c.integer("min_pixels", p.Least, 1, maxPixels*maxPixels) // of older files
	p.Most = c.integer("max_pixels", p.Most, 1, maxPixels*maxPixels)
}

// placed returns the family with a rotary table whose pairs turn by places: in turn by time, rows and
// columns, as long as there are sections of the latter two, and then by time (Qwen3-VL). absent is for
// files without sections.
func (f family) placed(absent [3]int) family {
	adjust := f.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		adjust(c, s, l)
		if *c.err != nil {
			return
		}
		sections, r := readSections(c, absent), &s.Rotaries[0]
		r.Axes = make([]int, len(r.Frequencies))
		for j := range r.Axes {
			if axis := j % len(sections); j/len(sections) < sections[axis] && axis > 0 {
				r.Axes[j] = axis
			}
		}
	}
	return f
}

// readSections reads the numbers of pairs that turn by time, rows and columns.
func readSections(c *config, absent [3]int) [3]int {
	sections, scaling := absent, (rope{}).scaling(c)
	if scaling == nil {
		return sections
	}
	name, list, ok := read[[]int](scaling, "mrope_section", "list of integers")
	switch {
	case !ok:
	case len(list) != len(sections) || slices.ContainsFunc(list, func(n int) bool { return n < 0 || n > maxWidth }):
		scaling.reject(name, "%v are not sections for time, rows and columns", list)
	default:
		copy(sections[:], list)
	}
	return sections
}

// checkFlexible rejects frames of any shape that do not divide into patches and inputs.
func (v *Vision) checkFlexible(decoder *transformer.Spec) error {
	s, side := v.Spec, root(v.Spec.Context)
	switch {
	case v.Patch < 1 || 3*v.Patch*v.Patch != s.Patch || s.Class:
		return fmt.Errorf("patches of %d pixels a side, for an encoder of %d values", v.Patch, s.Patch)
	case v.Merge < 1 || v.Patch*v.Merge != v.Processor.Multiple:
		return fmt.Errorf("frames of a multiple of %d pixels, of which %d patches of %d a side become one input", v.Processor.Multiple, v.Merge, v.Patch)
	case v.Skip != 0 || v.Mean || v.Positions != nil || v.Norm != nil || decoder.Mutual != 0:
		return errors.New("frames of any shape have all vectors side by side, and positions of their shape")
	case s.Position != transformer.Learned && s.Position != transformer.NoPosition || s.Position == transformer.Learned && side*side != s.Context:
		return fmt.Errorf("%d positions are not a square of learned ones", s.Context)
	case v.Window < 0 || v.Window > 0 && v.Window < v.Processor.Multiple:
		return fmt.Errorf("windows of %d pixels a side, where %d become one input", v.Window, v.Processor.Multiple)
	}
	return nil
}
