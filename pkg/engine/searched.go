package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// An encoder-decoder whose files recommend a search answers with it, if the request leaves the
// choice of tokens to the model. A token is written as soon as all hypotheses share it.

// ownSearch returns the search with which the model answers a request with settings s; nil if the
// request chooses tokens itself. The parameters that the client did not send are not a choice.
func (e *Engine) ownSearch(req *llm.Request, s *settings) *arch.Search {
	if e.seq2seq == nil || e.seq2seq.Search == nil {
		return nil
	}
	q := e.seq2seq.Search
	sent := &req.Params
	greedy := s.sampler.Temperature == 0
	if sent.Temperature == nil && q.Beams > 1 {
		greedy = or(sent.TopK, 0) == 0 && or(sent.TopP, 1) == 1 && or(sent.TypicalP, 1) == 1
	}
	adjusted := s.sampler.RepetitionPenalty != 1 || s.sampler.PresencePenalty != 0 || s.sampler.FrequencyPenalty != 0 || len(s.sampler.LogitBias) > 0
	more := s.bestOf > 1 || s.logprobs >= 0 || s.constraint != nil || len(s.tools) > 0 || s.prediction != "" || e.thinker != nil
	if !greedy || adjusted || more {
		return nil
	}
	return q
}

// useOwnSearch makes s those of the model's own search. Its maximum length limits answers for which
// the client has no limit.
func (e *Engine) useOwnSearch(req *llm.Request, s *settings) {
	q := e.ownSearch(req, s)
	if q == nil {
		return
	}
	if req.Params.MaxTokens == nil && q.MaxLength > 0 {
		s.maxTokens = max(0, min(s.maxTokens, q.MaxLength-len(e.answerStart())))
	}
	if q.Chooses() {
		s.search = q
	}
}

// searchLimit returns the most tokens of a hypothesis for p: those that it begins with, and the answer.
func (g *generation) searchLimit(p *prompt) int { return g.capacity(p) - 1 }

// searchBytes returns the memory that the search for the answer to p takes, with the source.
func (g *generation) searchBytes(p *prompt) int64 {
	m := g.engine.model
	return m.MemoryBytes(len(p.source)) + decodingBytes(m, g.search.Beams, g.searchLimit(p))
}

// searchNeed returns the memory that all searches of a request need one after another, and with as
// many together as may be.
func (g *generation) searchNeed() (least, most int64) {
	var held int64
	longest, sizes := 0, make([]int64, len(g.prompts))
	for i, p := range g.prompts {
		longest = max(longest, len(p.source))
		held += tokenBytes * int64(len(p.source)+g.capacity(p))
		sizes[i] = g.searchBytes(p)
	}
	held += passMemory(&g.engine.model.Spec, longest, g.engine.workers)
	slices.SortFunc(sizes, func(x, y int64) int { return cmp.Compare(y, x) })
	least, most = held+sizes[0], held
	for _, n := range sizes[:min(len(sizes), max(1, beamRows/g.search.Beams))] {
		most += n
	}
	return least, most
}

// claimed returns the memory that the request takes.
func (g *generation) claimed() int64 {
	if g.search == nil {
		return g.need() + g.limitDrafts()
	}
	_, most := g.searchNeed()
	return min(most, g.engine.memory)
}

// runSearches decodes the answers of all prompts, as many together as fit.
func (g *generation) runSearches(ctx context.Context, yield func(llm.Chunk, error) bool) {
	g.yield, g.member = yield, g.engine.lanes.join(llm.SenderOf(ctx), g.worker)
	defer g.leave()
	for i, p := range g.prompts {
		r, err := g.newRow(p, i, 0, nil)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		g.rows = append(g.rows, r)
	}
	g.open = len(g.rows)
	if !g.begin() {
		return
	}
	for len(g.rows) > 0 {
		err := g.admit(ctx)
		if err == nil {
			err = g.stepSearches(ctx)
		}
		if err != nil {
			g.abandonSearches(err)
			return
		}
		for _, r := range g.rows {
			if r.decoding != nil && !g.writeSettled(r) {
				return
			}
		}
		g.drop()
	}
}

