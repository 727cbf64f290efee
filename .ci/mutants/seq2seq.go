package main

// seq2seq: what T5 does otherwise than the translators, and its engine than that of a decoder.
func seq2seq() []mutant {
	const goldens, greedy, score, limits = "^TestGoldens$", "^TestSeq2SeqGreedy$", "^TestSeq2SeqScore$", "^TestSeq2SeqLimits$"
	return []mutant{
		{"T5: a decoder's buckets are all behind the query", transformer, "prepare", "relativeBuckets(spec.RelativeBuckets, spec.RelativeDistance)", "relativeBuckets(spec.RelativeBuckets/2, spec.RelativeDistance)", arch, goldens},
		{"T5: the nearest key has the last bias", transformer, "Model.causalBiases", "dst[len(dst)-1-d]", "dst[d]", arch, goldens},
		{"T5: the biases of chunks of keys are those of their distances", kernel, "Queries.biasesOf", "len(all)-q.Seen-token", "len(all)-q.Seen", kernel, "^TestAttendCausalBiases$"},
		{"T5: each head of the decoder has its own", transformer, "Model.causalBiases", "m.causalBuckets[min(d, len(m.causalBuckets)-1)]*heads+head", "m.causalBuckets[min(d, len(m.causalBuckets)-1)]*heads+0*head", arch, goldens},
		{"T5: scores have no factor", arch, "t5", "transformer.Attention{Scale: 1}", "transformer.Attention{}", arch, goldens},
		{"T5: the head of the first is scaled", arch, "t5Scale", "math.Sqrt(float64(width))", "math.Sqrt(1)", arch, goldens},
		{"T5: that of T5 1.1 is not", arch, "t5", `c.flag("scale_decoder_outputs", c.flag("tie_word_embeddings", true))`, "true", arch, goldens},
		{"T5: mT5 never scales", arch, "mt5", `f.title, f.adjust = "mT5", adjustT5`, `f.title = "mT5"`, arch, goldens},
		{"T5: a file with a head uses it", arch, "t5", `!src.has("lm_head.weight")`, "true", arch, goldens},
		{"T5: gates have an activation", arch, "adjustT5", "activation = transformer.SiLU", "activation = transformer.GELU", arch, goldens},
		{"T5: heads are as wide as the file says", arch, "setT5", `c.integer("d_kv head_dim attention.key_length", 64, 1, maxWidth)`, `c.integer("head_dim attention.key_length", 64, 1, maxWidth)`, arch, goldens},
		{"T5: in a GGUF file tensors tell of gates", arch, "ggufT5", `!src.has("enc.blk.0.ffn_gate.weight")`, "false", arch, goldens},
		{"T5: in a GGUF file a head that is the embedding is scaled", arch, "ggufT5", "l.tied", "false", arch, goldens},
		{"T5: the first token of answers of a GGUF file", arch, "ggufSeq2Seq", `c.id("decoder_start_token_id", 0, s.Vocab)`, `c.id("decoder", 0, s.Vocab)`, arch, "^TestHostileGGUFT5$"},
		{"umT5: layers have biases of their own", arch, "builder.attention", "at(l.relative, i)", "at(l.relative, 0)", arch, goldens},
		{"umT5: a head that is not tied is not scaled", arch, "umT5", `c.flag("tie_word_embeddings", true)`, "true", arch, goldens},
		{"umT5: one that is tied is", arch, "umT5", `c.flag("tie_word_embeddings", true)`, "false", arch, goldens},
		{"umT5: in a GGUF file tensors tell of them", arch, "ggufT5", `src.has("enc.blk.1.attn_rel_b.weight")`, "false", arch, goldens},
		{"umT5: biases of layers have buckets", transformer, "Spec.checkTables", "!s.RelativeLayers", "true", arch, "^TestHostileUMT5$"},
		{"answers: the decoder begins with its own token", engine, "Engine.answerStart", "[]int{e.seq2seq.DecoderStart}", "[]int{e.seq2seq.End}", engine, greedy},
		{"answers: the source ends", engine, "Engine.ended", "append(slices.Clip(ids), e.seq2seq.End)", "ids", engine, greedy},
		{"answers: a client's end is the only one", engine, "Engine.ended", "ids[n-1] == e.seq2seq.End", "false", engine, limits},
		{"answers: no answer is continued", engine, "Engine.asSource", "s.continues", "false", engine, limits},
		{"answers: each row reads its own source", engine, "generation.step", "Memory: r.memory", "Memory: g.prompts[0].memory", engine, greedy},
		{"answers: nor do requests", engine, "New", "cfg.PrefixMemory = -1", "", engine, "^TestSeq2SeqKeepsNothing$"},
		{"answers: a source has the context with its end", engine, "Engine.asSource", "n > e.context", "n-1 > e.context", engine, limits},
		{"answers: a prompt is not described", engine, "Engine.asSource", "s.score", "false", engine, limits},
		{"answers: what is scored answers the context", engine, "Engine.encodeScoredAnswer", "e.ended(slices.Concat(before, source.IDs()))", "append(before, source.IDs()...)", engine, score},
		{"answers: a source has memory", engine, "generation.need", "m.MemoryBytes(n)", "0", engine, "^TestSeq2SeqMemory$"},
		{"answers: so has its pass", engine, "generation.need", "passMemory(&m.Spec, longest, g.engine.workers)", "0", engine, "^TestSeq2SeqMemory$"},
		{"answers: vectors are the encoder's", engine, "Engine.Embed", "len(e.model.Encoder), runEncoder", "len(e.model.Decoder), e.runDecoder", engine, "^TestSeq2SeqEmbeds$"},
	}
}

