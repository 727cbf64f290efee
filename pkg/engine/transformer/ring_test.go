package transformer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// ringBounds are windows and, negative, chunks around the sizes of rings and their steps. The
// rings have 128, 128, 128, 256, 256, 256, 128 and 256 slots.
var ringBounds = []int{1, 7, 65, 66, 129, 193, -40, -128}

// ringed is a model with a layer for each of bounds and one without.
func ringed(bounds ...int) *transformertest.Model {
	return transformertest.New(ringedSpec(bounds...), 3)
}

// stateful is a model with attention, a window, a convolution, a delta rule and states of both forms,
// in one layer together with attention.
func stateful() *transformertest.Model {
	spec := convolved(7).Spec
	spec.Decoder = append(spec.Decoder, len(spec.Kinds), len(spec.Kinds)+1, len(spec.Kinds)+2, len(spec.Kinds)+3)
	spec.Kinds = append(spec.Kinds, transformer.Kind{
		States:      &transformer.StateSpace{Heads: 4, HeadDim: 6, Size: 16, Groups: 2, Taps: 4},
		FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
	}, transformer.Kind{
		Attention:   transformer.Attention{Heads: 2, KVHeads: 1, HeadDim: 8},
		States:      &transformer.StateSpace{Heads: 2, HeadDim: 5, Size: 8, Groups: 1, Taps: 3, Gating: transformer.GateAlone},
		FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
	}, transformer.Kind{
		States:      &transformer.StateSpace{Heads: 1, HeadDim: 300, Size: 16, Groups: 1, Taps: 4, Gating: transformer.GateAlone, StepRank: 3, StepEps: 1e-5},
		FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
	}, transformer.Kind{
		Deltas:      &transformer.DeltaNet{Heads: 4, HeadDim: 6, KeyHeads: 2, KeyDim: 8, Taps: 4},
		FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
	})
	return transformertest.New(spec, 3)
}

// convolved is ringed with a convolution too.
func convolved(bounds ...int) *transformertest.Model {
	spec := ringedSpec(bounds...)
	spec.Decoder = append(spec.Decoder, len(spec.Kinds))
	spec.Kinds = append(spec.Kinds, transformer.Kind{
		Convolution: &transformer.Convolution{Taps: 4}, FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
	})
	return transformertest.New(spec, 3)
}

func ringedSpec(bounds ...int) *transformer.Spec {
	spec := &transformer.Spec{
		Vocab: 31, Context: 1500, Width: 24, Eps: 1e-5, Norm: transformer.RMSNorm,
		Rotaries: []transformer.Rotary{{Dims: 8, Frequencies: transformer.Frequencies(100, 8)}},
	}
	for i, bound := range append([]int{0}, bounds...) {
		a := transformer.Attention{Heads: 2, KVHeads: 1 + i%2, HeadDim: 8, Rotary: 1, Window: max(0, bound), Chunk: max(0, -bound)}
		spec.Kinds = append(spec.Kinds, transformer.Kind{
			Attention: a, FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.SiLU},
		})
		spec.Decoder = append(spec.Decoder, i)
	}
	return spec
}

// After a pass that panics, nothing of a cache is promised: its rings have lost tokens.
func TestRingsAfterAPanic(t *testing.T) {
	m := load(t, convolved(193, 65), kernel.Best(), transformer.F32)
	ids, c, pass := tokens(640, m.Vocab), m.NewCache(1200), m.NewPass(nil)
	must(pass.Forward([]transformer.Sequence{{Cache: c, Tokens: ids, Logits: 1}}))
	pass.Hidden = func(_ bool, layer int, _ []float32) {
		if layer == 2 {
			panic("stop")
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		must(pass.Forward([]transformer.Sequence{{Cache: c, Tokens: ids[:64], Logits: 1}}))
	}()
	if c.Len != 0 || m.Prefix(c, 600, 1200).Len != 0 {
		t.Errorf("%d tokens of the cache remain", c.Len)
	}
}

// A long sequence gives the same logits to the bit with rings as without, at once and in
// pieces of any lengths, by any number of workers.
func TestRings(t *testing.T) {
	for bounds, made := range []*transformertest.Model{convolved(ringBounds...), convolved(7), stateful()} {
		for _, k := range transformertest.Tiers() {
			m := load(t, made, k, transformer.F32)
			ids := tokens(800, m.Vocab)
			pass := m.NewPass(nil)
			var want []float32
			for full := m.NewFullCache(len(ids)); full.Len < len(ids); {
				want = append(want, must(pass.Forward([]transformer.Sequence{{Cache: full, Tokens: ids[full.Len:][:100], Logits: 100}}))...)
			}
			for i, pieces := range [][]int{{1}, {6}, {7}, {8}, {63}, {64}, {65}, {66}, {127}, {128}, {129}, {192}, {193}, {194}, {800}, {1, 70, 2, 300, 5}} {
				team := transformer.NewTeam(1 + i%3)
				pass := m.NewPass(team)
				pass.ShareAll = true
				var got []float32
				cache := m.NewCache(len(ids) + i)
				for j := 0; cache.Len < len(ids); j++ {
					n := min(pieces[j%len(pieces)], len(ids)-cache.Len)
					got = append(got, must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: ids[cache.Len:][:n], Logits: n}}))...)
				}
				team.Close()
				if !slices.Equal(got, want) {
					t.Errorf("%s, model %d, pieces %v: rings change the logits", k.Name(), bounds, pieces)
				}
			}
		}
	}
}

