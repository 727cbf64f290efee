package engine

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"glossa/pkg/engine/sampler"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
)

// A constrainedRow keeps a row within its constraint.
type constrainedRow struct {
	matcher    *grammar.Matcher
	vocabulary *grammar.Vocabulary
	fresh      bool // the text has no token yet

	// rest are the remaining tokens of text, which is forced.
	rest []int
	text string

	likely []int // the tokens of forced text that the model may end otherwise

	// limitedBy is the bound that changed the row's text, "" if none has.
	limitedBy llm.Finish

	// respelt is the bound that changed the tokens of forced text, "" if none has: that changes what
	// the model chooses afterwards.
	respelt llm.Finish

	opener int // the token that is in mask only because it begins to reason, -1 if none is

	mask sampler.Mask // its bits belong to the row

	marks []int // see [callSyntax]
	ended bool  // the last token ends completions
}

// constrain begins to constrain r.
func (g *generation) constrain(r *row) error {
	v, err := g.engine.constraints.vocabulary()
	if err != nil {
		return err
	}
	r.constrained = &constrainedRow{vocabulary: v, marks: g.engine.calls.marks}
	r.constrained.restart(g.constraint)
	r.text.decoder = vocabularyDecoder{v}
	return nil
}

// restart begins the text.
func (h *constrainedRow) restart(c *grammar.Constraint) { h.matcher, h.fresh = c.Start(), true }

// checkRoom rejects a request with a row that has no room for the shortest text.
func (g *generation) checkRoom() error {
	if g.constraint == nil {
		return nil
	}
	for _, p := range g.prompts {
		least := g.minTokens()
		if k := g.engine.thinker; k != nil && p.chat && p.begin == reasoning.Inside {
			least += k.cost()
		}
		switch room := g.window - len(p.ids); {
		case room < least && room <= g.maxTokens:
			return llm.Errorf(llm.TooLong, "the shortest valid text may need %d tokens, but the prompt leaves %d of the context of %d", least, max(0, room), g.window)
		case g.maxTokens < least:
			return invalid("max_new_tokens", fmt.Sprintf("the shortest valid text may need %d tokens, but only %d are allowed", least, g.maxTokens))
		}
	}
	return nil
}

// minTokens is the minimum number of tokens that a row needs room for.
func (s *settings) minTokens() int {
	if s.constraint == nil {
		return 1
	}
	return max(1, s.constraint.Min())
}

// tokensLeft returns how many more tokens a row may write, and the bound that limits it.
// It is never less than the row needs to end.
func (g *generation) tokensLeft(r *row) (n int, why llm.Finish) {
	n, why = g.maxTokens-r.count, llm.FinishLength
	if room := g.window - r.length; room < n {
		n, why = room, llm.FinishContext
	}
	n -= len(r.decided) - r.written
	if steps := g.pace.steps(); steps < n {
		n, why = min(n, max(steps, r.constrained.matcher.Cost())), llm.FinishDeadline
	}
	return n, why
}

// constrainedFinish returns why a constrained row has ended, "" if it has not.
func (g *generation) constrainedFinish(r *row) llm.Finish {
	if r.block.thinking() {
		return "" // there is room for the answer
	}
	if r.constrained.matcher.Complete() || r.constrained.ended {
		return cmp.Or(r.constrained.limitedBy, llm.FinishEOS)
	}
	if n, why := g.tokensLeft(r); n <= 0 {
		return cmp.Or(r.constrained.limitedBy, why)
	}
	return ""
}

// decideConstrained decides a row's next tokens: forced text, or else a sampled token and
// the text forced after it. If the row ends instead, it returns the reason and the token
// that ended it, -1 if none did.
func (g *generation) decideConstrained(r *row, logits []float32) (end int, why llm.Finish) {
	r.constrained.likely = nil
	if r.block.undecided() {
		r.constrained.fresh = false // the model chooses how to begin
	} else if r.constrained.fresh || len(r.constrained.rest) > 0 {
		g.force(r)
	}
	if len(r.decided) > 0 {
		return -1, ""
	}
	id, bound := g.sampleConstrained(r, logits)
	switch {
	case id < 0:
		return -1, cmp.Or(r.constrained.limitedBy, bound)
	case g.engine.ends[id] && r.constrained.matcher.Accepts(): // otherwise it is the last mark of a call
		return id, cmp.Or(r.constrained.limitedBy, llm.FinishEOS)
	}
	if id == r.constrained.opener {
		b := r.block
		b.forced = b.open[b.opened:]
		g.take(r, id)
		return -1, ""
	}
	g.accept(r, id)
	if !r.block.undecided() && !r.block.thinking() {
		g.force(r)
	}
	return -1, ""
}

// sampleConstrained samples a token that the constraint and the bounds allow. If there is
// none, it returns -1 and the bound that explains it. It records whether the bounds make
// a difference: whether the constraint alone, with the same draw, gives another token. Other tokens
// of the same text make one if the model has a choice after them.
func (g *generation) sampleConstrained(r *row, logits []float32) (id int, bound llm.Finish) {
	h := r.constrained
	logits = logits[:g.engine.tokens]
	left, bound := g.tokensLeft(r)
	m := h.matcher.Mask(left)
	h.allow(m, g.engine.ends)
	h.opener = -1
	if id := g.openToken(r, left); id >= 0 && h.add(id) {
		h.opener = id
	}
	switch {
	case h.mask.Count > 0:
	case h.matcher.Accepts() && !m.Cut: // no token spells a continuation
		return -1, llm.FinishEOS
	default:
		return -1, bound
	}
	id = r.sampler.SampleMasked(logits, r.count, &h.mask)
	if h.limitedBy == "" && (m.Cut || m.Pull != 0) {
		h.relax(m)
		switch free := r.sampler.SampleMasked(logits, r.count, &h.mask); {
		case free == id:
		case h.isForced(id, free):
			h.respelt = bound
		default:
			h.limitedBy = bound
		}
	}
	if h.respelt != "" && !h.isForced(id) {
		h.limitedBy = cmp.Or(h.limitedBy, h.respelt)
	}
	return id, bound
}

