package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"glossa/pkg/engine/transformer"
)

// A draft model proposes the tokens of a draft one after another, each the one that it finds most
// probable (Leviathan, Kalman, Matias 2023; with the row's own sampler instead of their
// rejection sampling). It follows a row with a cache of its own, which it begins only when that
// pays: until then the row's text may have ended.

// useDraft makes d the draft model of e; nil: there is none. Errors name both models.
func (e *Engine) useDraft(d *Engine) error {
	if d == nil {
		return nil
	}
	err := e.checkDraft(d)
	if err == nil && !d.weights.Use() {
		err = errors.New("its weights have been released")
	}
	if err != nil {
		return fmt.Errorf("model %q: the draft model %q: %w", e.info.Name, d.info.Name, err)
	}
	e.draft = d.core
	return nil
}

// checkDraft returns why d cannot draft the texts of e.
func (e *Engine) checkDraft(d *Engine) error {
	switch {
	case e.seq2seq != nil:
		return fmt.Errorf("%q answers prompts that an encoder has read, which it cannot", e.info.Name)
	case !e.model.Rewinds():
		return fmt.Errorf("%q has states, from which drafted tokens cannot be dropped", e.info.Name)
	case e.drafting == draftNever:
		return fmt.Errorf("drafts of %q are turned off", e.info.Name)
	case d.seq2seq != nil:
		return errors.New("it answers prompts and does not continue texts")
	case !d.model.Rewinds():
		return errors.New("it has states, from which drafted tokens cannot be dropped")
	case e.tokens != d.tokens:
		return fmt.Errorf("its vocabulary has %d tokens, and that of %q %d", d.tokens, e.info.Name, e.tokens)
	}
	for id := range e.tokens {
		if own, other := e.tokenizer.Piece(id), d.tokenizer.Piece(id); own != other {
			return fmt.Errorf("its token %d is %.40q, and that of %q is %.40q", id, other, e.info.Name, own)
		}
	}
	return nil
}

// A follower is the sequence of a row in the draft model.
type follower struct {
	prompt   int // index of the row's prompt
	capacity int // tokens
	cache    *transformer.Cache
	known    int   // tokens of the text with which the cache begins
	after    []int // tokens in the cache after them, proposed

	want int   // tokens to propose
	feed []int // what the next pass computes

	agreed int // number of proposed tokens in a row that were accepted
	odds   odds
}

// limitFollowers decides whether rows are followed, in at most room bytes, and returns those
// that it takes.
func (g *generation) limitFollowers(room int64) (need int64) {
	d := g.engine.draft
	if d == nil || g.drafts == 0 {
		return 0
	}
	for _, p := range g.prompts {
		need += int64(g.bestOf) * (d.model.CacheBytes(g.followed(p)) + 2*4*int64(d.model.Vocab)) // logits in the pass and in the row
	}
	if g.follows = need <= room; !g.follows {
		return 0
	}
	return need
}

// followed returns the maximum number of tokens of a row of p that the draft model can follow.
func (g *generation) followed(p *prompt) int { return min(g.capacity(p), g.engine.draft.context) }

// beginFollower prepares to follow a row that continues p, unless p has pictures.
func (g *generation) beginFollower(r *row, p *prompt) {
	if g.follows && !slices.ContainsFunc(p.ids, func(id int) bool { return id < 0 }) {
		r.follower = &follower{prompt: r.index / g.bestOf, capacity: g.followed(p), odds: g.member.startProposals()}
	}
}

// verified takes over what came of the last draft of r, if it was a proposal.
func (f *follower) verified(r *row) {
	if f != nil && r.from == &f.odds {
		f.agreed, r.from = r.agreed, nil
	}
}

// rewind drops the proposed tokens that did not come from the cache. text is that of the row.
func (f *follower) rewind(text []int32) {
	n := 0
	for n < min(len(f.after), len(text)-f.known) && int32(f.after[n]) == text[f.known+n] {
		n++
	}
	if rejected := len(f.after) - n; rejected > 0 {
		f.cache.Truncate(f.cache.Len - rejected)
	}
	f.known, f.after = f.known+n, f.after[:0]
}

// propose drafts tokens of the rows that have no draft yet, for a pass of a number of tokens.
// The rows are computed together.
func (g *generation) propose(ctx context.Context, tokens int) error {
	if !g.follows {
		return nil
	}
	began, rows := time.Now(), g.proposing(tokens)
	if len(rows) == 0 {
		g.member.proposed(0)
		return nil
	}
	if g.proposer == nil {
		g.proposer = g.engine.draft.lanes.join(g.member.sender, g.worker)
	}
	for waiting := slices.Clone(rows); len(waiting) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.proposeNext(ctx, waiting); err != nil {
			return err
		}
		waiting = slices.DeleteFunc(waiting, func(r *row) bool { return len(r.ahead) >= r.follower.want })
	}
	g.proposer.rest()
	g.member.proposed(time.Since(began))
	return nil
}

