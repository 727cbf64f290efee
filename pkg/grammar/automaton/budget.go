package automaton

import (
	"context"
	"fmt"
)

// What one compilation may take. A step is about ten nanoseconds, so all of them are
// less than a second; bytes are those allocated, whether they are freed again or not.
const (
	maxBudgetSteps = 40_000_000
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

// Spend takes steps and bytes. An error wraps [ErrTooLarge], or is the context's.
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
		b.err = fmt.Errorf("compiling takes more than %d million steps: %w", maxBudgetSteps/1_000_000, ErrTooLarge)
	case b.bytes < 0:
		b.err = fmt.Errorf("compiling takes more than %d MiB: %w", maxBudgetBytes>>20, ErrTooLarge)
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
