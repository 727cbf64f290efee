package arch

import (
	"math"

	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// idefics3 is Laurençon et al. 2024 (Idefics3): SigLIP's encoder on tiles of a picture and on the
// whole, and one matrix from several patches to an input.
var idefics3 = viewer{
	title: "Idefics 3", inner: llamaType, tower: idefics3Tower(),
	renames: []rename{{"model.text_model.", ""}, {"model.vision_model.", "vision."}, {"model.connector.", "connector."}},
	mark:    "<image>",
	text: Framing{
		Tile: "<fake_token_around_image><row_%r_col_%c>", RowEnd: "\n", TileEnd: "\n",
		Before: "<fake_token_around_image><global-img>", After: "<fake_token_around_image>",
	},
	project: func(c *config, v *Vision, src *source, width int) {
		v.Merge = c.integer("scale_factor", 2, 1, maxPatch)
		v.Positions = v.buckets()
		v.Project = &Dense{In: v.merged(), Out: width}
		v.Project.Weight = src.matrix("connector.modality_projection.proj.weight", width, v.merged(), false).rows(0, width)
	},
	process: func(c *config, p *picture.Processor) {
		p.Filter = picture.Filter(c.integer("resample", int(picture.Lanczos), 0, 5))
		p.Longest, p.Side, p.Split = c.edge("size", 4*364), c.edge("max_image_size", 364), c.flag("do_image_splitting", true)
	},
}

// smolVLM is Marafioti et al. 2025 (SmolVLM): the same with smaller models.
var smolVLM = func() viewer {
	v := idefics3
	v.title = "SmolVLM"
	return v
}()

// idefics3Tower is SigLIP's with Idefics 3's defaults.
func idefics3Tower() family {
	f := siglip
	f.width = field{"hidden_size", 1152}
	f.encoder.heads = field{"num_attention_heads", 16}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setPatches(c, s, 32, 32) }
	return f
}

// supported lists the types of models that a directory may have.
func supported() map[string]bool {
	types := map[string]bool{}
	for name := range families {
		types[name] = true
	}
	for name := range viewers {
		types[name] = true
	}
	return types
}

// edge reads the longest edge of a size in pixels.
func (c *config) edge(name string, absent int) int {
	size := c.object(name)
	if size == nil {
		return absent
	}
	return size.integer("longest_edge", absent, 1, maxPixels)
}

// buckets returns the positions of a frame's patches in a table for pictures of any number of
// patches: a patch has the position at the same share of a side. Shares are float32, as in
// Idefics3VisionEmbeddings, where those of some tables fall below the position that they equal.
func (v *Vision) buckets() []int {
	side, table := v.side(), root(v.Spec.Context)
	step, share := 1/float64(table), float32(1/float64(side))
	at := make([]int, side)
	for i := range at {
		x := min(float32(i)*share, 1-1e-6)
		for k := 0; k < table-1 && float32(step+float64(k)*step) <= x; k++ {
			at[i]++
		}
	}
	list := make([]int, 0, side*side)
	for _, y := range at {
		for _, x := range at {
			list = append(list, y*table+x)
		}
	}
	return list
}

// gemma3Vision is Gemma Team 2025 (Gemma 3), from 4 billion parameters on: SigLIP's encoder, and the
// mean of neighbouring patches. The inputs of a picture see each other.
var gemma3Vision = viewer{
	title: "Gemma 3", inner: "gemma3_text", tower: siglip, mutual: true,
	renames: []rename{
		{"language_model.model.", ""}, {"language_model.", ""}, {"model.language_model.", ""},
		{"vision_tower.vision_model.", "vision."}, {"vision_tower.", "vision."}, {"model.vision_tower.vision_model.", "vision."}, {"model.vision_tower.", "vision."},
		{"multi_modal_projector.", "connector."}, {"model.multi_modal_projector.", "connector."},
	},
	mark: "<start_of_image>",
	text: Framing{Before: "\n\n<start_of_image>", After: "<end_of_image>\n\n"},
	project: func(c *config, v *Vision, src *source, width int) {
		inputs := c.integer("mm_tokens_per_image", 256, 1, maxContext)
		v.Merge, v.Mean = v.side()/max(1, int(math.Sqrt(float64(inputs)))), true
		if v.Merge == 0 || v.Inputs() != inputs {
			c.reject("mm_tokens_per_image", "%d, of %d patches a side", inputs, v.side())
			return
		}
		norm := src.vector("connector.mm_soft_emb_norm.weight", v.Spec.Width).rows(0, v.Spec.Width)
		v.Norm = &transformer.Norm{Weight: transformer.Vector{moreOne(norm)}}
		v.Project = &Dense{In: v.Spec.Width, Out: width}
		v.Project.Weight = upright(src.matrix("connector.mm_input_projection_weight", width, v.Spec.Width, true).rows(0, width))
	},
	process: func(c *config, p *picture.Processor) {
		p.Filter = picture.Filter(c.integer("resample", int(picture.Bilinear), 0, 5))
		p.Side = 224
		if size := c.object("size"); size != nil {
			p.Side = size.integer("height", 224, 1, maxPixels)
			if width := size.integer("width", 224, 1, maxPixels); width != p.Side {
				c.reject("size", "%d by %d pixels: only squares are supported", width, p.Side)
			}
		}
	},
}

// moreOne returns a tensor with 1 added to its values.
func moreOne(t transformer.Tensor) transformer.Tensor {
	stored := t.Read
	t.Stored, t.ReadStored = transformer.F32, nil
	t.Read = func(dst []float32, from int) error {
		err := stored(dst, from)
		for i := range dst {
			dst[i]++
		}
		return err
	}
	return t
}

// upright returns a tensor that is read as (out, in), of one that is stored as (in, out).
func upright(t transformer.Tensor) transformer.Tensor {
	stored := t.Read
	t.Transposed, t.Stored, t.ReadStored = false, transformer.F32, nil
	t.Read = func(dst []float32, from int) error {
		all := make([]float32, t.Rows*t.Cols)
		if err := stored(all, 0); err != nil {
			return err
		}
		for i := range dst {
			row, col := (from+i)/t.Cols, (from+i)%t.Cols
			dst[i] = all[col*t.Rows+row]
		}
		return nil
	}
	return t
}
