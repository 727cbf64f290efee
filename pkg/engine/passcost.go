package engine

import "time"

// maxCosted is the largest number of tokens of a pass with drafts.
const maxCosted = 32

// minGain is the factor by which drafts must make a row faster.
const minGain = 1.1

// exploreDrafts is the number of drafts that are declined for their cost after which one is
// made to measure it again.
const exploreDrafts = 64

// passCosts are the costs of passes by their number of tokens, as measured. The caller
// locks them.
type passCosts struct {
	took     [maxCosted + 1]float64 // nanoseconds, moving averages; 0: unknown
	declined int
}

// note records a pass with the logits of all its tokens. A pass that took much longer than
// expected, because the machine was busy, counts only in part.
func (c *passCosts) note(tokens int, took time.Duration) {
	if tokens > maxCosted {
		return
	}
	v, now := &c.took[tokens], float64(took)
	if *v == 0 {
		*v = now
	}
	*v += (min(now, 2**v) - *v) / 4
}

// of returns the expected cost of a pass: between measured costs on the line through them, and
// beyond them that of the longest pass, so that it is tried. It is 0 if none is known.
func (c *passCosts) of(tokens int) float64 {
	below, above := tokens, tokens
	for below > 0 && c.took[below] == 0 {
		below--
	}
	for above <= maxCosted && c.took[above] == 0 {
		above++
	}
	switch {
	case above > maxCosted || above == below:
		return c.took[below]
	case below == 0:
		return c.took[above]
	}
	return c.took[below] + (c.took[above]-c.took[below])*float64(tokens-below)/float64(above-below)
}

// reach returns the most tokens of a pass whose cost is known, or follows that of a known one
// closely.
func (c *passCosts) reach() int {
	n := maxCosted
	for n > 0 && c.took[n] == 0 {
		n--
	}
	return min(n+2, maxCosted)
}

// best returns the best number of tokens to draft for one row of a pass that has a number of
// tokens without them, and by which factor the row gets faster. accepted[k] is how many of k+1
// drafted tokens the model is expected to write, and each is what it costs to draft one. The gain
// of k tokens is
//
//	(1+accepted) / (1+(cost(tokens+k)-cost(tokens)+k*each)/price)
//
// where price is the cost of one of the tokens. For a row alone and drafts without a cost the
// divisor is the ratio of the costs of k+1 tokens and of one. A longer pass that seems to cost less,
// because the machine was busy, costs the same.
func (c *passCosts) best(tokens int, accepted []float64, each float64) (best int, gain float64) {
	price := c.price(tokens)
	if price == 0 {
		return 0, 0
	}
	base := c.of(tokens)
	for i, a := range accepted[:min(len(accepted), max(0, c.reach()-tokens))] {
		if g := (1 + a) / (1 + (max(0, c.of(tokens+i+1)-base)+each*float64(i+1))/price); g > gain {
			best, gain = i+1, g
		}
	}
	return best, gain
}

// price returns the cost of one of the tokens of a pass, 0 if it is not known.
func (c *passCosts) price(tokens int) float64 {
	if tokens > maxCosted {
		return 0
	}
	return c.of(tokens) / float64(tokens)
}

// choose returns how many tokens to draft for a row from its text, see [passCosts.best]. A draft
// pays if the row gets faster although the longer pass takes more time.
func (c *passCosts) choose(tokens int, accepted []float64) int {
	best, gain := c.best(tokens, accepted, 0)
	if best == 0 || gain > minGain {
		return best
	}
	if 1+accepted[best-1] > minGain {
		if c.declined++; c.declined%exploreDrafts == 0 {
			return best
		}
	}
	return 0
}
