package tokenizer

import (
	"math"
	"slices"
)

// encoder is how the tokenizers of this package encode.
type encoder interface {
	// encodeTo appends the ids of text to o until o has enough.
	encodeTo(o *output, text string, special bool)
	// weigh returns a weight of text such that no token stands for more than per of it.
	// The weight of a text is that of its parts. per is 0 if nothing is known.
	weigh(text string, special bool) (weight, per int)
}

// output collects ids.
type output struct {
	ids     []int
	limit   int          // more are not wanted
	keep    int          // only the last so many are kept; 0: all
	head    []int        // the first ones, once some were dropped; nil before
	dropped int          // of ids
	work    int          // bytes since stopped was asked
	stopped func() error // whether to give up; nil: never
	err     error        // why encoding ended
}

// Numbers of an output.
const (
	maxHead   = 64
	stopEvery = 1 << 15 // bytes of work between two checks of the context
	keepSlack = 1 << 12 // ids that are dropped together
)

// encodeAll returns all ids of text.
func encodeAll(e encoder, text string, special bool) []int {
	o := output{limit: math.MaxInt}
	e.encodeTo(&o, text, special)
	return o.ids
}

// grow sets memory aside for the ids of n bytes of text, as many as are usual.
func (o *output) grow(n int) {
	n = min(n/3+8, max(o.limit-o.dropped-len(o.ids), 0))
	if o.keep > 0 {
		n = min(n, 2*o.keep+keepSlack)
	}
	o.ids = slices.Grow(o.ids, n)
}

func (o *output) total() int { return o.dropped + len(o.ids) }

// more counts n bytes of work and tells whether to go on. It drops ids that are not kept.
func (o *output) more(n int) bool {
	if o.keep > 0 && len(o.ids) > 2*o.keep+keepSlack {
		if o.head == nil {
			o.head = append(o.head, o.ids[:maxHead]...)
		}
		n := len(o.ids) - o.keep
		o.ids = o.ids[:copy(o.ids, o.ids[n:])]
		o.dropped += n
	}
	return o.worked(n)
}

// worked is more without dropping: for ids that may be taken back.
func (o *output) worked(n int) bool {
	if o.work += n; o.work >= stopEvery && o.stopped != nil && o.err == nil {
		o.work = 0
		o.err = o.stopped()
	}
	return o.err == nil && len(o.ids) <= o.limit-o.dropped
}
