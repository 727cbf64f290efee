package main

const (
	archTests      = "./pkg/engine/arch"
	engineTests    = "./pkg/engine"
	tokenizerTests = "./pkg/tokenizer"

	goldens = "^TestGoldens$"
)

// mutants returns the mistakes that implementations of these architectures have made, and
// those that let a text leave its form.
func mutants() []mutant {
	var all []mutant
	for _, list := range [][]mutant{positions(), attention(), norms(), heads(), translation(), words(), costs(), rules(), spellings(), meanings(), held(), shares(), cloud(), uploads(), kinds()} {
		all = append(all, list...)
	}
	return all
}

// positions: fairseq's sinusoids, and which pairs rotary embedding turns.
func positions() []mutant {
	const position = "pkg/engine/transformer/position.go"
	return []mutant{
		{"fairseq: position p is row p+2", position, "float32(pos+sinusoidOffset)", "float32(pos)", archTests, goldens},
		{"fairseq: half-1 in the denominator", position, "max(1, len(f)-1)", "max(1, len(f))", archTests, goldens},
		{"fairseq: sines first, then cosines", position, "x[i] += float32(sin)\n\t\t\tx[n+i] += float32(cos)", "x[i] += float32(cos)\n\t\t\tx[n+i] += float32(sin)", archTests, goldens},
		{"fairseq: embeddings are scaled", "pkg/engine/arch/xglm.go", "math.Sqrt(float64(s.Width))", "math.Sqrt(1)", archTests, goldens},
		{"GPT-J: rotary pairs are neighbours", "pkg/engine/arch/gptj.go", "Interleaved: true", "Interleaved: false", archTests, goldens},
		{"NeoX and Llama: rotary pairs are halves", "pkg/engine/arch/rope.go", "r := transformer.Rotary{Dims:", "r := transformer.Rotary{Interleaved: true, Dims:", archTests, goldens},
		{"NeoX: a part of each head is turned", "pkg/engine/arch/rope.go", "int(float64(dim) * factor)", "dim", archTests, goldens},
		{"Llama 3: low frequencies are scaled", "pkg/engine/arch/rope.go", "f[j] = v / float32(factor)", "f[j] = v", archTests, goldens},
		{"Llama: linear scaling", "pkg/engine/arch/rope.go", "r.Frequencies[j] /= by", "r.Frequencies[j] /= min(by, 1)", archTests, goldens},
	}
}

// attention: how queries, keys and values are stored, shared and scaled.
func attention() []mutant {
	return []mutant{
		{"NeoX: queries, keys and values by head", "pkg/engine/arch/layout.go", "(3*head + part) * a.HeadDim", "(part*a.Heads + head) * a.HeadDim", archTests, goldens},
		{"GPT-2: matrices are stored transposed", "pkg/engine/transformer/load.go", "case t.Transposed:\n\t\t\t\tld.kernels.LoadColumns", "case false:\n\t\t\t\tld.kernels.LoadColumns", archTests, goldens},
		{"GPT-2: scores by layer", "pkg/engine/arch/gpt2.go", "scale / float32(i+1)", "scale / 1", archTests, goldens},
		{"Llama: neighbouring queries share keys", "pkg/engine/transformer/attention.go", "first := head * group * a.HeadDim", "first := (a.KVHeads - 1 - head) * group * a.HeadDim", archTests, goldens},
		{"biases of queries, keys and values", "pkg/engine/transformer/worker.go", "if l.bias != nil && from < to {", "if l.bias != nil && from < to && rows != 3*l.cols {", archTests, goldens},
	}
}

