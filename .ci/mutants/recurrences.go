package main

// recurrences: layers with states, which can be neither shortened nor begun in the middle.
func recurrences() []mutant {
	const formulas, rings, blocks, goldens = "^TestRandomArchitectures$", "^TestRings$", "^TestBlocks$", "^TestGoldens$"
	return []mutant{
		{"states: a sequence begins with none", transformer, "worker.scanHead", "clear(h)", "", transformer, "^TestStatesBegin$"},
		{"states: nor with inputs of the convolution", transformer, "worker.filter", "clear(kept[tap*channels+from : tap*channels+to])", "_ = tap", transformer, "^TestStatesBegin$"},
		{"states: later tokens are convolved first", transformer, "worker.filter", "row := sp.n - 1; row >= 0; row--", "row := 0; row < sp.n; row++", transformer, formulas},
		{"states: the inputs of the last tokens are kept", transformer, "worker.filter", "at(sp.n-(s.Taps-1)+tap)", "at(sp.n-s.Taps+tap)", transformer, rings},
		{"states: heads share b and c", transformer, "worker.scanHead", "head / (s.Heads / s.Groups) * s.Size", "head % s.Groups * s.Size", transformer, formulas},
		{"states: inputs are multiplied by the step", transformer, "worker.scanHead", "w.m.kernels.Scale(w.stepped, float32(step))", "", transformer, formulas},
		{"states: the gate comes before the norm", transformer, "worker.gate", "s.Gating != NormThenGate", "s.Gating == NormThenGate", transformer, formulas},
		{"states: or after it", transformer, "worker.gate", "if s.Gating == NormThenGate { k.Mul(y, z) }", "", transformer, formulas},
		{"states: or alone", transformer, "worker.gate", "if s.Gating == GateAlone { return }", "", transformer, formulas},
		{"states: each group has a norm", transformer, "worker.gate", "s.inner()/s.Groups", "s.inner()", transformer, formulas},
		{"states: a cache is left at its end alone", transformer, "StateSpace.newState", "window: 2", "window: 1", transformer, blocks},
		{"states: models with them have no drafts", transformer, "Spec.Rewinds", "s.Kinds[i].States != nil", "i < 0", engine, "^TestStatesHaveNoDrafts$"},
		{"states: prompts part where they differ", engine, "generation.parting", "place = min(place, other.shared)", "_ = other", engine, "^TestStatesShared$"},
		{"Granite 4: decays are logarithms", arch, "builder.states", "-math.Exp(float64(v))", "math.Exp(float64(v))", arch, goldens},
		{"Granite 4: steps come last", transformer, "worker.scanHead", "scaled(all[s.channels()+head], s.StepScale) + s.step[head]", "scaled(all[head], s.StepScale) + s.step[head]", transformer, formulas},
		{"Granite 4: layers are what their types say", arch, "config.stateful", "stateful[i] = false", "_ = i", arch, goldens},
		{"states beside attention: both read the norm before the layer", transformer, "worker.decode", "w.mixTokens(l, &s.in, &s.out, in, func() { w.recur(i) })", "w.mixTokens(l, &s.in, &s.out, w.inputs(&l.attentionNorms), func() { w.recur(i) })", transformer, formulas},
		{"states beside attention: attention remains", transformer, "worker.decode", "l.attends()", "l.attends() && l.states == nil", transformer, formulas},
		{"states beside attention: each keeps its own", transformer, "Model.setSlots", "l.states.slot = len(m.slots)", "l.states.slot = len(m.slots) - 1", transformer, rings},
		{"states beside attention: no drafts either", transformer, "Model.newKV", "!k.attends()", "k.States != nil", transformer, rings},
		{"states: steps have a factor", transformer, "worker.scanHead", "scaled(all[s.channels()+head], s.StepScale)", "all[s.channels()+head]", transformer, formulas},
		{"states: gates have a factor", transformer, "worker.gate", "s.GateScale != 0", "false", transformer, formulas},
		{"branches have factors", transformer, "worker.multiply", "l.scale != 0", "false", transformer, formulas},
		{"branches have factors, with what adapters add", transformer, "worker.multiply", "w.adapt(l, dst, x, from, to); if l.scale != 0 { for i := range n { w.m.kernels.Scale(dst[i*l.rows+from:i*l.rows+to], l.scale) } }", "if l.scale != 0 { for i := range n { w.m.kernels.Scale(dst[i*l.rows+from:i*l.rows+to], l.scale) } }; w.adapt(l, dst, x, from, to)", transformer, "^TestAdapter$"},
		{"Falcon-H1: inputs of attention count twice in scores", arch, "falconFactors", "in * in", "in", arch, goldens},
		{"Falcon-H1: and in values", arch, "falconFactors", "float32(in * number(\"attention_out_multiplier\"))", "float32(number(\"attention_out_multiplier\"))", arch, goldens},
		{"Falcon-H1: their factor is not that of biases", arch, "falconFactors", "l.decoder.qkv.scaleBias, l.decoder.out.scaleBias = float32(1/in), float32(1/in)", "", arch, goldens},
		{"Falcon-H1: nor that of states", arch, "falconFactors", "n.scaleC, n.scaleBias = float32(in*each[1]), float32(in*each[2]), float32(in*each[3]), float32(1/in)", "n.scaleC = float32(in*each[1]), float32(in*each[2]), float32(in*each[3])", arch, goldens},
		{"Falcon-H1: factors are in the order z, x, b, c, step", arch, "falconFactors", "float32(in*each[0]), float32(in*each[4])", "float32(in*each[4]), float32(in*each[0])", arch, goldens},
		{"Falcon-H1: b comes before c", arch, "builder.states", "scale(t, inner, end, n.scaleB); scale(t, end, channels, n.scaleC)", "scale(t, inner, end, n.scaleC); scale(t, end, channels, n.scaleB)", arch, goldens},
		{"Falcon-H1: gates before the activation", arch, "falconFactors", "float32(block[0]), float32(block[1])", "float32(block[1]), float32(block[0])", arch, goldens},
		{"Falcon-H1: norms of states are rare", arch, "falconStates", "c.flag(\"mamba_rms_norm\", false)", "c.flag(\"mamba_rms_norm\", true)", arch, "^TestHostileMixers$"},
		{"Granite 4: steps without bounds", arch, "readStates", `c.reject(name, "%.60s is not supported: steps have no bounds", limits)`, "_ = name", arch, "^TestHostileMixers$"},
	}
}
