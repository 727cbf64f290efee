package pushdown

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The binary form of a vocabulary, little-endian: its magic, the number of ids, of nodes
// and of ids in the trie (uint32 each), the nodes (first uint32, tokens uint16, depth and
// byte uint8 each; sizes follow from the depths), the ids (uint32 each), and zeros up to
// a multiple of 64 bytes, so that it can be a tensor.
const (
	trieMagic  = "GLTRIE1\n"
	trieHeader = len(trieMagic) + 12
	nodeBytes  = 8
	trieAlign  = 64
)

// AppendBinary appends the binary form of v. Reading it with [ReadVocabulary] is faster than
// sorting the tokens with [NewVocabulary].
func (v *Vocabulary) AppendBinary(b []byte) ([]byte, error) {
	begin := len(b)
	b = append(b, trieMagic...)
	for _, n := range []int{len(v.tokens), len(v.nodes), len(v.ids)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for i := range v.nodes {
		n := &v.nodes[i]
		b = binary.LittleEndian.AppendUint32(b, n.first)
		b = binary.LittleEndian.AppendUint16(b, n.tokens)
		b = append(b, n.depth, n.byte)
	}
	for _, id := range v.ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	n := len(b) - begin
	return append(b, make([]byte, padded(n)-n)...), nil
}

// ReadVocabulary returns the vocabulary of a binary form. It does not keep b. It returns an
// error for bytes that AppendBinary did not write.
func ReadVocabulary(b []byte) (*Vocabulary, error) {
	if len(b) < trieHeader || string(b[:len(trieMagic)]) != trieMagic {
		return nil, errors.New("no token trie")
	}
	size, nodes, ids := readUint(b[8:]), readUint(b[12:]), readUint(b[16:])
	n := trieHeader + nodes*nodeBytes + ids*4
	if ids > size || nodes > maxNodes || size > maxNodes || len(b) != padded(n) || len(bytes.Trim(b[n:], "\x00")) > 0 {
		return nil, fmt.Errorf("a token trie of %d tokens and %d nodes in %d bytes", size, nodes, len(b))
	}
	v := &Vocabulary{tokens: make([]string, size), nodes: make([]node, nodes)}
	b = b[trieHeader:]
	for i := range v.nodes {
		v.nodes[i] = node{
			first: uint32(readUint(b[i*nodeBytes:])), tokens: binary.LittleEndian.Uint16(b[i*nodeBytes+4:]),
			depth: b[i*nodeBytes+6], byte: b[i*nodeBytes+7],
		}
	}
	b = b[nodes*nodeBytes:]
	v.ids = make([]int32, ids)
	for i := range v.ids {
		v.ids[i] = int32(readUint(b[i*4:]))
	}
	if err := v.restore(); err != nil {
		return nil, err
	}
	v.index()
	return v, nil
}

// padded returns n rounded up to a multiple of trieAlign.
func padded(n int) int { return (n + trieAlign - 1) &^ (trieAlign - 1) }

// maxNodes bounds the nodes and the tokens of a trie that is read.
const maxNodes = 1 << 26

func readUint(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

// restore computes the sizes of the nodes and the bytes of the tokens. It checks that the
// nodes are a sorted trie with each id at most once.
func (v *Vocabulary) restore() error {
	var path [longest + 1]int // nodes
	var text [longest + 1]byte
	depth, next := -1, uint32(0) // of the last node; index in ids of the next tokens
	for i := range v.nodes {
		n := &v.nodes[i]
		if int(n.depth) > depth+1 || n.depth >= longest {
			return fmt.Errorf("token trie: node %d is too deep", i)
		}
		for ; depth >= int(n.depth); depth-- {
			before := &v.nodes[path[depth]]
			before.size = uint32(i - path[depth])
			if depth == int(n.depth) && before.byte >= n.byte {
				return fmt.Errorf("token trie: node %d is out of order", i)
			}
		}
		depth = int(n.depth)
		path[depth], text[depth] = i, n.byte
		if n.tokens == 0 {
			continue
		}
		if n.first != next || int(next)+int(n.tokens) > len(v.ids) {
			return fmt.Errorf("token trie: the tokens of node %d are not where they should be", i)
		}
		next += uint32(n.tokens)
		token := string(text[:depth+1])
		for _, id := range v.tokensOf(n) {
			if id < 0 || int(id) >= len(v.tokens) || v.tokens[id] != "" {
				return fmt.Errorf("token trie: token %d is there twice or not at all", id)
			}
			v.tokens[id] = token
		}
	}
	for ; depth >= 0; depth-- {
		v.nodes[path[depth]].size = uint32(len(v.nodes) - path[depth])
	}
	if int(next) != len(v.ids) {
		return errors.New("token trie: tokens without a node")
	}
	return v.checkLeaves()
}

// checkLeaves returns an error if a leaf has no token.
func (v *Vocabulary) checkLeaves() error {
	for i := range v.nodes {
		if n := &v.nodes[i]; n.size == 1 && n.tokens == 0 {
			return fmt.Errorf("token trie: node %d is a leaf without a token", i)
		}
	}
	return nil
}