// proposing chooses the rows that get proposals, and how many.
func (g *generation) proposing(tokens int) (rows []*row) {
	for _, r := range g.rows {
		f := r.follower
		if f == nil || len(r.ahead) > 0 {
			continue
		}
		text := r.lookup.text()
		f.rewind(text)
		behind := len(text) - f.known
		n := min(g.draftRoom(r), f.capacity-len(text)+1)
		if n < 1 || behind < 1 || !g.mayBegin(f, rows) {
			continue
		}
		if f.want = n; g.engine.drafting != draftAlways {
			left := min(g.maxTokens-r.count, g.window-r.length)
			f.want = g.member.chooseProposals(tokens, len(rows)+1, behind, min(left, r.count+longAnswer), f.odds.accepted(f.agreed, n))
		}
		if f.want == 0 {
			continue
		}
		g.startFollower(f, text)
		f.feed = f.feed[:0]
		for _, id := range text[f.known:] {
			f.feed = append(f.feed, int(id))
		}
		r.from, r.agreed = &f.odds, f.agreed
		rows, tokens = append(rows, r), tokens+f.want
	}
	return rows
}

// mayBegin reports whether f has begun, or none of the rows is about to read its prompt, which it
// can copy afterwards.
func (g *generation) mayBegin(f *follower, rows []*row) bool {
	return f.cache != nil || !slices.ContainsFunc(rows, func(r *row) bool {
		return r.follower.prompt == f.prompt && r.follower.known < len(g.prompts[f.prompt].ids)-1
	})
}

// startFollower gives f its cache, if it has none, with what is known of the text: what another row of
// the prompt has computed, or an earlier request.
func (g *generation) startFollower(f *follower, text []int32) {
	if f.cache != nil {
		return
	}
	d := g.engine.draft
	for _, r := range g.rows {
		if o := r.follower; o != nil && o != f && o.prompt == f.prompt && o.cache != nil {
			shared := min(len(g.prompts[f.prompt].ids), o.known)
			f.cache = d.model.Prefix(o.cache, shared, f.capacity)
			break
		}
	}
	if f.cache == nil || f.cache.Len == 0 {
		ids := make([]int, len(text))
		for i, id := range text {
			ids[i] = int(id)
		}
		if f.cache, _ = g.draftTexts().fork(ids, 0, f.capacity); f.cache == nil {
			f.cache = d.model.NewCache(f.capacity)
		}
	}
	f.known = f.cache.Len
}

// proposeNext computes a pass of the draft model: the next part of the texts that it lacks, or a
// proposal of each row.
func (g *generation) proposeNext(ctx context.Context, rows []*row) error {
	room := min(max(1, min(listChunk, g.proposer.room())/len(rows)), prefillChunk)
	seqs := make([]transformer.Sequence, len(rows))
	total, most := 0, 0
	for i, r := range rows {
		f := r.follower
		part := f.feed[:min(len(f.feed), room)]
		seqs[i] = transformer.Sequence{Cache: f.cache, Tokens: part}
		if len(part) == len(f.feed) {
			seqs[i].Logits = 1
		}
		total, most = total+len(part), max(most, len(part))
	}
	began := time.Now()
	logits, err := g.proposer.forward(ctx, seqs)
	if err != nil {
		return err
	}
	for i, r := range rows {
		f := r.follower
		if len(r.ahead) == 0 {
			f.known += len(seqs[i].Tokens)
		} else {
			f.after = append(f.after, seqs[i].Tokens...)
		}
		f.feed = f.feed[len(seqs[i].Tokens):]
		if seqs[i].Logits == 0 {
			continue
		}
		id := g.engine.kernels.ArgMax(logits[:g.engine.tokens])
		logits = logits[g.engine.draft.model.Vocab:]
		if g.engine.ends[id] { // nothing comes after it
			f.want = len(r.ahead)
			continue
		}
		r.ahead, f.feed = append(r.ahead, id), append(f.feed[:0], id)
	}
	g.member.notePass(len(rows), total, most, time.Since(began))
	return nil
}

// keepFollower keeps what was computed of a row that has ended, for prompts that begin with it.
func (g *generation) keepFollower(r *row) {
	if f := r.follower; f != nil && f.cache != nil {
		g.draftTexts().keep(r.ids[:min(len(r.ids), f.known)], f.cache)
	}
}

// draftTexts returns the texts of the owner that the draft model has computed. Texts of a model that
// keeps them for their owners are not left to all users of a draft model that does not.
func (g *generation) draftTexts() *prefixCache {
	own, drafts := g.engine.prefixes, g.engine.draft.prefixes
	if drafts != nil && drafts.public && (own == nil || !own.public) {
		return nil
	}
	return drafts.of(g.owner)
}
