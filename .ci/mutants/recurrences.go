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
		{"states: the gate comes before the norm", transformer, "worker.gate", "k.Mul(y, z)", "", transformer, formulas},
		{"states: each group has a norm", transformer, "worker.gate", "s.inner()/s.Groups", "s.inner()", transformer, formulas},
		{"states: a cache is left at its end alone", transformer, "StateSpace.newState", "window: 2", "window: 1", transformer, blocks},
		{"states: models with them have no drafts", transformer, "Spec.Rewinds", "s.Kinds[i].States != nil", "i < 0", engine, "^TestStatesHaveNoDrafts$"},
		{"states: prompts part where they differ", engine, "generation.parting", "place = min(place, other.shared)", "_ = other", engine, "^TestStatesShared$"},
		{"Granite 4: decays are logarithms", arch, "builder.states", "-math.Exp(float64(v))", "math.Exp(float64(v))", arch, goldens},
		{"Granite 4: steps come last", transformer, "worker.scanHead", "all[s.channels()+head] + s.step[head]", "all[head] + s.step[head]", transformer, formulas},
		{"Granite 4: layers are what their types say", arch, "config.stateful", "stateful[i] = false", "_ = i", arch, goldens},
		{"Granite 4: steps without bounds", arch, "readStates", `c.reject(name, "%.60s is not supported: steps have no bounds", limits)`, "_ = name", arch, "^TestHostileMixers$"},
	}
}
