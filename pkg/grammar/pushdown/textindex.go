package pushdown

import (
	"slices"
	"sync"
	"sync/atomic"

	"glossa/pkg/grammar/automaton"
)

type edge = automaton.Edge

// A textIndex holds what a vocabulary has computed for a DFA: costs, token sets and
// tables.
type textIndex struct {
	v *Vocabulary
	textKey
	sum   uint64     // of the DFA; 0 if limited
	plain *textIndex // if limited: the index of the same DFA without limits

	cost []int32 // by state: tokens to the end; never if it cannot be reached
	sets []atomic.Pointer[tokenSets]

	anyStateOnce sync.Once
	anyStateID   int32 // see anyState
	tables       atomic.Pointer[walkTables]
	pathChars    []int32 // if limited, by state: characters that begin on a path of cost tokens
	shortOnce    sync.Once
	short        *shortest
	fillOnce     sync.Once
	fill         []int32 // by characters: the fewest tokens that spell as many of a plain text
	longestToken int     // characters of the longest token that consists of characters

	unusedKeyOnce  sync.Once
	unusedKeyBytes int32 // from any state, more than maxTakenKeys texts end within so many bytes

	mu         sync.Mutex
	textCounts [][]int32 // (bytes, state): texts of so many bytes from a state, in tokens of one byte
}

