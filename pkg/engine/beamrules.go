package engine

import "slices"

// A treatment is what the rules of a search do with a token that may follow a hypothesis.
type treatment uint8

const (
	untouched treatment = iota
	penalized           // it is in the text already
	banned
)

// treated returns the tokens that do not follow a hypothesis with the probability that the model
// gives them. As in transformers, the text of a hypothesis begins with the decoder's first token.
func (b *beamSearch) treated(h hypothesis) map[int]treatment {
	text, out := append([]int{b.start}, h.tokens...), map[int]treatment{}
	if b.Penalizes() {
		for _, id := range text {
			out[id] = penalized
		}
	}
	ban := func(ids ...int) {
		for _, id := range ids {
			out[id] = banned
		}
	}
	ban(b.Suppressed...)
	for _, word := range b.Unwanted {
		if n := len(word) - 1; n <= len(text) && slices.Equal(text[len(text)-n:], word[:n]) {
			ban(word[n])
		}
	}
	ban(repeats(text, text, b.NoRepeat)...)
	ban(repeats(text, b.source, b.NoCopy)...)
	if len(text) < b.MinLength {
		ban(b.ends...)
	}
	// The padding of the vocabulary is never written.
	for id := range out {
		if id >= b.tokens {
			delete(out, id)
		}
	}
	return out
}

// repeats returns the tokens with which text would end with n tokens that are in known. There are
// none for n = 0.
func repeats(text, known []int, n int) (tokens []int) {
	if n == 0 || len(text) < n-1 {
		return nil
	}
	last := text[len(text)-(n-1):]
	for at := 0; at+n <= len(known); at++ {
		if slices.Equal(known[at:at+n-1], last) {
			tokens = append(tokens, known[at+n-1])
		}
	}
	return tokens
}
