package budget

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// Models returns models that enforce the budgets of a request's sender and of its team. They must wrap
// [glossa/pkg/meter.Models], which counts the usage on the record of the request.
//
// Open reserves a token for each byte of the request's body, or the rest of the budget if
// that is less: most tokenizers make fewer tokens, and a budget of 10,000 tokens must allow
// a body of 12,000 bytes. Generate reserves the most that it can use, see [bound]. It is
// rejected if less is left, unless the client sent no max_tokens: then the rest is its
// limit. Every other call that runs the model reserves a token for each byte of its texts,
// or the rest if that is less, and is rejected if the rest is less than the tokens of the
// texts, see [backend.read]. Usage beyond the reservation is charged when the request ends.
// If a provider does not report usage, it is estimated for senders
// with a budget, and goes to the record of the request like reported usage.
func (b *Budgets) Models(models llm.Models) llm.Models { return budgeted{models, b} }

type budgeted struct {
	llm.Models
	b *Budgets
}

func (m budgeted) Open(ctx context.Context, name string) (*llm.Model, error) {
	holds, rec := m.b.hold(ctx), httpx.RecordOf(ctx)
	for _, h := range holds {
		amount := rec.Read
		if h.unit == money {
			amount = 1 // the price is not known yet
		}
		if err := h.begin(ctx, h.unit.used(rec), 1, amount); err != nil {
			return nil, err
		}
	}
	model, err := m.Models.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return intercept.Wrap(model, backend{model.Backend, &model.ModelInfo, holds}), nil
}

// hold returns the reservations of the request. There are none if the sender has no budget
// or is unknown.
func (b *Budgets) hold(ctx context.Context) []*hold {
	p, ok := account.PrincipalOf(ctx)
	if !ok {
		return nil
	}
	var list []quota
	for _, bound := range p.Bounds() {
		list = append(list, quotas(bound.Name, bound.Limits, b.cfg.Now())...)
	}
	slices.SortStableFunc(list, func(a, b quota) int { return cmp.Compare(a.unit, b.unit) })
	if len(list) == 0 {
		return nil
	}
	rec := httpx.RecordOf(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if holds, ok := b.holds[rec]; ok {
		return holds
	}
	var holds []*hold
	for _, q := range list {
		if n := len(holds); n == 0 || holds[n-1].unit != q.unit {
			holds = append(holds, &hold{unit: q.unit, rec: rec, now: b.cfg.Now})
		}
		h := holds[len(holds)-1]
		h.quotas = append(h.quotas, q)
		h.leases = append(h.leases, b.lease(q.Account, q.limit))
	}
	b.holds[rec] = holds
	return holds
}

// backend enforces holds on the calls of a model; without any there is no limit.
type backend struct {
	model llm.Backend // below the budget
	info  *llm.ModelInfo
	holds []*hold
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
		defer func() { // even if the client disconnected, and in a panic
			if given.pieces > 0 {
				missing := given.missing(before, rec.Usage, func() int { return b.inputOf(ctx, rec, call) })
				missing.Cost = rec.Prices.Cost(missing, 0)
				rec.Count(missing)
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

// admit reserves what call may use, and returns the call with the limit for its answer.
func (b backend) admit(ctx context.Context, rec *httpx.Record, call *intercept.Call) (_ *intercept.Call, err error) {
	if b.holds == nil {
		return call, nil
	}
	switch req := call.Request.(type) {
	case *llm.Request:
		fitted, err := b.fit(ctx, rec, req)
		return call.With(fitted), err
	case *intercept.Invocation:
		return call, b.reserve(ctx, rec, req.Body)
	}
	return call, b.read(ctx, rec, call)
}

// reserve reserves the tokens that body asks for. Tokens that the client did not ask for
// depend on the record, so they are charged beyond the budget rather than rejected.
func (b backend) reserve(ctx context.Context, rec *httpx.Record, body map[string]any) error {
	for _, h := range b.holds {
		weights, used := b.weights(h.unit), h.unit.used(rec)
		least, most := used+1, used+weights.of(rec.Read, b.context())
		if n, ok := number(body["max_new_tokens"]); ok {
			least, most = least+weights.of(0, n), used+weights.of(rec.Read, n)
		}
		if _, err := h.adjust(ctx, least, max(least, most)); err != nil {
			return err
		}
	}
	return nil
}

// inputOf estimates the input tokens of a call that does not report them.
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
