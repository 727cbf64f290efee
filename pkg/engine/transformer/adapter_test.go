package transformer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// adaptedWeights returns weights with random updates of the matrices of all layers: of each tensor,
// or of all tensors of a matrix together, as if they were parts of one that is stored in another order.
func adaptedWeights(w *transformer.Weights, seed uint64) *transformer.Weights {
	r, adapted := rand.New(rand.NewPCG(seed, 1)), *w
	adapted.Decoder = slices.Clone(w.Decoder)
	for i := range adapted.Decoder {
		o := &adapted.Decoder[i]
		list := []*transformer.Linear{&o.QKV, &o.Out, &o.ConvolutionIn, &o.ConvolutionOut, &o.StatesIn, &o.StatesSelection, &o.StatesSteps, &o.StatesOut}
		if len(o.Experts) == 0 {
			list = append(list, &o.Up, &o.Gate, &o.Down)
		}
		for _, l := range list {
			adapt(r, l)
		}
	}
	return &adapted
}

// adapt gives a matrix random updates. Tensors are divided before.
func adapt(r *rand.Rand, l *transformer.Linear) {
	var parts []transformer.Tensor
	rows := 0
	for _, t := range l.Weight {
		parts, rows = append(parts, divide(r, t)...), rows+t.Rows
	}
	l.Weight = parts
	together, at := r.IntN(2) == 0, rows
	var whole *transformer.LowRank
	for i := range l.Weight {
		t := &l.Weight[i]
		switch at -= t.Rows; {
		case together && whole == nil:
			whole = update(r, t.Name, rows, t.Cols)
			fallthrough
		case together:
			t.Update, t.UpdateRow = whole, at
		case r.IntN(4) > 0:
			t.Update = update(r, t.Name, t.Rows, t.Cols)
		default:
			continue
		}
		merge(t)
	}
}

// divide returns the rows of a tensor in one to three parts.
func divide(r *rand.Rand, t transformer.Tensor) (parts []transformer.Tensor) {
	if t.Transposed {
		return []transformer.Tensor{t}
	}
	for at := 0; at < t.Rows; {
		part, first := t, at
		if part.Rows = t.Rows - at; len(parts) < 2 {
			part.Rows = 1 + r.IntN(part.Rows)
		}
		part.ReadStored, part.Stored = nil, transformer.F32
		part.Read = func(dst []float32, from int) error { return t.Read(dst, first*t.Cols+from) }
		parts, at = append(parts, part), at+part.Rows
	}
	return parts
}

// update returns a random update of a small rank.
func update(r *rand.Rand, name string, rows, cols int) *transformer.LowRank {
	return updateOf(r, name, 1+r.IntN(5), rows, cols)
}

func updateOf(r *rand.Rand, name string, rank, rows, cols int) *transformer.LowRank {
	a, b := make([]float32, rank*cols), make([]float32, rank*rows)
	for i := range a {
		a[i] = float32(r.NormFloat64() / math.Sqrt(float64(cols)))
	}
	for i := range b {
		b[i] = float32(r.NormFloat64() / 4)
	}
	return &transformer.LowRank{Name: name, Rank: rank, In: cols, Out: rows, Read: func() ([]float32, []float32, error) { return a, b, nil }}
}

// merge makes a tensor read its values with its update.
func merge(t *transformer.Tensor) {
	read, u, first, cols, transposed := t.Read, t.Update, t.UpdateRow, t.Cols, t.Transposed
	t.ReadStored = nil
	t.Read = func(dst []float32, from int) error {
		a, b, err := u.Read()
		if err != nil {
			return err
		}
		if err := read(dst, from); err != nil {
			return err
		}
		for i := range dst {
			row, col := (from+i)/cols, (from+i)%cols
			if transposed {
				row, col = (from+i)%t.Rows, (from+i)/t.Rows
			}
			for k := range u.Rank {
				dst[i] += b[k*u.Out+first+row] * a[k*cols+col]
			}
		}
		return nil
	}
}

