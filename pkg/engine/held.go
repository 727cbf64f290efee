package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"glossa/pkg/engine/sampler"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A held keeps a row to its form.
type held struct {
	matcher    *grammar.Matcher
	vocabulary *grammar.Vocabulary

	// rest are the tokens that are left of text, which is forced.
	rest []int
	text string

	// cut is the bound that made the row write another text than it would have, "" if
	// none did.
	cut llm.Finish

	mask sampler.Mask // its bits are the row's own
}

// hold begins to keep r to the form.
func (g *generation) hold(r *row) error {
	v, err := g.engine.forms.vocabulary()
	if err != nil {
		return err
	}
	r.held = &held{matcher: g.form.Start(), vocabulary: v}
	r.text.decoder = spelled{v}
	return nil
}

// checkForm refuses a request with a row that has not room for the shortest text.
func (g *generation) checkForm() error {
	for _, p := range g.prompts {
		if room := min(g.maxTokens, g.window-len(p.ids)); g.form != nil && room < g.least() {
			return invalid("max_new_tokens", fmtRoom(g.least(), room))
		}
	}
	return nil
}

// least is how many tokens a row is to have room for.
func (s *settings) least() int {
	if s.form == nil {
		return 1
	}
	return max(1, s.form.Min())
}

// left returns how many tokens a row may still write, and which bound says so. It is
// never less than what it takes to end.
func (g *generation) left(r *row) (n int, why llm.Finish) {
	n, why = g.maxTokens-r.count, llm.FinishLength
	if room := g.window - r.length; room < n {
		n, why = room, llm.FinishContext
	}
	n -= len(r.fresh) - r.written
	if steps := g.pace.steps(); steps < n {
		n, why = min(n, max(steps, r.held.matcher.Cost())), llm.FinishDeadline
	}
	return n, why
}

// closed returns why a row that is held to a form is over, "" if it is not.
func (g *generation) closed(r *row) llm.Finish {
	if r.held.matcher.Complete() {
		return cmp.Or(r.held.cut, llm.FinishEOS)
	}
	if n, why := g.left(r); n <= 0 {
		return cmp.Or(r.held.cut, why)
	}
	return ""
}

// decideHeld decides a row's next tokens: what is forced or else one that is sampled,
// and what is forced after it. It returns why the row ends instead, and the token that
// ended it, -1 if none did.
func (g *generation) decideHeld(r *row, logits []float32) (end int, why llm.Finish) {
	if r.count == 0 || len(r.held.rest) > 0 {
		g.force(r)
	}
	if len(r.fresh) > 0 {
		return -1, ""
	}
	id, bound := g.sampleHeld(r, logits)
	switch {
	case id < 0:
		return -1, cmp.Or(r.held.cut, bound)
	case g.engine.ends[id]:
		return id, cmp.Or(r.held.cut, llm.FinishEOS)
	}
	r.held.accept(r, id)
	g.force(r)
	return -1, ""
}

// sampleHeld samples a token that the form and the bounds allow: -1 if there is none,
// which the bound returned explains. It notes whether the bounds make a difference: the
// likeliest token of those that they allow, closers favoured, is not the likeliest of
// those that the form allows.
func (g *generation) sampleHeld(r *row, logits []float32) (id int, bound llm.Finish) {
	h := r.held
	logits = logits[:g.engine.tokens]
	left, bound := g.left(r)
	m := h.matcher.Mask(left)
	h.allow(m, g.engine.ends)
	switch {
	case h.mask.Count > 0:
	case h.matcher.Accepts() && !m.Cut: // no token spells what may follow
		return -1, llm.FinishEOS
	default:
		return -1, bound
	}
	id = r.sampler.SampleMasked(logits, r.count, &h.mask)
	if h.cut == "" && (m.Cut || m.Pull != 0) {
		likeliest := r.sampler.Likeliest(logits, &h.mask)
		h.loosen(m)
		if r.sampler.Likeliest(logits, &h.mask) != likeliest {
			h.cut = bound
		}
	}
	return id, bound
}

// allow makes h.mask of m and, if the text may end, of the end tokens.
func (h *held) allow(m *grammar.Mask, ends map[int]bool) {
	h.mask = sampler.Mask{Bits: append(h.mask.Bits[:0], m.Bits...), Count: m.Count, Closers: m.Closers, Pull: m.Pull}
	if !h.matcher.Accepts() {
		return
	}
	for id := range ends {
		if id < h.vocabulary.Size() {
			h.mask.Bits[id/64] |= 1 << (id % 64)
			h.mask.Count++
		}
	}
}

// loosen makes h.mask what the form alone allows.
func (h *held) loosen(m *grammar.Mask) {
	h.mask.Closers, h.mask.Pull = nil, 0
	for i, over := range m.Over {
		h.mask.Bits[i] |= over
		h.mask.Count += bits.OnesCount64(over)
	}
}

// accept has the row go on with a token that is allowed. Penalties count it if it is
// content: what the form asks for is no repetition.
func (h *held) accept(r *row, id int) {
	if !h.matcher.Take(id) {
		panic("engine: a token that is allowed is not taken")
	}
	if h.matcher.Free() {
		r.sampler.Observe(id)
	}
	r.fresh = append(r.fresh, id)
}

// force decides the tokens of the text that must come next, if there is any, as the
// tokenizer writes it. It stops where the form allows a token that goes on beyond that
// text: how it ends is the model's choice. One pass computes them all.
func (g *generation) force(r *row) {
	h := r.held
	if len(h.rest) == 0 {
		h.text = h.matcher.Forced()
		h.rest = h.encode(g.engine.tokenizer, r, h.text)
	}
	room := max(1, min(listChunk, g.member.room())/len(g.rows))
	for len(h.rest) > 0 {
		if len(r.fresh) >= room {
			return // a pass has no room for more
		}
		id := h.rest[0]
		left, _ := g.left(r)
		mask := h.matcher.Mask(left)
		if mask.Bits[id/64]>>(id%64)&1 == 0 || h.opens(mask, len(h.text)) {
			h.rest = nil
			return
		}
		h.accept(r, id)
		h.text, h.rest = h.text[len(h.spells(id)):], h.rest[1:]
	}
}

// encode returns the tokens of text, which comes next: those at the end of a text, which
// is text itself or, where a tokenizer puts something before a text and that becomes one
// token with how text begins, a longer one. None if no tokens are just text.
func (h *held) encode(t tokenizer.Tokenizer, r *row, text string) []int {
	if text == "" {
		return nil
	}
	last := r.last
	if n := len(r.fresh); n > 0 {
		last = r.fresh[n-1]
	}
	for _, before := range []string{"", cmp.Or(h.spells(last), "x")} {
		ids, rest := t.Encode(before+text), text
		for i, id := range slices.Backward(ids) {
			cut, ok := strings.CutSuffix(rest, h.spells(id))
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

// spells returns what a token adds to a text, "" for one that no form has.
func (h *held) spells(id int) string {
	if id >= h.vocabulary.Size() {
		return ""
	}
	return h.vocabulary.Token(id)
}

// opens tells whether a token is allowed of more than n bytes.
func (h *held) opens(m *grammar.Mask, n int) bool {
	for i, word := range m.Bits {
		for ; word != 0; word &= word - 1 {
			if len(h.vocabulary.Token(i*64+bits.TrailingZeros64(word))) > n {
				return true
			}
		}
	}
	return false
}
