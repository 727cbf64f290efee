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
		{"answers: the decoder begins with its own token", engine, "Engine.asSource", "[]int{e.seq2seq.DecoderStart}", "[]int{e.seq2seq.End}", engine, greedy},
		{"answers: the source ends", engine, "Engine.ended", "append(slices.Clip(ids), e.seq2seq.End)", "ids", engine, greedy},
		{"answers: a client's end is the only one", engine, "Engine.ended", "ids[n-1] == e.seq2seq.End", "false", engine, limits},
		{"answers: no answer is continued", engine, "Engine.asSource", "s.continues", "false", engine, limits},
		{"answers: each row reads its own source", engine, "generation.step", "Memory: r.memory", "Memory: g.prompts[0].memory", engine, greedy},
		{"answers: nor do requests", engine, "New", "cfg.PrefixMemory = -1", "", engine, "^TestSeq2SeqKeepsNothing$"},
		{"answers: a source has the context with its end", engine, "Engine.asSource", "n > e.context", "n-1 > e.context", engine, limits},
		{"answers: a prompt is not described", engine, "Engine.asSource", "s.score", "false", engine, limits},
		{"answers: what is scored answers the context", engine, "Engine.encodeScoredAnswer", "e.ended(source.IDs())", "source.IDs()", engine, score},
		{"answers: a source has memory", engine, "generation.need", "m.MemoryBytes(n)", "0", engine, "^TestSeq2SeqMemory$"},
		{"answers: so has its pass", engine, "generation.need", "passMemory(&m.Spec, longest, g.engine.workers)", "0", engine, "^TestSeq2SeqMemory$"},
		{"answers: vectors are the encoder's", engine, "Engine.Embed", "len(e.model.Encoder), runEncoder", "len(e.model.Decoder), e.runDecoder", engine, "^TestSeq2SeqEmbeds$"},
	}
}
