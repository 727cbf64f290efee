package tokenizer

import (
	"fmt"
	"math"
	"slices"
)

// unigram is the unigram language model of Kudo 2018 ("Subword Regularization"):
// of all ways to cut a text into pieces it takes the one with the highest sum of
// scores. It is safe for concurrent use.
type unigram struct {
	trie     *pieceTrie
	single   []float32 // by id: scores as sentencepiece adds them
	double   []float64 // by id: scores as tokenizers adds them; one of the two is nil
	unkScore float64
	unknown  unknownPiece
}

// unigramOptions are what the two references differ in, and what a vocabulary alone
// does not say.
type unigramOptions struct {
	// kinds is by id; nil if every piece is normal. Only normal and user-defined
	// pieces are found in texts.
	kinds []pieceKind
	// byteFallback writes what no piece covers as its bytes, by the pieces <0x00> to
	// <0xFF>, if all of them that are needed are there.
	byteFallback bool
	// double follows Hugging Face's tokenizers, not sentencepiece: sums are float64,
	// and an unknown character scores 10 below the least of all pieces, not only of
	// the normal ones.
	double bool
}

// unknownPenalty is what an unknown character scores below the least piece.
const unknownPenalty = 10

// newUnigram builds the model of pieces and their scores, both by id. What no piece
// covers becomes unk, once for a run of characters; unk may be -1 only if there is
// byte fallback with all 256 pieces. Of equal pieces the last counts.
func newUnigram(pieces []string, scores []float64, unk int, o unigramOptions) (*unigram, error) {
	if len(pieces) != len(scores) {
		return nil, fmt.Errorf("%d pieces have %d scores", len(pieces), len(scores))
	}
	if unk >= len(pieces) || unk < -1 {
		return nil, fmt.Errorf("the unknown piece is %d of %d", unk, len(pieces))
	}
	u := &unigram{unknown: unknownPiece{id: unk}}
	least := math.Inf(1)
	var ids []int
	for id, score := range scores {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return nil, fmt.Errorf("piece %d, %.40q, has the score %v", id, pieces[id], score)
		}
		kind := pieceNormal
		if o.kinds != nil {
			kind = o.kinds[id]
		}
		if kind == pieceNormal || o.double {
			least = min(least, score)
		}
		if kind == pieceNormal || kind == pieceUser {
			ids = append(ids, id)
		}
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	u.setScores(pieces, scores, least, o)
	if o.byteFallback {
		u.unknown.bytes = bytePieces(pieces)
	}
	if err := u.unknown.check(); err != nil {
		return nil, err
	}
	var err error
	u.trie, err = newPieceTrie(pieces, ids)
	return u, err
}

// setScores takes over the scores. In sentencepiece user-defined pieces score so
// that they are always taken, the longest first.
func (u *unigram) setScores(pieces []string, scores []float64, least float64, o unigramOptions) {
	if o.double {
		u.double, u.unkScore = scores, least-unknownPenalty
		return
	}
	u.single = make([]float32, len(scores))
	for id, score := range scores {
		u.single[id] = float32(score)
		if o.kinds != nil && o.kinds[id] == pieceUser {
			u.single[id] = float32(0.1 * float64(len(pieces[id])-1))
		}
	}
	u.unkScore = float64(float32(least) - unknownPenalty)
}

// encode appends the ids of text, which should be valid UTF-8, in time linear in its
// length and in that of the longest piece.
func (u *unigram) encode(ids []int, text string) []int {
	var room [32]pieceCut
	return u.unknown.appendIDs(ids, text, u.cut(room[:0], text))
}

// cut appends the best cut of text.
func (u *unigram) cut(cuts []pieceCut, text string) []pieceCut {
	if u.double != nil {
		return bestCut(cuts, u.trie, u.double, u.unkScore, u.unknown.id, math.Inf(1), text)
	}
	return bestCut(cuts, u.trie, u.single, float32(u.unkScore), u.unknown.id, rebase, text)
}

// rebase is the size of a sum from which on it is taken off all open sums, so that
// float32 does not lose the scores of single pieces in long texts.
const rebase = 100000

// pathEnd is the last piece of the best way to cut a text up to a position.
type pathEnd[F float32 | float64] struct {
	sum  F // of the scores of the way
	id   int32
	from int32 // where the piece begins, plus one; 0 if no way ends here
}

// bestCut appends the cut with the highest sum of scores. Of equal sums the first
// found counts, that is the one with the longest last piece.
func bestCut[F float32 | float64](cuts []pieceCut, t *pieceTrie, scores []F, unkScore F, unk int, rebase F, text string) []pieceCut {
	var room [64]pathEnd[F]
	ends := room[:]
	if len(text) >= len(room) {
		ends = make([]pathEnd[F], len(text)+1)
	}
	reached := 0 // the last position that a piece ends at
	for from := 0; from < len(text); {
		sum := ends[from].sum
		if sum < -rebase || sum > rebase {
			for i := from; i <= reached; i++ {
				ends[i].sum -= sum
			}
			sum = 0
		}
		char := min(from+charLength(text[from]), len(text))
		covered, last := extend(ends, t, scores, text, from, char)
		if !covered {
			reached = max(reached, char)
			if sum := sum + unkScore; ends[char].from == 0 || sum > ends[char].sum {
				ends[char] = pathEnd[F]{sum, int32(unk), int32(from + 1)}
			}
		}
		reached = max(reached, last)
		from = char
	}
	first := len(cuts)
	for end := len(text); end > 0; end = int(ends[end].from) - 1 {
		cuts = append(cuts, pieceCut{id: ends[end].id, end: int32(end)})
	}
	slices.Reverse(cuts[first:])
	return cuts
}

// extend goes on from a position with every piece that begins there. It tells
// whether one of them is the character up to char, and where the longest ends.
func extend[F float32 | float64](ends []pathEnd[F], t *pieceTrie, scores []F, text string, from, char int) (covered bool, last int) {
	sum := ends[from].sum
	node := int32(0)
	for at := from; at < len(text); {
		child, ok := t.next(node, text[at])
		if !ok {
			break
		}
		node = child
		at++
		id := t.units[node].id
		if id < 0 {
			continue
		}
		last = at
		if sum := sum + scores[id]; ends[at].from == 0 || sum > ends[at].sum {
			ends[at] = pathEnd[F]{sum, id, int32(from + 1)}
		}
		covered = covered || at == char
	}
	return covered, last
}
