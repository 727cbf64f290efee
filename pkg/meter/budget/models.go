package budget

import (
	"context"
	"iter"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// Models returns models that hold the sender of a request to the budget. They must stand
// before [glossa/pkg/meter.Models], which counts what was used on the record of the request.
//
// Open reserves a token for each byte of the request's body, or what is left if that is
// less: most tokenizers make fewer, and a budget of 10,000 tokens must hold a body of
// 12,000 bytes. Generate reserves the most that it can use, see [bound]; it is refused if
// that is not left, unless the client sent no max_tokens: then those are what is left.
// Every other call that runs the model reserves a token for each byte of its texts, or what
// is left if that is less, and is refused if nothing is left. What it uses beyond that is
// charged when the request ends, so the last call of a period may go over the limit by its
// own tokens. What the provider of a model does not tell is estimated for senders who have
// a budget, and stands in the record of the request like what is told.
func (b *Budgets) Models(models llm.Models) llm.Models { return budgeted{models, b} }

type budgeted struct {
	llm.Models
	b *Budgets
}

func (m budgeted) Open(ctx context.Context, name string) (*llm.Model, error) {
	h := m.b.hold(ctx)
	if h != nil {
		rec := httpx.RecordOf(ctx)
		if err := h.begin(ctx, total(rec), rec.Read); err != nil {
			return nil, err
		}
	}
	model, err := m.Models.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return intercept.Wrap(model, backend{model.Backend, &model.ModelInfo, h}), nil
}

// hold returns what the request reserves. It is nil if the sender has no budget or is not
// known.
func (b *Budgets) hold(ctx context.Context) *hold {
	p, ok := account.PrincipalOf(ctx)
	if !ok || b.cfg.Ledger == nil {
		return nil
	}
	list := quotas(p.String(), p.Limits, b.cfg.Now())
	if len(list) == 0 {
		return nil
	}
	rec := httpx.RecordOf(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.holds[rec]
	if !ok {
		h = &hold{header: rec.Header, now: b.cfg.Now, quotas: list}
		for _, q := range list {
			h.leases = append(h.leases, b.lease(q.Account, q.limit))
		}
		b.holds[rec] = h
	}
	return h
}

// backend holds the calls of a model to h; nil: the request may use anything.
type backend struct {
	model llm.Backend // below the budget
	info  *llm.ModelInfo
	h     *hold
}

// Intercept implements [intercept.Interceptor].
func (b backend) Intercept(ctx context.Context, call *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	if call.Free {
		return next(ctx, call)
	}
	return func(yield func(intercept.Piece, error) bool) {
		rec := httpx.RecordOf(ctx)
		call, err := b.admit(ctx, rec, call)
		if err != nil {
			yield(intercept.Piece{}, err)
			return
		}
		given, before := b.tally(call), rec.Usage
		defer func() { // also when the client left, and in a panic
			if given.pieces > 0 {
				rec.Count(given.missing(before, rec.Usage, func() int { return b.inputOf(ctx, rec, call) }))
			}
		}()
		for p, err := range next(ctx, call) {
			given.add(ctx, &p, err)
			if !yield(p, err) {
				given.cut = true
				return
			}
		}
	}
}

// admit reserves what call may use, and returns it with the limit that its answer gets.
func (b backend) admit(ctx context.Context, rec *httpx.Record, call *intercept.Call) (*intercept.Call, error) {
	if b.h == nil {
		return call, nil
	}
	switch req := call.Request.(type) {
	case *llm.Request:
		fitted, err := b.fit(ctx, rec, req)
		return call.With(fitted), err
	case *intercept.Invocation:
		return call, b.reserve(ctx, rec, req.Body)
	}
	return call, b.h.begin(ctx, total(rec), call.Bytes())
}

// reserve sets aside what body asks for. What the client did not ask for is the record's
// to say, so that it is charged beyond the budget rather than refused.
func (b backend) reserve(ctx context.Context, rec *httpx.Record, body map[string]any) error {
	least, most := total(rec)+1, total(rec)+rec.Read
	if n, ok := number(body["max_new_tokens"]); ok {
		least, most = least+n, most+n
	} else {
		most += b.context()
	}
	_, err := b.h.adjust(ctx, least, max(least, most))
	return err
}

// inputOf estimates the tokens that call gave to a model which did not tell them.
func (b backend) inputOf(ctx context.Context, rec *httpx.Record, call *intercept.Call) int {
	bytes := call.Bytes()
	switch req := call.Request.(type) {
	case *llm.Request:
		return b.input(ctx, req)
	case *intercept.Invocation:
		bytes = rec.Read
	}
	return int(bytes+bytesPerToken-1) / bytesPerToken
}
