package resilience

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// CacheHeader tells of a request whose answer can be kept whether it was (hit) or is
// new (miss). With a hit comes Age (RFC 9111, 5.1), in seconds.
const CacheHeader = "X-Glossa-Cache"

// cache gives the answers to requests that repeat one exactly. It keeps those to
// requests which the model, asked again, would answer with the same:
//
//   - of a model in the process (Policy.Seeded), those with a temperature of 0, with a
//     seed, or with nothing that makes it choose at random: no temperature, top_k,
//     top_p or typical_p, sent or by default;
//   - of a remote model, those that were sent with a temperature of 0. Its own defaults
//     are not known, and no provider promises that a seed repeats an answer.
//
// It keeps whole answers alone: without an error, each row ended by the model, a stop
// sequence, the number of tokens or the context. What a deadline, a client that left or
// a provider's filter ended is none. An answer of canonical keys is whole if its
// sequence ended without an error: its words for an end are the provider's own.
//
// An answer is given again as it was recorded, in the same pieces and at once, with its
// usage, which is counted again. A streamed answer and a whole one are the same but for
// the pieces, and share an entry; those of canonical keys differ in form and do not.
//
// Requests that are the same and run at the same time are all sent: none waits for
// another, whose client may leave.
type cache struct {
	llm.Backend
	policy Policy
	id     [3]string // family, name and version of the model
	store  *Store
}

// newCache returns a backend that is an [llm.Invoker] if the model is one.
func newCache(model *llm.Model, p Policy, store *Store) llm.Backend {
	c := &cache{model, p, [3]string{model.Family, model.Name, p.Version}, store}
	invoker, err := llm.As[llm.Invoker](model)
	if err != nil {
		return c
	}
	return invokingCache{c, invoker}
}

// Unwrap lets [llm.As] see the capabilities of the model.
func (c *cache) Unwrap() llm.Backend { return c.Backend }

// Generate implements [llm.Backend].
func (c *cache) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	if !c.repeats(req) {
		return c.Backend.Generate(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		same := *req
		same.Stream = false
		a := answers[llm.Chunk]{c, ctx, copyChunk, func(list []llm.Chunk) bool { return whole(list, req.Rows()) }, yield}
		k, ok := keyOf("generate", c.id, same)
		a.run(k, ok, c.Backend.Generate(ctx, req))
	}
}

// repeats tells whether the model would give the same answer again.
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

// whole tells whether an answer of so many rows is one to be kept.
func whole(list []llm.Chunk, rows int) bool {
	ended := 0
	for _, c := range list {
		switch c.Finish {
		case "":
		case llm.FinishEOS, llm.FinishStop, llm.FinishLength, llm.FinishContext:
			ended++
		default:
			return false
		}
	}
	return ended == rows && list[len(list)-1].Usage != nil
}

type invokingCache struct {
	*cache
	invoker llm.Invoker
}

// Invoke implements [llm.Invoker].
func (c invokingCache) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	if !zero(body["temperature"]) {
		return c.invoker.Invoke(ctx, body, stream)
	}
	return func(yield func(map[string]any, error) bool) {
		a := answers[map[string]any]{c.cache, ctx, copyKeys, func(list []map[string]any) bool { return len(list) > 0 }, yield}
		k, ok := keyOf("invoke", c.id, stream, body)
		a.run(k, ok, c.invoker.Invoke(ctx, body, stream))
	}
}

// zero tells whether v is the number 0, as JSON has it.
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

// answers is the answer to one request, kept or to be kept.
type answers[T any] struct {
	*cache
	ctx   context.Context
	copy  func(T) (v T, bytes int, ok bool)
	whole func([]T) bool
	yield func(T, error) bool
}

// run gives out the answer that is kept for k, else that of seq. ok is false if the
// request has no key.
func (a *answers[T]) run(k key, ok bool, seq iter.Seq2[T, error]) {
	if !ok {
		seq(a.yield)
		return
	}
	if err := a.ctx.Err(); err != nil {
		var none T
		a.yield(none, err)
		return
	}
	if kept, made, ok := a.store.get(k, a.policy.Keep); ok {
		a.tell("hit", time.Since(made))
		for _, v := range kept.([]T) {
			if v, _, _ = a.copy(v); !a.yield(v, nil) {
				return
			}
		}
		return
	}
	a.record(k, seq)
}

// record gives out seq and keeps it if it comes to its end.
func (a *answers[T]) record(k key, seq iter.Seq2[T, error]) {
	var list []T
	bytes, keeps, begun := 0, true, false
	for v, err := range seq {
		keeps = keeps && err == nil
		if !begun && err == nil {
			a.tell("miss", 0)
			begun = true
		}
		if keeps {
			own, n, ok := a.copy(v)
			list, bytes = append(list, own), bytes+n
			if !ok || bytes > a.store.largest() {
				list, keeps = nil, false
			}
		}
		if !a.yield(v, err) {
			return
		}
	}
	if keeps && a.ctx.Err() == nil && a.whole(list) {
		a.store.put(k, list, bytes, a.policy.Keep)
	}
}

// tell sets the headers. A request that has several answers is a hit if all of them
// are, and as old as the oldest.
func (a *answers[T]) tell(what string, age time.Duration) {
	h := httpx.RecordOf(a.ctx).Header
	if what == "miss" {
		h.Del("Age")
	} else if h.Get(CacheHeader) == "miss" {
		return
	} else if before, err := strconv.Atoi(h.Get("Age")); err != nil || before < int(age.Seconds()) {
		h.Set("Age", strconv.Itoa(int(age.Seconds())))
	}
	h.Set(CacheHeader, what)
}
