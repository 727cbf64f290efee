package engine

import (
	"cmp"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/sampler"
)

// A beamSearch finds a likely continuation of one text with several hypotheses. It knows
// log-probabilities and tokens; its caller owns the caches of the hypotheses. The search
// is that of fairseq and of transformers' generate: a score is the sum of the
// log-probabilities divided by the number of tokens to the power of the length penalty.
// Among the 2·beams best extensions, those of the first beams that end are finished; the
// best others continue.
type beamSearch struct {
	*arch.Translation
	beams int
	limit int // tokens of a hypothesis, at least 1
	early arch.EarlyStopping
	begin int // tokens that every hypothesis begins with

	running  []hypothesis // best first
	finished []hypothesis // best first, at most beams
	done     bool
}

// A hypothesis is a continuation.
type hypothesis struct {
	tokens []int
	score  float64 // running: the sum of log-probabilities; finished: normalised
	parent int     // index among the running hypotheses of the previous step
}

// newBeamSearch begins with the given tokens, whose probabilities do not count: the
// forced token of the target language.
func newBeamSearch(beams, limit int, rules *arch.Translation, begin ...int) *beamSearch {
	b := &beamSearch{
		Translation: rules, beams: beams, limit: limit, early: rules.EarlyStopping, begin: len(begin), running: []hypothesis{{tokens: begin}},
	}
	if beams == 1 {
		b.early = arch.StopTrue // greedy decoding stops at the first end
	}
	return b
}

// step extends the running hypotheses by the logits after each of them, (running,
// vocab), and keeps the best.
func (b *beamSearch) step(logits [][]float32) {
	candidates := b.candidates(logits)
	length := len(b.running[0].tokens) + 1
	next := make([]hypothesis, 0, b.beams)
	for rank, c := range candidates {
		id := c.tokens[length-1]
		if id != b.End && length < b.limit {
			if len(next) < b.beams {
				next = append(next, c)
			}
			continue
		}
		if rank < b.beams {
			c.score /= math.Pow(float64(length), b.LengthPenalty)
			b.finished = append(b.finished, c)
		}
	}
	slices.SortStableFunc(b.finished, byScore)
	b.finished = b.finished[:min(len(b.finished), b.beams)]
	b.running = next
	b.done = len(next) == 0 || !b.improves(length)
}

// improves reports whether another step could give a better result than the finished
// hypotheses. It assumes the current length of the running ones or, with StopNever, the
// maximum length.
func (b *beamSearch) improves(length int) bool {
	if len(b.finished) < b.beams {
		return true
	}
	if b.early == arch.StopTrue {
		return false
	}
	if b.early == arch.StopNever && b.LengthPenalty > 0 {
		length = b.limit
	}
	return b.running[0].score/math.Pow(float64(length), b.LengthPenalty) > b.finished[len(b.finished)-1].score
}

// candidates returns the 2·beams best extensions, best first.
func (b *beamSearch) candidates(logits [][]float32) []hypothesis {
	type extension struct {
		parent, id int
		score      float64
	}
	var all []extension
	for i, l := range logits {
		for _, t := range b.likeliest(l, len(b.running[i].tokens)+1) {
			all = append(all, extension{i, t.ID, b.running[i].score + t.Logprob})
		}
	}
	slices.SortStableFunc(all, func(x, y extension) int { return cmp.Compare(y.score, x.score) })
	all = all[:min(len(all), 2*b.beams)]
	out := make([]hypothesis, len(all))
	for i, x := range all {
		out[i] = hypothesis{
			tokens: append(slices.Clip(b.running[x.parent].tokens), x.id), score: x.score, parent: x.parent,
		}
	}
	return out
}

// likeliest returns the tokens that may follow in a hypothesis that has a length with them, with
// their log-probabilities, among all tokens or those that may be written.
func (b *beamSearch) likeliest(logits []float32, length int) []sampler.Logprob {
	if b.ForcedEnd && length == b.limit {
		return []sampler.Logprob{{ID: b.End}}
	}
	_, top := sampler.Logprobs(logits, len(logits), 0, 2*b.beams+len(b.Suppressed))
	likeliest := top[0]
	top = slices.DeleteFunc(top, func(t sampler.Logprob) bool { return slices.Contains(b.Suppressed, t.ID) })
	top = top[:min(len(top), 2*b.beams)]
	if b.Renormalize {
		b.renormalize(top, logits, likeliest)
	}
	return top
}

// renormalize makes log-probabilities those among the tokens that may be written.
func (b *beamSearch) renormalize(top []sampler.Logprob, logits []float32, known sampler.Logprob) {
	rest := 1.0
	for _, id := range b.Suppressed {
		rest -= math.Exp(known.Logprob + float64(logits[id]-logits[known.ID]))
	}
	if rest > 0 { // otherwise none of them has a probability
		for i := range top {
			top[i].Logprob -= math.Log(rest)
		}
	}
}

func byScore(x, y hypothesis) int { return cmp.Compare(y.score, x.score) }

// best returns the tokens of the best finished hypothesis, without those that it begins with and
// its end token.
func (b *beamSearch) best() []int {
	tokens := b.finished[0].tokens[b.begin:]
	if n := len(tokens); tokens[n-1] == b.End {
		tokens = tokens[:n-1]
	}
	return tokens
}

// likelihood returns the log-probability of the best finished hypothesis, including its
// end token, and the number of its tokens, without those that it begins with.
func (b *beamSearch) likelihood() (logprob float64, tokens int) {
	best := b.finished[0]
	n := len(best.tokens)
	return best.score * math.Pow(float64(n), b.LengthPenalty), n - b.begin
}
