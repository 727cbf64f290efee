package arch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/engine/transformer"
)

// expertNames names the tensors of a mixture of experts. A name with %e is that of each expert's
// matrix; one without is that of a tensor of all, (experts, rows, cols).
type expertNames struct {
	router         string
	up, gate, down string
	stacked        stackedNames // instead, if the file has them
	shared         block        // that all tokens use
	sharedGate     string
	correction     string // the whole name
	bias           bias   // of the router and of all matrices
	apart          apartNames
	interleaved    string // instead of matrices: what the names of GPT-OSS' tensors begin with
	flat           string // instead of matrices: what the names of MegaBlocks' tensors begin with
}

// A block names the matrices of a feed-forward block, as [layers] does.
type block struct{ up, gate, down, gateUp linear }

// apartNames name what experts next to the shared block have. router and scale are whole names.
type apartNames struct {
	router, norm, scale  string // before the router, before the experts, the factors of their results; "": they are 1
	sharedPost, postNorm string
}

// stackedNames name the tensors that newer files have: without ".weight".
type stackedNames struct {
	gateUp string // for each expert: the rows of gate, if there is one, then those of up
	down   string
}

// experts looks up the experts of a layer.
func (b *builder) experts(o *transformer.Layer, n *expertNames, layer int, f *transformer.FeedForward) {
	e, ffn, width := f.Experts, f.Width, b.spec.Width
	o.Router = b.linear(&linear{names: n.router, bias: n.bias}, layer, e.Count, width)
	if e.Corrected {
		names := strings.Fields(at(n.correction, layer))
		o.Correction = b.flat(names[max(0, slices.IndexFunc(names, b.has))], 1, e.Count) // some files have a row of a matrix
	}
	if e.Apart {
		b.apart(o, &n.apart, layer, e.Count)
	}
	if e.SharedGate {
		o.SharedGate = b.linear(&linear{names: n.sharedGate}, layer, 1, width)
	}
	if n.interleaved != "" {
		b.interleavedExperts(o, at(n.interleaved, layer), e.Count, ffn)
		return
	}
	if n.flat != "" {
		b.flatExperts(o, at(n.flat, layer), e.Count, ffn)
		return
	}
	upName, gateName, downName := n.of(b, layer)
	if upName == "" || n.stacked.gateUp != "" && b.has(at(n.stacked.gateUp, layer)) {
		b.stackedExperts(o, &n.stacked, layer, f)
		return
	}
	up, gate := b.each(upName, n.bias, layer, e.Count, ffn, width), make([]transformer.Linear, e.Count)
	if f.Gated {
		gate = b.each(gateName, n.bias, layer, e.Count, ffn, width)
	}
	down := b.each(downName, n.bias, layer, e.Count, width, ffn)
	if b.err != nil {
		return
	}
	for i := range e.Count {
		o.Experts = append(o.Experts, transformer.Expert{Up: up[i], Gate: gate[i], Down: down[i]})
	}
}

// stackedExperts looks up experts whose matrices are in tensors of all.
func (b *builder) stackedExperts(o *transformer.Layer, n *stackedNames, layer int, f *transformer.FeedForward) {
	count, ffn, width, rows := f.Experts.Count, f.Width, b.spec.Width, f.Width
	if f.Gated {
		rows = 2 * ffn
	}
	both, down := b.stacked(at(n.gateUp, layer), count, rows, width), b.stacked(at(n.down, layer), count, width, ffn)
	for i := range count {
		e := transformer.Expert{Up: one(both.rows((i+1)*rows-ffn, ffn)), Down: one(down.rows(i*width, width))}
		if f.Gated {
			e.Gate = one(both.rows(i*rows, ffn))
		}
		o.Experts = append(o.Experts, e)
	}
}

// flatExperts looks up experts without gates, whose rows lie one below the other in two matrices: those of
// up, and the columns of down. What is added to the sum of all must be zero.
func (b *builder) flatExperts(o *transformer.Layer, stem string, count, ffn int) {
	width := b.spec.Width
	up, down := b.matrix(stem+"mlp.w1", count*ffn, width, false), b.matrix(stem+"mlp.w2", count*ffn, width, false)
	added, values := b.vector(stem+"bias", width), make([]float32, width)
	if b.err != nil {
		return
	}
	if b.err = added.rows(0, width).Read(values, 0); b.err == nil && slices.ContainsFunc(values, func(v float32) bool { return v != 0 }) {
		b.err = fmt.Errorf("checkpoint %s: tensor %q: it is not zero", b.file.Name(), stem+"bias")
	}
	for i := range count {
		t := down.rows(i*ffn, ffn)
		t.Rows, t.Cols, t.Transposed, t.Stored, t.ReadStored = width, ffn, true, transformer.F32, nil
		o.Experts = append(o.Experts, transformer.Expert{Up: one(up.rows(i*ffn, ffn)), Down: one(t)})
	}
}

