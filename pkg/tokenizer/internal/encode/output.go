// Package encode is the contract between the tokenizers and tokenizer.Collector: the
// destination of ids, the weight of a text, and the places at which a text may be cut.
package encode

import (
	"math"
	"slices"
)

// Encoder is a capability of a tokenizer: it encodes within bounds.
type Encoder interface {
	// EncodeTo appends the ids of text to o until o has enough. Added tokens are read where
	// reads allows.
	EncodeTo(o *Output, text string, reads Reads)
	// Weigh returns a weight of text such that no token stands for more than per of it.
	// Weights of parts add up. per is 0 if nothing is known.
	Weigh(text string, special bool) (weight, per int)
}

// Output collects the ids of a text.
type Output struct {
	IDs     []int
	Limit   int          // encoding ends once there are more ids
	Keep    int          // number of last ids to keep; 0 keeps all
	Head    []int        // the first ids, once some were dropped; nil before
	Dropped int          // number of dropped ids
	work    int          // bytes since the last call of Stopped
	Stopped func() error // returns an error to end encoding; may be nil
	Err     error        // the error of Stopped
}

// Constants of an [Output].
const (
	MaxHead   = 64      // ids in Head
	stopEvery = 1 << 15 // bytes of work between two checks of the context
	KeepSlack = 1 << 12 // ids that are dropped together
)

// All returns all ids of text.
func All(e Encoder, text string, special bool) []int {
	o := Output{Limit: math.MaxInt}
	e.EncodeTo(&o, text, ReadsIf(special))
	return o.IDs
}

// Grow reserves memory for the usual number of ids of n bytes of text.
func (o *Output) Grow(n int) {
	n = min(n/3+8, max(o.Limit-o.Dropped-len(o.IDs), 0))
	if o.Keep > 0 {
		n = min(n, 2*o.Keep+KeepSlack)
	}
	o.IDs = slices.Grow(o.IDs, n)
}

// Total returns the number of ids so far, including dropped ones.
func (o *Output) Total() int { return o.Dropped + len(o.IDs) }

// More counts n bytes of work, drops ids that are not kept, and reports whether to go on.
func (o *Output) More(n int) bool {
	if o.Keep > 0 && len(o.IDs) > 2*o.Keep+KeepSlack {
		if o.Head == nil {
			o.Head = append(o.Head, o.IDs[:MaxHead]...)
		}
		n := len(o.IDs) - o.Keep
		o.IDs = o.IDs[:copy(o.IDs, o.IDs[n:])]
		o.Dropped += n
	}
	return o.Worked(n)
}

// Worked is [Output.More] without dropping, for ids that may be removed again.
func (o *Output) Worked(n int) bool {
	if o.work += n; o.work >= stopEvery && o.Stopped != nil && o.Err == nil {
		o.work = 0
		o.Err = o.Stopped()
	}
	return o.Err == nil && len(o.IDs) <= o.Limit-o.Dropped
}
