package alpha

import (
	"math"
	"slices"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
)

// heapMerges is the number of merges from which upstream orders pairs by rank alone, in a
// heap.
const heapMerges = 1000

// maxBPE bounds the vocabulary of bpe: upstream packs two ids into 32 bits.
const maxBPE = 1 << 16

// bpeTokenizer merges characters, not bytes, and has no pre-tokenizer: merges cross
// spaces. Unknown characters are dropped before merging.
//
// With fewer than 1000 merges upstream applies merge 0, 1, ... in turn, each from
// left to right over the whole text. With more it takes pairs from a binary heap
// by rank alone, in which equal ranks come in the heap's order. Every merge makes a
// token later than its parts, so both process ranks in order, and as the
// occurrences of a pair overlap only if it repeats one token, they differ only
// within runs such as "aaa". One heap serves both: with positions in the order for
// the first, without for the second.
type bpeTokenizer struct {
	*vocabulary
	chars  *chars
	merger bpe.Merger
	byPos  bool // equal ranks are merged from left to right
	// longest is the largest number of characters of a token.
	longest int
	inner   bpe.PairTable // characters that are neighbours in a token
}

func newBPE(v *vocabulary, merges [][2]int32) *bpeTokenizer {
	base := len(v.pieces) - len(merges)
	t := &bpeTokenizer{
		vocabulary: v, chars: newChars(v, base), byPos: len(merges) < heapMerges,
		merger: bpe.Merger{Pairs: bpe.NewPairTable(len(merges)), Ranks: len(merges), Ordered: true},
	}
	lengths := make([]int, base, len(v.pieces)) // in characters, by id
	for id := range lengths {
		lengths[id] = 1
	}
	for i, m := range merges {
		t.merger.Pairs.Put(bpe.PairKey(m[0], m[1]), bpe.Merged{Rank: int32(i), ID: int32(base + i)})
		lengths = append(lengths, min(lengths[m[0]]+lengths[m[1]], math.MaxInt32))
	}
	t.longest = slices.Max(lengths)
	t.setInner(merges)
	return t
}

// Encode implements [tokenizer.Tokenizer].
func (t *bpeTokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer]. No merge has a special token, so special
// tokens divide the text.
func (t *bpeTokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *bpeTokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	n, _ := t.Weigh(text, reads.Any())
	symbols := make([]int32, 0, n)
	t.cutSpecial(text, reads, func(part string, id int) bool {
		if id >= 0 {
			symbols = append(symbols, int32(id))
		}
		for _, r := range part {
			if id := t.chars.id(r); id >= 0 {
				symbols = append(symbols, id)
			}
			if !o.Worked(1) {
				return false
			}
		}
		return true
	})
	switch {
	case !o.Worked(0):
	case t.byPos:
		t.merger.MergeTo(o, len(symbols), func(dst []int32, from, to int) []int32 { return append(dst, symbols[from:to]...) })
	default:
		left, ok := t.merger.MergeByRank(o, symbols)
		if !ok {
			return
		}
		o.IDs = slices.Grow(o.IDs, len(left))
		for _, id := range left {
			o.IDs = append(o.IDs, int(id))
		}
	}
	o.More(0)
}

// Weigh implements [encode.Encoder]. It counts known characters, and each special token as
// one.
func (t *bpeTokenizer) Weigh(text string, special bool) (n, per int) {
	return t.count(t.chars, text, special), t.longest
}

// Place implements [encode.Tailer]: it returns a place between two characters that are not
// neighbours in any token. If it returns the rune at at, or if a heap orders equal ranks, a
// run of equal characters may be encoded differently than in the whole text.
func (t *bpeTokenizer) Place(text string, at int, special bool) (from int, ok bool) {
	return encode.LastPlace(text, at, func(i int) bool {
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i:])
		left, right := t.chars.id(before), t.chars.id(after)
		return utf8.RuneStart(text[i]) && left >= 0 && right >= 0 && t.inner.Get(left, right).Rank == bpe.Never
	}), !special || len(t.special) == 0
}

// setInner records which characters are neighbours in a token.
func (t *bpeTokenizer) setInner(merges [][2]int32) {
	base := len(t.pieces) - len(merges)
	t.inner = bpe.NewPairTable(len(merges))
	ends := make([][2]int32, base, len(t.pieces)) // by id: the first and the last character
	for id := range ends {
		ends[id] = [2]int32{int32(id), int32(id)}
	}
	for _, m := range merges {
		left, right := ends[m[0]], ends[m[1]]
		t.inner.Put(bpe.PairKey(left[1], right[0]), bpe.Merged{})
		ends = append(ends, [2]int32{left[0], right[1]})
	}
}