// distances returns, by state, the fewest tokens that lead to an accepting state: a
// breadth-first search backwards from the accepting states.
func (v *Vocabulary) distances(budget *automaton.Budget, d *automaton.DFA) []int32 {
	n := len(d.States)
	from, to := make([]int32, 0, 4*n), make([]int32, 0, 4*n)
	heads := make([]int32, n+1) // by target state: where its moves begin
	for i := range d.States {
		seen := len(to)
		looked := v.tokensFrom(int32(i), func(at int32) []edge { return d.States[at].Edges }, func(end, _ int32) {
			for _, before := range to[seen:] {
				if before == end {
					return
				}
			}
			from, to = append(from, int32(i)), append(to, end)
			heads[end+1]++
		})
		if budget.Spend(4+looked, 32+12*(len(to)-seen)) != nil {
			return slices.Repeat([]int32{never}, n) // the budget's owner reports it
		}
	}
	for i := range n {
		heads[i+1] += heads[i]
	}
	sources, at := make([]int32, len(from)), append([]int32(nil), heads[:n]...)
	for i, end := range to {
		sources[at[end]] = from[i]
		at[end]++
	}
	cost, queue := make([]int32, n), make([]int32, 0, n)
	for i := range d.States {
		if cost[i] = never; d.States[i].Accept {
			cost[i] = 0
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		end := queue[0]
		for _, s := range sources[heads[end]:heads[end+1]] {
			if cost[s] == never {
				cost[s] = cost[end] + 1
				queue = append(queue, s)
			}
		}
	}
	return cost
}

// maxTriedNodes bounds the nodes of the trie that tokensFrom visits if every byte is a
// token. Single bytes always lead on; more nodes would only find shorter paths.
const maxTriedNodes = 96

// tokensFrom calls found with each state that a single token leads to from a state, and
// the token's node: -1 for tokens of one byte. It does not find all of them if each byte
// is a token.
func (v *Vocabulary) tokensFrom(state int32, edges func(state int32) []edge, found func(to, at int32)) (looked int) {
	left, list := maxTriedNodes, edges(state)
	for _, e := range list {
		all, some := v.edgeTokens(e)
		if !all {
			left = max(left, len(v.nodes))
		}
		if some {
			found(e.To, -1)
		}
	}
	most := left
	for _, e := range list {
		for b := int(e.Lo); b <= int(e.Hi) && left > 0; b++ {
			looked++
			if at := v.roots[b]; at >= 0 {
				left = v.walkTokens(at, e.To, edges, found, left)
			}
		}
	}
	return looked + len(list) + most - left
}

// edgeTokens reports whether all, and whether some, bytes of an edge are tokens.
func (v *Vocabulary) edgeTokens(e edge) (all, some bool) {
	all = true
	for b := int(e.Lo); b <= int(e.Hi); b++ {
		all, some = all && v.isToken[b], some || v.isToken[b]
	}
	return all, some
}

// walkTokens visits the subtree of a node whose byte has led to a state.
func (v *Vocabulary) walkTokens(top, state int32, edges func(int32) []edge, found func(to, at int32), left int) int {
	var states [longest + 1]int32
	states[v.nodes[top].depth] = state
	if v.nodes[top].tokens > 0 {
		found(state, top)
	}
	for at, end := top+1, top+int32(v.nodes[top].size); at < end && left > 0; left-- {
		n := &v.nodes[at]
		to := automaton.Next(edges(states[n.depth-1]), n.byte)
		if to < 0 {
			at += int32(n.size)
			continue
		}
		if states[n.depth] = to; n.tokens > 0 {
			found(to, at)
		}
		at++
	}
	return left
}

// inText returns the cost of an element in a text.
func (c *costs) inText(r *run, u *rule, e *element) int32 {
	t := c.texts[e.rule]
	if u.short != nil {
		return t.boundedCost(u.Text, e.state, e.reg)
	}
	if e.from >= 0 {
		return t.unusedKeyCost(r, e)
	}
	return t.cost[e.state]
}

// textStart returns the cost of a text.
func (c *costs) textStart(u *rule, t *textIndex) int32 {
	if u.short != nil {
		return t.boundedCost(u.Text, 0, 0)
	}
	return t.cost[0]
}

// boundedCost returns the cost of a text whose characters are bounded, after chars of
// them. It is the cost of the missing characters, and then of the cheaper of two paths to
// the end: the path of fewest tokens, if it does not have too many characters, or the path
// of fewest characters.
func (t *textIndex) boundedCost(u *Text, state, chars int32) int32 {
	short, missing := t.shortest(), max(0, u.Min-int(chars))
	if u.Max >= 0 && int(chars+short.chars[state]) > u.Max || missing > 0 && !short.oneTokenChar {
		return never
	}
	if missing > 0 {
		return sum(short.tokens[state], t.filling(missing))
	}
	if w := t.pathChars; w != nil && t.cost[state] < short.tokens[state] && (u.Max < 0 || int(chars+w[state]) <= u.Max) {
		return t.cost[state]
	}
	return short.tokens[state]
}

// shortest returns the paths of fewest characters to the end, over tokens of one byte. If bytes of a
// pattern are no tokens, they are over all tokens; plain texts, into which characters are put, need only
// ASCII.
func (t *textIndex) shortest() *shortest {
	t.shortOnce.Do(func() {
		moves := byteMoves(t.d, func(b byte) bool { return t.v.isToken[b] })
		if !plain(t.d) && t.lacksBytes() {
			moves = t.tokenMoves
		}
		t.short = newShortest(t.d, moves)
	})
	return t.short
}

// lacksBytes reports whether some byte of the texts is not a token.
func (t *textIndex) lacksBytes() bool {
	return slices.ContainsFunc(t.d.States, func(s automaton.State) bool {
		return slices.ContainsFunc(s.Edges, func(e edge) bool { all, _ := t.v.edgeTokens(e); return !all })
	})
}

// edges returns the edges of a state.
func (t *textIndex) edges(state int32) []edge { return t.d.States[state].Edges }

// tokenMoves calls found with the moves from a state, the one of fewest characters to each other.
func (t *textIndex) tokenMoves(from int32, found func(move)) {
	fewest := map[int32]int32{}
	t.v.tokensFrom(from, t.edges, func(to, at int32) {
		chars, _ := t.charsBegun(from, to, at)
		if known, ok := fewest[to]; !ok || chars < known {
			fewest[to] = chars
		}
	})
	for to, chars := range fewest {
		found(move{to, chars})
	}
}

// unusedKeyCost returns the fewest tokens that complete an extra key that the object
// does not have yet.
func (t *textIndex) unusedKeyCost(r *run, e *element) int32 {
	suffixes := r.takenSuffixes(e)
	if len(suffixes) == 0 || t.cost[e.state] >= never {
		return t.cost[e.state]
	}
	for length := 0; length <= len(t.d.States)+maxKey; length++ {
		free := t.textCount(length, e.state)
		for _, suffix := range suffixes {
			if len(suffix) == length && t.matches(e.state, suffix) {
				free--
			}
		}
		if free > 0 {
			return int32(length)
		}
	}
	return never
}

// maxTakenKeys is how many keys of an object unusedKeyFits accounts for.
const maxTakenKeys = 1 << 10

// unusedKeyFits reports whether from every state some unused key ends within room
// tokens, whichever keys are taken, as long as they are at most maxTakenKeys.
func (t *textIndex) unusedKeyFits(room int32) bool {
	t.unusedKeyOnce.Do(func() {
		for i := range t.d.States {
			if t.cost[i] >= never || t.d.States[i].Accept {
				continue
			}
			length := 0
			for length <= len(t.d.States)+maxKey && t.textCount(length, int32(i)) <= maxTakenKeys {
				length++
			}
			t.unusedKeyBytes = max(t.unusedKeyBytes, int32(length))
		}
	})
	return t.unusedKeyBytes <= min(room, int32(len(t.d.States)+maxKey))
}

// maxKey bounds how many bytes longer than the DFA's states an unused key may be.
const maxKey = 64

// nthLength returns the length in bytes of the n-th shortest text, or never.
func (t *textIndex) nthLength(budget *automaton.Budget, n int) int32 {
	for length := 0; length <= len(t.d.States)+maxKey; length++ {
		if budget.Spend(8*len(t.d.States), 4*len(t.d.States)) != nil {
			break // newCosts reports it
		}
		if n -= int(t.textCount(length, 0)); n <= 0 {
			return int32(length)
		}
	}
	return never
}

func (t *textIndex) matches(state int32, s string) bool {
	for i := 0; i < len(s) && state >= 0; i++ {
		state = t.d.Next(state, s[i])
	}
	return state >= 0 && t.d.States[state].Accept
}

// maxTextCount caps a count of texts: no object has as many members.
const maxTextCount = 1 << 28

// maxCountEntries bounds the table of counts. Longer texts count as zero.
const maxCountEntries = 1 << 17

// textCount returns how many texts of length bytes there are from a state.
func (t *textIndex) textCount(length int, state int32) int32 {
	if length > 0 && length*len(t.d.States) > maxCountEntries {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.textCounts) <= length {
		t.textCounts = append(t.textCounts, t.countLonger())
	}
	return t.textCounts[length][state]
}

// countLonger returns the counts of the texts one byte longer than the last ones.
func (t *textIndex) countLonger() []int32 {
	ways := make([]int32, len(t.d.States))
	for i := range t.d.States {
		s := &t.d.States[i]
		if len(t.textCounts) == 0 {
			if s.Accept {
				ways[i] = 1
			}
			continue
		}
		shorter, total := t.textCounts[len(t.textCounts)-1], int64(0)
		for _, e := range s.Edges {
			total += int64(t.v.byteTokens[int(e.Hi)+1]-t.v.byteTokens[e.Lo]) * int64(shorter[e.To])
		}
		ways[i] = int32(min(total, maxTextCount))
	}
	return ways
}
