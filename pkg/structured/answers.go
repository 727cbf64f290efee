package structured

import (
	"context"
	"errors"

	"glossa/pkg/llm"
)

// answers is one request in progress.
type answers struct {
	ctx   context.Context
	model llm.Backend
	form  *format
	req   *llm.Request // as the model gets it
	yield func(llm.Chunk, error) bool

	done  []bool     // rows already yielded
	held  *llm.Chunk // yielded next, because the last chunk carries the usage
	usage llm.Usage  // of all requests
	lost  func(context.Context, llm.Usage)
}

// A invalidRow row is an invalid row, to be requested again.
type invalidRow struct {
	row   int
	text  string
	fault error
}

// errStopped ends a run whose receiver left.
var errStopped = errors.New("the range was left")

func (a *answers) run() {
	err := a.rows()
	if err != nil && a.ctx.Err() != nil && a.held != nil {
		err = a.interrupt() // rows were yielded, so the others end without an error
	}
	if err != nil && a.lost != nil {
		a.lost(a.ctx, a.usage)
	}
	switch {
	case errors.Is(err, errStopped):
	case err == nil:
		a.held.Usage = &a.usage
		a.yield(*a.held, nil)
	case a.held == nil || a.yield(*a.held, nil):
		a.yield(llm.Chunk{}, err)
	}
}

// rows yields the rows that are valid as they end, then requests the others again.
// After an error it cancels the model and drains it, because the last chunk reports
// the usage.
func (a *answers) rows() (failed error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	var again []invalidRow
	pieces := make([][]llm.Chunk, len(a.done))
	for c, err := range a.model.Generate(ctx, a.req) {
		a.count(c.Usage)
		switch {
		case failed != nil:
			continue
		case err != nil:
			return err
		}
		pieces[c.Row] = append(pieces[c.Row], c)
		if c.Finish == "" {
			continue
		}
		row := joinPieces(pieces[c.Row])
		pieces[c.Row] = nil
		fault, err := a.judge(c.Row, row)
		switch {
		case errors.Is(err, errStopped):
			return err
		case err != nil:
			failed = err
			cancel()
		case fault != nil:
			again = append(again, invalidRow{c.Row, row.Text, fault})
		}
	}
	if failed != nil {
		return failed
	}
	for _, w := range again {
		if err := a.correct(w); err != nil {
			return err
		}
	}
	return nil
}

// joinPieces joins the pieces of a row.
func joinPieces(pieces []llm.Chunk) llm.Chunk {
	rows, _, _ := llm.Collect(func(yield func(llm.Chunk, error) bool) {
		for _, c := range pieces {
			if c.Row = 0; !yield(c, nil) {
				return
			}
		}
	}, 1)
	return rows[0]
}

// correct requests a row once more.
func (a *answers) correct(w invalidRow) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	prompt := a.req.Prompts[w.row/max(1, a.req.N)]
	rows, usage, err := llm.Collect(a.model.Generate(a.ctx, a.form.correct(a.req, prompt, w.text, w.fault)), 1)
	a.count(&usage)
	if err != nil {
		return err
	}
	fault, err := a.judge(w.row, rows[0])
	if fault != nil {
		return llm.Errorf(llm.Upstream, "the answer of the model was not valid, nor was its second attempt: %v", fault)
	}
	return err
}

func (a *answers) count(u *llm.Usage) {
	if u != nil {
		a.usage.Add(*u)
	}
}

// judge yields a row if it is valid, or exempt from the check; else fault is the reason.
// An error ends the request.
func (a *answers) judge(row int, c llm.Chunk) (fault, err error) {
	out := llm.Chunk{Row: row, Reasoning: c.Reasoning, Finish: c.Finish}
	if len(c.Calls) > 0 {
		out.Text, out.Calls = c.Text, c.Calls
		return nil, a.give(out)
	}
	text, fault := a.form.read(c.Text)
	if fault == nil {
		out.Text, out.Guarantee = text, llm.Validated
		return nil, a.give(out)
	}
	switch c.Finish {
	case llm.FinishDeadline, llm.FinishCancelled, llm.FinishFiltered:
		return nil, a.give(out)
	case llm.FinishLength, llm.FinishContext:
		if c.Finish == llm.FinishLength && a.req.MaxTokens != nil {
			return nil, &llm.Error{Code: llm.Invalid, Param: "max_new_tokens", Message: "the answer was cut off there before it was complete: " + fault.Error()}
		}
		return nil, llm.Errorf(llm.Upstream, "a limit of the model cut off the answer before it was complete: %v", fault)
	}
	return fault, nil
}

// give yields the previous row, and keeps this one.
func (a *answers) give(c llm.Chunk) error {
	if a.held != nil && !a.yield(*a.held, nil) {
		return errStopped
	}
	a.held, a.done[c.Row] = &c, true
	return nil
}

// interrupt ends the open rows when ctx has ended.
func (a *answers) interrupt() error {
	why := llm.FinishCancelled
	if errors.Is(a.ctx.Err(), context.DeadlineExceeded) {
		why = llm.FinishDeadline
	}
	for row, done := range a.done {
		if done {
			continue
		}
		if err := a.give(llm.Chunk{Row: row, Finish: why}); err != nil {
			return err
		}
	}
	return nil
}