// allow sets h.mask to m and, if the text may end, the end tokens.
func (h *constrainedRow) allow(m *grammar.Mask, ends map[int]bool) {
	h.mask = sampler.Mask{Bits: append(h.mask.Bits[:0], m.Bits...), Count: m.Count, Closers: m.Closers, Pull: m.Pull}
	if !h.matcher.Accepts() {
		return
	}
	for id := range ends {
		if id < h.vocabulary.Size() {
			h.add(id)
		}
	}
}

// relax sets h.mask to what the constraint alone allows.
func (h *constrainedRow) relax(m *grammar.Mask) {
	h.mask.Closers, h.mask.Pull = nil, 0
	for i, over := range m.Over {
		h.mask.Count += bits.OnesCount64(over &^ h.mask.Bits[i])
		h.mask.Bits[i] |= over
	}
}

// isForced reports whether tokens, which are not the end, are the beginning of text that must come
// next.
func (h *constrainedRow) isForced(tokens ...int) bool {
	text := h.matcher.Forced()
	return !slices.ContainsFunc(tokens, func(id int) bool {
		token := h.tokenText(id)
		return token == "" || !strings.HasPrefix(text, token)
	})
}

// add allows a token. It reports whether h.mask did not.
func (h *constrainedRow) add(id int) bool {
	bit := uint64(1) << (id % 64)
	if h.mask.Bits[id/64]&bit != 0 {
		return false
	}
	h.mask.Bits[id/64] |= bit
	h.mask.Count++
	return true
}

// accept appends an allowed token to the row. Penalties count it only if it is content:
// forced syntax is not repetition.
func (g *generation) accept(r *row, id int) {
	h := r.constrained
	if !h.matcher.Take(id) {
		panic("engine: an allowed token is rejected")
	}
	if h.matcher.Free() {
		r.sampler.Observe(id)
	}
	h.ended = g.engine.ends[id] && h.matcher.Accepts()
	g.take(r, id)
}

// force decides the tokens of the text that must come next, if any, as the tokenizer
// encodes it. It stops where the constraint allows a token that extends beyond that text, within
// the bounds or not, since the model chooses how it ends. One pass computes them all.
func (g *generation) force(r *row) {
	h := r.constrained
	h.fresh = false
	if h.ended {
		return
	}
	if len(h.rest) == 0 {
		h.text = h.matcher.Forced()
		h.rest = h.encode(g.engine.tokenizer, r, h.text)
	}
	room := max(1, min(listChunk, g.member.room())/len(g.rows))
	for len(h.rest) > 0 && !h.ended {
		if len(r.decided) >= room {
			return // the pass has no more room
		}
		id := h.rest[0]
		left, _ := g.tokensLeft(r)
		mask := h.matcher.Mask(left)
		if mask.Bits[id/64]>>(id%64)&1 == 0 || h.hasLonger(mask.Bits, len(h.text)) || h.hasLonger(mask.Over, len(h.text)) {
			h.likely, h.rest = h.rest, nil
			return
		}
		g.accept(r, id)
		h.text, h.rest = h.text[len(h.tokenText(id)):], h.rest[1:]
	}
}

// encode returns the tokens of text, which comes next, up to a part that no tokens spell
// exactly.
func (h *constrainedRow) encode(t tokenizer.Tokenizer, r *row, text string) (ids []int) {
	last := r.last
	if n := len(r.decided); n > 0 {
		last = r.decided[n-1]
	}
	for n := 0; text != ""; text = text[n:] {
		next := h.mark(text)
		if n = len(next); n == 0 {
			n = untilMark(text)
			next = h.encodeText(t, last, text[:n])
		}
		if len(next) == 0 {
			return ids
		}
		ids = append(ids, next...)
		last = ids[len(ids)-1]
	}
	return ids
}

// mark returns the mark that text begins with, if any.
func (h *constrainedRow) mark(text string) []int {
	if n := int(text[0]) - grammar.FirstMark; n >= 0 && n < len(h.marks) {
		return h.marks[n : n+1]
	}
	return nil
}

// encodeText returns the tokens of text after the token last, as the end of a longer text: text
// itself or, for tokenizers that put something before a text and merge it with the
// beginning of text, text after the previous token. It returns nil if no tokens spell
// exactly text.
func (h *constrainedRow) encodeText(t tokenizer.Tokenizer, last int, text string) []int {
	before := h.tokenText(last)
	if before == "" || isMark(before) {
		before = "x"
	}
	for _, before := range []string{"", before} {
		ids, rest := t.Encode(before+text), text
		for i, id := range slices.Backward(ids) {
			cut, ok := strings.CutSuffix(rest, h.tokenText(id))
			if !ok || cut == rest {
				break
			}
			if rest = cut; rest == "" {
				return ids[i:]
			}
		}
	}
	return nil
}

// tokenText returns the text of a token, "" if constrained texts cannot have it.
func (h *constrainedRow) tokenText(id int) string {
	if id >= h.vocabulary.Size() {
		return ""
	}
	return h.vocabulary.Token(id)
}

// hasLonger reports whether a mask has a token of more than n bytes.
func (h *constrainedRow) hasLonger(mask []uint64, n int) bool {
	for i, word := range mask {
		for ; word != 0; word &= word - 1 {
			if len(h.vocabulary.Token(i*64+bits.TrailingZeros64(word))) > n {
				return true
			}
		}
	}
	return false
}
