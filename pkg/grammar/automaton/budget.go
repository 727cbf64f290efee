package automaton

import (
	"context"
	"fmt"
)

// The budget of one compilation. A step takes about five nanoseconds, so all of them take
// less than a second. Bytes are counted when they are allocated, even if they are freed.
const (
	maxBudgetSteps = 80_000_000
	maxBudgetBytes = 224 << 20
)

// A Budget holds the steps and bytes that one compilation may still use, for everything
// that it builds. Once the budget is spent or its context is done, constructions within it
// fail. A nil Budget is unlimited, but each automaton is still bounded. A Budget is not
// safe for concurrent use.
type Budget struct {
	ctx          context.Context
	steps, bytes int // left
	err          error
}

// NewBudget returns a full budget, which ends with ctx.
func NewBudget(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, steps: maxBudgetSteps, bytes: maxBudgetBytes}
}

// contextSteps is the number of steps between two checks of the context.
const contextSteps = 1 << 16

// A budgetError is the error of a spent budget.
type budgetError string

func (e budgetError) Error() string        { return string(e) }
func (e budgetError) Is(target error) bool { return target == ErrTooLarge }

// Spend uses steps and bytes. The error is [ErrTooLarge] or the context's.
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
		budget.err = budgetError(fmt.Sprintf("compiling exceeds the limit of %d million steps", maxBudgetSteps/1_000_000))
	case budget.bytes < 0:
		budget.err = budgetError(fmt.Sprintf("compiling exceeds the limit of %d MiB", maxBudgetBytes>>20))
	case before/contextSteps != budget.steps/contextSteps:
		budget.err = budget.ctx.Err()
	}
	return budget.err
}

// Err returns the error that ended the budget, or nil.
func (budget *Budget) Err() error {
	if budget == nil {
		return nil
	}
	return budget.err
}

// Spent returns the steps and the bytes used so far.
func (budget *Budget) Spent() (steps, bytes int) {
	return maxBudgetSteps - budget.steps, maxBudgetBytes - budget.bytes
}