// of returns the names with which a file has the experts of a layer: those of MLX, in which a tensor has all
// experts, if it has them.
func (n *expertNames) of(b *builder, layer int) (up, gate, down string) {
	if stem, _, ok := strings.Cut(cmp.Or(n.up, n.stacked.gateUp), ".experts."); ok {
		if mlx := stem + ".switch_mlp."; b.has(at(mlx, layer) + "down_proj.weight") {
			return mlx + "up_proj", mlx + "gate_proj", mlx + "down_proj"
		}
	}
	return n.up, n.gate, n.down
}

// apart looks up what experts next to the shared block have.
func (b *builder) apart(o *transformer.Layer, n *apartNames, layer, count int) {
	width := b.spec.Width
	o.RouterNorm = transformer.Norm{Weight: transformer.Vector{b.vector(at(n.router, layer), width).rows(0, width)}}
	o.ExpertsNorm, o.SharedPostNorm, o.ExpertsPostNorm = b.norm(n.norm, layer), b.norm(n.sharedPost, layer), b.norm(n.postNorm, layer)
	if n.scale == "" {
		o.ExpertScale = ones(count)
		return
	}
	o.ExpertScale = transformer.Vector{b.vector(at(n.scale, layer), count).rows(0, count)}
}

func one(t transformer.Tensor) transformer.Linear {
	return transformer.Linear{Weight: []transformer.Tensor{t}}
}

// each returns a matrix of each expert. After an error the list may be shorter.
func (b *builder) each(name string, offsets bias, layer, count, rows, cols int) (list []transformer.Linear) {
	name = at(name, layer)
	if !strings.Contains(name, "%e") {
		all := b.stacked(name+".weight", count, rows, cols)
		for i := range count {
			list = append(list, one(all.rows(i*rows, rows)))
		}
		if offsets == always {
			vectors := b.stackedVectors(name+".bias", count, rows)
			for i := range count {
				list[i].Bias = transformer.Vector{vectors(i, 0, 1, rows)}
			}
		}
		return list
	}
	for i := range count {
		if b.err != nil { // before allocating much for missing tensors
			return list
		}
		list = append(list, one(b.matrix(strings.ReplaceAll(name, "%e", fmt.Sprint(i))+".weight", rows, cols, false).rows(0, rows)))
	}
	return list
}

// mixtral is Jiang et al. 2024: Mistral with experts in all layers.
var mixtral = llamaLike("Mixtral", func(f *family) {
	f.context, f.eps = field{"max_position_embeddings", 131072}, real{"rms_norm_eps", 1e-5}
	f.decoder.ffn = field{"intermediate_size", 14336}
	f.tensors.decoder.experts = expertNames{
		router: "layers.%d.block_sparse_moe.gate layers.%d.mlp.gate",
		up:     "layers.%d.block_sparse_moe.experts.%e.w3", gate: "layers.%d.block_sparse_moe.experts.%e.w1", down: "layers.%d.block_sparse_moe.experts.%e.w2",
		stacked: stackedNames{"layers.%d.mlp.experts.gate_up_proj", "layers.%d.mlp.experts.down_proj"},
	}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.Kinds[0].FeedForward.Experts = readExperts(c, field{"num_local_experts num_experts", 8}, 2, true)
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 1e6}}))
		if c.has("sliding_window") {
			setWindows(c, s, c.windowed(len(s.Decoder), everyLayer), field{"sliding_window", 0})
		}
	}
})

// qwen2MoE is Qwen1.5-MoE and Qwen2-57B-A14B: Qwen 2 with experts, and a block that all tokens
// use, behind a gate.
var qwen2MoE = llamaLike("Qwen2-MoE", func(f *family) {
	qwenDefaults(f)
	f.decoder.ffn.absent = 5632
	f.tensors.decoder.qkv.bias = stored
	qwenExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		qwenWindows(c, s)
		setExperts(c, s, field{"num_experts", 60}, 4, field{"moe_intermediate_size", 1408}, func(e *transformer.Experts) {
			e.Shared, e.SharedGate = c.integer("shared_expert_intermediate_size", 5632, 1, maxFFN), true
		})
	}
})

