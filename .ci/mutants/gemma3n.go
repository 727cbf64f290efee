package main

// gemma3n: several residual streams, a branch next to attention, and gates that are cut off.
func gemma3n() []mutant {
	const formulas, goldens, file = "^TestRandomArchitectures$", "^TestGoldens$", "^TestGGUFGemma3n$"
	return []mutant{
		{"Gemma 3n: streams begin with the magnitude of the first", transformer, "worker.beginStreams", "w.rescale(w.stream(row, i), target)", "_ = target", transformer, formulas},
		{"Gemma 3n: factors are those of the predicted stream", transformer, "worker.predict", "k*n+j", "j*n+k", transformer, formulas},
		{"Gemma 3n: a stream takes the whole change, and more", transformer, "worker.correct", "1+w.weigh(s.correct, k)", "w.weigh(s.correct, k)", transformer, formulas},
		{"Gemma 3n: logits of routers are divided by the width", transformer, "worker.shares", "logit / float32(width)", "logit", transformer, formulas},
		{"Gemma 3n: the branch of the input reads a scaled stream", transformer, "worker.correct", "s.scale != nil", "false", transformer, formulas},
		{"Gemma 3n: what inputs add is scaled", transformer, "worker.addToStreams", "m.ResidualScale != 0", "false", transformer, formulas},
		{"Gemma 3n: streams end with the magnitude of the first", transformer, "worker.mergeStreams", "w.rescale(out, squares(w.x[row*width:(row+1)*width]))", "_ = out", transformer, formulas},
		{"Gemma 3n: streams are divided by their number", transformer, "worker.mergeStreams", "1/float32(m.Streams)", "1", transformer, formulas},
		{"Gemma 3n: attention and its branch are a mean of squares", transformer, "worker.addLaurel", "1/math.Sqrt2", "0.5", transformer, formulas},
		{"Gemma 3n: gates begin at the cut", transformer, "feedForward.cutOff", "max(v-cut, 0)", "max(v, cut)", transformer, formulas},
		{"Gemma 3n: the part that is cut off is that of one side", transformer, "layer.setKind", "2*float64(k.FeedForward.Sparsity)-1", "float64(k.FeedForward.Sparsity)", transformer, formulas},
		{"Gemma 3n: streams need memory", transformer, "Spec.PassBytes", "(2+s.Streams)*s.Width", "2*s.Width", transformer, "^TestStreamsPassBytes$"},
		{"Gemma 3n: packed models have all streams", transformer, "Unpack", "max(0, spec.Streams-1)", "0", arch, "^TestPackRandomArchitectures$"},
		{"Gemma 3n: tokens beyond the embedding of layers have the first one's", arch, "builder.layerEmbedding", "t.rows(0, 1)", "t.rows(1, 1)", arch, goldens},
		{"Gemma 3n: ten layers cut their gates off", arch, "config.sparsities", "depth > 10 && i < 10", "depth > 10 && i < 9", arch, "^TestGemma3nLayers$"},
		{"Gemma 3n: layers with a window have their rotary table", arch, "gemma3nKinds", "table = 1", "table = 0", arch, goldens},
		{"Gemma 3n: twenty layers have keys", arch, "ggufGemma3nLayers", "max(0, depth-kept)", "0", arch, file},
		{"Gemma 3n: deviations of files are of one side", arch, "config.ggufSparsities", "math.Erfc(-list[i]/math.Sqrt2) / 2", "math.Erf(list[i]/math.Sqrt2)", arch, file},
		{"Gemma 3n: files have infinities", arch, "finite", "math.IsInf(float64(v), 0)", "false", arch, file},
	}
}
