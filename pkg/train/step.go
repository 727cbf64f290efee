package train

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"glossa/pkg/engine/kernel"
)

// maxShards bounds the parts of a batch that have separate gradients. Their number does
// not depend on the threads, and they are added in order: losses are the same to the bit
// on any number of threads.
const maxShards = 8

// chunkSize is the number of parameters that one task of the optimiser updates.
const chunkSize = 1 << 15

// A trainer holds the state of the optimisation.
type trainer struct {
	*model
	config  Config
	k       *kernel.Kernels
	workers []*worker
	grads   [][]float32 // one for each shard; the first holds the sum
	m, v    []float32   // AdamW's moments
	chunks  []chunk
	train   []int32
	val     []int32
}

// A chunk is a range of the parameters, inside one tensor.
type chunk struct {
	span
	decays bool
}

func newTrainer(m *model, c Config, train, val []int32) *trainer {
	t := &trainer{
		model: m, config: c, k: kernel.Best(), train: train, val: val,
		m: make([]float32, len(m.weights)), v: make([]float32, len(m.weights)),
	}
	shards := min(c.BatchSize, maxShards)
	for range shards {
		t.grads = append(t.grads, make([]float32, len(m.weights)))
	}
	for range min(c.Threads, shards) {
		t.workers = append(t.workers, newWorker(m, t.k))
	}
	for _, p := range m.params {
		for off := 0; off < p.n; off += chunkSize {
			t.chunks = append(t.chunks, chunk{span{p.off + off, min(chunkSize, p.n-off)}, p.decays})
		}
	}
	return t
}

// parallel runs tasks 0..n-1 on the workers, each worker on one task at a time.
func (t *trainer) parallel(n int, task func(w *worker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for _, w := range t.workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				task(w, i)
			}
		})
	}
	group.Wait()
}

// packWeights refreshes the packed forms of all matrices.
func (t *trainer) packWeights() {
	t.parallel(len(t.linears), func(_ *worker, i int) { t.linears[i].pack(t.k, t.weights) })
}

// step runs optimisation step number n, from 1, and returns the mean loss and the
// norm of the gradient before clipping.
func (t *trainer) step(n int) (loss, norm float64, err error) {
	t.packWeights()
	size, block, shards := t.config.BatchSize, t.config.BlockSize, len(t.grads)
	scale := 1 / float32(size*block)
	losses := make([]float64, shards)
	t.parallel(shards, func(w *worker, s int) {
		clear(t.grads[s])
		for row := size * s / shards; row < size*(s+1)/shards; row++ {
			at := windowAt(t.config.Seed, n, row, len(t.train)-block)
			losses[s] += w.loss(t.train[at:at+block], t.train[at+1:at+block+1], scale)
			w.backward(t.train[at:at+block], t.grads[s])
		}
	})
	for _, l := range losses {
		loss += l
	}
	loss /= float64(size * block)
	norm = t.reduce()
	if math.IsNaN(norm) || math.IsInf(norm, 0) || math.IsNaN(loss) {
		return loss, norm, fmt.Errorf("step %d: loss %v, gradient norm %v: a lower lr may help", n, loss, norm)
	}
	t.update(n, norm)
	return loss, norm, nil
}

// reduce adds the shards to the first and returns the norm of the sum.
func (t *trainer) reduce() float64 {
	squares := make([]float64, len(t.chunks))
	t.parallel(len(t.chunks), func(_ *worker, i int) {
		sum := t.chunks[i].of(t.grads[0])
		for _, g := range t.grads[1:] {
			t.k.Add(sum, t.chunks[i].of(g))
		}
		squares[i] = float64(t.k.Dot(sum, sum))
	})
	total := 0.0
	for _, s := range squares {
		total += s
	}
	return math.Sqrt(total)
}

// update applies AdamW with the clipped gradient.
func (t *trainer) update(n int, norm float64) {
	c := &t.config
	adam := kernel.AdamW{
		Rate: float32(rate(c, n)), Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Eps: float32(c.Eps), GradScale: 1, T: n - c.restart,
	}
	if c.GradClip > 0 && norm > c.GradClip {
		adam.GradScale = float32(c.GradClip / norm)
	}
	t.parallel(len(t.chunks), func(_ *worker, i int) {
		a, ch := adam, t.chunks[i]
		if ch.decays {
			a.Decay = float32(c.WeightDecay)
		}
		t.k.AdamW(ch.of(t.weights), ch.of(t.m), ch.of(t.v), ch.of(t.grads[0]), &a)
	})
}

// rate returns the learning rate of step n, from 1: linear warm-up, then a cosine down to
// the floor at the last step. After a restart another warm-up leads to the cosine.
func rate(c *Config, n int) float64 {
	full := c.LR
	if n > c.Warmup {
		done := float64(n-c.Warmup) / float64(max(1, c.Steps-c.Warmup))
		full = c.MinLR + (c.LR-c.MinLR)*(1+math.Cos(math.Pi*min(1, done)))/2
	}
	if since := n - c.restart; since <= c.Warmup {
		return full * float64(since) / float64(c.Warmup)
	}
	return full
}

// maxEvalWindows bounds the cost of a validation loss.
const maxEvalWindows = 64

// evaluate returns the mean loss on windows spread evenly over the held-out tokens;
// ok is false if there are too few of them.
func (t *trainer) evaluate() (loss float64, ok bool) {
	block := min(t.config.BlockSize, len(t.val)-1)
	if block < 1 {
		return 0, false
	}
	t.packWeights()
	n := min(maxEvalWindows, (len(t.val)-1)/block)
	losses := make([]float64, n)
	t.parallel(n, func(w *worker, i int) {
		at := 0
		if n > 1 {
			at = (len(t.val) - 1 - block) * i / (n - 1)
		}
		losses[i] = w.loss(t.val[at:at+block], t.val[at+1:at+block+1], 0)
	})
	for _, l := range losses {
		loss += l
	}
	return loss / float64(n*block), true
}
