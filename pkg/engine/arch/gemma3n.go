package arch

import (
	"fmt"
	"math"
	"strings"

	"glossa/pkg/engine/transformer"
)

// gemma3nText is the text model of Gemma Team 2025 (Gemma 3n), as transformers' Gemma3nForCausalLM has
// it: Gemma 4's inputs of layers and keys that layers share, several residual streams, a branch of low
// rank next to attention, and gates of which the first layers use few.
var gemma3nText = gemmaLike("Gemma 3n", func(f *family) {
	sandwich(f)
	f.vocab, f.context, f.width = field{"vocab_size", 262400}, field{"max_position_embeddings", 32768}, field{"hidden_size", 2048}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 35}, field{"num_attention_heads", 8}
	f.decoder.ffn = field{"", 1} // see adjust
	f.tensors.lessOne = false
	f.fixed = append(f.fixed, requiredValue{"altup_active_idx", "0"}, requiredValue{"altup_correct_scale", "true"})
	f.kind.Attention.QKNorm, f.kind.Attention.ValueNorm, f.kind.Attention.Scale = transformer.QKNormHead, true, 1
	f.tensors.layerEmbed, f.tensors.layerNorm = "embed_tokens_per_layer", "per_layer_projection_norm"
	f.tensors.layerProjection = linear{names: "per_layer_model_projection"}
	f.tensors.streamsIn, f.tensors.streamsOut = "altup_projections.%s", "altup_unembed_projections.%s"
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	l.inputGate, l.inputOut = linear{names: "layers.%d.per_layer_input_gate"}, linear{names: "layers.%d.per_layer_projection"}
	l.inputNorm = "layers.%d.post_per_layer_input_norm"
	l.streams = streamNames{
		norm: "layers.%d.altup.router_norm", router: "layers.%d.altup.modality_router", predict: "layers.%d.altup.prediction_coefs",
		correct: "layers.%d.altup.correction_coefs", scale: "layers.%d.altup.correct_output_scale",
	}
	l.laurel = laurelNames{linear{names: "layers.%d.laurel.linear_left"}, linear{names: "layers.%d.laurel.linear_right"}, "layers.%d.laurel.post_laurel_norm"}
	for _, name := range []string{"k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias", "k_norm.weight"} {
		f.buffers = append(f.buffers, "layers.*.self_attn."+name)
	}
	f.adjust = gemma3nLayers
})

// gemma3n is the whole model as it is published, of which that of text is read.
var gemma3n = viewer{
	title: "Gemma 3n", inner: "gemma3n_text", renames: []rename{{"model.language_model.", ""}},
	skipped: []string{"vision_tower.", "audio_tower.", "embed_vision.", "embed_audio."},
}

// gemma3nLayers reads what layers are.
func gemma3nLayers(c *config, s *transformer.Spec, l *layout) {
	depth := len(s.Decoder)
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.LogitSoftCap = float32(c.cap("final_logit_softcapping", 30))
	s.Streams, s.Laurel = c.integer("altup_num_inputs", 4, 2, maxStreams), c.integer("laurel_rank", 64, 1, maxWidth)
	s.LayerInputs = c.integer("hidden_size_per_layer_input", 256, 1, maxWidth)
	l.layerVocab = c.integer("vocab_size_per_layer_input", 262144, max(1, s.Vocab-maxLacking), s.Vocab)
	llamaBiases(c, l)
	a := &s.Kinds[0].Attention
	a.HeadDim = c.integer("head_dim", 256, 1, maxWidth)
	windowed := c.windowed(depth, func(layer int) bool { return (layer+1)%5 != 0 })
	rotaries := []transformer.Rotary{gemma3Rotary(c, s, fullAttention), gemma3Rotary(c, s, slidingAttention)}
	a.KVHeads = c.integer("num_key_value_heads", 2, 1, maxHeads)
	window := c.integer("sliding_window", 512, 1, maxContext)
	sources := c.sources("num_kv_shared_layers", 15, windowed)
	widths, sparsities := c.each("intermediate_size", 16384, depth, 1, maxFFN), c.sparsities(depth)
	if *c.err != nil {
		return
	}
	gemma3nKinds(s, windowed, sources, widths, sparsities, window, rotaries)
}

