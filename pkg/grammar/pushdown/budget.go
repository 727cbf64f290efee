package pushdown

// A share is what a string may use of the tokens that are left, so that those which
// are still to come get theirs.
type share struct {
	of     element // the string, as inside says
	active bool
	start  int // tokens taken before it
	tokens int // tokens that it may have
}

const (
	// keptTokens is what is kept for each string that must still come, unless sharing
	// what is left equally gives it less.
	reservedTokens = 24
	// pulledTokens is over how many of a share's last tokens the pull grows, at most a
	// quarter of it, and pulledBy what it grows to.
	pullTokens = 16
	maxPull    = 6
)

// budget returns what ending may cost after the next token if left may be written with
// it, and how strongly to pull towards the end of the string that is being written.
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
