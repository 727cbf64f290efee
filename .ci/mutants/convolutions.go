package main

// convolutions: what a convolution sees of the tokens before, and LFM2's traps.
func convolutions() []mutant {
	const formulas, rings, goldens = "^TestRandomArchitectures$", "^TestRings$", "^TestGoldens$"
	return []mutant{
		{"convolution: the last weight is the token's own", transformer, "worker.convolveSpan", "c.taps[tap*width+from:tap*width+to]", "c.taps[(c.Taps-1-tap)*width+from:(c.Taps-1-tap)*width+to]", transformer, formulas},
		{"convolution: the first third is the gate before it", transformer, "worker.convolveSpan", "k.Mul(y, third(sp.row+j, 1))", "k.Mul(y, third(sp.row+j, 2))", transformer, formulas},
		{"convolution: a later pass sees the earlier one's tokens", transformer, "worker.convolveSpan", "sp.start+at >= 0", "at > 0", transformer, rings},
		{"convolution: its inputs are kept", transformer, "worker.convolveSpan", "j := max(0, sp.n-layer.slots)", "j := max(1, sp.n-layer.slots)", transformer, rings},
		{"convolution: a ring reaches as far back as its weights", transformer, "Convolution.newState", "newWindow(c.Taps, SpareTokens, tokens)", "newWindow(1, SpareTokens, tokens)", transformer, "^TestBlocks$"},
		{"convolution: the first tokens see less", transformer, "worker.convolveSpan", "continue // before the first token", "in = third(sp.row, 0)", transformer, formulas},
		{"convolution: each worker has its channels", transformer, "worker.convolve", "w.own(w.m.Width)", "columns{0, w.m.Width, w.m.Width}", transformer, rings},
		{"experts: corrections only choose", transformer, "experts.chooseProbable", "float64(logits[i]) / sum", "float64(r.ranks[i]) / sum", transformer, formulas},
		{"experts: corrections choose", transformer, "experts.chooseProbable", "r.ranks[i] += v", "_, _ = i, v", transformer, formulas},
		{"experts: shares have a factor", transformer, "worker.route", "e.Scale != 0", "e.Scale < 0", transformer, formulas},
		{"experts: a softmax is corrected", transformer, "worker.route", "e.Sigmoid || e.Corrected", "e.Sigmoid", transformer, formulas},
		{"experts: a model may add its own floor", transformer, "experts.chooseProbable", "cmp.Or(e.Floor, 1e-6)", "cmp.Or(1e-6, e.Floor)", transformer, "^TestFieldsMatter$"},
		{"GLM-4-MoE: results have a factor", arch, "placeExperts", `float32(c.number("routed_scaling_factor", 1, 1e-6, 1e6))`, "float32(1)", arch, goldens},
		{"GLM-4-MoE: half of each head is rotated", arch, "glm4MoE", `real{"partial_rotary_factor", 0.5}`, `real{"partial_rotary_factor", 1}`, arch, "^TestLegacyConfig$"},
		{"GLM-4-MoE: layers that draft are left out", arch, "ignoreDrafts", "i := len(s.Decoder)", "i := len(s.Decoder) + 1", arch, goldens},
		{"GGUF of GLM-4-MoE: layers that draft are counted", arch, "ggufCorrected", `c.integer("nextn_predict_layers", 0, 0, len(s.Decoder)-1)`, "0", arch, goldens},
		{"GGUF of experts: results have a factor", arch, "ggufReadExperts", "scale != 1", "scale == 0", arch, goldens},
		{"dots.llm1: a window that is null is none", arch, "dots1", "null && !c.has(\"sliding_window\")", "false && null", arch, "^TestHostileMixers$"},
		{"MiniMax-M2: rotary_dim is read", arch, "miniMaxM2", `c.integer("rotary_dim", a.HeadDim, 1, a.HeadDim)`, "a.HeadDim", arch, "^TestLegacyConfig$"},
		{"MiniMax-M2: corrections have two names", arch, "builder.experts", "slices.IndexFunc(names, b.has)", "0*slices.IndexFunc(names, b.has)", arch, goldens},
		{"Solar Open: outputs of attention have no bias", arch, "solarOpen", "inputBiases(c, l, false)", "attentionBiases(c, l)", arch, goldens},
		{"EXAONE-MoE: types of layers are read", arch, "placeExperts", "sparse[layer]", "layer >= first && sparse != nil", arch, goldens},
		{"GGUF of EXAONE-MoE: layers without a window are not rotated", arch, "ggufEXAONEMoE", "k.Attention.Rotary = 0", "k.Attention.Rotary += 0", arch, goldens},
		{"HunYuan-MoE: each layer uses its own number of experts", arch, "hunyuanMoE", "Used: used[i]", "Used: used[0*i]", arch, goldens},
		{"ERNIE 4.5-MoE: some layers are dense", arch, "ernieMoE", "(layer+1)%step == 0", "(layer+1)%1 == 0*step", arch, goldens},
		{"ERNIE 4.5-MoE: pairs are neighbours", arch, "ernieMoE", "interleaved(llamaHeads(c, s, rope{base: real{\"rope_theta\", 500000}}))", "llamaHeads(c, s, rope{base: real{\"rope_theta\", 500000}})", arch, goldens},
		{"GGUF of ERNIE 4.5-MoE: without corrections there is no floor", arch, "findCorrections", "e.Floor = 0", "e.Floor += 0", arch, "^TestGGUFWithoutCorrections$"},
		{"LFM2: weights of a channel lie one after another", arch, "builder.taps", "every(t.Read, tap, taps)", "every(t.Read, taps-1-tap, taps)", arch, goldens},
		{"LFM2: the width of the file is of a block without a gate", arch, "lfm2Width", "width = 2 * width / 3", "", arch, goldens},
		{"LFM2: the width is a multiple", arch, "lfm2Width", "(width + step - 1) / step * step", "width / step * step", arch, goldens},
		{"LFM2: older files list the layers with attention", arch, "config.convolved", "!slices.Contains(list, i)", "slices.Contains(list, i)", arch, "^TestLegacyConfig$"},
		{"LFM2: the first layers have no experts", arch, "expertsFrom", "layer >= first", "layer >= 0*first", arch, goldens},
		{"LFM2: a layer without heads of keys is a convolution", arch, "config.headless", "list[i] == 0", "list[i] == 1", arch, goldens},
	}
}