// admit encodes the sources of the next rows, one after another, as far as their searches fit.
func (g *generation) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	least, _ := g.searchNeed()
	room, beams := g.claimed()-least, 0
	for i, r := range g.rows {
		p := g.prompts[r.index]
		if beams += g.search.Beams; i > 0 {
			if room -= g.searchBytes(p); room < 0 || beams > beamRows {
				return nil
			}
		}
		if r.decoding != nil {
			continue
		}
		if err := g.encodeSource(ctx, p); err != nil {
			return err
		}
		if err := g.beginSearch(ctx, p, r); err != nil {
			return err
		}
	}
	return nil
}

// beginSearch begins the search for the answer of a row to p, which is encoded.
func (g *generation) beginSearch(ctx context.Context, p *prompt, r *row) error {
	e := g.engine
	around := target{kernels: e.kernels, start: p.ids[0], ends: e.answerEnds(), source: p.source, tokens: e.tokens}
	search := newBeamSearch(g.search, around, g.search.Beams, g.searchLimit(p), p.ids[1:]...)
	d := newDecoding(e.model, p.memory, search, prefillChunk)
	r.decoding, p.memory = &d, nil
	if seqs := d.beginning(nil); len(seqs) > 0 {
		_, err := g.member.forward(ctx, seqs)
		return err
	}
	return nil
}

// answerEnds returns the tokens that end an answer. The first is the one that is forced.
func (e *Engine) answerEnds() []int {
	ends := []int{e.seq2seq.End}
	for id := range e.ends {
		if id != e.seq2seq.End {
			ends = append(ends, id)
		}
	}
	slices.Sort(ends[1:])
	return ends
}

// stepSearches feeds every running hypothesis its newest token and extends it.
func (g *generation) stepSearches(ctx context.Context) error {
	g.seqs = g.seqs[:0]
	for _, r := range g.rows {
		if r.decoding != nil {
			g.seqs = r.decoding.inputs(g.seqs)
		}
	}
	logits, err := g.member.forward(ctx, g.seqs)
	if err != nil {
		return err
	}
	for _, r := range g.rows {
		if r.decoding != nil {
			logits = r.decoding.extend(logits)
		}
	}
	return nil
}

// writeSettled writes the tokens that no longer change, and the end if the search has ended. It
// returns false if the client has disconnected.
func (g *generation) writeSettled(r *row) bool {
	b := r.decoding.search
	if !b.done {
		return g.writeTokens(r, b.settled())
	}
	tokens, ended := b.best()
	if !g.writeTokens(r, tokens) {
		return false
	}
	if r.done { // by a stop string or a limit
		return true
	}
	var c llm.Chunk
	why := llm.FinishEOS
	switch {
	case ended:
	case r.length+1 >= g.window:
		why = llm.FinishContext
	default:
		why = llm.FinishLength
	}
	if len(b.likely().tokens) > b.begin+len(tokens) {
		g.usage.Output++
	}
	g.end(r, &c, why)
	return g.emit(r, c)
}

// writeTokens writes the tokens of a row's answer that are not written yet. It returns false if the
// client has disconnected.
func (g *generation) writeTokens(r *row, answer []int) bool {
	for !r.done && r.count < len(answer) {
		r.decided, r.written = append(r.decided[:0], answer[r.count]), 0
		if !g.emit(r, g.next(r)) {
			return false
		}
	}
	return true
}

// abandonSearches is abandon for searches: at a deadline the likeliest answers are written. Without
// a source that is encoded there are none.
func (g *generation) abandonSearches(err error) {
	if !slices.ContainsFunc(g.rows, func(r *row) bool { return r.decoding != nil }) {
		g.yield(llm.Chunk{}, err)
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		for _, r := range g.rows {
			if r.decoding == nil {
				continue
			}
			if tokens, _ := r.decoding.search.best(); !g.writeTokens(r, tokens) {
				return
			}
		}
		g.drop()
	}
	g.abandon(err)
}
