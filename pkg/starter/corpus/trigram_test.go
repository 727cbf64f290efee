package corpus_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

const (
	orders  = 4  // uniform, unigram, bigram, trigram
	buckets = 22 // of context counts, by powers of two
)

// weights mix the estimates of the orders.
type weights = [orders]float64

// trigram is an interpolated trigram model after Jelinek and Mercer 1980: the uniform,
// unigram, bigram and trigram estimates are mixed with weights that depend on the counts
// of the contexts. The weights maximise the likelihood of text that was not counted (EM).
type trigram struct {
	vocab    int
	runs     [3]map[uint64]int // of 1, 2 and 3 tokens
	contexts [3]map[uint64]int // of 0, 1 and 2 tokens with a token after them
	weight   [buckets][buckets]weights
	tuned    map[*weights]bool // those reached by the tuning text
}

const (
	tuningBlock  = 1000 // tokens
	tuningRounds = 10
)

// newTrigram counts all but each tenth block of the text, tunes the weights on the
// skipped blocks, then counts those too.
func newTrigram(ids []int, vocab int) *trigram {
	m := &trigram{vocab: vocab, tuned: map[*weights]bool{}}
	for n := range m.runs {
		m.runs[n], m.contexts[n] = map[uint64]int{}, map[uint64]int{}
	}
	tunes := func(i int) bool { return i/tuningBlock%10 == 9 }
	for i := range ids {
		if !tunes(i) {
			m.count(ids, i)
		}
	}
	for i := range m.weight {
		for j := range m.weight[i] {
			m.weight[i][j] = weights{0.1, 0.2, 0.3, 0.4}
		}
	}
	for range tuningRounds {
		m.tune(ids, tunes)
	}
	m.fill()
	for i := range ids {
		if tunes(i) {
			m.count(ids, i)
		}
	}
	return m
}

// key packs a run of at most three tokens.
func key(run []int) uint64 {
	var k uint64
	for _, id := range run {
		k = k<<21 | uint64(id+1)
	}
	return k
}

// count counts ids[i] after its predecessors.
func (m *trigram) count(ids []int, i int) {
	for n := 0; n < 3 && n <= i; n++ {
		m.runs[n][key(ids[i-n:i+1])]++
		m.contexts[n][key(ids[i-n:i])]++
	}
}

// estimates returns the estimates of ids[i] after its predecessors, and their weights.
// The estimate of a context that was never seen is NaN.
func (m *trigram) estimates(ids []int, i int) (p [orders]float64, w *weights) {
	p = [orders]float64{1 / float64(m.vocab), math.NaN(), math.NaN(), math.NaN()}
	var bucket [3]int
	for n := 0; n < 3 && n <= i; n++ {
		if seen := m.contexts[n][key(ids[i-n:i])]; seen > 0 {
			p[n+1] = float64(m.runs[n][key(ids[i-n:i+1])]) / float64(seen)
			bucket[n] = bits.Len(uint(seen))
		}
	}
	return p, &m.weight[min(bucket[2], buckets-1)][min(bucket[1], buckets-1)]
}

// mix returns the weighted mean of the estimates that are not NaN, and their shares in
// it.
func mix(p [orders]float64, w *weights) (mean float64, shares [orders]float64) {
	sum := 0.0
	for o := range p {
		if !math.IsNaN(p[o]) {
			shares[o] = w[o] * p[o]
			mean += shares[o]
			sum += w[o]
		}
	}
	for o := range shares {
		shares[o] /= mean
	}
	return mean / sum, shares
}

// tune is one step of EM: the weights become the shares of the estimates in the
// probability of the tuning text.
func (m *trigram) tune(ids []int, tunes func(int) bool) {
	total := map[*weights]*weights{}
	for i := range ids {
		if !tunes(i) {
			continue
		}
		p, w := m.estimates(ids, i)
		if total[w] == nil {
			total[w] = &weights{1e-3, 1e-3, 1e-3, 1e-3} // keeps all above zero
			m.tuned[w] = true
		}
		_, shares := mix(p, w)
		for o := range shares {
			total[w][o] += shares[o]
		}
	}
	for w, t := range total {
		sum := t[0] + t[1] + t[2] + t[3]
		for o := range t {
			w[o] = t[o] / sum
		}
	}
}

// fill sets the weights of buckets that the tuning text did not reach to those of the
// nearest one that it did.
func (m *trigram) fill() {
	for i := range m.weight {
		for j := range m.weight[i] {
			if m.tuned[&m.weight[i][j]] {
				continue
			}
			best := math.MaxInt
			for a := range m.weight {
				for b := range m.weight[a] {
					if d := (a-i)*(a-i) + (b-j)*(b-j); d < best && m.tuned[&m.weight[a][b]] {
						best, m.weight[i][j] = d, m.weight[a][b]
					}
				}
			}
		}
	}
}

// logprob returns the log-probability of ids[i] in nats.
func (m *trigram) logprob(ids []int, i int) float64 {
	mean, _ := mix(m.estimates(ids, i))
	return math.Log(mean)
}

func TestTrigram(t *testing.T) {
	// In this text a token is the sum of the two before it, modulo 7, except that a small
	// generator draws each fifth.
	ids, x := []int{1, 2}, uint32(1)
	for i := 2; i < 60_000; i++ {
		next := (ids[i-1] + ids[i-2]) % 7
		if x = x*1664525 + 1013904223; i%5 == 0 {
			next = int(x>>16) % 7
		}
		ids = append(ids, next)
	}
	m := newTrigram(ids, 9)
	for _, context := range [][]int{{1, 2}, {6, 0}, {8, 8}, {3, 8}, {8}, {}} {
		sum := 0.0
		for id := range 9 {
			sum += math.Exp(m.logprob(append(slices.Clone(context), id), len(context)))
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("after %v the probabilities add up to %v", context, sum)
		}
	}
	got := 0.0
	for i := 2; i < 10_000; i++ {
		got -= m.logprob(ids, i) / 9998
	}
	// Four of five tokens follow the rule; the trigram cannot distinguish them.
	p := 0.8 + 0.2/7
	want := -p*math.Log(p) - (1-p)*math.Log((1-p)/6)
	if math.Abs(got-want) > 0.02 {
		t.Errorf("%.4f nats per token, want %.4f", got, want)
	}
}
