package main

const (
	goldens = "^TestGoldens$"
)

// mutants returns the mistakes that implementations of these architectures have made, and
// those that let a text leave its form.
func mutants() []mutant {
	var all []mutant
	for _, list := range [][]mutant{positions(), attention(), norms(), heads(), translation(), words(), costs(), rules(), spellings(), meanings(), held(), shares(), alive(), regions(), cloud(), uploads(), prefetches(), kinds(), requests(), documents(), decoders(), templates(), quants(), quantised(), rings(), prefixes(), drafts(), draftModels(), trying(), encoders(), rankings(), encoderFiles(), remoteVectors(), vectors(), issuers(), experts(), estimates(), doors(), operations(), adapters(), convolutions(), translators(), recurrences(), seq2seq(), summaries(), pictures(), sights(), pages(), searches(), kvs(), segments(), openings(), gemma4(), gemma3n(), portions(), panics(), levels(), latents()} {
		all = append(all, list...)
	}
	return all
}

// positions: fairseq's sinusoids, and which pairs rotary embedding turns.
func positions() []mutant {
	return []mutant{
		{"stop strings cut calls", engine, "text.push", "t.stops, searched = nil, len(t.held)", "searched = len(t.held)", engine, "^Test(TextWithCalls|Calls)$"},
		{"stop strings see the white space before a call", engine, "text.beforeCalls", `strings.TrimRight(t.held[:n], " \t\r\n")`, "t.held[:n]", engine, "^TestTextWithCalls$"},
		{"stop strings see the beginning of a call's mark", engine, "text.beforeCalls", "n -= beginning(t.held, t.calls.Trigger)", "n -= 0", engine, "^TestTextWithCalls$"},
		{"fairseq: position p is row p+2", transformer, "Model.addPosition", "pos+sinusoidOffset", "pos", arch, goldens},
		{"fairseq: half-1 in the denominator", transformer, "sinusoidFrequencies", "len(f)-1", "len(f)", arch, goldens},
		{"fairseq: sines first, then cosines", transformer, "Model.addPosition", "math.Sincos(float64(float32(pos+sinusoidOffset) * f))", "math.Sincos(math.Pi/2 - float64(float32(pos+sinusoidOffset)*f))", arch, goldens},
		{"fairseq: embeddings are scaled", arch, "scaleEmbedding", "float64(s.Width)", "1", arch, goldens},
		{"GPT-J: rotary pairs are neighbours", arch, "gptj", "Interleaved: true", "Interleaved: false", arch, goldens},
		{"NeoX and Llama: rotary pairs are halves", arch, "rope.readFrom", "Dims: int(float64(r.dim) * factor)", "Interleaved: true, Dims: int(float64(r.dim) * factor)", arch, goldens},
		{"NeoX: a part of each head is turned", arch, "rope.readFrom", "int(float64(r.dim) * factor)", "r.dim", arch, goldens},
		{"Llama 3: low frequencies are scaled", arch, "scaleLlama3", "v / float32(factor)", "v", arch, goldens},
		{"Llama: linear scaling", arch, "rope.readFrom", "out.Frequencies[j] /= by", "out.Frequencies[j] /= min(by, 1)", arch, goldens},
	}
}

// attention: how queries, keys and values are stored, shared and scaled.
func attention() []mutant {
	return []mutant{
		{"NeoX: queries, keys and values by head", arch, "builder.groups", "group*(each+2)+part.at", "part.at*a.KVHeads+group", arch, goldens},
		{"GPT-2: matrices are stored transposed", transformer, "loader.load", "t.Transposed", "false", arch, goldens},
		{"GPT-2: scores by layer", arch, "inverseScale", "scale / float32(i+1)", "scale", arch, goldens},
		{"Llama: neighbouring queries share keys", transformer, "worker.queries", "head * group * a.HeadDim", "(a.KVHeads - 1 - head) * group * a.HeadDim", arch, goldens},
		{"biases of queries, keys and values", transformer, "worker.multiplyColumns", "l.bias != nil", "l.bias != nil && rows != 3*l.cols", arch, goldens},
	}
}

