package arch

import (
	"fmt"
	"math"

	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// idefics3 is Laurençon et al. 2024 (Idefics3): SigLIP's encoder on tiles of a picture and on the
// whole, and one matrix from several patches to an input.
var idefics3 = viewer{
	title: "Idefics 3", inner: llamaType, tower: idefics3Tower(), mean: half, std: half,
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
func idefics3Tower() *family {
	f := siglip
	f.width = field{"hidden_size", 1152}
	f.encoder.heads = field{"num_attention_heads", 16}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setPatches(c, s, 32, 32) }
	return &f
}

// supports reports whether a directory may have a type of models.
func supports(name string) bool { return families[name] != nil || viewers[name] != nil }

// supported lists the types of models that a directory may have, for errors.
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
	side, table := v.Side(), root(v.Spec.Context)
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
	title: "Gemma 3", inner: "gemma3_text", tower: &siglip, mutual: true, mean: half, std: half,
	renames: []rename{
		{"language_model.model.", ""}, {"language_model.", ""}, {"model.language_model.", ""},
		{"vision_tower.vision_model.", "vision."}, {"vision_tower.", "vision."}, {"model.vision_tower.vision_model.", "vision."}, {"model.vision_tower.", "vision."},
		{"multi_modal_projector.", "connector."}, {"model.multi_modal_projector.", "connector."},
	},
	mark: "<start_of_image>",
	text: Framing{Before: "\n\n<start_of_image>", After: "<end_of_image>\n\n"},
	project: func(c *config, v *Vision, src *source, width int) {
		inputs := c.integer("mm_tokens_per_image", 256, 1, maxContext)
		v.Merge, v.Mean = v.Side()/max(1, int(math.Sqrt(float64(inputs)))), true
		if v.Merge == 0 || v.Inputs() != inputs {
			c.reject("mm_tokens_per_image", "%d, of %d patches a side", inputs, v.Side())
			return
		}
		norm := src.vector("connector.mm_soft_emb_norm.weight", v.Spec.Width).rows(0, v.Spec.Width)
		v.Norm = &transformer.Norm{Weight: transformer.Vector{moreOne(norm)}}
		v.Project = &Dense{In: v.Spec.Width, Out: width}
		v.Project.Weight = upright(src.matrix("connector.mm_input_projection_weight", width, v.Spec.Width, true).rows(0, width))
	},
	process: func(c *config, p *picture.Processor) {
		p.Filter = picture.Filter(c.integer("resample", int(picture.Bilinear), 0, 5))
		p.Side = c.square("size", 224)
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

// llava is Liu et al. 2023 (LLaVA 1.5): CLIP's encoder, or SigLIP's, without its last layers, and two
// matrices.
var llava = viewer{
	title: "LLaVA", inner: llamaType,
	renames: gemma3Vision.renames, mark: "<image>",
	mean: clipMean, std: clipStd,
	project: func(c *config, v *Vision, src *source, width int) {
		v.Merge, v.Spec.NoLastNorm = 1, true
		if c.text("vision_feature_select_strategy", "default") == "default" {
			v.Skip = 1
		} else {
			c.require([]requiredValue{{"vision_feature_select_strategy", `"full"`}})
		}
		c.require([]requiredValue{{"projector_hidden_act", `"gelu"`}})
		depth := len(v.Spec.Encoder)
		layer := c.integer("vision_feature_layer", -2, -depth-1, depth)
		if layer < 0 {
			layer += depth + 1
		}
		if layer == 0 {
			c.reject("vision_feature_layer", "the embedding of patches: only results of layers are supported")
			return
		}
		v.Spec.Encoder = v.Spec.Encoder[:layer]
		src.ignore("vision.post_layernorm.")
		for ; layer < depth; layer++ {
			src.ignore(fmt.Sprintf("vision.encoder.layers.%d.", layer))
		}
		v.Hidden, v.Project = &Dense{In: v.Spec.Width, Out: width}, &Dense{In: width, Out: width}
		bias := c.flag("multimodal_projector_bias", true)
		v.Hidden.read(src, "connector.linear_1", bias)
		v.Project.read(src, "connector.linear_2", bias)
	},
	process: func(c *config, p *picture.Processor) {
		p.Filter = picture.Filter(c.integer("resample", int(picture.Bicubic), 0, 5))
		c.require([]requiredValue{{"do_pad", "false"}})
		size := c.object("size")
		if size != nil && !size.has("shortest_edge") {
			c.require([]requiredValue{{"do_center_crop", "false"}})
			p.Side = c.square("size", 224)
			return
		}
		c.require([]requiredValue{{"do_center_crop", "true"}})
		p.Side, p.Shortest = c.square("crop_size", 224), 224
		if size != nil {
			p.Shortest = size.integer("shortest_edge", 224, 1, maxPixels)
		}
	},
}

// clip is the encoder of pictures of Radford et al. 2021 (CLIP): a class before the patches, and a norm
// before the layers.
var clip = func() family {
	f := siglip
	f.width, f.eps = field{"hidden_size", 768}, real{"layer_norm_eps", 1e-5}
	f.encoder.heads = field{"num_attention_heads", 12}
	f.activation = text{"hidden_act", "quick_gelu"}
	f.spec.Class, f.spec.EmbedNorm = true, true
	f.tensors.class, f.tensors.embedNorm = "vision.embeddings.class_embedding", "vision.pre_layrnorm"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setPatches(c, s, 224, 32)
		s.Context++
	}
	return f
}()

// clipMean and clipStd are those of CLIP's processor.
var clipMean, clipStd = [3]float64{0.48145466, 0.4578275, 0.40821073}, [3]float64{0.26862954, 0.26130258, 0.27577711}

// half is the mean and the deviation of most processors.
var half = [3]float64{0.5, 0.5, 0.5}

// square reads the edge of a square in pixels.
func (c *config) square(name string, absent int) int {
	size := c.object(name)
	if size == nil {
		return absent
	}
	height, width := size.integer("height", absent, 1, maxPixels), size.integer("width", absent, 1, maxPixels)
	if width != height {
		c.reject(name, "%d by %d pixels: only squares are supported", width, height)
	}
	return height
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
