package pushdown

import (
	"slices"

	"glossa/pkg/grammar/automaton"
)

// maxFilling bounds the table of the fewest tokens for a number of characters. Longer
// texts begin with the longest tokens.
const maxFilling = 1 << 12

// filling returns the fewest tokens that spell exactly chars characters of a plain text.
// Some single character is always a token.
func (t *textIndex) filling(chars int) int32 {
	t.fillOnce.Do(t.findFilling)
	tokens := 0
	if more := chars - maxFilling; more > 0 {
		tokens = (more + t.longestToken - 1) / t.longestToken
	}
	return int32(min(int(never), tokens+int(t.fill[chars-tokens*t.longestToken])))
}

func (t *textIndex) findFilling() {
	content := t.d.Next(0, '"')
	var has [longest + 1]bool // whether a token has so many characters
	has[1] = true
	t.visit(content, func(list []visitedNode) {
		for _, x := range list {
			if x.state == content && t.v.nodes[x.node].tokens > 0 {
				has[x.chars] = true
			}
		}
	})
	var sizes []int
	for n := range has {
		if has[n] && n > 0 {
			sizes = append(sizes, n)
		}
	}
	t.longestToken = slices.Max(sizes)
	t.fill = make([]int32, maxFilling+1)
	for n := 1; n <= maxFilling; n++ {
		t.fill[n] = never
		for _, size := range sizes {
			if size <= n {
				t.fill[n] = min(t.fill[n], 1+t.fill[n-size])
			}
		}
	}
}

// findPathChars returns, by state, the characters that begin on a path of fewest tokens to
// the end: the fewest of the paths that tokensFrom finds.
func (t *textIndex) findPathChars(budget *automaton.Budget) []int32 {
	chars, order := make([]int32, len(t.cost)), make([]int32, 0, len(t.cost))
	for i, cost := range t.cost {
		if chars[i] = never; cost < never {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return int(t.cost[a] - t.cost[b]) })
	for _, from := range order {
		if t.cost[from] == 0 {
			chars[from] = 0
			continue
		}
		read := 0
		looked := t.v.tokensFrom(from, t.edges, func(to, at int32) {
			if t.cost[to] != t.cost[from]-1 || chars[to] >= chars[from] {
				return
			}
			begun, n := t.charsBegun(from, to, at)
			read += n
			chars[from] = min(chars[from], begun+chars[to])
		})
		if budget.Spend(16+looked+8*read, 8) != nil {
			break // the budget's owner reports it
		}
	}
	return chars
}

// charsBegun returns how many characters begin in a node's token between two states, and
// how many bytes it looked at. For node -1 it returns the fewest of tokens of one byte.
func (t *textIndex) charsBegun(from, to, at int32) (chars int32, looked int) {
	if at < 0 {
		chars, _ = begins(&t.d.States[from], to, func(b byte) bool { return t.v.isToken[b] })
		return chars, 256
	}
	token := t.v.tokens[t.v.tokensOf(&t.v.nodes[at])[0]]
	for i := range len(token) {
		next := t.d.Next(from, token[i])
		chars += t.stepTo(from, next, token[i]) & 1
		from = next
	}
	return chars, len(token)
}