// norms: their order, and the activations.
func norms() []mutant {
	return []mutant{
		{"GPT-J and NeoX: both halves read the same input", transformer, "worker.decodeParallel", "w.apply(&l.out, w.out, w.heads, w.tokens, w.residual)", "w.add(&l.out, w.heads, &l.attentionNorms); w.feed(l); return", arch, goldens},
		{"NeoX: the feed-forward block has its own norm", transformer, "worker.decodeParallel", "!l.SharedNorm", "false", arch, goldens},
		{"NeoX: the residual is added after the norm", transformer, "worker.decodeParallel", "w.apply(&l.ffn.lower, w.out, w.h, w.tokens, w.residual)", "l.ffn.up(w, w.h, w.g, w.inputs(&l.ffn.norms), w.tokens); w.barrier.wait(); w.apply(&l.ffn.lower, w.out, w.h, w.tokens, w.residual)", arch, goldens},
		{"NeoX-20B: gelu_fast is the tanh form", arch, "activations", `"gelu_fast": transformer.GELU`, `"gelu_fast": transformer.GELUErf`, arch, goldens},
		{"Pythia: gelu is the exact form", arch, "activations", `"gelu": transformer.GELUErf`, `"gelu": transformer.GELU`, arch, goldens},
		{"M2M100: relu", arch, "activations", "transformer.ReLU", "transformer.GELU", arch, goldens},
		{"Llama: the activation is of the gate", transformer, "feedForward.upColumns", "k, g", "k, h", arch, goldens},
		{"M2M100: the encoder has a last norm", transformer, "worker.memorise", "w.m.encoderNorm", "w.m.decoderNorm", arch, goldens},
		{"the decoder has a last norm", transformer, "Model.FinalNorm", "m.decoderNorm", "norm{m.decoderNorm.weight, nil}", arch, goldens},
	}
}

// heads: the output.
func heads() []mutant {
	return []mutant{
		{"GPT-J: the head has a bias", arch, "gptj", `names: "lm_head", bias: always`, `names: "lm_head", bias: never`, arch, "."},
		{"NeoX: the class's default end is wrong", arch, "gptNeoX", `"eos_token_id", 0`, `"eos_token_id", 2`, arch, "."},
	}
}

// translation: the first tokens of M2M100's encoder and decoder, and beam search.
func translation() []mutant {
	return []mutant{
		{"M2M100: the decoder starts with </s>", engine, "translation.admit", "w.rules.DecoderStart", "0", engine, "^TestBeamSearch$"},
		{"M2M100: the source ends with </s>", engine, "translation.add", "to.IDs(), []int{w.rules.End}", "to.IDs()", engine, "^TestTranslate"},
		{"M2M100: the source begins with its language", engine, "translation.add", "tokensOf(source.Source, w.target.Source)", "tokensOf(w.target.Source)", engine, "^TestTranslate"},
		{"TextSynth says nso, the model ns", language, "threeLetters", `"nso"`, `"ns"`, arch, "^TestLanguages$"},
		{"beams: an end counts among the first only", engine, "beamSearch.step", "rank < b.beams", "rank < 2*b.beams", engine, "^TestBeamSearch$"},
		{"beams: scores are divided by the length", engine, "beamSearch.finish", "math.Pow(float64(max(1, len(h.tokens))), b.LengthPenalty)", "1", engine, "^TestBeamSearch$"},
		{"beams: hypotheses take their parent's cache", engine, "decoding.inherit", "from := old[h.parent]", "from := old[min(h.parent, 0)]", engine, "^TestBeamSearch$"},
		{"beams: one beam is greedy", engine, "newBeamSearch", "arch.StopTrue", "arch.StopNever", engine, "^TestBeamSearch$"},
	}
}

