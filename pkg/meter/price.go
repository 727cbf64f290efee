package meter

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// A Computer has the prices of the machine that computes the models in this process, such as
// those of a Lambda function. Nil: they are unknown.
type Computer struct {
	MiB      int64   // memory, which is billed whether it is used or not
	GBSecond llm.USD // of 1024 MiB for a second
	Request  llm.USD // for a request, whatever it takes
}

// Cost returns the cost of a request that takes d; a begun millisecond is billed whole.
//
// Source: AWS Lambda Pricing, "duration ... rounded up to the nearest 1 ms".
func (c *Computer) Cost(d time.Duration) llm.USD {
	ms := int64((max(0, d) + time.Millisecond - 1) / time.Millisecond)
	const unit = 1024 * 1000 // MiB and milliseconds of a GB-second
	sum := c.GBSecond.Times(c.MiB).Times(ms)
	return ((sum + unit - 1) / unit).Plus(c.Request)
}

// Price returns a model that adds the cost to the usage of its calls: the prices of its record
// or, for a model of this process without prices, those of the computer. It must be inside of
// fallbacks, so that each model has its own prices.
func Price(m *llm.Model, c *Computer) *llm.Model {
	if !m.InProcess || m.Prices != nil {
		c = nil
	}
	return intercept.Wrap(m, pricer{m.Prices, c, !m.InProcess})
}

// pricer adds the cost to the usage of each call.
type pricer struct {
	prices   *llm.Prices
	computer *Computer
	remote   bool
}

// Intercept implements [intercept.Interceptor].
func (p pricer) Intercept(ctx context.Context, call *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	if call.Free {
		return next(ctx, call)
	}
	return func(yield func(intercept.Piece, error) bool) {
		rec := httpx.RecordOf(ctx)
		rec.Prices = p.prices
		before := rec.Computed
		for piece, err := range next(ctx, call) {
			if piece.Usage != nil {
				piece = priced(piece, p.cost(rec, call, before, *piece.Usage))
			}
			if !yield(piece, err) {
				return
			}
		}
	}
}

// cost returns the cost of a call so far. Time that an earlier call of the request was billed
// is not billed again.
func (p pricer) cost(rec *httpx.Record, call *intercept.Call, before time.Duration, used llm.Usage) llm.Cost {
	if p.computer == nil {
		return p.prices.Cost(used, p.requests(call))
	}
	rec.Computed = max(before, time.Since(rec.Start))
	sum := p.computer.Cost(rec.Computed)
	if before > 0 {
		sum -= p.computer.Cost(before)
	}
	return llm.KnownCost(sum)
}

// requests returns the requests to a provider that its price is for.
func (p pricer) requests(call *intercept.Call) int64 {
	switch req := call.Request.(type) {
	case *llm.Request:
		if p.remote {
			return int64(req.Rows())
		}
	case *llm.RerankRequest:
		const documents = 100
		return int64(len(req.Pairs)+documents-1) / documents
	}
	return 1
}

// priced returns piece with a cost in its usage and, if it has canonical keys, among them.
func priced(piece intercept.Piece, cost llm.Cost) intercept.Piece {
	used := *piece.Usage
	used.Cost = cost
	piece.Usage = &used
	if piece.Chunk.Usage != nil {
		piece.Chunk.Usage = new(used)
	}
	if piece.Keys != nil && cost.Known {
		piece.Keys = maps.Clone(piece.Keys)
		piece.Keys["cost"] = json.Number(cost.USD.String())
	}
	return piece
}
