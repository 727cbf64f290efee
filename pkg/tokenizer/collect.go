package tokenizer

import (
	"context"
	"fmt"
	"math"
	"strings"

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

// AtLeastSpans is [AtLeast] of a text in spans.
func AtLeastSpans(t Tokenizer, spans []Span) int {
	text, reads := join(spans)
	return AtLeast(t, text, reads.Any())
}

// Add appends the tokens of text as [Tokenizer.Encode] does, or [Tokenizer.EncodeSpecial] if
// special is set. It returns the error of ctx soon after ctx is done.
func (c *Collector) Add(ctx context.Context, t Tokenizer, text string, special bool) error {
	return c.add(ctx, t, text, encode.ReadsIf(special), []Span{{text, special}})
}

// A Span is a part of a text. Added tokens are read only where Special is set.
type Span struct {
	Text    string
	Special bool
}

// AddSpans appends the tokens of one text in spans: all of it is normalized, cut and merged
// together, whatever spans it is from. An added token is read only if all of its spelling
// lies in adjacent spans with Special set, also one that is not special, such as <think> in
// some vocabularies: other spans are from people who must not forge marks. Added tokens that
// are white space or one character are read everywhere. The white space that some tokens take
// with them (lstrip, rstrip) may lie in any span, and a token that must be a word
// (single_word) has its neighbours in any span.
//
// A tokenizer of another module, which cannot encode spans as one text, encodes runs of equal
// Special alone. AddSpans returns the error of ctx soon after ctx is done.
func (c *Collector) AddSpans(ctx context.Context, t Tokenizer, spans []Span) error {
	text, reads := join(spans)
	return c.add(ctx, t, text, reads, spans)
}

func (c *Collector) add(ctx context.Context, t Tokenizer, text string, reads encode.Reads, spans []Span) error {
	o := &c.out
	o.Limit, o.Keep, o.Stopped = c.limit(), c.Keep, ctx.Err
	if err := ctx.Err(); err != nil {
		return err
	}
	if least := o.Total() + AtLeast(t, text, reads.Any()); least > o.Limit {
		return &LimitError{least, c.Max}
	}
	if e, ok := t.(encode.Encoder); ok {
		tail := c.tail(e, text, reads.Any())
		e.EncodeTo(o, tail, reads.After(len(text)-len(tail)))
	} else {
		for _, run := range runs(spans) {
			if run.Special {
				o.IDs = append(o.IDs, t.EncodeSpecial(run.Text)...)
			} else {
				o.IDs = append(o.IDs, t.Encode(run.Text)...)
			}
		}
	}
	o.More(0)
	return c.failed()
}

// runs joins adjacent spans of equal Special.
func runs(spans []Span) (out []Span) {
	for i := 0; i < len(spans); {
		n := i + 1
		for n < len(spans) && spans[n].Special == spans[i].Special {
			n++
		}
		out = append(out, Span{Join(spans[i:n]), spans[i].Special})
		i = n
	}
	return out
}

// Join returns the text of spans.
func Join(spans []Span) string {
	if len(spans) == 1 {
		return spans[0].Text
	}
	size := 0
	for _, s := range spans {
		size += len(s.Text)
	}
	var b strings.Builder
	b.Grow(size)
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// join returns the text of spans, and where added tokens are read in it.
func join(spans []Span) (text string, reads encode.Reads) {
	var trust encode.ReadsBuilder
	for _, s := range spans {
		trust.Add(len(s.Text), s.Special)
	}
	return Join(spans), trust.Reads()
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
