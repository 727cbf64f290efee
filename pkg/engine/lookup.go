package engine

import "math/bits"

// A lookup proposes the tokens that followed the newest tokens of a text where these occurred
// before (prompt lookup: Saxena 2023). It takes a token in constant time. Its memory is four
// bytes a token and tables of bounded size.
type lookup struct {
	tokens []int32 // the text
	shift  int     // of hashes

	// tables hold, for each of grams, by the hash of the newest tokens, the index after their last
	// occurrence, 0 for none. Hashes collide, so what they find is compared.
	tables [len(grams)][]int32

	at    int // the index of the token that follows the earlier occurrence
	match int // number of tokens before it that equal the newest, 0: there is no occurrence

	predicted int // tokens of a prediction, with which the text begins
	came      int // tokens of the prediction that the text after it has repeated
}

// grams are the numbers of tokens that are looked up. What follows a single token is a guess, and
// a good one if the text has it once: a quotation whose first word is known goes on.
var grams = [...]int{4, 2, 1}

const (
	many = -1 // in the table of single tokens: it has occurred more than once

	maxMatch     = 32 // tokens that are compared
	maxTableBits = 16
)

// newLookup returns a lookup for a text of about n tokens.
func newLookup(n int) *lookup {
	size := min(max(bits.Len(uint(n)), 6), maxTableBits)
	l := &lookup{tokens: make([]int32, 0, n), shift: 32 - size}
	for i := range l.tables {
		l.tables[i] = make([]int32, 1<<size)
	}
	return l
}

// add appends a token to the text. A nil lookup ignores it.
func (l *lookup) add(id int) {
	if l == nil {
		return
	}
	id = max(id, -1) // of a picture: it is not drafted
	goesOn := l.match > 0 && l.tokens[l.at] == int32(id)
	if goesOn && l.at < l.predicted && len(l.tokens) >= l.predicted {
		l.came++
	}
	l.tokens = append(l.tokens, int32(id))
	if goesOn {
		l.at, l.match = l.at+1, l.match+1
	} else {
		l.match = 0
	}
	for i, gram := range grams {
		if len(l.tokens) < gram {
			continue
		}
		slot := &l.tables[i][l.hash(gram)]
		n := l.compare(int(*slot))
		if n > l.match {
			l.at, l.match = int(*slot), n
		}
		if known := n > 0 || *slot == many; known && gram == 1 {
			*slot = many
		} else {
			*slot = int32(len(l.tokens))
		}
	}
}

// predict begins an empty lookup with a prediction of the text that follows a prompt, and the
// prompt.
func (l *lookup) predict(prediction, prompt []int) {
	for _, id := range prediction {
		l.add(id)
	}
	l.predicted = len(prediction)
	for _, id := range prompt {
		l.add(id)
	}
	l.came = 0
	if len(prediction) > 0 {
		l.at, l.match = 0, grams[0]
	}
}

// text returns the text without the prediction, in which a picture's tokens are -1.
func (l *lookup) text() []int32 { return l.tokens[l.predicted:] }

// hash returns the hash of the newest tokens.
func (l *lookup) hash(gram int) uint32 {
	h := uint32(0)
	for _, t := range l.tokens[len(l.tokens)-gram:] {
		h = (h ^ uint32(t)) * 0x9e3779b1 // 2³² divided by the golden ratio
		h ^= h >> 15
	}
	return h * 0x9e3779b1 >> l.shift
}

// compare returns how many tokens before index at equal the newest, at most maxMatch.
func (l *lookup) compare(at int) (n int) {
	for n < min(at, maxMatch) && l.tokens[at-1-n] == l.tokens[len(l.tokens)-1-n] {
		n++
	}
	return n
}

// draft appends n proposed tokens to dst, none if the newest tokens have not occurred before.
// If the occurrence overlaps the end of the text, the text repeats itself: so does the draft.
func (l *lookup) draft(dst []int, n int) []int {
	if l.match == 0 {
		return dst
	}
	begin := len(dst)
	for i := l.at; i < l.at+n; i++ {
		if i >= len(l.tokens) {
			dst = append(dst, dst[begin+i-len(l.tokens)])
		} else if t := int(l.tokens[i]); t >= 0 {
			dst = append(dst, t)
		} else {
			break
		}
	}
	return dst
}
