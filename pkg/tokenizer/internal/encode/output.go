// Package encode is the contract between the tokenizers and tokenizer.Collector: where
// ids go, how much work a text is, and where a text may be cut.
package encode

import (
	"math"
	"slices"
)

// Encoder is how the tokenizers of this package encode.
type Encoder interface {
	// encodeTo appends the ids of text to o until o has enough.
	EncodeTo(o *Output, text string, special bool)
	// weigh returns a weight of text such that no token stands for more than per of it.
	// The weight of a text is that of its parts. per is 0 if nothing is known.
	Weigh(text string, special bool) (weight, per int)
}

// Output collects ids.
type Output struct {
	IDs     []int
	Limit   int          // more are not wanted
	Keep    int          // only the last so many are kept; 0: all
	Head    []int        // the first ones, once some were dropped; nil before
	Dropped int          // of ids
	work    int          // bytes since stopped was asked
	Stopped func() error // whether to give up; nil: never
	Err     error        // why encoding ended
}

// Numbers of an [Output].
const (
	MaxHead   = 64
	stopEvery = 1 << 15 // bytes of work between two checks of the context
	KeepSlack = 1 << 12 // ids that are dropped together
)

// All returns all ids of text.
func All(e Encoder, text string, special bool) []int {
	o := Output{Limit: math.MaxInt}
	e.EncodeTo(&o, text, special)
	return o.IDs
}

// Grow sets memory aside for the ids of n bytes of text, as many as are usual.
func (o *Output) Grow(n int) {
	n = min(n/3+8, max(o.Limit-o.Dropped-len(o.IDs), 0))
	if o.Keep > 0 {
		n = min(n, 2*o.Keep+KeepSlack)
	}
	o.IDs = slices.Grow(o.IDs, n)
}

func (o *Output) Total() int { return o.Dropped + len(o.IDs) }

// More counts n bytes of work and tells whether to go on. It drops ids that are not kept.
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

// Worked is more without dropping: for ids that may be taken back.
func (o *Output) Worked(n int) bool {
	if o.work += n; o.work >= stopEvery && o.Stopped != nil && o.Err == nil {
		o.work = 0
		o.Err = o.Stopped()
	}
	return o.Err == nil && len(o.IDs) <= o.Limit-o.Dropped
}