// norms: which one feeds what, and the activations.
func norms() []mutant {
	const forward, worker, family = "pkg/engine/transformer/forward.go", "pkg/engine/transformer/worker.go", "pkg/engine/arch/family.go"
	return []mutant{
		{"GPT-J and NeoX: both halves read the same input", worker, "if l.Parallel {\n\t\tw.residual", "if false {\n\t\tw.residual", archTests, goldens},
		{"NeoX: the feed-forward block has its own norm", worker, "if !l.SharedNorm {", "if false {", archTests, goldens},
		{"NeoX: the residual is added after the norm", worker, "w.residual(w.apply(&l.ffn.lower", "w.barrier.wait()\n\t\tl.ffn.up(w, w.inputs(&l.ffn.norms))\n\t\tw.residual(w.apply(&l.ffn.lower", archTests, goldens},
		{"NeoX-20B: gelu_fast is the tanh form", family, `"gelu_fast": transformer.GELU,`, `"gelu_fast": transformer.GELUErf,`, archTests, goldens},
		{"Pythia: gelu is the exact form", family, `"gelu": transformer.GELUErf,`, `"gelu": transformer.GELU,`, archTests, goldens},
		{"M2M100: relu", family, `"relu": transformer.ReLU,`, `"relu": transformer.GELU,`, archTests, goldens},
		{"Llama: the activation is of the gate", "pkg/engine/transformer/ffn.go", "f.act.apply(k, g, nil, nil)", "f.act.apply(k, h, nil, nil)", archTests, goldens},
		{"M2M100: the encoder has a last norm", forward, "w.normalise(w.m.encoderNorm)", "w.normalise(w.m.decoderNorm)", archTests, goldens},
		{"the decoder has a last norm", forward, "m.normalise(dst, x, m.decoderNorm)", "m.normalise(dst, x, norm{m.decoderNorm.weight, nil})", archTests, goldens},
	}
}

// heads: the output.
func heads() []mutant {
	return []mutant{
		{"GPT-J: the head has a bias", "pkg/engine/arch/gptj.go", `linear{names: "lm_head", bias: always}`, `linear{names: "lm_head", bias: never}`, archTests, "."},
		{"NeoX: the class's default end is wrong", "pkg/engine/arch/gpt_neox.go", `field{"eos_token_id", 0}`, `field{"eos_token_id", 2}`, archTests, "."},
	}
}

// translation: what M2M100's encoder and decoder begin with, and the search.
func translation() []mutant {
	const beam, translate = "pkg/engine/beam.go", "pkg/engine/translate.go"
	return []mutant{
		{"M2M100: the decoder starts with </s>", translate, "Tokens: []int{w.rules.DecoderStart}", "Tokens: []int{0}", engineTests, "^TestBeamSearch$"},
		{"M2M100: the source ends with </s>", translate, "to.IDs(), []int{w.rules.End})", "to.IDs())", engineTests, "^TestTranslate"},
		{"M2M100: the source begins with its language", translate, "s.ids = slices.Concat([]int{from},", "s.ids = slices.Concat([]int{0 * from},", engineTests, "^TestTranslate"},
		{"TextSynth says nso, the model ns", translate, `if code == "nso" {`, `if code == "ns" {`, engineTests, "^TestTranslate"},
		{"beams: an end counts among the first only", beam, "if rank < b.beams {", "if rank < 2*b.beams {", engineTests, "^TestBeamSearch$"},
		{"beams: scores are divided by the length", beam, "c.score /= math.Pow(float64(length), b.penalty)", "c.score /= 1", engineTests, "^TestBeamSearch$"},
		{"beams: hypotheses take their parent's cache", translate, "from := old[h.parent]", "from := old[min(h.parent, 0)]", engineTests, "^TestBeamSearch$"},
		{"beams: one beam is greedy", beam, "early = arch.StopTrue", "early = arch.StopNever", engineTests, "^TestBeamSearch$"},
	}
}

// words: what is a token, and which is chosen.
func words() []mutant {
	const newline, xglm = "pkg/tokenizer/newline.go", "pkg/engine/arch/xglm.go"
	return []mutant{
		{"fairseq: a line feed is </s>", newline, "if cut {", "if cut && false {", tokenizerTests, "Newline"},
		{"fairseq: line feeds collapse", newline, `text = strings.TrimLeft(rest, "\n")`, "text = rest", tokenizerTests, "Newline"},
		{"fairseq: </s> ends nothing", xglm, "m.End, m.Tokens = nil, end+1", "m.Tokens = end + 1", archTests, "."},
		{"fairseq: texts begin with </s>", xglm, "m.Start, m.Empty = []int{end}, end", "m.Empty = end", archTests, "."},
		{"SentencePiece: the file's name says nothing of its kind", "pkg/tokenizer/sentencepiece.go", "m.modelType == modelUnigram", "false", tokenizerTests, "."},
		{"GPT-2: the last space belongs to the next word", "pkg/tokenizer/pretokenize.go", "\treturn last\n", "\treturn end\n", tokenizerTests, "."},
		{"top_p: the head reaches the mass", "pkg/sampler/candidates.go", "mass+c[n].weight >= limit", "mass >= limit", "./pkg/sampler", "."},
	}
}
