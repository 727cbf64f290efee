package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// testModel has random weights, far from the symmetric start.
func testModel(c checkpoint.ModelConfig) *model {
	m := newModel(c)
	m.initialise(1)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range m.weights {
		m.weights[i] += float32(0.15 * r.NormFloat64())
	}
	return m
}

func randomTokens(n, vocab int) []int32 {
	r := rand.New(rand.NewPCG(5, 6))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(r.IntN(vocab))
	}
	return ids
}

// reference computes the sum of the losses in float64 with plain loops.
func reference(m *model, weights []float64, ids []int32) float64 {
	c := m.config
	e, f, d := c.NEmbd, c.FFN(), c.NEmbd/c.NHead
	of := func(s span) []float64 { return weights[s.off : s.off+s.n] }
	n := len(ids) - 1
	linear := func(x []float64, l *linear) []float64 {
		y := make([]float64, l.out)
		for o := range y {
			for i, v := range x {
				y[o] += v * of(l.span)[o*l.in+i]
			}
		}
		return y
	}
	norm := func(x []float64, weight, bias span) []float64 {
		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(len(x))
		}
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = (v-mean)/math.Sqrt(variance+1e-5)*of(weight)[i] + of(bias)[i]
		}
		return y
	}
	add := func(x, y []float64) {
		for i := range x {
			x[i] += y[i]
		}
	}
	xs := make([][]float64, n)
	for p := range n {
		xs[p] = make([]float64, e)
		add(xs[p], of(m.wte)[int(ids[p])*e:][:e])
		add(xs[p], of(m.wpe)[p*e:][:e])
	}
	for _, l := range m.layers {
		qkv := make([][]float64, n)
		for p := range n {
			qkv[p] = linear(norm(xs[p], l.ln1w, l.ln1b), l.qkv)
		}
		for p := range n {
			att := make([]float64, e)
			for h := range c.NHead {
				scores, sum := make([]float64, p+1), 0.0
				for j := range scores {
					for i := range d {
						scores[j] += qkv[p][h*d+i] * qkv[j][e+h*d+i] / math.Sqrt(float64(d))
					}
					if c.SoftCap != nil {
						scores[j] = *c.SoftCap * math.Tanh(scores[j] / *c.SoftCap)
					}
					scores[j] = math.Exp(scores[j])
					sum += scores[j]
				}
				for j, s := range scores {
					for i := range d {
						att[h*d+i] += s / sum * qkv[j][2*e+h*d+i]
					}
				}
			}
			add(xs[p], linear(att, l.wo))
			u := linear(norm(xs[p], l.ln2w, l.ln2b), l.fc1)
			for i, v := range u[:f] {
				u[i] = 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
			}
			add(xs[p], linear(u, l.fc2))
		}
	}
	loss := 0.0
	for p := range n {
		logits, sum := linear(norm(xs[p], m.lnFw, m.lnFb), m.head), 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		loss += math.Log(sum) - logits[ids[p+1]]
	}
	return loss
}

// TestGradients compares every kind of parameter with central differences of a float64
// forward pass, at values drawn from each tensor and along a random direction of it.
func TestGradients(t *testing.T) {
	for name, c := range map[string]checkpoint.ModelConfig{
		"plain":    {VocabSize: 11, BlockSize: 9, NLayer: 2, NEmbd: 12, NHead: 3},
		"one head": {VocabSize: 5, BlockSize: 70, NLayer: 1, NEmbd: 8, NHead: 1},
		"soft cap": {VocabSize: 7, BlockSize: 6, NLayer: 2, NEmbd: 8, NHead: 2, SoftCap: new(0.8)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range kernel.Implementations() {
				t.Run(k.Name(), func(t *testing.T) { testGradients(t, c, k) })
			}
		})
	}
}

func testGradients(t *testing.T, c checkpoint.ModelConfig, k *kernel.Kernels) {
	m := testModel(c)
	for _, l := range m.linears {
		l.pack(k, m.weights)
	}
	ids := randomTokens(c.BlockSize+1, c.VocabSize)
	weights := make([]float64, len(m.weights))
	for i, v := range m.weights {
		weights[i] = float64(v)
	}
	w, grad := newWorker(m, k), make([]float32, len(m.weights))
	for range 2 { // the second run starts with the first one's leftovers
		clear(grad)
		loss := w.loss(ids[:c.BlockSize], ids[1:], 1)
		if want := reference(m, weights, ids); math.Abs(loss-want) > 2e-6*want {
			t.Fatalf("loss %g, want %g", loss, want)
		}
		w.backward(ids[:c.BlockSize], grad)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range m.params {
		for range 4 {
			direction := make([]float64, p.n)
			direction[r.IntN(p.n)] = 1
			checkDirection(t, m, weights, ids, p, p.of(grad), direction)
		}
		direction := make([]float64, p.n)
		for i := range direction {
			direction[i] = r.NormFloat64() / math.Sqrt(float64(p.n))
		}
		checkDirection(t, m, weights, ids, p, p.of(grad), direction)
	}
}

func checkDirection(t *testing.T, m *model, weights []float64, ids []int32, p param, grad []float32, direction []float64) {
	t.Helper()
	const h = 1e-5
	shifted := func(by float64) float64 {
		w := append([]float64(nil), weights...)
		for i, d := range direction {
			w[p.off+i] += by * d
		}
		return reference(m, w, ids)
	}
	got, size := 0.0, 0.0
	for i, d := range direction {
		got += d * float64(grad[i])
		size += math.Abs(d * float64(grad[i]))
	}
	want := (shifted(h) - shifted(-h)) / (2 * h)
	if math.Abs(got-want) > 1e-5*(size+1) {
		t.Errorf("%s: derivative %g, want %g", p.Name, got, want)
	}
}