// qwen3MoE is Yang et al. 2025: Qwen 3 with experts.
var qwen3MoE = llamaLike("Qwen3-MoE", func(f *family) {
	qwenDefaults(f)
	f.decoder.ffn.absent = 6144
	f.kind.Attention.QKNorm = transformer.QKNormHead
	f.tensors.decoder.qNorm, f.tensors.decoder.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	qwenExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		llamaBiases(c, l)
		if c.flag("use_sliding_window", false) {
			setWindows(c, s, c.windowed(len(s.Decoder), everyLayer), field{"sliding_window", 4096})
		}
		setExperts(c, s, field{"num_experts num_local_experts", 128}, 8, field{"moe_intermediate_size", 768}, nil)
	}
})

func qwenExperts(f *family) {
	f.tensors.decoder.experts = expertNames{
		router: "layers.%d.mlp.gate",
		up:     "layers.%d.mlp.experts.%e.up_proj", gate: "layers.%d.mlp.experts.%e.gate_proj", down: "layers.%d.mlp.experts.%e.down_proj",
		stacked: stackedNames{"layers.%d.mlp.experts.gate_up_proj", "layers.%d.mlp.experts.down_proj"},
		shared: block{
			up: linear{names: "layers.%d.mlp.shared_expert.up_proj"}, gate: linear{names: "layers.%d.mlp.shared_expert.gate_proj"},
			down: linear{names: "layers.%d.mlp.shared_expert.down_proj"},
		},
		sharedGate: "layers.%d.mlp.shared_expert_gate",
	}
}

// olmoe is Muennighoff et al. 2024 (OLMoE): experts in all layers, and norms of all queries and
// all keys as vectors.
var olmoe = llamaLike("OLMoE", func(f *family) {
	olmoDefaults(f)
	f.context, f.eps = field{"max_position_embeddings", 4096}, real{"rms_norm_eps", 1e-5}
	f.width, f.decoder.ffn = field{"hidden_size", 2048}, field{"intermediate_size", 2048}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 16}, field{"num_attention_heads", 16}
	f.kind.Attention.QKNorm = transformer.QKNormAll
	f.fixed = append(f.fixed, requiredValue{"clip_qkv", "null"})
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	qwenExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].FeedForward.Experts = readExperts(c, field{"num_experts", 64}, 8, c.flag("norm_topk_prob", false))
		adjustLlama(c, s, l)
	}
})

// graniteMoE is IBM's Granite 3 with experts in all layers, and perhaps with a block that all
// tokens use.
var graniteMoE = llamaLike("Granite-MoE", func(f *family) {
	f.tensors.decoder.experts = graniteExperts()
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		e := readExperts(c, field{"num_local_experts", 8}, 2, true)
		e.Shared = c.integer("shared_intermediate_size", 0, 0, maxFFN)
		s.Kinds[0].FeedForward.Experts = e
		graniteFactors(c, s)
		adjustLlama(c, s, l)
	}
})

func graniteExperts() expertNames {
	return expertNames{
		router:  "layers.%d.block_sparse_moe.router.layer layers.%d.block_sparse_moe.router",
		stacked: stackedNames{"layers.%d.block_sparse_moe.input_linear.weight", "layers.%d.block_sparse_moe.output_linear.weight"},
		shared: block{
			gateUp: linear{names: "layers.%d.shared_mlp.input_linear"}, down: linear{names: "layers.%d.shared_mlp.output_linear"},
		},
	}
}

// readExperts reads the numbers of experts.
func readExperts(c *config, count field, used int, renormalised bool) *transformer.Experts {
	e := &transformer.Experts{Count: c.integer(count.names, count.absent, 1, maxExperts), Renormalised: renormalised}
	e.Used = c.integer("num_experts_per_tok", min(used, e.Count), 1, e.Count)
	return e
}

// setExperts gives the layers of Qwen's families experts, except for those that the configuration
// leaves without.
func setExperts(c *config, s *transformer.Spec, count field, used int, width field, change func(*transformer.Experts)) {
	e := readExperts(c, count, used, c.flag("norm_topk_prob", false))
	if change != nil {
		change(e)
	}
	ffn, step := c.integer(width.names, width.absent, 1, maxFFN), c.integer("decoder_sparse_step", 1, 1, maxDepth)
	dense := map[int]bool{}
	_, list, _ := read[[]int](c, "mlp_only_layers", "list of layers")
	for _, layer := range list {
		dense[layer] = true
	}
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if !dense[layer] && (layer+1)%step == 0 {
			k.FeedForward.Width, k.FeedForward.Experts = ffn, e
		}
	})
}

// expertsFrom gives the layers from first on experts of a width.
func expertsFrom(s *transformer.Spec, first, width int, e *transformer.Experts) {
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if layer >= first {
			k.FeedForward.Width, k.FeedForward.Experts = width, e
		}
	})
}
