package hf

import "math"

// maxLag is the number of characters that an automaton may read beyond a match, or without
// one, for which texts are cut without remembering what has been read in vain.
const maxLag = 64

// maxNear is the length of a text, in bytes, that is cut so in any case.
const maxNear = 512

// maxFarStates bounds the states of automata that read farther: in vain, they read each
// character at most once in each state.
const maxFarStates = 512

// lag returns the largest number of characters that are read without a match before one of
// them, [math.MaxInt] if there is none.
func (d *patternDFA) lag() int {
	const open, done = 1, 2
	width := d.count + 1
	marks, lags := make([]uint8, len(d.next)/width), make([]int, len(d.next)/width)
	var visit func(state int32) bool
	visit = func(state int32) bool {
		marks[state] = open
		for _, t := range d.next[int(state)*width:][:width] {
			if t.to < 0 || t.ends {
				continue
			}
			if marks[t.to] == open || marks[t.to] != done && !visit(t.to) {
				return false
			}
			lags[state] = max(lags[state], lags[t.to]+1)
		}
		marks[state] = done
		return true
	}
	most := 0
	for state := range marks {
		if marks[state] != done && !visit(int32(state)) {
			return math.MaxInt
		}
		most = max(most, lags[state])
	}
	return most
}

// find is a [matcher]. It reads at most [patternDFA.lag] characters in vain at each place.
func (d *patternDFA) find(text string, from int) (start, end int) {
	for i := from; i < len(text); {
		class, n := d.class(text, i)
		if d.next[class].to >= 0 {
			if end := d.match(text, i); end >= 0 {
				return i, end
			}
		}
		i += n
	}
	return -1, -1
}

// A farScan finds the matches of one text in linear time: it remembers where, and in which
// states, an automaton read on and found no end (Reps 1998, "Maximal-munch tokenization in
// linear time"), for the first character of each block.
type farScan struct {
	*patternDFA
	dead []uint64 // bits by (block, state)
	vain []int    // the bits of the current attempt since its last end
}

const blockBytes = 64 // longer than a character

// find is a [matcher] for the text of this scan.
func (s *farScan) find(text string, from int) (start, end int) {
	for i := from; i < len(text); {
		if end := s.match(text, i); end >= 0 {
			return i, end
		}
		_, n := s.class(text, i)
		i += n
	}
	return -1, -1
}

// match is [patternDFA.match] for the text of this scan.
func (s *farScan) match(text string, i int) (end int) {
	width := s.count + 1
	states := len(s.next) / width
	end, s.vain = -1, s.vain[:0]
	for state, n := int32(0), 0; ; i += n {
		if n > 0 && i/blockBytes != (i-n)/blockBytes { // the first character of a block
			bit := i/blockBytes*states + int(state)
			if s.isDead(bit) {
				break
			}
			s.vain = append(s.vain, bit)
		}
		class := s.count
		if i < len(text) {
			class, n = s.class(text, i)
		}
		t := s.next[int(state)*width+class]
		if t.ends {
			end, s.vain = i, s.vain[:0]
		}
		if state = t.to; state < 0 || i >= len(text) {
			break
		}
	}
	if len(s.vain) > 0 && s.dead == nil {
		s.dead = make([]uint64, (len(text)/blockBytes+1)*states/64+1)
	}
	for _, bit := range s.vain {
		s.dead[bit/64] |= 1 << (bit % 64)
	}
	return end
}

func (s *farScan) isDead(bit int) bool { return s.dead != nil && s.dead[bit/64]>>(bit%64)&1 == 1 }
