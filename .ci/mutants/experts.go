package main

// experts: mixtures of experts, whose mistakes choose other experts or weigh them wrongly.
func experts() []mutant {
	return []mutant{
		{"experts: probabilities are divided by the sum of the used ones if the model says so", transformer, "experts.chooseSoftmax", "!e.Renormalised", "e.Renormalised", transformer, "^TestRandomArchitectures$"},
		{"experts: the highest logits are chosen", transformer, "choose", "v > ranks[best]", "v < ranks[best]", transformer, "^TestRandomArchitectures$"},
		{"experts: of equal logits the first is chosen", transformer, "choose", "v > ranks[best]", "v >= ranks[best]", transformer, "^TestEqualLogits$"},
		{"experts: a tensor of all that is missing is named", arch, "builder.experts", `upName == ""`, "false", arch, "^TestHostileTensors$"},
		{"experts: each has its own rows", transformer, "routes.sort", "r.rows[at], r.parts[at] = k/e.Used, r.shares[k]", "r.rows[at], r.parts[at] = k/e.Used, r.shares[at]", transformer, "^TestRandomArchitectures$"},
		{"experts: rows are gathered", transformer, "worker.gather", "x[row*width:(row+1)*width]", "x[k*width:max(k+1, 0*row)*width]", transformer, "^TestRandomArchitectures$"},
		{"experts: new inputs are packed again", transformer, "worker.raise", "x, before = w.gather(in, r.rows[first:last]), nil", "x, before = w.gather(in, r.rows[first:last]), &f.upper", transformer, "^TestRandomArchitecturesInvariant$"},
		{"experts: the shared gate is a sigmoid", transformer, "worker.shared", "-float64(w.routes.gates[i])", "float64(w.routes.gates[i])", transformer, "^TestRandomArchitectures$"},
		{"experts: the router is not rounded", transformer, "partList.router", "l.parts[first+i].exact = true", "_ = i", transformer, "^TestRouterFormat$"},
		{"experts: gate comes before up in a tensor of both", arch, "builder.stackedExperts", "both.rows((i+1)*rows-ffn, ffn)", "both.rows(i*rows, ffn)", arch, "^TestGoldens$"},
		{"experts: some have no gates", transformer, "layer.setActivation", "l.FeedForward.Gated", "true", transformer, "^TestRandomArchitectures$"},
		{"experts: layers may be dense", arch, "setExperts", "!dense[layer] && (layer+1)%step == 0", "(layer+1)%step == 0", arch, "^TestGoldens$"},
		{"experts: Qwen's sparse step counts from 1", arch, "setExperts", "(layer+1)%step == 0", "layer%step == 0", arch, "^TestGoldens$"},
		{"experts: norm_topk_prob is read", arch, "setExperts", `c.flag("norm_topk_prob", false)`, "true", arch, "^TestGoldens$"},
		{"GPT-OSS: the gate is bounded from above alone", transformer, "bound", "min(v, limit)", "max(-limit, min(v, limit))", transformer, "^TestRandomArchitectures$"},
		{"GPT-OSS: 1 is added after the bound", transformer, "bound", "h[i]++", "h[i] += 0", arch, "^TestGoldens$"},
		{"GPT-OSS: a byte has two neighbours", arch, "regroup", "nibble(i) | nibble(i+half)<<4", "packed[i] | nibble(0)&0", arch, "^TestGoldens$"},
		{"GPT-OSS: gate and up are in turn", arch, "every", "all[i*step+first]", "all[i+first*len(dst)]", arch, "^TestGoldens$"},
		{"GPT-OSS: the first layer has the window", arch, "everySecond", "layer%2 == 0", "layer%2 == 1", arch, "^TestGoldens$"},
		{"experts: a token uses no more memory than that of its experts", transformer, "Weights.ProductBytes", "bytes / int64(p.experts.Count) * int64(p.experts.Used)", "bytes", transformer, "^TestProductBytes$"},
	}
}
