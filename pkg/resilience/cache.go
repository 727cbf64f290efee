package resilience

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// CacheHeader is set for a request whose answer can be kept: to "hit" for a kept answer,
// to "miss" for a new one. With a hit comes Age (RFC 9111, 5.1), in seconds.
const CacheHeader = "X-Glossa-Cache"

// cache repeats the answer to a request that is equal to an earlier one. It keeps the
// answers that the model would give again:
//
//   - of a model in the process (Policy.Seeded), generations with a temperature of 0, with
//     a seed, or with nothing that makes it choose at random: no temperature, top_k,
//     top_p or typical_p, sent or by default; and all vectors, scores and translations,
//     which choose nothing at random;
//   - of a remote model, generations that were sent with a temperature of 0, and nothing
//     else. Its own defaults are not known, and no provider promises that a seed repeats
//     an answer.
//
// It keeps only complete answers: without an error, and with each row ended by the model,
// a stop sequence, the number of tokens or the context. An answer that a deadline, a
// client that left or a provider's filter ended is incomplete. An answer of canonical keys
// is complete if its sequence ended without an error: its finish reasons are the
// provider's own. An answer of a type that copy.go cannot copy is not kept.
//
// An answer is repeated as recorded, in the same pieces and at once, with its usage, which
// is counted again. A streamed answer and a buffered one differ only in their pieces, and
// share an entry; those of canonical keys differ in format and do not.
//
// Equal requests that run at the same time are all sent: none waits for another, whose
// client may leave.
type cache struct {
	policy Policy
	id     [3]string // family, name and version of the model
	store  *Store
}

func newCache(model *llm.Model, p Policy, store *Store) *cache {
	return &cache{p, [3]string{model.Family, model.Name, p.Version}, store}
}

// Intercept implements [intercept.Interceptor].
func (c *cache) Intercept(ctx context.Context, call *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	seq := next(ctx, call)
	if call.Free || !c.keeps(call) {
		return seq
	}
	return func(yield func(intercept.Piece, error) bool) {
		a := answers{c, ctx, call, yield}
		k, ok := a.key()
		a.run(k, ok, seq)
	}
}

// keeps reports whether the model would give the same answer to call again.
func (c *cache) keeps(call *intercept.Call) bool {
	switch req := call.Request.(type) {
	case *llm.Request:
		return c.repeats(req)
	case *intercept.Invocation:
		return zero(req.Body["temperature"])
	}
	return c.policy.Seeded
}

// repeats reports whether the model would generate the same rows again.
func (c *cache) repeats(req *llm.Request) bool {
	p := &req.Params
	if c.policy.Seeded {
		p = new(req.Effective())
		if p.Seed != nil || p.Temperature == nil && p.TopK == nil && p.TopP == nil && p.TypicalP == nil {
			return true
		}
	}
	return p.Temperature != nil && *p.Temperature == 0
}

// whole reports whether list is the complete answer to call.
func whole(call *intercept.Call, list []intercept.Piece) bool {
	req, ok := call.Request.(*llm.Request)
	if !ok {
		return len(list) > 0
	}
	ended := 0
	for _, p := range list {
		switch p.Chunk.Finish {
		case "":
		case llm.FinishEOS, llm.FinishStop, llm.FinishLength, llm.FinishContext:
			ended++
		default:
			return false
		}
	}
	return ended == req.Rows() && list[len(list)-1].Usage != nil
}

// zero reports whether v is the JSON number 0.
func zero(v any) bool {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case float64:
		return v == 0
	case int:
		return v == 0
	}
	return false
}

// answers is the answer to one call, kept or to be kept.
type answers struct {
	*cache
	ctx   context.Context
	call  *intercept.Call
	yield func(intercept.Piece, error) bool
}

// key returns the key of the call; ok is false if it has none.
func (a *answers) key() (k key, ok bool) {
	switch req := a.call.Request.(type) {
	case *llm.Request:
		same := *req
		same.Stream = false
		return keyOf(a.call.Name, a.id, same)
	case *intercept.Invocation:
		return keyOf(a.call.Name, a.id, req.Stream, req.Body)
	}
	return keyOf(a.call.Name, a.id, a.call.Request)
}

// run yields the answer kept for k, else that of seq. ok is false if the request has
// no key.
func (a *answers) run(k key, ok bool, seq iter.Seq2[intercept.Piece, error]) {
	if !ok {
		seq(a.yield)
		return
	}
	if err := a.ctx.Err(); err != nil {
		a.yield(intercept.Piece{}, err)
		return
	}
	if kept, made, ok := a.store.get(k, a.policy.Keep); ok {
		a.setHeader("hit", time.Since(made))
		for i := range kept {
			if p, _, _ := copyPiece(&kept[i]); !a.yield(p, nil) {
				return
			}
		}
		return
	}
	a.record(k, seq)
}

// record yields seq and keeps it if it reaches its end.
func (a *answers) record(k key, seq iter.Seq2[intercept.Piece, error]) {
	var list []intercept.Piece
	bytes, keeps, begun := 0, true, false
	for p, err := range seq {
		keeps = keeps && err == nil
		if !begun && err == nil {
			a.setHeader("miss", 0)
			begun = true
		}
		if keeps {
			own, n, ok := copyPiece(&p)
			list, bytes = append(list, own), bytes+n
			if !ok || bytes > a.store.largest() {
				list, keeps = nil, false
			}
		}
		if !a.yield(p, err) {
			return
		}
	}
	if keeps && a.ctx.Err() == nil && whole(a.call, list) {
		a.store.put(k, list, bytes, a.policy.Keep)
	}
}

// setHeader sets [CacheHeader] and Age. A request that has several answers is a hit if all
// of them are, and as old as the oldest.
func (a *answers) setHeader(what string, age time.Duration) {
	httpx.RecordOf(a.ctx).SetHeader(func(h http.Header) {
		if what == "miss" {
			h.Del("Age")
		} else if h.Get(CacheHeader) == "miss" {
			return
		} else if before, err := strconv.Atoi(h.Get("Age")); err != nil || before < int(age.Seconds()) {
			h.Set("Age", strconv.Itoa(int(age.Seconds())))
		}
		h.Set(CacheHeader, what)
	})
}