// A layer whose keys and values later layers read keeps all tokens, whatever its window: in a pass, the
// later ones read them after the last token was stored. Other layers have rings.
func TestLentRings(t *testing.T) {
	spec := ringedSpec(7, 65)
	for _, window := range []int{7, 0} {
		kind := spec.Kinds[1]
		kind.Attention.KVLayer, kind.Attention.Window = 2, window
		spec.Decoder, spec.Kinds = append(spec.Decoder, len(spec.Kinds)), append(spec.Kinds, kind)
	}
	m := load(t, transformertest.New(spec, 3), kernel.Best(), transformer.F32)
	ids, pass := tokens(300, m.Vocab), m.NewPass(nil)
	if cache := m.CacheBytes(len(ids)); cache >= m.FullBytes(len(ids)) {
		t.Fatalf("%d bytes: there is no ring", cache)
	}
	want := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: m.NewFullCache(len(ids)), Tokens: ids, Logits: len(ids)}})))
	for _, piece := range []int{300, 150, 60} {
		cache, got := m.NewCache(len(ids)), []float32(nil)
		for part := range slices.Chunk(ids, piece) {
			got = append(got, must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: part, Logits: len(part)}}))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pieces of %d: rings change the logits", piece)
		}
	}
}

// Tokens that are dropped again, up to SpareTokens at once, leave no trace: neither in the logits
// of what follows nor in copies.
func TestTruncate(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, bounds := range [][]int{ringBounds, {7}} {
		m := load(t, convolved(bounds...), kernel.Best(), transformer.F32)
		ids, pass := tokens(700, m.Vocab), m.NewPass(nil)
		cache, full := m.NewCache(900), m.NewFullCache(900)
		for cache.Len < len(ids) {
			n, wrong := min(1+rng.IntN(40), len(ids)-cache.Len), rng.IntN(transformer.SpareTokens+1)
			if n+wrong > transformer.SpareTokens {
				n = 1
				wrong = min(wrong, transformer.SpareTokens-n)
			}
			fed := append(slices.Clone(ids[cache.Len:][:n]), tokens(wrong, m.Vocab)...)
			want := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: full, Tokens: fed[:n], Logits: n}})))
			got := must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: fed, Logits: len(fed)}}))[:len(want)]
			if !slices.Equal(got, want) {
				t.Fatalf("bounds %v: other logits before token %d", bounds, full.Len)
			}
			cache.Truncate(full.Len)
			if at := full.Len - rng.IntN(full.Len); cache.Reach(nil, at) == at {
				a, b := m.Prefix(cache, at, 900), m.ForkFull(full, at, 900)
				x := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: a, Tokens: ids[:30], Logits: 30}})))
				if y := must(pass.Forward([]transformer.Sequence{{Cache: b, Tokens: ids[:30], Logits: 30}})); !slices.Equal(x, y) {
					t.Fatalf("bounds %v: a copy of %d of %d tokens is another", bounds, at, full.Len)
				}
			}
		}
	}
}

