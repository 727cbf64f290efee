package budget

import (
	"context"
	"iter"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Models returns models that hold whoever asks to the budget. They must stand before
// [glossa/pkg/meter.Models], which counts what was used on the record of the request.
//
// Open reserves a token for each byte of the request's body, or what is left if that is
// less: most tokenizers make fewer, and a budget of 10,000 tokens must hold a body of
// 12,000 bytes. Generate reserves the most that it can use, see [bound]; it is refused if
// that is not left, unless the client sent no max_tokens: then those are what is left.
// What the provider of a model does not tell is estimated for who has a budget, and stands
// in the record of the request like what is told. What other capabilities use beyond what
// Open reserved is charged when the request ends, so the last request of a period may go
// over the limit by its own tokens.
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
	limited := backend{model.Backend, &model.ModelInfo, h}
	if invoker, err := llm.As[llm.Invoker](model.Backend); err == nil {
		return &llm.Model{ModelInfo: model.ModelInfo, Backend: invoking{limited, invoker}}, nil
	}
	return &llm.Model{ModelInfo: model.ModelInfo, Backend: limited}, nil
}

// hold returns what the request reserves, nil if its sender has no budget or nobody was
// asked who that is.
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

// backend is a model of which the request may use what h holds; nil: anything.
type backend struct {
	llm.Backend
	info *llm.ModelInfo
	h    *hold
}

// Unwrap lets [llm.As] see the capabilities of the backend.
func (b backend) Unwrap() llm.Backend { return b.Backend }

func (b backend) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		rec := httpx.RecordOf(ctx)
		fitted, err := b.fit(ctx, rec, req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		said, before := tally{charged: b.h != nil, exact: b.info.InProcess}, rec.Usage
		defer func() { // also when the client left, and in a panic
			if said.chunks > 0 {
				rec.Count(said.untold(before, rec.Usage, func() int { return b.input(ctx, req) }))
			}
		}()
		for c, err := range b.Backend.Generate(ctx, fitted) {
			said.add(c, err)
			if !yield(c, err) {
				said.cut = true
				return
			}
		}
	}
}

// invoking is a backend that takes canonical keys too.
type invoking struct {
	backend
	invoker llm.Invoker
}

// Invoke reserves what the body asks for. What the client did not ask for is the
// record's to say, so that it is charged beyond the budget rather than refused. What the
// keys of the answer tell is for the dialect to count; what nobody tells is estimated.
func (b invoking) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		rec := httpx.RecordOf(ctx)
		if err := b.reserve(ctx, rec, body); err != nil {
			yield(nil, err)
			return
		}
		said, before := tally{charged: b.h != nil}, rec.Usage
		defer func() {
			if said.chunks > 0 {
				rec.Count(said.untold(before, rec.Usage, func() int { return int(rec.Read+bytesPerToken-1) / bytesPerToken }))
			}
		}()
		for out, err := range b.invoker.Invoke(ctx, body, stream) {
			if !stream || err != nil || len(out) > 0 {
				said.addKeys(out, err)
			}
			if err != nil && ctx.Err() != nil && b.h != nil { // the provider has the prompt
				said.chunks++
			}
			if !yield(out, err) {
				said.cut = true
				return
			}
		}
	}
}

// reserve sets aside what body asks for.
func (b invoking) reserve(ctx context.Context, rec *httpx.Record, body map[string]any) error {
	if b.h == nil {
		return nil
	}
	least, most := total(rec)+1, total(rec)+rec.Read
	if n, ok := number(body["max_new_tokens"]); ok {
		least, most = least+n, most+n
	} else {
		most += b.context()
	}
	_, err := b.h.adjust(ctx, least, max(least, most))
	return err
}