// summaries: what BART and Pegasus do otherwise than T5.
func summaries() []mutant {
	const goldens, greedy, tokens, texts = "^TestGoldens$", "^TestSeq2SeqGreedy$", "^TestBARTTokens$", "^TestTexts$"
	return []mutant{
		{"BART: the decoder has positions and a norm of its own", transformer, "Model.inputOf", "m.DecoderInput && sp.cache != nil", "false", arch, goldens},
		{"BART: the encoder keeps its own", transformer, "Model.inputOf", "m.DecoderInput && sp.cache != nil", "m.DecoderInput", arch, goldens},
		{"BART: the first position is row 2", arch, "bart", "skip: 2", "skip: 0", arch, goldens},
		{"BART: embeddings are normalised behind their positions", arch, "bart", "EmbedNorm: true, DecoderInput: true", "DecoderInput: true", arch, goldens},
		{"BART: norms are behind branches", arch, "bart", "postResidual()", "transformer.Kind{}", arch, goldens},
		{"BART: embeddings are scaled if the file says so", arch, "scaleIfTold", `c.flag("scale_embedding", false)`, "false", arch, goldens},
		{"BART: and only then", arch, "scaleIfTold", `c.flag("scale_embedding", false)`, `c.flag("scale_embedding", true)`, arch, "^TestSeq2SeqFiles$"},
		{"BART: logits have a bias", arch, "findLastBias", "!src.has(l.lastBias)", "true", arch, goldens},
		{"BART: a file without a head has none", arch, "findLastBias", "!src.has(l.lastBias)", "false", arch, goldens},
		{"BART: sources begin as the tokenizer says", engine, "Engine.asSource", "e.ended(slices.Concat(lead, p.ids))", "e.ended(p.ids)", engine, tokens},
		{"BART: also those of two files", arch, "tokenizerReader.vocabMerges", "w.startsTexts = w.Type == bartType", "", arch, texts},
		{"BART: what is scored answers the same source", engine, "Engine.encodeScoredAnswer", "slices.Concat(before, source.IDs())", "slices.Concat(before[:0], source.IDs())", engine, tokens},
		{"BART: the first token of an answer is forced", engine, "Engine.answerStart", "append([]int{e.seq2seq.DecoderStart}, e.seq2seq.Begin...)", "[]int{e.seq2seq.DecoderStart}", engine, greedy},
		{"BART: it is not text", engine, "Engine.asSource", "p.lead = len(p.ids)", "p.lead = 1", engine, tokens},
		{"BART: a long source keeps its beginning", engine, "Engine.asSource", "e.context-len(lead)-1", "e.context-1", engine, tokens},
		{"BART: answers to other sources share no cache", engine, "generation.sharedTokens", "!slices.Equal(before.source, p.source)", "false", engine, greedy},
		{"BART: older files force the beginning in another way", arch, "opened.readSeq2Seq", `o.config.flag("force_bos_token_to_be_generated", false)`, "false", arch, "^TestSeq2SeqFiles$"},
		{"BART: answers begin with the end", arch, "opened.readSeq2Seq", "o.Type == bartType", "false", arch, "^TestSeq2SeqFiles$"},
		{"BART: a pack's forced tokens are in the vocabulary", arch, "Seq2Seq.check", "slices.Max(tokens) >= s.Vocab", "max(q.DecoderStart, q.End) >= s.Vocab", arch, "^TestHostileSeq2Seq$"},
		{"Pegasus: positions are computed, the sines first", arch, "pegasus", "Position: transformer.SinusoidalFirst", "Position: transformer.Sinusoidal", arch, goldens},
		{"Pegasus: norms are before branches", arch, "pegasus", "f.kind = transformer.Spec{Position: transformer.SinusoidalFirst}, transformer.Kind{}", "f.kind = transformer.Spec{Position: transformer.SinusoidalFirst}, postResidual()", arch, goldens},
		{"Pegasus: ids are higher than the pieces'", sentencepiece, "parsePegasus", "t.ids[id] = id + pegasusOffset", "t.ids[id] = id", arch, texts},
	}
}
