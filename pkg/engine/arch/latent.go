package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// latentNames names the tensors of latent attention, see [transformer.Latent].
type latentNames struct {
	query                            string // of queries by one product
	queryFirst, queryNorm, queryLast string // by two
	first, norm                      string // of the latent vector and the rotated values
	both                             string // for each head: the rows of its keys, then those of its values
	key, value                       string // instead, if the file has them: (heads, rank, KeyDim), (heads, ValueDim, rank)
}

// llamaLatents are the names of DeepSeek and its relatives.
var llamaLatents = latentNames{
	query: "layers.%d.self_attn.q_proj", queryFirst: "layers.%d.self_attn.q_a_proj", queryNorm: "layers.%d.self_attn.q_a_layernorm",
	queryLast: "layers.%d.self_attn.q_b_proj", first: "layers.%d.self_attn.kv_a_proj_with_mqa", norm: "layers.%d.self_attn.kv_a_layernorm",
	both: "layers.%d.self_attn.kv_b_proj",
}

// latentEps is the eps of the norms of narrow vectors, whatever that of the others is.
const latentEps = 1e-6

// A latentShape has the defaults of what a configuration says of latent attention.
type latentShape struct{ queryRank, rank, keyDim, shared, valueDim int }

// latents gives all layers latent attention. Its rotary embedding has the base theta by default.
func (d latentShape) latents(c *config, s *transformer.Spec, theta float64) {
	if _, null := c.fields["q_lora_rank"]; null && !c.has("q_lora_rank") {
		d.queryRank = 0
	}
	t := &transformer.Latent{
		QueryRank: c.integer("q_lora_rank", d.queryRank, 0, maxWidth), KeyDim: c.integer("qk_nope_head_dim", d.keyDim, 1, maxWidth),
		Shared: c.integer("qk_rope_head_dim", d.shared, 2, maxWidth), ValueDim: c.integer("v_head_dim", d.valueDim, 1, maxWidth),
	}
	setLatent(s, t, c.integer("kv_lora_rank", d.rank, 1, maxWidth))
	r := rope{dim: t.Shared, base: real{"rope_theta", theta}, part: real{"partial_rotary_factor", 1}}
	scaling := r.scaling(c)
	table := r.readFrom(c, scaling)
	if table.Dims != t.Shared {
		c.reject("partial_rotary_factor", "partial rotary embeddings are not supported for this architecture")
	}
	table.Interleaved = c.flag("rope_interleave", true)
	setRotary(s, table)
	if scaling != nil {
		s.Kinds[0].Attention.Scale = yarnScale(t, scaling.number("factor", 1, 0, 1e6), scaling.number("mscale_all_dim", 0, 0, 1e6))
	}
}

// setLatent gives all layers latent attention, with latent vectors of a width.
func setLatent(s *transformer.Spec, t *transformer.Latent, rank int) {
	a := &s.Kinds[0].Attention
	if s.Eps != latentEps {
		t.Eps = latentEps
	}
	a.Latent, a.KVHeads, a.HeadDim, a.KeysAsValues = t, 1, t.Shared+rank, true
}

// yarnScale returns the scale of scores whose rotary embedding is stretched by a factor; 0: it is not, or by.
// is 0 (Peng et al. 2023; DeepSeek-V2).
func yarnScale(t *transformer.Latent, factor, by float64) float32 {
	if factor <= 1 || by == 0 {
		return 0
	}
	magnitude := 0.1*by*math.Log(factor) + 1
	return float32(magnitude * magnitude / math.Sqrt(float64(t.KeyDim+t.Shared)))
}

// latent looks up the latent attention of a layer.
func (b *builder) latent(o *transformer.Layer, l *layers, i int, a *transformer.Attention) {
	t, n, width, rank := a.Latent, &l.latent, b.spec.Width, a.HeadDim-a.Latent.Shared
	queries, first, query := a.Heads*(t.KeyDim+t.Shared), t.QueryRank, n.queryFirst
	if t.QueryRank == 0 {
		first, query = queries, n.query
	}
	o.QKV = b.pieces(&linear{names: query + " " + n.first, bias: l.qkv.bias}, i, width, first, a.HeadDim)
	o.KNorm = b.normOf([]string{at(n.norm, i)}, rank, never)
	if t.QueryRank > 0 {
		o.QNorm = b.normOf([]string{at(n.queryNorm, i)}, t.QueryRank, never)
		o.LatentQueries = b.linear(&linear{names: n.queryLast}, i, queries, t.QueryRank)
	}
	o.LatentHeads = b.latentHeads(n, i, a.Heads, rank, t)
	o.Out = b.linear(&l.out, i, width, a.Heads*t.ValueDim)
}

// latentHeads looks up the matrices of heads.
func (b *builder) latentHeads(n *latentNames, i, heads, rank int, t *transformer.Latent) (list []transformer.LatentHead) {
	if name := at(n.key, i) + ".weight"; n.key != "" && b.has(name) {
		keys, values := b.stacked(name, heads, rank, t.KeyDim), b.stacked(at(n.value, i)+".weight", heads, t.ValueDim, rank)
		for h := range heads {
			list = append(list, transformer.LatentHead{
				Key: []transformer.Tensor{keys.rows(h*rank, rank)}, Value: []transformer.Tensor{values.rows(h*t.ValueDim, t.ValueDim)},
			})
		}
		return list
	}
	each := t.KeyDim + t.ValueDim
	both := b.matrix(at(n.both, i)+".weight", heads*each, rank, false)
	for h := range heads {
		key := both.rows(h*each, t.KeyDim)
		key.Rows, key.Cols, key.Transposed = rank, t.KeyDim, true
		list = append(list, transformer.LatentHead{Key: []transformer.Tensor{key}, Value: []transformer.Tensor{both.rows(h*each+t.KeyDim, t.ValueDim)}})
	}
	return list
}

// miniCPM3 is OpenBMB's MiniCPM3: MiniCPM with DeepSeek-V2's attention, whose rotated pairs are halves.
var miniCPM3 = llamaLike("MiniCPM3", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 73448}, field{"max_position_embeddings", 32768}, field{"hidden_size", 2560}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 62}, heads: field{"num_attention_heads", 40}, ffn: field{"intermediate_size", 6400}}
	f.eps, f.tied = real{"rms_norm_eps", 1e-5}, true
	f.tensors.decoder.latent = llamaLatents
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		miniCPMFactors(c, s, 12, 1.4, 256)
		latentShape{768, 256, 64, 32, s.Width / s.Kinds[0].Attention.Heads}.latents(c, s, 10000)
		s.Rotaries[0].Interleaved = false
		llamaBiases(c, l)
	}
})
