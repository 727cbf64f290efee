package arch

import "glossa/pkg/engine/transformer"

// ggufNemotronH: layers of which feed_forward_length is not 0 have a feed-forward block, or experts if the
// file has any. Of the others, those with heads of keys have attention, and the rest have states.
//
// Source: llama.cpp, src/models/nemotron-h.cpp.
var ggufNemotronH = ggufLike(func(f *family) {
	ggufUngated(f, "relu2")
	f.eps.names += " " + ggufEps.names
	f.decoder.ffn = field{} // see adjust
	f.fixed = append(f.fixed, requiredValue{"moe_latent_size", "0"})
	l := &f.tensors.decoder
	l.ffnNorm, l.states, l.experts = l.attentionNorm, ggufStates, ggufExperts()
	l.experts.correction = "blk.%d.exp_probs_b.bias"
	f.adjust = ggufNemotronLayers
	f.detect = func(src *source, s *transformer.Spec, _ *layout) { ignoreDrafts(src, "blk.", ggufDraft, s) }
})

// ggufNemotronLayers reads what layers are.
func ggufNemotronLayers(c *config, s *transformer.Spec, _ *layout) {
	s.Decoder = s.Decoder[:len(s.Decoder)-c.integer("nextn_predict_layers", 0, 0, len(s.Decoder)-1)]
	depth := len(s.Decoder)
	widths, keyless := c.each("feed_forward_length", 0, depth, 0, maxFFN), c.headless(depth)
	ggufHeads(c, s) // of which nothing is rotated
	states, fed := ggufReadStates(c), blockLetter
	var experts transformer.FeedForward
	if c.integer("expert_count", 0, 0, maxExperts) > 0 {
		experts, fed = ggufNemotronExperts(c, s.Kinds[0].FeedForward), expertsLetter
	}
	letters := ""
	for layer, width := range widths {
		switch {
		case width > 0:
			letters += fed
		case keyless[layer]:
			letters += statesLetter
		default:
			letters += attentionLetter
		}
	}
	if *c.err != nil {
		return
	}
	setLetters(s, letters, states, experts)
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if k.FeedForward.Width > 0 && k.FeedForward.Experts == nil {
			k.FeedForward.Width = widths[layer]
		}
	})
}

// ggufNemotronExperts returns what a layer with experts has. Files do not say that sigmoids choose.
func ggufNemotronExperts(c *config, f transformer.FeedForward) transformer.FeedForward {
	c.needs("expert_feed_forward_length", "expert_shared_feed_forward_length")
	e := ggufReadExperts(c, false, ggufSigmoid)
	if e.Sigmoid, e.Corrected = true, true; e.Renormalised {
		e.Floor = correctedFloor
	}
	e.Shared = c.integer("expert_shared_feed_forward_length", 1, 1, maxFFN)
	f.Width, f.Experts = c.integer("expert_feed_forward_length", 1, 1, maxFFN), e
	return f
}
