package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// qwen2VLText is the model of text of Wang et al. 2024 (Qwen2-VL) and Bai et al. 2025 (Qwen2.5-VL): Qwen2,
// whose heads turn by the places of a picture's tokens, in sections one behind the other.
var qwen2VLText = func() family {
	f := qwen2
	f.title = "Qwen2-VL"
	return f.sectioned([3]int{16, 24, 24})
}()

// qwen2VL is Qwen2-VL: an encoder of pictures of any shape, without positions but those by which heads turn.
var qwen2VL = func() viewer {
	v := qwen3VL
	v.title, v.inner, v.flat, v.tower = "Qwen2-VL", "qwen2_vl_text", true, &qwen2Tower
	return v
}()

// qwen25VL is Qwen2.5-VL, whose encoder sees a window of a picture in most layers.
var qwen25VL = func() viewer {
	v := qwen2VL
	v.title, v.inner, v.tower = "Qwen2.5-VL", "qwen2_5_vl_text", &qwen25Tower
	return v
}()

// qwen2Tower is the encoder of Qwen2-VL.
var qwen2Tower = func() family {
	f := qwenTower
	f.context, f.width = field{"", 1}, field{"embed_dim", 1280}
	f.encoder.depth, f.encoder.ffn = field{"depth", 32}, field{"", 0}
	f.activation = text{"hidden_act", "quick_gelu"}
	f.spec.Position = transformer.NoPosition
	f.tensors.encoderNorm, f.tensors.positions = "vision.merger.ln_q", ""
	l := &f.tensors.encoder
	l.up.names, l.down.names = "vision.blocks.%d.mlp.fc1", "vision.blocks.%d.mlp.fc2"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		patch := c.integer("patch_size", 14, 1, maxPatch)
		s.Vocab, s.Patch = 0, 3*patch*patch
		s.Kinds[0].FeedForward.Width = int(c.number("mlp_ratio", 4, 0.01, 100) * float64(s.Width))
		turnByPlaces(c, s)
	}
	return f
}()

// qwen25Tower is the encoder of Qwen2.5-VL.
var qwen25Tower = func() family {
	f := qwen2Tower
	f.width, f.encoder.ffn = field{"hidden_size", 1280}, field{"intermediate_size", 3420}
	f.activation = text{"hidden_act", "silu"}
	f.spec.Norm = transformer.RMSNorm
	f.kind.FeedForward.Gated = true
	l := &f.tensors.encoder
	l.gate = linear{names: "vision.blocks.%d.mlp.gate_proj", bias: always}
	l.up.names, l.down.names = "vision.blocks.%d.mlp.up_proj", "vision.blocks.%d.mlp.down_proj"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		patch := c.integer("patch_size", 14, 1, maxPatch)
		s.Vocab, s.Patch = 0, 3*patch*patch
		turnByPlaces(c, s)
		_, full, ok := read[[]int](c, "fullatt_block_indexes", "list of integers")
		if !ok {
			full = []int{7, 15, 23, 31}
		}
		local := s.Kinds[0]
		local.Attention.Local = true
		s.Kinds = append(s.Kinds, local)
		for i := range s.Encoder {
			if !slices.Contains(full, i) {
				s.Encoder[i] = 1
			}
		}
		dropUnusedKinds(s)
	}
	return f
}()

// dropUnusedKinds drops the first or the second of two kinds if no layer of an encoder is of it.
func dropUnusedKinds(s *transformer.Spec) {
	switch {
	case !slices.Contains(s.Encoder, 1):
		s.Kinds = s.Kinds[:1]
	case !slices.Contains(s.Encoder, 0):
		s.Kinds, s.Encoder = s.Kinds[1:], make([]int, len(s.Encoder))
	}
}

// sectioned returns the family with a rotary table whose pairs turn by places: sections of them by time,
// rows and columns (Qwen2-VL).
func (f family) sectioned(absent [3]int) family {
	adjust := f.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		adjust(c, s, l)
		if *c.err != nil {
			return
		}
		sections, r := readSections(c, absent), &s.Rotaries[0]
		r.Axes = nil
		for axis, n := range sections {
			r.Axes = append(r.Axes, slices.Repeat([]int{axis}, n)...)
		}
		if len(r.Axes) != len(r.Frequencies) {
			c.reject("mrope_section", "%v of %d pairs", sections, len(r.Frequencies))
		}
	}
	return f
}
