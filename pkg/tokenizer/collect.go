package tokenizer

import (
	"context"
	"fmt"
	"math"

	"glossa/pkg/tokenizer/internal/encode"
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

	out encode.Output
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
// returns the error of ctx soon after that is done.
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

// Total returns how many tokens the text has so far; if some are not kept, at least.
func (c *Collector) Total() int { return c.out.Total() }

// Head returns the first tokens of the text, at most 64, whether they are kept or not.
func (c *Collector) Head() []int {
	if c.out.Head != nil {
		return c.out.Head
	}
	return c.out.IDs[:min(len(c.out.IDs), encode.MaxHead)]
}

// IDs returns the tokens that are kept.
func (c *Collector) IDs() []int {
	if c.Keep > 0 && len(c.out.IDs) > c.Keep {
		return c.out.IDs[len(c.out.IDs)-c.Keep:]
	}
	return c.out.IDs
}