// gemma3nKinds gives each layer its kind. The rotary tables are that of full attention and that of
// windows.
func gemma3nKinds(s *transformer.Spec, windowed []bool, sources, widths []int, sparsities []float32, window int, rotaries []transformer.Rotary) {
	eachLayer(s, func(layer int, k *transformer.Kind) {
		a, f, table := &k.Attention, &k.FeedForward, 0
		a.KVLayer, f.Width, f.Sparsity = sources[layer], widths[layer], sparsities[layer]
		if windowed[layer] {
			if table = 1; window < s.Context {
				a.Window = window
			}
		}
		a.Rotary = addRotary(s, &rotaries[table])
	})
}

// sparsities returns the sparsity of each layer's gates: the first ten of more layers have one, unless a
// list says otherwise.
func (c *config) sparsities(depth int) []float32 {
	list := make([]float32, depth)
	const member = "activation_sparsity_pattern"
	if !c.has(member) {
		for i := range list {
			if depth > 10 && i < 10 {
				list[i] = 0.95
			}
		}
		return list
	}
	_, stated, _ := read[[]float32](c, member, "list of numbers")
	if len(stated) != depth {
		c.reject(member, "%d values of %d layers", len(stated), depth)
		return list
	}
	return stated
}

// maxLacking is the most tokens at the end of a vocabulary that the embedding of layers lacks.
const maxLacking = 4096

// layerEmbedding returns the embedding of layers. The tokens that it lacks have that of the first.
func (b *builder) layerEmbedding(l *layout, cols int) transformer.Linear {
	rows := b.spec.Vocab
	if l.layerVocab > 0 {
		rows = l.layerVocab
	}
	t := b.matrix(l.layerEmbed+".weight", rows, cols, false)
	weight := []transformer.Tensor{t.rows(0, rows)}
	for range b.spec.Vocab - rows {
		weight = append(weight, t.rows(0, 1))
	}
	return transformer.Linear{Weight: weight}
}

// streamNames names what a layer predicts and corrects streams by. scale is the whole name.
type streamNames struct{ norm, router, predict, correct, scale string }

// laurelNames names a branch next to attention.
type laurelNames struct {
	left, right linear
	norm        string
}

// streams looks up the matrices between streams: each is a tensor, or all of a direction are one.
func (b *builder) streams(w *transformer.Weights, l *layout) {
	n, width := b.spec.Streams-1, b.spec.Width
	if n < 0 {
		return
	}
	w.StreamsIn.Weight = b.streamMatrices(l.streamsIn, n, width)
	for _, t := range b.streamMatrices(l.streamsOut, n, width) {
		w.StreamsOut = append(w.StreamsOut, transformer.Linear{Weight: []transformer.Tensor{t}})
	}
}

// streamMatrices returns n matrices (width, width), whose name has a number if they are tensors of
// their own.
func (b *builder) streamMatrices(name string, n, width int) (list []transformer.Tensor) {
	if !strings.Contains(name, "%s") {
		all := b.stacked(name+".weight", n, width, width)
		for i := range n {
			list = append(list, all.rows(i*width, width))
		}
		return list
	}
	for i := range n {
		list = append(list, b.matrix(strings.ReplaceAll(name, "%s", fmt.Sprint(i))+".weight", width, width, false).rows(0, width))
	}
	return list
}

// layerStreams looks up what a layer has of streams, and its branch next to attention.
func (b *builder) layerStreams(o *transformer.Layer, l *layers, i int) {
	width := b.spec.Width
	if n := b.spec.Streams; n > 0 {
		s := &l.streams
		o.StreamsNorm = b.norm(s.norm, i)
		o.StreamsRouter, o.StreamsPredict = b.table(at(s.router, i), n, width), b.table(at(s.predict, i), n*n, n)
		o.StreamsCorrect = b.table(at(s.correct, i), n, n)
		o.StreamsScale = transformer.Vector{b.vector(at(s.scale, i), width).rows(0, width)}
	}
	if n := b.spec.Laurel; n > 0 {
		o.LaurelLeft, o.LaurelRight = b.linear(&l.laurel.left, i, n, width), b.linear(&l.laurel.right, i, width, n)
		o.LaurelNorm = b.norm(l.laurel.norm, i)
	}
}
