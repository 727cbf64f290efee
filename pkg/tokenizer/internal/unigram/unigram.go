// Package unigram cuts texts by a unigram language model, as SentencePiece and Hugging
// Face's tokenizers do.
//
// Source: Kudo 2018, "Subword Regularization".
package unigram

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// Model is a unigram language model. Of all ways to cut a text into pieces it chooses the
// one with the highest sum of scores. It is safe for concurrent use.
type Model struct {
	trie     *subword.Trie
	single   []float32 // by id: scores as sentencepiece adds them
	double   []float64 // by id: scores as tokenizers adds them; one of the two is nil
	unkScore float64
	Unknown  subword.Unknown
	lengths  []int32 // by id: bytes of the pieces in the trie
	longest  int     // of them
	Span     int     // open positions that are kept; 0 is viterbiSpan
}

// Options are the differences between the two references, and the settings other than the
// vocabulary.
type Options struct {
	// Kinds is by id; nil if every piece is normal. Only normal and user-defined pieces are
	// found in texts.
	Kinds []subword.Kind
	// ByteFallback encodes text that no piece covers as its bytes, with the pieces <0x00>
	// to <0xFF>, if all needed ones exist.
	ByteFallback bool
	As           Reference
}

// A Reference is a program whose results are those of the model.
type Reference int

// The references.
const (
	// SentencePiece adds scores in float32. An unknown character scores 10 below the lowest score
	// of a normal piece, and user-defined pieces have scores with which they are always chosen.
	SentencePiece Reference = iota
	// Tokenizers adds scores in float64. An unknown character scores 10 below the lowest of all.
	Tokenizers
	// LlamaCpp adds scores in float64, of which user-defined pieces have 0. Unused pieces are found.
	LlamaCpp
)

// unknownPenalty is the difference between the lowest score of a piece and the score of an
// unknown character.
const unknownPenalty = 10

// New builds the model of pieces and their scores, both by id. A run of characters that no
// piece covers becomes unk, once. unk may be -1 only with byte fallback and all 256 pieces
// for bytes. Of equal pieces the last is used.
func New(pieces []string, scores []float64, unk int, o Options) (*Model, error) {
	if len(pieces) != len(scores) {
		return nil, fmt.Errorf("%d pieces have %d scores", len(pieces), len(scores))
	}
	if unk >= len(pieces) || unk < -1 {
		return nil, fmt.Errorf("the unknown piece is %d of %d", unk, len(pieces))
	}
	u := &Model{Unknown: subword.Unknown{ID: unk}}
	least := math.Inf(1)
	var ids []int
	for id, score := range scores {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return nil, fmt.Errorf("piece %d, %.40q, has the score %v", id, pieces[id], score)
		}
		kind := subword.KindNormal
		if o.Kinds != nil {
			kind = o.Kinds[id]
		}
		if kind == subword.KindNormal || o.As == Tokenizers {
			least = min(least, score)
		}
		if kind == subword.KindNormal || kind == subword.KindUser || kind == subword.KindUnused && o.As == LlamaCpp {
			ids = append(ids, id)
		}
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	u.setScores(pieces, scores, least, o)
	if o.ByteFallback {
		u.Unknown.Bytes = subword.ByteIDs(pieces)
	}
	if err := u.Unknown.Check(); err != nil {
		return nil, err
	}
	u.lengths = make([]int32, len(pieces))
	for _, id := range ids {
		u.lengths[id] = int32(len(pieces[id]))
		u.longest = max(u.longest, len(pieces[id]))
	}
	var err error
	u.trie, err = subword.NewTrie(pieces, ids)
	return u, err
}

// setScores sets the scores.
func (u *Model) setScores(pieces []string, scores []float64, least float64, o Options) {
	switch o.As {
	case Tokenizers:
		u.double, u.unkScore = scores, least-unknownPenalty
		return
	case LlamaCpp:
		u.double, u.unkScore = slices.Clone(scores), float64(float32(least)-unknownPenalty)
		for id, kind := range o.Kinds {
			if kind == subword.KindUser {
				u.double[id] = 0
			}
		}
		return
	}
	u.single = make([]float32, len(scores))
	for id, score := range scores {
		u.single[id] = float32(score)
		if o.Kinds != nil && o.Kinds[id] == subword.KindUser {
			u.single[id] = float32(0.1 * float64(len(pieces[id])-1))
		}
	}
	u.unkScore = float64(float32(least) - unknownPenalty)
}

// Encode appends the ids of text, which should be valid UTF-8, in time linear in its
// length and in that of the longest piece.
func (u *Model) Encode(o *encode.Output, text string) {
	runs := u.Unknown.Runs(o, text)
	u.Cut(o, text, nil, runs.Add)
	runs.Close()
}

