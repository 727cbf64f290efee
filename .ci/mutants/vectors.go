package main

// vectors: each way in which a sparse embedding or a vector of a token could differ from that of
// sentence-transformers, PyLate, Stanford's ColBERT or FlagEmbedding.
func vectors() []mutant {
	const golden, pack, batches, refuses = "^TestVectorGoldens$", "^TestPackedVectors$", "^TestVectorBatches$", "^TestVectorRefuses$"
	const late, hostile, checkpoint = "^TestLateInteraction$", "^TestHostileVectors$", "pkg/engine/checkpoint"
	const dialect, wired, ranked, torch = "pkg/dialect/openai", "^TestEmbeddingTypes$", "^TestRerankByTypes$", "^TestHostileTorch$"
	return []mutant{
		{"vectors: the head for masked tokens has a GELU", engine, "vectorHeads.read", "newTransform(k, sparse.Masked.Dense, true, sparse.Masked.Norm, spec.Eps)", "newTransform(k, sparse.Masked.Dense, false, sparse.Masked.Norm, spec.Eps)", engine, golden},
		{"vectors: the head for masked tokens has a norm", engine, "transform.apply", "t.weight != nil", "false", engine, golden},
		{"vectors: the head for masked tokens has a bias", arch, "builder.maskedWeights", "b.has(name)", "false", engine, golden},
		{"vectors: the head of untied embeddings is its own", arch, "opened.readMasked", "l.tied = tied || !src.has(names.head+\".weight\")", "l.tied = true", engine, golden},
		{"vectors: weights are logarithms", engine, "embedding.weight", "math.Log1p(float64(logit))", "float64(logit)", engine, golden},
		{"vectors: log1p_relu takes the logarithm twice", engine, "embedding.weight", "w.sentence.Sparse.Twice", "false", engine, golden},
		{"vectors: sums are of weights", engine, "embedding.addLogits", "scores[i] += w.weight(v)", "scores[i] += v", engine, golden},
		{"vectors: scores are those of one text", engine, "embedding.takeWeights", "clear(scores)", "", engine, golden},
		{"vectors: the rows of a pass are those of its product", engine, "embedding.predict", "x[at*width:(at+n)*width]", "x[:n*width]", engine, golden},
		{"vectors: BGE-M3 gives special tokens no weight", arch, "sentenceReader.finishVectors", "r.out.Sparse.Omit = append(r.out.Sparse.Omit, id)", "_ = id", engine, golden},
		{"vectors: BGE-M3 takes the largest weight of a token", engine, "embedding.tokenWeights", "v > largest[id]", "v > 0", engine, golden},
		{"vectors: BGE-M3 leaves out the first token", engine, "embedding.kept", "w.sentence.Multi.SkipFirst", "false", engine, golden},
		{"vectors: vectors of tokens have length 1", engine, "embedding.multiVector", "if w.sentence.Multi.Unit { normaliseVector(v) }", "", engine, golden},
		{"vectors: the cut vectors have length 1", engine, "embedding.multiVector", "v = slices.Clone(v[:n]); w.sentence.Multi.Unit", "v = slices.Clone(v[:n]); false", engine, "^TestMultiVectorOptions$"},
		{"vectors: punctuation has no vector", engine, "embedding.kept", "!slices.Contains(w.side.Omit, ids[i])", "true", engine, golden},
		{"vectors: queries are read as such", engine, "embedding.setSide", "w.side = &m.Query", "w.side = &m.Document", engine, golden},
		{"vectors: fillers are not read", transformer, "Pass.encodeTexts", "e.texts[i].seen = seen[i]", "_ = i", engine, golden},
		{"vectors: fillers that attend are read", arch, "sentenceReader.finishLate", "side.Expand, side.Attend = l.expand, l.attend", "side.Expand, side.Attend = l.expand, false", engine, golden},
		{"vectors: longer queries than an open expansion stay whole", arch, "sentenceReader.finishLate", "!l.open", "true", arch, late},
		{"vectors: queries are filled up", engine, "embedding.add", "len(ids) < most", "len(ids) < most && false", engine, golden},
		{"vectors: a prompt of tokens is complete", engine, "embedding.add", "isText && w.side != nil", "(isText || true) && w.side != nil", engine, "^TestMultiVectorOptions$"},
		{"vectors: Stanford's prefix ends at its space", arch, "sentenceReader.readMetadata", "l.prefix = true", "l.prefix = false", engine, golden},
		{"vectors: PyLate leaves out punctuation by default", arch, "sentenceReader.readLate", "kind == \"ColBERT\" || l.prefix", "false", arch, late},
		{"vectors: the lengths of PyLate are those of its file", arch, "sentenceReader.readLate", "l.expand = l.lengths[0]", "", arch, late},
		{"vectors: batches have the embeddings of one text", engine, "embedding.predict", "owners[next] == owners[next-1]", "true", engine, batches},
		{"vectors: a dimension too many", engine, "Encoder.newEmbedding", "req.Dimensions > w.width", "false", engine, refuses},
		{"vectors: a type that the model lacks", engine, "Encoder.newEmbedding", "!slices.Contains(e.info.Embeds, w.kind)", "false", engine, refuses},
		{"vectors: values are counted before the work", engine, "embedding.checkValues", "most > 0 && values > most", "false", engine, refuses},
		{"packs: a head for masked tokens keeps its norm", arch, "Sparse.parts", "normParts(h.Dense.parts(list, \"sparse.dense\"), \"sparse.norm\", h.Dense.Out, &h.Norm)", "h.Dense.parts(list, \"sparse.dense\")", engine, pack},
		{"packs: steps of vectors of tokens stay", arch, "allHeadParts", "s.Multi.parts(s.Sparse.parts(list))", "s.Sparse.parts(list)", engine, pack},
		{"vectors: a window beyond the text", arch, "Side.fills", "s.Expand-w >= least", "s.Expand-w >= least && false", arch, hostile},
		{"vectors: sentences are no tokens", arch, "sentenceReader.multiModule", "r.dense(dir, width, tokensInput)", "r.dense(dir, width, sentenceInput)", engine, golden},
		{"torch: code is not a tensor", checkpoint, "unpickler.class", "return nil, fmt.Errorf(\"%.80q is not supported: only tensors of numbers are, none of which is ever executed\", name)", "", checkpoint, torch},
		{"torch: values end with their file", checkpoint, "File.addTorch", "first > (values.size-info.Size)/int64(each) || info.Size > values.size", "first < 0", checkpoint, torch},
		{"torch: values are row-major", checkpoint, "File.addTorch", "t.shape[i] != 1 && t.stride[i] != want", "false", checkpoint, torch},
		{"torch: a pickle is bounded", checkpoint, "unpickler.step", "len(u.stack) > maxPickleStack || len(u.memo) > maxPickleStack", "false", checkpoint, "^TestHostilePickle$"},
		{"embeddings: the type reaches the model", dialect, "embeddingRequest.request", "Kind: llm.EmbedKind(e.Type)", "Kind: \"\"", dialect, wired},
		{"embeddings: dense ones have length 1", dialect, "embeddingRequest.embedding", "[][]float32{llm.Unit(out.vectors[0])}", "out.vectors", dialect, wired},
		{"embeddings: an answer is bounded", dialect, "answerEmbedding", "call.Req.MaxValues = maxValues", "", dialect, wired},
		{"rankings: vectors of tokens by the largest products", dialect, "maxSim", "top = max(top, dot)", "top = dot", dialect, ranked},
		{"rankings: sparse products are of the same tokens", dialect, "sparseProduct", "a[i].ID < b[j].ID", "false", dialect, ranked},
		{"rankings: dense embeddings first", dialect, "kindOf", "slices.Contains(has, kind)", "slices.Contains(has, kind) && kind != llm.EmbedDense", dialect, ranked},
		{"remote vectors: types that no record maps", "pkg/schema", "Schema.EmbedKeys", "req.Kind != \"\" && req.Kind != llm.EmbedDense", "false", bedrock, "^TestBackend$"},
	}
}