// decoders returns random models without an encoder.
func decoders(n int) (list []*transformertest.Model) {
	for seed := uint64(0); len(list) < n; seed++ {
		if m := transformertest.Random(seed); len(m.Spec.Encoder) == 0 {
			list = append(list, m)
		}
	}
	return list
}

// A pass with an adapter computes what the merged weights do.
func TestAdapter(t *testing.T) {
	for i, d := range decoders(30) {
		w := adaptedWeights(d.Weights, uint64(i))
		bytes, ok := w.Adapter(d.Spec)
		if _, plain := d.Weights.Adapter(d.Spec); !ok || plain {
			t.Fatalf("model %d: adapted %v, plain %v", i, ok, plain)
		}
		for _, k := range kernel.Implementations() {
			model, merged := must(transformer.New(d.Spec, d.Weights, k, transformer.F32)), must(transformer.New(d.Spec, w, k, transformer.F32))
			a := must(model.NewAdapter(w))
			if a.Bytes() != bytes {
				t.Errorf("model %d: %d bytes, %d expected", i, a.Bytes(), bytes)
			}
			ids := tokens(9, d.Spec.Vocab)
			seq := func(m *transformer.Model, a *transformer.Adapter) []float32 {
				return slices.Clone(must(m.NewPass(nil).Forward([]transformer.Sequence{{Cache: m.NewCache(9), Tokens: ids, Logits: 9, Adapter: a}})))
			}
			got, want, base := seq(model, a), seq(merged, nil), seq(model, nil)
			if off, moves := distance(got, want), distance(base, want); off > 1e-4 || moves < 100*off {
				t.Errorf("model %d, %s: logits are %.2g away, the base's %.2g", i, k.Name(), off, moves)
			}
		}
	}
}

// A row's results do not depend, to the bit, on the adapters of other rows, nor on the team, in
// any format of the weights.
func TestAdaptersOfOnePass(t *testing.T) {
	for i, d := range decoders(12) {
		first, second := adaptedWeights(d.Weights, uint64(2*i)), adaptedWeights(d.Weights, uint64(2*i+1))
		format := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0}[i%3]
		model := must(transformer.New(d.Spec, d.Weights, kernel.Best(), format))
		a, b := must(model.NewAdapter(first)), must(model.NewAdapter(second))
		of := []*transformer.Adapter{a, nil, b, b, a, nil}
		sequences := func() (list []transformer.Sequence) {
			for j, adapter := range of {
				ids := tokens(3+j, d.Spec.Vocab)
				list = append(list, transformer.Sequence{Cache: model.NewCache(12), Tokens: ids, Logits: 2, Adapter: adapter})
			}
			return list
		}
		steps := func(p *transformer.Pass, seqs []transformer.Sequence) (logits [][]float32) {
			for range 3 {
				out := must(p.Forward(seqs))
				for j := range seqs {
					n := seqs[j].Logits * d.Spec.Vocab
					logits, out = append(logits, slices.Clone(out[:n])), out[n:]
					seqs[j].Tokens, seqs[j].Logits = seqs[j].Tokens[:1], 1
				}
			}
			return logits
		}
		var want [][]float32
		for j := range of {
			for s, row := range steps(model.NewPass(nil), sequences()[j:j+1]) {
				if want == nil {
					want = make([][]float32, 3*len(of))
				}
				want[s*len(of)+j] = row
			}
		}
		for _, workers := range []int{1, 2, 3, 5} {
			team := transformer.NewTeam(workers)
			p := model.NewPass(team)
			p.ShareAll = true
			for s, row := range steps(p, sequences()) {
				if !slices.Equal(row, want[s]) {
					t.Errorf("model %d, %v, %d workers: row %d of pass %d differs from the row alone", i, format, workers, s%len(of), s/len(of))
				}
			}
			team.Close()
		}
		if slices.Equal(want[0][:d.Spec.Vocab], want[1][:d.Spec.Vocab]) {
			t.Errorf("model %d: the adapter changes nothing", i)
		}
	}
}

