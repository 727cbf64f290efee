package arch

import "glossa/pkg/engine/transformer"

// codeGen is Nijkamp et al. 2022 (CodeGen): GPT-J with queries, values and keys in one matrix.
var codeGen = func() family {
	f := gptj
	f.title = "CodeGen"
	f.tensors.decoder.qkv = linear{names: "h.%d.attn.qkv_proj", quarters: true}
	f.buffers = append([]string{"h.*.attn.causal_mask"}, f.buffers...)
	adjust := gptj.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		if a := &s.Kinds[0].Attention; a.Heads%quarters != 0 {
			c.reject("n_head", "%d is not a multiple of %d", a.Heads, quarters)
		}
		adjust(c, s, l)
	}
	return f
}()

// quarters is the number of parts of CodeGen's matrices of queries, values and keys, one for each of
// the processors that trained it.
const quarters = 4

// quarters returns a matrix that is stored in parts, each of which has the rows of some heads' queries,
// then of their values, then of their keys.
func (b *builder) quarters(l *linear, layer, rows, cols int) transformer.Linear {
	n := rows / quarters
	all := b.matrix(at(l.names, layer)+".weight", 3*rows, cols, false)
	return transformer.Linear{Weight: byPart(all, quarters, []int{0, 2, 1}, n, n, n)}
}
