package engine

import (
	"cmp"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
)

// A beamSearch finds a likely continuation of one text with several hypotheses. It knows
// log-probabilities and tokens; its caller owns the caches of the hypotheses. The search
// is that of fairseq and of transformers' generate: a score is the sum of the
// log-probabilities divided by the number of tokens to the power of the length penalty.
// Among the 2·beams best extensions, those of the first beams that end are finished; the
// best others continue. Of n ends there are (1+n)·beams.
type beamSearch struct {
	*arch.Search
	target
	beams int
	limit int // tokens of a hypothesis, at least 1
	early arch.EarlyStopping
	begin int // tokens that every hypothesis begins with

	running  []hypothesis // best first
	finished []hypothesis // best first, at most beams
	done     bool
}

// A target is what surrounds the texts of a search.
type target struct {
	start  int   // the token before every hypothesis
	ends   []int // tokens that end it; the first is the one that is forced
	source []int // tokens of which [arch.Search.NoCopy] bans sequences
	tokens int   // ids from here on are not written; they have probabilities

	kernels *kernel.Kernels // which find the likeliest tokens
}

// A hypothesis is a continuation.
type hypothesis struct {
	tokens []int
	score  float64 // running: the sum of log-probabilities; finished: normalised
	parent int     // index among the running hypotheses of the previous step
}

// newBeamSearch begins with the given tokens, whose probabilities do not count: forced
// ones, such as that of the target language.
func newBeamSearch(rules *arch.Search, t target, beams, limit int, begin ...int) *beamSearch {
	b := &beamSearch{
		Search: rules, target: t, beams: beams, limit: limit, early: rules.EarlyStopping, begin: len(begin), running: []hypothesis{{tokens: begin}},
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
		if !slices.Contains(b.ends, c.tokens[length-1]) && length < b.limit {
			if len(next) < b.beams {
				next = append(next, c)
			}
			continue
		}
		if rank < b.beams {
			b.finish(c)
		}
	}
	if len(candidates) == 0 && len(b.finished) == 0 { // no token may be written
		for _, h := range b.running {
			b.finish(h)
		}
	}
	slices.SortStableFunc(b.finished, byScore)
	b.finished = b.finished[:min(len(b.finished), b.beams)]
	b.running = next
	b.done = len(next) == 0 || !b.improves(length)
}

// finish adds a hypothesis that is not continued to those that are finished.
func (b *beamSearch) finish(h hypothesis) {
	h.score /= math.Pow(float64(max(1, len(h.tokens))), b.LengthPenalty)
	b.finished = append(b.finished, h)
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

// width returns how many extensions of all hypotheses are compared: as many as leave enough
// that do not end.
func (b *beamSearch) width() int { return max(2, 1+len(b.ends)) * b.beams }

// candidates returns the best extensions, best first.
func (b *beamSearch) candidates(logits [][]float32) []hypothesis {
	type extension struct {
		parent, id int
		score      float64
	}
	var all []extension
	for i, l := range logits {
		for _, t := range b.likeliest(b.running[i], l) {
			all = append(all, extension{i, t.ID, b.running[i].score + t.Logprob})
		}
	}
	slices.SortStableFunc(all, func(x, y extension) int { return cmp.Compare(y.score, x.score) })
	all = all[:min(len(all), b.width())]
	out := make([]hypothesis, len(all))
	for i, x := range all {
		out[i] = hypothesis{
			tokens: append(slices.Clip(b.running[x.parent].tokens), x.id), score: x.score, parent: x.parent,
		}
	}
	return out
}

// likeliest returns the tokens that may follow a hypothesis, with their log-probabilities
// among all tokens or, if the rules say so, after all rules.
func (b *beamSearch) likeliest(h hypothesis, logits []float32) []sampler.Logprob {
	if b.ForcedEnd && len(h.tokens)+1 == b.limit {
		return []sampler.Logprob{{ID: b.ends[0]}}
	}
	treated := b.treated(h)
	_, top := sampler.Logprobs(b.kernels, logits, b.tokens, 0, b.width()+len(treated))
	norm := float64(logits[top[0].ID]) - top[0].Logprob
	top = slices.DeleteFunc(top, func(t sampler.Logprob) bool { return treated[t.ID] != untouched })
	for id, what := range treated {
		if what == penalized {
			top = append(top, sampler.Logprob{ID: id, Logprob: b.penalize(float64(logits[id]), norm)})
		}
	}
	slices.SortFunc(top, func(x, y sampler.Logprob) int {
		return cmp.Or(cmp.Compare(y.Logprob, x.Logprob), cmp.Compare(x.ID, y.ID))
	})
	if b.Renormalize {
		b.renormalize(top, treated, logits, norm)
	}
	return top[:min(len(top), b.width())]
}

// penalize returns the log-probability of a token that the text has, of its logit and the
// logarithm of the sum of all. Keskar et al. 2019, 4.1, of logits; transformers' beam search
// penalises log-probabilities, its greedy search logits.
func (b *beamSearch) penalize(logit, norm float64) float64 {
	if b.beams > 1 {
		return (logit - norm) * b.RepetitionPenalty
	}
	if logit > 0 {
		return logit/b.RepetitionPenalty - norm
	}
	return logit*b.RepetitionPenalty - norm
}

// renormalize makes log-probabilities those among the tokens that may be written. norm is the
// logarithm of the sum of all logits.
func (b *beamSearch) renormalize(top []sampler.Logprob, treated map[int]treatment, logits []float32, norm float64) {
	rest := 1.0
	for id, what := range treated {
		rest -= math.Exp(float64(logits[id]) - norm)
		if what == penalized {
			rest += math.Exp(b.penalize(float64(logits[id]), norm))
		}
	}
	if rest > 0 { // otherwise none of them has a probability
		for i := range top {
			top[i].Logprob -= math.Log(rest)
		}
	}
}

func byScore(x, y hypothesis) int { return cmp.Compare(y.score, x.score) }

// likely returns the likeliest hypothesis: the best of the finished ones, or of those that run if
// there is none.
func (b *beamSearch) likely() hypothesis {
	if len(b.finished) > 0 {
		return b.finished[0]
	}
	return b.running[0]
}

// best returns the tokens of the likeliest hypothesis without those that it begins with and
// its end token. ended reports whether it has one that was not forced.
func (b *beamSearch) best() (tokens []int, ended bool) {
	all := b.likely().tokens
	text := b.text(all)
	return text, b.begin+len(text) < len(all) && !(b.ForcedEnd && len(all) == b.limit)
}

// text returns the tokens of a hypothesis without those that it begins with and its end token.
func (b *beamSearch) text(tokens []int) []int {
	text := tokens[b.begin:]
	if n := len(text); n > 0 && slices.Contains(b.ends, text[n-1]) {
		return text[:n-1]
	}
	return text
}

// settled returns the tokens that the texts of all hypotheses begin with: the result will.
func (b *beamSearch) settled() []int {
	shared := b.text(b.likely().tokens)
	for _, list := range [][]hypothesis{b.finished, b.running} {
		for _, h := range list {
			shared = shared[:common(shared, b.text(h.tokens))]
		}
	}
	return shared
}

// likelihood returns the log-probability of the best finished hypothesis, including its
// end token, and the number of its tokens, without those that it begins with.
func (b *beamSearch) likelihood() (logprob float64, tokens int) {
	best := b.finished[0]
	n := len(best.tokens)
	return best.score * math.Pow(float64(n), b.LengthPenalty), n - b.begin
}