// Cut passes the pieces of the best cut of text to put. User-defined pieces that refuse, which
// may be nil, returns true for are not used.
func (u *Model) Cut(o *encode.Output, text string, refuse subword.Refuse, put func(subword.Cut)) {
	if u.double != nil {
		cutBest(u, u.double, u.unkScore, math.Inf(1), o, text, refuse, put)
		return
	}
	cutBest(u, u.single, float32(u.unkScore), rebase, o, text, refuse, put)
}

// rebase is the magnitude from which on a sum is subtracted from all open sums, so that
// float32 does not lose the scores of single pieces in long texts.
const rebase = 100000

// pathEnd is the last piece of the best path, that is the best cut of a text up to a
// position.
type pathEnd[F float32 | float64] struct {
	sum F // of the scores of the path
	// last is the id of the piece plus one, or for the unknown piece minus its length in
	// bytes; 0 if no path ends here.
	last int32
}

// viterbiSpan is the number of open positions that are kept beyond those that a piece
// reaches.
const viterbiSpan = 1 << 12

// viterbi cuts a text. It keeps sums only for positions at which pieces can still end, and
// last pieces for all positions: 4 bytes for each byte of text.
type viterbi[F float32 | float64] struct {
	u        *Model
	scores   []F
	text     string
	ends     []pathEnd[F] // of the positions from base on
	base     int
	lasts    []int32 // by position: pathEnd.last where pieces begin, and at the end
	unkScore F
	refuse   subword.Refuse // may be nil
}

// cutBest passes the cut with the highest sum of scores to put. Of equal sums it chooses
// the first found, which has the longest last piece.
func cutBest[F float32 | float64](u *Model, scores []F, unkScore, rebase F, o *encode.Output, text string, refuse subword.Refuse, put func(subword.Cut)) {
	var ends [64]pathEnd[F]
	var lasts [64]int32
	v := viterbi[F]{u: u, scores: scores, text: text, refuse: refuse, unkScore: unkScore, ends: ends[:], lasts: lasts[:]}
	if len(text) >= len(ends) {
		v.ends = make([]pathEnd[F], min(len(text)+1, u.longest+subword.MaxChar+cmp.Or(u.Span, viterbiSpan)))
		v.lasts = make([]int32, len(text)+1)
	}
	reached := 0 // the last position that a piece ends at
	for from := 0; from < len(text); {
		v.slide(from, reached)
		end := v.ends[from-v.base]
		v.lasts[from] = end.last
		if end.sum < -rebase || end.sum > rebase {
			for i := from; i <= reached; i++ {
				v.ends[i-v.base].sum -= end.sum
			}
		}
		char := min(from+subword.CharLength(text[from]), len(text))
		reached = max(reached, v.extend(from, char))
		if !o.Worked(char - from) {
			return
		}
		from = char
	}
	v.lasts[len(text)] = v.ends[len(text)-v.base].last
	v.put(o, put)
}

// slide moves the window of sums so that the pieces that begin at from fit.
func (v *viterbi[F]) slide(from, reached int) {
	if from-v.base+v.u.longest+subword.MaxChar < len(v.ends) || len(v.text)-v.base < len(v.ends) {
		return
	}
	n := copy(v.ends, v.ends[from-v.base:max(from, reached)+1-v.base])
	clear(v.ends[n:])
	v.base = from
}

// extend continues paths at a position with every piece that begins there, and with the
// unknown piece if none of them ends at char. It returns the end of the longest.
func (v *viterbi[F]) extend(from, char int) (last int) {
	t, text := v.u.trie, v.text
	ends := v.ends[from-v.base:]
	sum := ends[0].sum
	node := int32(0)
	covered := false
	for at := from; at < len(text); {
		child, ok := t.Next(node, text[at])
		if !ok {
			break
		}
		node = child
		at++
		id := t.ID(node)
		if id < 0 || v.refuse != nil && v.refuse(int(id), from, at) {
			continue
		}
		last = at
		if sum, end := sum+v.scores[id], &ends[at-from]; end.last == 0 || sum > end.sum {
			*end = pathEnd[F]{sum, id + 1}
		}
		covered = covered || at == char
	}
	if covered {
		return last
	}
	if sum, end := sum+v.unkScore, &ends[char-from]; end.last == 0 || sum > end.sum {
		*end = pathEnd[F]{sum, int32(from - char)}
	}
	return max(last, char)
}

// put follows the best path back from the end, reverses its links, and passes its pieces to
// put.
func (v *viterbi[F]) put(o *encode.Output, put func(subword.Cut)) {
	length := func(last int32) int {
		if last < 0 {
			return int(-last)
		}
		return int(v.u.lengths[last-1])
	}
	for at, last := len(v.text), v.lasts[len(v.text)]; at > 0; {
		at -= length(last)
		v.lasts[at], last = last, v.lasts[at]
	}
	for at := 0; at < len(v.text) && o.Worked(1); {
		last := v.lasts[at]
		at += length(last)
		id := int32(v.u.Unknown.ID)
		if last > 0 {
			id = last - 1
		}
		put(subword.Cut{ID: id, End: int32(at)})
	}
}