// words: how texts become tokens, and which token is chosen.
func words() []mutant {
	return []mutant{
		{"fairseq: a line feed is </s>", tokenizer, "newlineTokenizer.EncodeTo", "o.IDs = append(o.IDs, t.id)", "", tokenizer, "Newline"},
		{"fairseq: line feeds collapse", tokenizer, "newlineTokenizer.EncodeTo", `strings.TrimLeft(rest, "\n")`, "rest", tokenizer, "Newline"},
		{"spans: clients write marks that are not special", hf, "addedTrie.mayRead", "t.free[token]", "!t.tokens[token].Special", tokenizer, "^TestMarksAreNotForged$"},
		{"spans: a mark begins in the template's text only", encode, "Reads.At", "end+r.from <= r.ends[run]", "end > 0", tokenizer, "^TestMarksAreNotForged$"},
		{"spans: clients write user-defined pieces", sentencepiece, "normalizer.refuse", "!reads.At(from, to)", "false", tokenizer, "^TestUserDefinedPieces$"},
		{"spans: user-defined pieces merge", sentencepiece, "bpeWork.offer", "w.m.kinds[id] == subword.KindUser", "false", tokenizer, "^TestUserDefinedPieces$"},
		{"fairseq: </s> ends nothing", arch, "adjustFairseqTokens", "m.End, m.Tokens = nil, end+1", "m.Tokens = end + 1", arch, "."},
		{"fairseq: texts begin with </s>", arch, "adjustFairseqTokens", "m.Start, m.Empty = []int{end}, end", "m.Empty = end", arch, "."},
		{"SentencePiece: the content decides between Unigram and BPE", sentencepiece, "parse", "m.ModelType == spmodel.Unigram", "false", sentencepiece, "^TestModelTypeDecides$"},
		{"WordPiece: pieces within a word are those that begin one", hf, "wordPiece.Encode", "pieces = m.continued", "", hf, "^TestWordPiece$"},
		{"BERT: accents stay where letters become small", hf, "readBertNormalizer", "strip := *s.Lowercase", "strip := false", hf, "^TestNormalizers$"},
		{"NFC: of x/text's version of Unicode", hf, "canonical", "at < 0 || form.IsNormalString(text)", "true || at < 0", hf, "^TestNormalizers$"},
		{"bytes: one that UTF-8 never uses has no added token", bytepairs, "ByteLevel.setBytes", "id, ok = added[string(r)]", "", hf, "^TestMissingBytes$"},
		{"bytes: one without a token gets lost", bytepairs, "ByteLevel.fillGaps", "b.WriteRune(utf8.RuneError)", "", hf, "^TestMissingBytes$"},
		{"patterns: a group that ignores case does not", hf, "patternParser.group", `p.out.WriteString("(?i:")`, `p.out.WriteString("(?:")`, hf, "^TestFamilies$"},
		{"patterns: what follows a group is still in it", hf, "patternParser.group", "p.fold = outer", "p.fold = p.fold || outer", hf, "^TestFamilies$"},
		{"patterns: ss is not ß", hf, "patternParser.join", "p.last = unicode.ToLower(r)", "", hf, "^TestPatternRefusals$"},
		{"listing: a tokenizer of another model", arch, "opened.checkSize", "size > o.Spec.Vocab", "false", local, "^TestBrokenModels$"},
		{"NaN logits are sampled", engine, "member.forward", "m.lanes.kernels.HasNaN(m.logits)", "false", engine, "^TestDamagedModel$"},
		{"NaN is found by a sum", kernel, "Kernels.HasNaN", "sum := dot(k.isa, x, x)", "sum, _ := moments(k.isa, x, 1)", kernel, "^TestHasNaN$"},
		{"GPT-2: the last space belongs to the next word", pretoken, "leaveLast", "return last", "return end", pretoken, "."},
		{"top_p: the head reaches the mass", sampler, "reach", "mass+c[n].weight >= limit", "mass >= limit", sampler, "."},
	}
}
