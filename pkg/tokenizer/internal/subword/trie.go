// Package subword has the common parts of SentencePiece's models: the kinds of pieces, a
// trie that finds them in a text, and the treatment of text that no piece covers.
package subword

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Trie finds the pieces with which a text begins. It is a double array (Aoe
// 1989): byte c leads from node n to the unit units[n].base+c, if n is its parent.
// The root is unit 0. The array is at least 256 units longer than any base.
type Trie struct {
	units []trieUnit
}

type trieUnit struct {
	base   int32
	parent int32 // -1 if the unit is free; the root is its own
	id     int32 // of the piece that ends here, -1 for none
}

// Bounds of a trie: the total length of pieces, and how far from the end of the array the
// search for a place begins.
const (
	maxTrieBytes = 1 << 24
	trieWindow   = 16 * 256
)

// NewTrie builds a trie of the pieces with the given ids, without empty ones. Of equal
// pieces it has the greatest id.
func NewTrie(pieces []string, ids []int) (*Trie, error) {
	total := 0
	keys := make([]trieKey, 0, len(ids))
	for _, id := range ids {
		if pieces[id] != "" {
			keys = append(keys, trieKey{pieceHead(pieces[id]), id})
			total += len(pieces[id])
		}
	}
	if total > maxTrieBytes {
		return nil, fmt.Errorf("the pieces have %d bytes, at most %d", total, maxTrieBytes)
	}
	slices.SortFunc(keys, func(a, b trieKey) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(strings.Compare(pieces[a.id], pieces[b.id]), a.id-b.id)
	})
	b := trieBuilder{pieces: pieces, keys: keys}
	b.grow(256)
	b.take(0, 0)
	b.stack = append(b.stack, trieRange{node: 0, from: 0, to: len(keys)})
	for len(b.stack) > 0 {
		b.step()
	}
	return &Trie{b.units}, nil
}

// trieKey is a piece to be sorted.
type trieKey struct {
	head uint64 // its first 8 bytes, which nearly always decide the order
	id   int
}

func pieceHead(piece string) uint64 {
	var head [8]byte
	copy(head[:], piece)
	return binary.BigEndian.Uint64(head[:])
}

// trieBuilder places nodes, depth first.
type trieBuilder struct {
	pieces []string
	keys   []trieKey
	units  []trieUnit
	free   []int32 // by unit: itself if it is free, else one at or before the next free
	stack  []trieRange
	labels []byte
	starts []int // of the keys of each label
}

// trieRange is a node whose children are to be placed: the keys that begin with
// the depth bytes that lead to it.
type trieRange struct {
	node            int32
	depth, from, to int
}

// grow makes room for bases below n.
func (b *trieBuilder) grow(n int) {
	for len(b.units) < n+256 {
		b.free = append(b.free, int32(len(b.units)))
		b.units = append(b.units, trieUnit{base: 1, parent: -1, id: -1})
	}
}

// take assigns a unit to a parent.
func (b *trieBuilder) take(unit, parent int32) {
	b.units[unit].parent = parent
	b.free[unit] = unit + 1
}

// nextFree returns the first free unit from at on.
func (b *trieBuilder) nextFree(at int32) int32 {
	b.grow(int(at))
	for b.free[at] != at {
		b.grow(int(b.free[at]))
		b.free[at] = b.free[b.free[at]]
		at = b.free[at]
		b.grow(int(at))
	}
	return at
}

// step places the children of one node.
func (b *trieBuilder) step() {
	r := b.stack[len(b.stack)-1]
	b.stack = b.stack[:len(b.stack)-1]
	for r.from < r.to && len(b.pieces[b.keys[r.from].id]) == r.depth {
		b.units[r.node].id = int32(b.keys[r.from].id)
		r.from++
	}
	if r.from == r.to {
		return
	}
	b.labels, b.starts = b.labels[:0], b.starts[:0]
	for i := r.from; i < r.to; i++ {
		c := b.pieces[b.keys[i].id][r.depth]
		if n := len(b.labels); n == 0 || b.labels[n-1] != c {
			b.labels, b.starts = append(b.labels, c), append(b.starts, i)
		}
	}
	base := b.place()
	b.units[r.node].base = int32(base)
	to := r.to
	for i, c := range slices.Backward(b.labels) { // the first is handled next
		child := int32(base + int(c))
		b.take(child, r.node)
		b.stack = append(b.stack, trieRange{node: child, depth: r.depth + 1, from: b.starts[i], to: to})
		to = b.starts[i]
	}
}

// place returns a base for which the units of all labels are free.
func (b *trieBuilder) place() int {
	first := int(b.labels[0])
	at := int32(max(len(b.units)-trieWindow, first+1))
	for at = b.nextFree(at); !b.fits(int(at) - first); {
		at = b.nextFree(at + 1)
	}
	return int(at) - first
}

// fits reports whether the units of all labels but the first are free.
func (b *trieBuilder) fits(base int) bool {
	b.grow(base)
	for _, c := range b.labels[1:] {
		if b.units[base+int(c)].parent >= 0 {
			return false
		}
	}
	return true
}

// Next returns the child of node for byte c; ok reports whether there is one.
func (t *Trie) Next(node int32, c byte) (child int32, ok bool) {
	child = t.units[node].base + int32(c)
	return child, t.units[child].parent == node && child != 0
}

// ID returns the id of the piece that ends at a node, -1 for none.
func (t *Trie) ID(node int32) int32 { return t.units[node].id }

// Longest returns the id and the length of the longest piece at the beginning of text, or
// -1 and 0.
func (t *Trie) Longest(text string) (id, length int) { return t.LongestBut(text, 0, nil) }

// Refuse reports whether a piece is not to be used for the bytes [from, to) of a text, which
// spell it.
type Refuse func(id, from, to int) bool

// LongestBut is [Trie.Longest] of text[from:] without the pieces that refuse, if it is not nil,
// returns true for.
func (t *Trie) LongestBut(text string, from int, refuse Refuse) (id, length int) {
	id = -1
	node := int32(0)
	for i := from; i < len(text); i++ {
		child, ok := t.Next(node, text[i])
		if !ok {
			break
		}
		node = child
		if v := t.units[node].id; v >= 0 && (refuse == nil || !refuse(int(v), from, i+1)) {
			id, length = int(v), i+1-from
		}
	}
	return id, length
}
