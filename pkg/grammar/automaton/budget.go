package automaton

import (
	"context"
	"fmt"
)

// What one compilation may take. A step is about five nanoseconds, so all of them are
// less than a second; bytes are those allocated, whether they are freed again or not.
const (
	maxBudgetSteps = 80_000_000
	maxBudgetBytes = 224 << 20
)

// A Budget is what one compilation may still take: steps and bytes, of everything that
// is built for it. Once it is spent, or its context is done, everything fails that asks
// it. A nil Budget has no end; automata are bounded one by one then. It is not safe for
// concurrent use.
type Budget struct {
	ctx          context.Context
	steps, bytes int // left
	err          error
}

// NewBudget returns a whole budget, which ends with ctx.
func NewBudget(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, steps: maxBudgetSteps, bytes: maxBudgetBytes}
}

// heed is how many steps lie between two looks at the context.
const heed = 1 << 16

// A spent is the error of a budget at its end.
type spent string

func (e spent) Error() string        { return string(e) }
func (e spent) Is(target error) bool { return target == ErrTooLarge }

// Spend takes steps and bytes. An error is [ErrTooLarge], or the context's.
func (b *Budget) Spend(steps, bytes int) error {
	if b == nil {
		return nil
	}
	before := b.steps
	b.steps -= steps
	b.bytes -= bytes
	switch {
	case b.err != nil:
	case b.steps < 0:
		b.err = spent(fmt.Sprintf("compiling takes more than %d million steps, which is the bound", maxBudgetSteps/1_000_000))
	case b.bytes < 0:
		b.err = spent(fmt.Sprintf("compiling takes more than %d MiB, which is the bound", maxBudgetBytes>>20))
	case before/heed != b.steps/heed:
		b.err = b.ctx.Err()
	}
	return b.err
}

// Err returns why the budget is at its end, nil while it is not.
func (b *Budget) Err() error {
	if b == nil {
		return nil
	}
	return b.err
}

// Spent returns the steps and the bytes taken so far.
func (b *Budget) Spent() (steps, bytes int) {
	return maxBudgetSteps - b.steps, maxBudgetBytes - b.bytes
}