// Weights in eight bits with an adapter compute nearly what the merged weights do.
func TestAdapterOfQuantisedWeights(t *testing.T) {
	spec, _ := plain(256, 2, 50)
	w := transformertest.New(spec, 1).Weights
	adapted := adaptedWeights(w, 5)
	want := forward(t, spec, adapted, transformer.F32)
	model := must(transformer.New(spec, w, kernel.Best(), transformer.Q8_0))
	seq := transformer.Sequence{Cache: model.NewCache(4), Tokens: []int{1, 2, 3}, Logits: 3, Adapter: must(model.NewAdapter(adapted))}
	got := slices.Clone(must(model.NewPass(nil).Forward([]transformer.Sequence{seq})))
	base := forward(t, spec, w, transformer.F32)
	if off, moves := distance(got, want), distance(base, want); off > 0.03 || moves < 10*off {
		t.Errorf("logits are %.3f away, the base's %.3f", off, moves)
	}
}

// Decoding with adapters allocates nothing.
func TestAdaptersAllocateNothing(t *testing.T) {
	spec, w := plain(64, 2, 50)
	m := must(transformer.New(spec, w, kernel.Best(), transformer.Q8_0))
	var seqs []transformer.Sequence
	for i := range 3 {
		seqs = append(seqs, transformer.Sequence{Cache: m.NewCache(m.Context), Tokens: []int{1}, Logits: 1, Adapter: must(m.NewAdapter(adaptedWeights(w, uint64(i))))})
	}
	p := m.NewPass(nil)
	if n := testing.AllocsPerRun(20, func() { must(p.Forward(seqs)) }); n != 0 {
		t.Errorf("%v allocations a pass", n)
	}
}

// Updates that a pass cannot add are refused, and so are those of another model.
func TestAdapterRefused(t *testing.T) {
	spec, w := plain(64, 2, 50)
	m := must(transformer.New(spec, w, kernel.Best(), transformer.F32))
	r := rand.New(rand.NewPCG(1, 2))
	_, other := plain(32, 2, 50)
	_, deeper := plain(64, 3, 50)
	head, embed, wrong := *w, *w, adaptedWeights(w, 1)
	head.Head.Weight = slices.Clone(w.Head.Weight)
	head.Head.Weight[0].Update = update(r, "head", 50, 64)
	embed.Embed.Weight = slices.Clone(w.Embed.Weight)
	embed.Embed.Weight[0].Update = head.Head.Weight[0].Update
	wrong.Decoder[0].Down.Weight[0].Update = &transformer.LowRank{Name: "short", Rank: 3, In: 256, Out: 64, Read: func() ([]float32, []float32, error) { return nil, nil, nil }}
	for name, c := range map[string]struct {
		w    *transformer.Weights
		want string
	}{
		"head":     {&head, "merged"},
		"embed":    {&embed, "merged"},
		"wrong":    {wrong, "short: 0 and 0 values do not have rank 3"},
		"narrower": {adaptedWeights(other, 1), "shape"},
		"deeper":   {adaptedWeights(deeper, 1), "layers"},
	} {
		if a, err := m.NewAdapter(c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %q", name, a, err, c.want)
		}
	}
	mixed := *spec
	mixed.Kinds = slices.Clone(spec.Kinds)
	mixed.Kinds[0].FeedForward = transformer.FeedForward{Width: 16, Gated: true, Activation: transformer.SiLU, Experts: &transformer.Experts{Count: 2, Used: 1, Shared: 16}}
	shared := transformertest.New(&mixed, 1).Weights
	adapt(r, &shared.Decoder[0].Down)
	for refused, spec := range map[*transformer.Weights]*transformer.Spec{&head: spec, &embed: spec, shared: &mixed} {
		if n, ok := refused.Adapter(spec); ok {
			t.Errorf("an adapter of %d bytes", n)
		}
	}
}
