package tokenizer

import (
	"context"
	"fmt"
	"math"

	"glossa/pkg/tokenizer/internal/encode"
)

// A Collector encodes the parts of one text within bounds of work and memory. The zero
// value has no bounds.
type Collector struct {
	// Max, if greater than 0, is the largest number of tokens that the text may have. A
	// longer text fails with a [*LimitError], as soon as that is certain.
	Max int
	// Keep, if greater than 0, is the number of last tokens to keep. Without Max, only the
	// end of a much longer text is encoded, from a boundary between two tokens. If there is
	// no such boundary nearby, for example in a word of thousands of bytes, the kept tokens
	// may differ from those of the whole text.
	Keep int

	out encode.Output
}

// A LimitError reports that a text has more tokens than [Collector.Max].
type LimitError struct {
	AtLeast int // a lower bound of the number of tokens
	Max     int
}

// Error implements [error].
func (e *LimitError) Error() string {
	return fmt.Sprintf("the text has at least %d tokens, more than %d", e.AtLeast, e.Max)
}

// AtLeast returns a lower bound of the number of tokens that t makes of text, without
// encoding it. The bound is 0 if nothing is certain, for example if t may drop any text.
func AtLeast(t Tokenizer, text string, special bool) int {
	e, ok := t.(encode.Encoder)
	if !ok {
		return 0
	}
	weight, per := e.Weigh(text, special)
	if per <= 0 {
		return 0
	}
	return (weight + per - 1) / per
}

// Add appends the tokens of text, and reads special tokens in it if special is set. It
// returns the error of ctx soon after ctx is done.
func (c *Collector) Add(ctx context.Context, t Tokenizer, text string, special bool) error {
	o := &c.out
	o.Limit, o.Keep, o.Stopped = c.limit(), c.Keep, ctx.Err
	if err := ctx.Err(); err != nil {
		return err
	}
	if least := o.Total() + AtLeast(t, text, special); least > o.Limit {
		return &LimitError{least, c.Max}
	}
	switch e, ok := t.(encode.Encoder); {
	case ok:
		e.EncodeTo(o, c.tail(e, text, special), special)
	case special:
		o.IDs = append(o.IDs, t.EncodeSpecial(text)...)
	default:
		o.IDs = append(o.IDs, t.Encode(text)...)
	}
	o.More(0)
	return c.failed()
}

// AddTokens appends tokens.
func (c *Collector) AddTokens(ids []int) error {
	o := &c.out
	o.Limit, o.Keep = c.limit(), c.Keep
	o.IDs = append(o.IDs, ids...)
	o.More(0)
	return c.failed()
}

func (c *Collector) limit() int {
	if c.Max > 0 {
		return c.Max
	}
	return math.MaxInt
}

func (c *Collector) failed() error {
	if c.out.Err != nil {
		return c.out.Err
	}
	if n := c.out.Total(); n > c.limit() {
		return &LimitError{n, c.Max}
	}
	return nil
}

// Total returns the number of tokens so far. If some are not kept, it is a lower bound.
func (c *Collector) Total() int { return c.out.Total() }

// Head returns the first tokens of the text, at most 64, including those that are not kept.
func (c *Collector) Head() []int {
	if c.out.Head != nil {
		return c.out.Head
	}
	return c.out.IDs[:min(len(c.out.IDs), encode.MaxHead)]
}

// IDs returns the kept tokens.
func (c *Collector) IDs() []int {
	if c.Keep > 0 && len(c.out.IDs) > c.Keep {
		return c.out.IDs[len(c.out.IDs)-c.Keep:]
	}
	return c.out.IDs
}
