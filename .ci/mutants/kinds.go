package main

// kinds: what a description says of its layers.
func kinds() []mutant {
	const (
		tests  = "./pkg/engine/transformer"
		random = "^TestRandomArchitectures$"

		attention, worker = "pkg/engine/transformer/attention.go", "pkg/engine/transformer/worker.go"
		forward, load     = "pkg/engine/transformer/forward.go", "pkg/engine/transformer/load.go"
		kernel            = "pkg/engine/kernel/attend.go"
	)
	return []mutant{
		{"Mistral: a window of W tokens has the token itself", kernel, "from = max(0, to-q.Window)", "from = max(0, to-q.Window-1)", tests, random},
		{"encoders: a window reaches both ways", kernel, "token + min(to-token, q.Window)", "token + min(to-token, 1)", tests, random},
		{"Llama 4: chunks begin at multiples", kernel, "from = (to - 1) / q.Chunk * q.Chunk", "from = max(0, to-q.Chunk)", tests, random},
		{"GPT-OSS: a sink has a score", kernel, "a.top[i], a.total[i] = q.Sinks[head], 1", "a.top[i], a.total[i] = q.Sinks[head], 0", tests, random},
		{"GPT-OSS: each head has its sink", attention, "l.sinks[head*group : (head+1)*group]", "l.sinks[:group]", tests, random},
		{"Gemma 3: layers have different rotary tables", attention, "&w.angles[a.Rotary-1]", "&w.angles[0]", tests, random},
		{"YaRN: sines are scaled too", forward, "p.m.kernels.Scale(to.sin, r.Magnitude)", "p.m.kernels.Scale(to.sin, 1)", tests, random},
		{"Qwen3: keys are normalised", attention, "w.m.normalise(key, key, of(l.kNorm, head))", "w.m.normalise(key, key, of(l.qNorm, head))", tests, random},
		{"StableLM 2: each head of queries has its weight", attention, "of(l.qNorm, head*group+i)", "of(l.qNorm, head)", tests, random},
		{"OLMo 2: all queries are one vector", attention, "row[queries:queries+keys], l.kNorm)", "row[queries:queries+keys], norm{l.kNorm.weight, nil})", tests, random},
		{"Gemma: norms are stored less one", load, "if p.lessOne {", "if p.lessOne && p.rows != p.cols && i < 0 {", tests, random},
		{"Gemma 2: there is a norm behind a branch", worker, "case PostNorm, SandwichNorm:", "case PostNorm:", tests, random},
		{"BERT: the sum is normalised", worker, "w.normaliseRows(w.x, n.last)", "w.normaliseRows(w.out, n.last)", tests, random},
		{"Granite: branches are scaled", worker, "k.Scale(out, w.m.ResidualScale)", "k.Scale(out, 1)", tests, random},
		{"Gemma 2: logits are bounded", forward, "Value: m.LogitSoftCap}", "Value: 2 * m.LogitSoftCap}", tests, random},
		{"Marian: there is no last norm", forward, "case m.NoLastNorm:", "case false:", tests, random},
		{"BLOOM: embeddings are normalised", forward, "m.normalise(x, x, m.embedNorm)", "m.normalise(x, x, m.decoderNorm)", tests, random},
	}
}
