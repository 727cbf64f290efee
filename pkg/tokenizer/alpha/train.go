package alpha

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
)

// Train trains a tokenizer on text. For [BPE] vocabSize is the target size: the vocabulary
// is smaller if no pair is left that occurs twice, and larger if the text has more
// characters. [Char] and [Word] use every character or word of the text and ignore
// vocabSize. Base entries are in the order of JavaScript's sort.
func Train(kind, text string, vocabSize int) (*Artifacts, error) {
	if text == "" {
		return nil, errors.New("tokenizer: no text to train on")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("tokenizer: the text is not valid UTF-8")
	}
	a := &Artifacts{Type: kind}
	switch kind {
	case Char, BPE:
		set := map[rune]bool{}
		for _, r := range text {
			set[r] = true
		}
		for r := range set {
			a.Vocab = append(a.Vocab, string(r))
		}
	case Word:
		set := map[string]bool{"\n": true}
		for word := range strings.FieldsFuncSeq(text, isSpace) {
			set[word] = true
		}
		a.Vocab = slices.Collect(maps.Keys(set))
	default:
		return nil, fmt.Errorf("tokenizer: kind must be bpe, char or word, not %.40q", kind)
	}
	slices.SortFunc(a.Vocab, compareUTF16)
	if kind == BPE {
		if vocabSize < 1 || vocabSize > maxBPE || len(a.Vocab) > maxBPE {
			return nil, fmt.Errorf("tokenizer: vocabulary of %d for %d characters is not within %d", vocabSize, len(a.Vocab), maxBPE)
		}
		trainMerges(a, text, vocabSize)
	}
	a.VocabSize = len(a.Vocab)
	if a.VocabSize > encode.MaxVocab {
		return nil, fmt.Errorf("tokenizer: %d entries, at most %d", a.VocabSize, encode.MaxVocab)
	}
	return a, nil
}

// pair counts two adjacent tokens.
type pair struct {
	key   uint64
	count int
	at    []int32 // positions of the left token, some stale
}

// node is a token in a doubly linked list; its place in the slice is its position.
type node struct {
	id         int32 // -1 once it was merged into its left neighbour
	prev, next int32 // positions, -1 at the ends
}

// mergeTrainer is the state of training: the text as a linked list, its pairs, and a heap
// of (pair, count), some of which are stale.
type mergeTrainer struct {
	nodes []node
	pairs map[uint64]*pair
	heap  []candidate
}

// candidate is a pair with its count when it was put on the heap.
type candidate struct {
	count int
	key   uint64
}

// before orders candidates by frequency, and equal ones by their ids. (Upstream takes the
// pair that comes first in the text.)
func (c candidate) before(d candidate) bool {
	return c.count > d.count || c.count == d.count && c.key < d.key
}

// trainMerges appends merges and their tokens to a until it has vocabSize entries or no
// pair occurs twice. Counts are updated only at the places that change, so that a merge
// costs time in its occurrences, not in the text.
func trainMerges(a *Artifacts, text string, vocabSize int) {
	l := newMergeTrainer(a.Vocab, text)
	for len(a.Vocab) < vocabSize {
		p := l.best()
		if p == nil {
			return
		}
		left, right := int32(p.key>>32), int32(p.key&0xffffffff)
		if !joins(a.Vocab[left], a.Vocab[right]) {
			continue
		}
		l.apply(p, left, right, int32(len(a.Vocab)))
		a.Merges = append(a.Merges, [2]int{int(left), int(right)})
		a.Vocab = append(a.Vocab, a.Vocab[left]+a.Vocab[right])
	}
}

// joins reports whether two pieces may merge. A piece is a run of letters, of digits or of
// other signs, with the space before it, or a run of line feeds. So a prompt that ends with
// a word also ends with a token, and a small model spells correctly: with merges across
// words, as upstream has them, a starter of the same size and training misspelt a word in
// two of three stories.
func joins(left, right string) bool {
	a, _ := utf8.DecodeLastRuneInString(left)
	b, _ := utf8.DecodeRuneInString(right)
	return left == " " && class(b) != 0 || class(a) == class(b) && class(a) != 0 || a == '\n' && b == '\n'
}

// class sorts characters into letters, digits and signs; 0 is white space.
func class(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r):
		return 1
	case unicode.IsDigit(r):
		return 2
	}
	return 3
}

func newMergeTrainer(vocab []string, text string) *mergeTrainer {
	ids := map[rune]int32{}
	for id, piece := range vocab {
		r, _ := utf8.DecodeRuneInString(piece)
		ids[r] = int32(id)
	}
	l := &mergeTrainer{pairs: map[uint64]*pair{}}
	for _, r := range text {
		i := int32(len(l.nodes))
		l.nodes = append(l.nodes, node{id: ids[r], prev: i - 1, next: i + 1})
	}
	l.nodes[len(l.nodes)-1].next = -1
	for i := range l.nodes[1:] {
		l.add(int32(i))
	}
	for key, p := range l.pairs {
		l.push(candidate{p.count, key})
	}
	return l
}

// at returns the key of the pair that begins at position i.
func (l *mergeTrainer) at(i int32) uint64 {
	return bpe.PairKey(l.nodes[i].id, l.nodes[l.nodes[i].next].id)
}

// add counts the pair that begins at position i.
func (l *mergeTrainer) add(i int32) *pair {
	key := l.at(i)
	p := l.pairs[key]
	if p == nil {
		p = &pair{key: key}
		l.pairs[key] = p
	}
	p.count++
	p.at = append(p.at, i)
	return p
}

// drop removes the pair that begins at position i from the counts.
func (l *mergeTrainer) drop(i int32) {
	if p := l.pairs[l.at(i)]; p != nil {
		p.count--
	}
}

// best removes and returns the most frequent pair, or nil if none occurs twice.
func (l *mergeTrainer) best() *pair {
	for len(l.heap) > 0 {
		c := l.pop()
		p := l.pairs[c.key]
		if p == nil || p.count < 2 {
			continue
		}
		if p.count == c.count {
			return p
		}
		l.push(candidate{p.count, c.key}) // fewer than when it was pushed
	}
	return nil
}

// apply replaces the occurrences of p, from left to right, by the token id.
func (l *mergeTrainer) apply(p *pair, left, right, id int32) {
	delete(l.pairs, p.key)
	slices.Sort(p.at)
	grown := map[*pair]bool{}
	for _, i := range p.at {
		n := &l.nodes[i]
		if n.id != left || n.next < 0 || l.nodes[n.next].id != right {
			continue
		}
		j := n.next
		if n.prev >= 0 {
			l.drop(n.prev)
		}
		if l.nodes[j].next >= 0 {
			l.drop(j)
			l.nodes[l.nodes[j].next].prev = i
		}
		n.id, n.next = id, l.nodes[j].next
		l.nodes[j].id = -1
		if n.prev >= 0 {
			grown[l.add(n.prev)] = true
		}
		if n.next >= 0 {
			grown[l.add(i)] = true
		}
	}
	for q := range grown {
		l.push(candidate{q.count, q.key})
	}
}

// push and pop keep the heap of candidates.
func (l *mergeTrainer) push(c candidate) {
	h := append(l.heap, c)
	i := len(h) - 1
	for i > 0 && c.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = c
	l.heap = h
}

func (l *mergeTrainer) pop() candidate {
	h := l.heap
	top, n := h[0], len(h)-1
	c := h[n]
	h = h[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(c) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if n > 0 {
		h[i] = c
	}
	l.heap = h
	return top
}
