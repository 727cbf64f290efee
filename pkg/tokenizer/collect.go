package tokenizer

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// A Collector encodes the parts of one text and bounds the work and the memory that this
// takes. Its zero value has no bound.
type Collector struct {
	// Max is how many tokens the text may have, if it is greater than 0. Encoding a
	// longer text ends with a [*LimitError], as early as that is certain.
	Max int
	// Keep is how many tokens are kept, the last ones, if it is greater than 0. Without
	// Max, of a text that has many more only the end is encoded, from a place between two
	// tokens. In a text that has none for long, as one word of thousands of bytes is, what
	// is kept may be cut otherwise than in the whole text.
	Keep int

	out output
}

// A LimitError says that a text has more tokens than [Collector.Max].
type LimitError struct {
	AtLeast int // tokens that the text has; there may be more
	Max     int
}

// Error implements [error].
func (e *LimitError) Error() string {
	return fmt.Sprintf("the text has at least %d tokens, more than %d", e.AtLeast, e.Max)
}

// AtLeast returns a number of tokens that t is certain to make of text, without encoding
// it. It is 0 where nothing is certain, as of a text of which t may drop every part.
func AtLeast(t Tokenizer, text string, special bool) int {
	e, ok := t.(encoder)
	if !ok {
		return 0
	}
	weight, per := e.weigh(text, special)
	if per <= 0 {
		return 0
	}
	return (weight + per - 1) / per
}

// Add appends the tokens of text, and reads special tokens in it if special is set. It
// returns the error of ctx soon after that is done.
func (c *Collector) Add(ctx context.Context, t Tokenizer, text string, special bool) error {
	o := &c.out
	o.limit, o.keep, o.stopped = c.limit(), c.Keep, ctx.Err
	if err := ctx.Err(); err != nil {
		return err
	}
	if least := o.total() + AtLeast(t, text, special); least > o.limit {
		return &LimitError{least, c.Max}
	}
	switch e, ok := t.(encoder); {
	case ok:
		e.encodeTo(o, c.tail(e, text, special), special)
	case special:
		o.ids = append(o.ids, t.EncodeSpecial(text)...)
	default:
		o.ids = append(o.ids, t.Encode(text)...)
	}
	o.more(0)
	return c.failed()
}

// AddTokens appends tokens.
func (c *Collector) AddTokens(ids []int) error {
	o := &c.out
	o.limit, o.keep = c.limit(), c.Keep
	o.ids = append(o.ids, ids...)
	o.more(0)
	return c.failed()
}

func (c *Collector) limit() int {
	if c.Max > 0 {
		return c.Max
	}
	return math.MaxInt
}

func (c *Collector) failed() error {
	if c.out.err != nil {
		return c.out.err
	}
	if n := c.out.total(); n > c.limit() {
		return &LimitError{n, c.Max}
	}
	return nil
}

// Total returns how many tokens the text has so far; if some are not kept, at least.
func (c *Collector) Total() int { return c.out.total() }

// Head returns the first tokens of the text, at most 64, whether they are kept or not.
func (c *Collector) Head() []int {
	if c.out.head != nil {
		return c.out.head
	}
	return c.out.ids[:min(len(c.out.ids), maxHead)]
}

// IDs returns the tokens that are kept.
func (c *Collector) IDs() []int {
	if c.Keep > 0 && len(c.out.ids) > c.Keep {
		return c.out.ids[len(c.out.ids)-c.Keep:]
	}
	return c.out.ids
}

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
