package pushdown

// A share is the part of the remaining tokens that the current string may use, so that
// the strings after it get their part.
type share struct {
	of     element // the string, see inContent
	active bool
	start  int // tokens taken before the string
	tokens int // tokens that the string may use
}

const (
	// reservedTokens is reserved for each string that must still come, unless an equal
	// division of the remaining tokens gives it less.
	reservedTokens = 24
	// The pull grows over the last pullTokens of a share, at most a quarter of it, up
	// to maxPull.
	pullTokens = 16
	maxPull    = 6
)

// budget returns the most that ending may cost after the next token, if left tokens may
// still be written, and the logit bias towards the end of the current string.
func (m *Matcher) budget(left int) (budget int32, pull float32) {
	budget = int32(min(left, int(never))) - 1
	of, inside := m.inContent(m.now)
	if !inside {
		m.share.active = false
		return budget, 0
	}
	s := &m.share
	if !s.active || s.of != of {
		spare, others := left-int(m.cost), int(m.run.frames[of.stack].openValues)
		*s = share{of: of, active: true, start: m.taken, tokens: spare - others*min(reservedTokens, spare/(others+1))}
	}
	room := min(s.tokens-(m.taken-s.start), left-int(m.cost))
	if room <= 0 && m.cost > 0 {
		return min(budget, m.cost-1), 0
	}
	if span := min(pullTokens, s.tokens/4); room < span && budget < never/2 {
		pull = maxPull * float32(span-room) / float32(span)
	}
	return budget, pull
}
