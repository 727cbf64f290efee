package budget

import (
	"context"
	"encoding/json"
	"math"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

const (
	bytesPerToken  = 4    // of an estimate
	perImage       = 8192 // tokens of the largest image, Llama's: four tiles and the whole, 1601 each
	perMessage     = 16   // tokens that a chat template adds to a message or a prompt
	unknownContext = 8192 // tokens, for a model whose record has no context
	minAnswer      = 16   // fewest tokens worth generating for a row
	fairAnswer     = 2048 // tokens that one request may use even if they are more than half of the rest
	// exactBytes is the longest prompt that is tokenized to count its tokens, in bytes:
	// some milliseconds.
	exactBytes = 1 << 20
	// most and mostRows bound the tokens and rows of a request: more than any model gives,
	// but their sums and products fit an int64.
	most, mostRows = 1 << 32, 1 << 20
	// maxAmount bounds an amount in any unit: more than any limit.
	maxAmount = 1 << 61
)

// context returns the model's context in tokens.
func (b backend) context() int64 {
	if b.info.Context > 0 {
		return int64(b.info.Context)
	}
	return unknownContext
}

// A bound is the largest number of tokens that a generation can use.
type bound struct {
	input int64
	rows  int64
	each  int64 // of a row
	sent  bool  // the client sent the value of each
}

// weights are the amounts that a token, and a request, cost in the unit of a budget.
type weights struct{ input, output, request int64 }

// weights returns those of the model. A model without prices costs no money.
func (b backend) weights(u unit) weights {
	switch p := b.info.Prices; {
	case u == tokens:
		return weights{input: 1, output: 1}
	case p == nil:
		return weights{}
	default:
		return weights{int64(p.Input), int64(p.Output), int64(p.Request)}
	}
}

// of returns the amount for numbers of tokens.
func (w weights) of(input, output int64) int64 {
	sum := llm.USD(w.input).Times(input).Plus(llm.USD(w.output).Times(output))
	return min(int64(sum.Plus(llm.USD(w.request))), maxAmount)
}

// total returns the largest amount that a generation can use.
func (b bound) total(w weights) int64 { return w.of(b.input, b.rows*b.each) }

// bound returns the bound of a request. A prompt has at most as many tokens as bytes, and
// those that a chat template adds. Without max_tokens the bound of an answer is the
// dialect's default for a model in this process, else the model's context.
func (b backend) bound(req *llm.Request) bound {
	rows := max(1, int64(req.N))
	if req.BestOf != nil {
		rows = max(rows, int64(*req.BestOf))
	}
	out := bound{rows: min(int64(max(1, len(req.Prompts)))*min(rows, mostRows), mostRows), each: b.context()}
	limit := req.MaxTokens
	if out.sent = limit != nil; !out.sent && b.info.InProcess {
		limit = req.Defaults.MaxTokens
	}
	if limit != nil {
		out.each = min(int64(*limit), most)
	}
	if b.info.Context > 0 {
		out.each = min(out.each, int64(b.info.Context))
	}
	out.input = b.clamp(req, func(p llm.Prompt) int64 { return size(req, p) })
	return out
}

// clamp adds up the tokens of the prompts, each at most the model's context if that is known.
// A remote provider bills a prompt for each of its completions.
func (b backend) clamp(req *llm.Request, tokens func(llm.Prompt) int64) (sum int64) {
	times := int64(1)
	if !b.info.InProcess {
		times = min(max(1, int64(req.N)), mostRows)
	}
	for _, p := range req.Prompts {
		n := tokens(p)
		if b.info.Context > 0 {
			n = min(n, int64(b.info.Context))
		}
		sum += n * times
	}
	return sum
}

// size returns the largest number of tokens of a prompt.
func size(req *llm.Request, p llm.Prompt) int64 {
	n := extra(req, p)
	for part := range parts(p) {
		n += int64(len(part.Text) + len(part.Tokens))
		if part.Image != nil {
			n += perImage
		}
	}
	return n
}

// extra returns the tokens that a chat adds to the texts of its messages.
func extra(req *llm.Request, p llm.Prompt) int64 {
	n := int64(perMessage + len(req.Schema))
	for _, m := range p.Messages {
		n += int64(perMessage + len(m.Role) + len(m.CallID))
		for _, c := range m.Calls {
			n += int64(perMessage + len(c.ID) + len(c.Name) + len(c.Arguments))
		}
	}
	tools := req.Tools
	if req.Declared != nil {
		tools = req.Declared
	}
	for _, t := range tools {
		n += int64(perMessage + len(t.Name) + len(t.Description) + len(t.Parameters))
	}
	return n
}

// parts yields the texts and token sequences of a prompt.
func parts(p llm.Prompt) func(func(llm.Part) bool) {
	return func(yield func(llm.Part) bool) {
		for _, part := range p.Parts {
			if !yield(part) {
				return
			}
		}
		for _, m := range p.Messages {
			for _, part := range m.Parts {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// exact counts the tokens of the prompts if the model has a tokenizer. That takes time, so
// it is called only if the bound decides whether the request passes.
func (b backend) exact(ctx context.Context, req *llm.Request) (int64, bool) {
	tokenizer, err := llm.As[llm.Tokenizer](b.model)
	if err != nil {
		return 0, false
	}
	room := exactBytes
	sum := b.clamp(req, func(p llm.Prompt) int64 {
		n := extra(req, p)
		for part := range parts(p) {
			n += int64(len(part.Tokens))
			if room -= len(part.Text); part.Text == "" || room < 0 {
				continue
			}
			tokens, e := tokenizer.Tokenize(ctx, []llm.Part{part}, false)
			if e != nil {
				err = e
			}
			n += int64(len(tokens))
		}
		return n
	})
	return sum, err == nil && room >= 0
}

// input estimates the tokens of the prompts of a generation that does not report them.
func (b backend) input(ctx context.Context, req *llm.Request) int {
	if n, ok := b.exact(context.WithoutCancel(ctx), req); ok {
		return int(n)
	}
	return int(b.clamp(req, func(p llm.Prompt) int64 { return (size(req, p) + bytesPerToken - 1) / bytesPerToken }))
}

// fit reserves what req may use of each budget. If the client sent no max_tokens and less
// than the bound is left, the answer gets a part of the rest: all up to [fairAnswer]
// tokens, and half of any more, so that another request can run in parallel. It then ends
// with [llm.FinishLength].
func (b backend) fit(ctx context.Context, rec *httpx.Record, req *llm.Request) (*llm.Request, error) {
	n, counted := b.bound(req), false
	fits := true
	for _, h := range b.holds {
		weights, used := b.weights(h.unit), h.unit.used(rec)
		room := h.room(ctx) - used
		if room < n.total(weights) && !counted {
			counted = true
			if exact, ok := b.exact(ctx, req); ok {
				n.input = min(n.input, exact)
			}
		}
		each, err := h.fit(ctx, n, weights, used, room)
		if err != nil {
			return nil, err
		}
		if each < n.each && !b.unmapped("max_new_tokens") { // else usage beyond the reservation is charged
			n.each, fits = each, false
		}
	}
	if fits {
		return req, nil
	}
	capped, limit := *req, int(n.each)
	capped.MaxTokens = &limit
	return &capped, nil
}

// fit reserves the amount of a generation, and returns the tokens that each row may have.
func (h *hold) fit(ctx context.Context, n bound, w weights, used, room int64) (each int64, err error) {
	total := n.total(w)
	if n.sent || room >= total {
		_, err := h.adjust(ctx, used+total, used+total)
		return n.each, err
	}
	least := w.of(n.input, n.rows*min(n.each, minAnswer))
	input := w.of(n.input, 0)
	upTo := min(total, input+max(w.of(0, fairAnswer)-w.request, (room-input)/2))
	got, err := h.adjust(ctx, used+least, used+max(least, upTo))
	if err != nil || w.output == 0 {
		return n.each, err
	}
	return min(n.each, (got-used-input)/w.output/n.rows), nil
}

// unmapped reports whether the record of the model does not map a parameter: the model
// would then reject it though the client did not send it.
func (b backend) unmapped(name string) bool {
	record, err := llm.As[llm.Mapper](b.model)
	return err == nil && len(record.Unmapped(map[string]any{name: nil})) > 0
}

// number parses a number of tokens in a body.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		return int64(min(max(0, n), most)), err == nil || math.IsInf(n, 0)
	case float64:
		return int64(min(max(0, v), most)), true
	case int:
		return int64(min(max(0, v), most)), true
	}
	return 0, false
}
