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
const contextSteps = 1 << 16

// A spent is the error of a budget at its end.
type spent string

func (e spent) Error() string        { return string(e) }
func (e spent) Is(target error) bool { return target == ErrTooLarge }

// Spend takes steps and bytes. An error is [ErrTooLarge], or the context's.
func (budget *Budget) Spend(steps, bytes int) error {
	if budget == nil {
		return nil
	}
	before := budget.steps
	budget.steps -= steps
	budget.bytes -= bytes
	switch {
	case budget.err != nil:
	case budget.steps < 0:
		budget.err = spent(fmt.Sprintf("compiling takes more than %d million steps, which is the bound", maxBudgetSteps/1_000_000))
	case budget.bytes < 0:
		budget.err = spent(fmt.Sprintf("compiling takes more than %d MiB, which is the bound", maxBudgetBytes>>20))
	case before/contextSteps != budget.steps/contextSteps:
		budget.err = budget.ctx.Err()
	}
	return budget.err
}

// Err returns why the budget is at its end, nil while it is not.
func (budget *Budget) Err() error {
	if budget == nil {
		return nil
	}
	return budget.err
}

// Spent returns the steps and the bytes taken so far.
func (budget *Budget) Spent() (steps, bytes int) {
	return maxBudgetSteps - budget.steps, maxBudgetBytes - budget.bytes
}