// Every random architecture with a window computes with rings what it computes without.
func TestRandomArchitecturesRings(t *testing.T) {
	rings := 0
	for _, seed := range architectures {
		r := transformertest.Random(uint64(seed))
		m := load(t, r, kernel.Best(), transformer.F32)
		m.StoreKV(kvFormats[seed%len(kvFormats)])
		source, ids := tokens(290, 31), tokens(300, 29)
		full := m.NewFullCache(len(ids))
		if ringless := m.CacheBytes(len(ids)) == m.FullBytes(len(ids)); ringless {
			continue
		}
		rings++
		pass := m.NewPass(nil)
		seq := transformer.Sequence{Cache: full, Tokens: ids, Logits: len(ids)}
		if len(m.Encoder) > 0 {
			seq.Memory = must(pass.Encode([][]int{source}))[0]
		}
		want := slices.Clone(must(pass.Forward([]transformer.Sequence{seq})))
		var got []float32
		seq.Cache = m.NewCache(len(ids))
		for i, rest := 0, ids; len(rest) > 0; i++ {
			n := min(1+40*(i%3), len(rest))
			seq.Tokens, seq.Logits, rest = rest[:n], n, rest[n:]
			got = append(got, must(pass.Forward([]transformer.Sequence{seq}))...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: rings change the logits", seed)
		}
	}
	if rings < 20 {
		t.Errorf("%d architectures have rings", rings)
	}
}

// A pair is a sequence with its tokens in a cache with rings and one without.
type pair struct {
	ringed, full *transformer.Cache
	ids          []int
	longest      int // tokens that the sequence has had
}

// A mark belongs to the first tokens of a pair.
type mark struct {
	*transformer.Mark
	ids     []int
	longest int
}

// A program appends, shortens, copies and marks sequences as its steps say, and compares each
// logit with that of a cache without rings.
type program struct {
	*testing.T
	m     *transformer.Model
	pass  *transformer.Pass
	rng   *rand.Rand
	pairs []*pair
	marks []mark
	cuts  int // of rings that had dropped tokens
}

func newProgram(t *testing.T, m *transformer.Model, seed uint64) *program {
	return &program{T: t, m: m, pass: m.NewPass(nil), rng: rand.New(rand.NewPCG(seed, 9))}
}

func (p *program) append(x *pair, n int) {
	if n = min(n, x.ringed.Capacity()-x.ringed.Len); n == 0 {
		return
	}
	ids := make([]int, n)
	for i := range ids {
		ids[i] = p.rng.IntN(p.m.Vocab)
	}
	x.ids = append(slices.Clip(x.ids), ids...)
	x.longest = max(x.longest, len(x.ids))
	got := slices.Clone(must(p.pass.Forward([]transformer.Sequence{{Cache: x.ringed, Tokens: ids, Logits: n}})))
	if want := must(p.pass.Forward([]transformer.Sequence{{Cache: x.full, Tokens: ids, Logits: n}})); !slices.Equal(got, want) {
		p.Fatalf("the logits after %d tokens, of %d, differ from those without rings", len(x.ids), n)
	}
}

// shorten replaces a pair by a copy of its first n tokens, or of as many as can be copied. It
// checks what Reach says.
func (p *program) shorten(x *pair, with *mark, n, capacity int) {
	end, longest, k := x.ringed.Len, x.longest, (*transformer.Mark)(nil)
	if with != nil {
		if len(with.ids) > len(x.ids) || !slices.Equal(with.ids, x.ids[:len(with.ids)]) {
			return // of another sequence
		}
		end, longest, k = with.Len, with.longest, with.Mark
	}
	n = min(n, end)
	reach := x.ringed.Reach(k, n)
	if reach != n && reach != 0 {
		p.Fatalf("%d of %d tokens, of which the first %d are wanted", reach, end, n)
	}
	if with == nil && reach != n && longest-n <= 64 {
		p.Fatalf("the last %d of %d tokens cannot be dropped", end-n, end)
	}
	if end > 256 && reach > 0 && reach < end {
		p.cuts++
	}
	x.ringed = p.m.PrefixAt(x.ringed, k, n, capacity)
	if x.ringed.Len != reach {
		p.Fatalf("a copy of %d tokens has %d", reach, x.ringed.Len)
	}
	capacity = x.ringed.Capacity()
	x.full, x.ids, x.longest = p.m.ForkFull(x.full, reach, capacity), x.ids[:reach], longest
	if reach == 0 {
		x.longest = 0
	}
}

// step does what three bytes say.
func (p *program) step(do, which, size byte) {
	if len(p.pairs) == 0 || do%16 == 0 && len(p.pairs) < 4 {
		capacity := 100 + 5*int(size)
		p.pairs = append(p.pairs, &pair{ringed: p.m.NewCache(capacity), full: p.m.NewFullCache(capacity)})
	}
	x := p.pairs[int(which)%len(p.pairs)]
	capacity := min(x.ringed.Capacity()+int(which)%200, 1500)
	switch do % 8 {
	case 0, 1, 2:
		p.append(x, 1+int(size))
	case 3:
		p.append(x, 1)
		p.append(x, 2)
	case 4: // near the end
		p.shorten(x, nil, max(0, x.ringed.Len-int(size)), capacity)
	case 5: // anywhere, if that is possible, with a small cache
		n := x.ringed.Len * int(size) / 255
		if x.ringed.Reach(nil, n) > 0 || which%8 == 0 {
			p.shorten(x, nil, n, n+100)
		}
	case 6:
		if p.marks = append(p.marks, mark{p.m.Mark(x.ringed), slices.Clone(x.ids), x.longest}); len(p.marks) > 4 {
			p.marks = p.marks[1:]
		}
	default:
		if len(p.marks) > 0 {
			with := &p.marks[int(which)%len(p.marks)]
			p.shorten(x, with, max(0, with.Len-int(size)%150), capacity)
		}
	}
}

func (p *program) run(steps []byte) {
	for ; len(steps) >= 3; steps = steps[3:] {
		p.step(steps[0], steps[1], steps[2])
	}
}

func randomSteps(seed uint64, n int) []byte {
	rng, steps := rand.New(rand.NewPCG(seed, 1)), make([]byte, 3*n)
	for i := range steps {
		steps[i] = byte(rng.Uint32())
	}
	return steps
}

// Copies of the beginnings of sequences, from rings and from marks, are continued as if all
// layers kept all tokens.
func TestRingPrefixes(t *testing.T) {
	var models []*transformer.Model
	for _, f := range kvFormats {
		m := load(t, convolved(1, 66, -40), kernel.Best(), transformer.F32)
		m.StoreKV(f)
		models = append(models, m)
	}
	cuts := 0
	for seed := range uint64(40) {
		p := newProgram(t, models[seed%2], seed)
		p.run(randomSteps(seed, 100))
		cuts += p.cuts
	}
	if cuts < 50 {
		t.Errorf("%d copies were taken from rings that had dropped tokens", cuts)
	}
}

// Reach is exact: a copy of the least number of tokens that a ring can be shortened to has all
// that the next token sees, and a shorter one would not.
func TestRingReach(t *testing.T) {
	for _, test := range []struct{ bound, tokens, least int }{
		{7, 128, 0}, {7, 129, 1 + 6}, {7, 400, 272 + 6}, {1, 400, 272}, {66, 400, 144 + 65}, {-40, 400, 272 + 39},
	} {
		m := load(t, ringed(test.bound), kernel.Best(), transformer.F32)
		x := &pair{ringed: m.NewCache(1000), full: m.NewFullCache(1000)}
		p := newProgram(t, m, 1)
		p.append(x, test.tokens)
		k := m.Mark(x.ringed)
		for n := range test.tokens + 2 {
			want := min(n, test.tokens)
			if n < test.least {
				want = 0
			}
			if got, marked := x.ringed.Reach(nil, n), x.ringed.Reach(k, n); got != want || marked != want {
				t.Errorf("%+v: %d of the first %d tokens, %d with a mark, want %d", test, got, n, marked, want)
			}
		}
		if test.least == 0 {
			continue
		}
		first, again := *x, *x
		p.shorten(&first, nil, test.least, 1000)
		p.append(&first, 1)
		p.append(&first, 100)
		p.append(&again, 300) // the ring drops what the mark has
		p.shorten(&again, &mark{k, x.ids, x.longest}, test.least, 1000)
		p.append(&again, 1)
		p.append(&again, 100)
	}
}

// A mark applies to caches with the same rings, which may have been copied from its own, and
// to no others.
func TestMarks(t *testing.T) {
	m := load(t, convolved(7), kernel.Best(), transformer.F32)
	p := newProgram(t, m, 2)
	x := &pair{ringed: m.NewCache(128), full: m.NewFullCache(128)}
	p.append(x, 100)
	k := m.Mark(x.ringed)
	if got := x.ringed.Reach(k, 60); got != 60 {
		t.Errorf("%d tokens before a mark of a cache that keeps all", got)
	}
	for _, n := range []int{0, 300} {
		p.shorten(x, nil, 100, 1000) // has a ring
		p.append(x, n)
		if got := x.ringed.Reach(k, 60); got != 0 {
			t.Errorf("%d tokens after %d more, before a mark without what the ring drops", got, n)
		}
	}
	marked := &mark{m.Mark(x.ringed), x.ids, x.longest}
	p.shorten(x, nil, 390, 500)
	p.append(x, 10)
	if got := x.ringed.Reach(marked.Mark, 390); got != 390 {
		t.Errorf("%d tokens before the mark of the cache's origin", got)
	}
}

func FuzzRingPrefixes(f *testing.F) {
	f.Add(uint64(1), randomSteps(1, 10))
	f.Add(uint64(2), []byte{0, 0, 255, 1, 0, 255, 6, 0, 0, 1, 0, 200, 7, 0, 100, 1, 0, 100})
	f.Fuzz(func(t *testing.T, seed uint64, steps []byte) {
		m := load(t, convolved(1, 66, -40), kernel.Best(), transformer.F32)
		newProgram(t, m, seed).run(steps[:min(len(steps), 300)])
	})
}

// A layer with a window keeps the tokens that the window reaches and at least 64 more, in
// steps of 128, and a mark at most as much.
func TestRingMemory(t *testing.T) {
	for _, test := range []struct{ bound, capacity, slots int }{
		{0, 1500, 1500}, {1, 1500, 128}, {65, 1500, 128}, {66, 1500, 256}, {193, 1500, 256}, {194, 1500, 384}, {512, 1500, 640}, {1024, 1500, 1152},
		{-65, 1500, 128}, {-66, 1500, 256}, {2000, 1500, 1500}, {1, 128, 128}, {1, 129, 128}, {1, 100, 100}, {66, 255, 255}, {66, 256, 256}, {66, 257, 256},
		{1, 5000, 128}, {1<<62 - 1, 5000, 1500},
	} {
		m := load(t, ringed(test.bound), kernel.Best(), transformer.F32)
		bytes := func(heads, tokens int) int64 {
			keys, values := kernel.KVLen(kernel.KVF32, tokens, 8)
			return 4 * int64(heads) * int64(keys+values)
		}
		if got, want := m.CacheBytes(test.capacity), bytes(1, min(test.capacity, 1500))+bytes(2, test.slots); got != want {
			t.Errorf("%+v: %d bytes, want %d", test, got, want)
		}
		c := m.NewCache(test.capacity)
		allocated := fmt.Sprint("capacity ", c.Capacity(), ", ", c.Bytes(), " bytes")
		if want := fmt.Sprint("capacity ", min(test.capacity, 1500), ", ", m.CacheBytes(test.capacity), " bytes"); allocated != want {
			t.Errorf("%+v: %s, want %s", test, allocated, want)
		}
		for _, n := range []int{0, 1, 100, c.Capacity()} {
			c.Len, test.slots = n, min(test.slots, c.Capacity())
			want := int64(0)
			if test.slots < c.Capacity() {
				want = bytes(2, min(n, test.slots))
			}
			if got := m.Mark(c).Bytes(); got != want {
				t.Errorf("%+v: a mark at %d tokens has %d bytes, want %d", test, n, got, want)
			}
		}
	}
}

// A cache that is emptied begins as a new one does.
func TestStatesBegin(t *testing.T) {
	m := load(t, stateful(), kernel.Best(), transformer.F32)
	pass, used, ids := m.NewPass(nil), m.NewCache(100), tokens(70, m.Vocab)
	must(pass.Forward([]transformer.Sequence{{Cache: used, Tokens: ids[:50], Logits: 1}}))
	m.Copy(used, m.NewCache(100))
	got := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: used, Tokens: ids[50:], Logits: 20}})))
	if want := must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(100), Tokens: ids[50:], Logits: 20}})); !slices.Equal(got, want) {
		t.Error("an emptied cache gives other logits")
	}
}

// Queries and keys of no length are no numbers divided by zero.
func TestDeltasOfNothing(t *testing.T) {
	m := stateful()
	m.Weights.Decoder[len(m.Spec.Decoder)-1].Convolution[0].Read = func(dst []float32, _ int) error { clear(dst); return nil }
	model := load(t, m, kernel.Best(), transformer.F32)
	got := must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(9), Tokens: tokens(9, m.Spec.Vocab), Logits: 9}}))
	if kernel.Best().HasNaN(got) {
		t.Error("logits are no numbers")
	}
}
