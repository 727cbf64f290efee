package engine

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// blockTokens is the number of tokens of a node.
const blockTokens = transformer.BlockTokens

// nodeBytes is the memory of a node without its blocks: its ids and itself.
const nodeBytes = 8*blockTokens + 256

// A prefixTree holds the texts of one owner that were computed with the same rotary tables. Its
// nodes are blocks of tokens, which texts that begin alike share.
type prefixTree struct {
	texts *prefixTexts
	key   prefixKey
	root  prefixNode
}

// A prefixNode is a block of a text, after the blocks of its parents.
type prefixNode struct {
	prefixEntry
	tree     *prefixTree
	parent   *prefixNode // nil: it is the root, which has no tokens
	ids      []int       // blockTokens of them, or fewer in a leaf
	block    *transformer.Block
	rings    []*prefixRings
	children []*prefixNode
	archived bool // or about to be
}

// prefixRings are the keys and values of the first tokens of a node for the layers with a ring.
// Prompts can leave a text only where these layers have what the next token sees.
type prefixRings struct {
	prefixEntry
	node     *prefixNode
	block    *transformer.Block
	archived bool
}

// A prefixMatch is a place at which a prompt leaves a tree: after n tokens.
type prefixMatch struct {
	n     int
	nodes []*prefixNode
	rings []*prefixRings // one of a node at most, sorted by tokens
}

// walk returns the whole nodes with which ids begin.
func (t *prefixTree) walk(ids []int) (path []*prefixNode) {
	for at := &t.root; ; {
		if at = at.child(ids[len(path)*blockTokens:]); at == nil {
			return path
		}
		path = append(path, at)
	}
}

// last returns the last node of a path.
func (t *prefixTree) last(path []*prefixNode) *prefixNode {
	if len(path) == 0 {
		return &t.root
	}
	return path[len(path)-1]
}

// child returns the child with the first block of ids, nil if there is none.
func (n *prefixNode) child(ids []int) *prefixNode {
	if len(ids) < blockTokens {
		return nil
	}
	for _, c := range n.children {
		if len(c.ids) == blockTokens && slices.Equal(c.ids, ids[:blockTokens]) {
			return c
		}
	}
	return nil
}

// beginning returns the child that begins with ids, which are less than a block, nil if there
// is none.
func (n *prefixNode) beginning(ids []int) *prefixNode {
	for _, c := range n.children {
		if common(c.ids, ids) == len(ids) {
			return c
		}
	}
	return nil
}

// match returns the place where ids leave the tree, with as many tokens as can be copied, if
// these are more than least. known is the length of the longest common beginning.
func (t *prefixTree) match(ids []int, least int) (best prefixMatch, known int) {
	path := t.walk(ids)
	known = len(path) * blockTokens
	best = t.better(prefixMatch{n: least}, path, known)
	rest := ids[known:]
	for depth, children := known, t.last(path).children; len(children) > 0; children = children[1:] {
		if n := depth + common(children[0].ids, rest); n > depth {
			known = max(known, n)
			best = t.better(best, append(slices.Clip(path), children[0]), n)
		}
	}
	return best, known
}

// better returns the place with the most of the first n tokens of nodes, or best if that has as
// many.
func (t *prefixTree) better(best prefixMatch, nodes []*prefixNode, n int) prefixMatch {
	if !t.texts.rings {
		if n > best.n {
			best = prefixMatch{n: n, nodes: nodes}
		}
		return best
	}
	for i := len(nodes) - 1; i >= 0 && (i+1)*blockTokens > best.n; i-- {
		for _, r := range nodes[i].rings {
			if m := min(n, r.block.To); m > best.n {
				if rings := t.ringsBefore(nodes[:i+1], m); t.texts.model.Continues(ringBlocks(rings), m) {
					best = prefixMatch{n: m, nodes: nodes[:i+1], rings: rings}
				}
			}
		}
	}
	return best
}

// ringsBefore returns the rings that have the last tokens before n, without a gap.
func (t *prefixTree) ringsBefore(nodes []*prefixNode, n int) (rings []*prefixRings) {
	for i := len(nodes) - 1; i >= 0 && (i+1)*blockTokens > n-t.texts.ringTokens; i-- {
		r := nodes[i].ringsTo(min(n, (i+1)*blockTokens))
		if r == nil {
			break
		}
		rings = append(rings, r)
	}
	slices.Reverse(rings)
	return rings
}

// ringsTo returns the rings with the tokens before to that have the most of them, nil if there
// are none.
func (n *prefixNode) ringsTo(to int) (most *prefixRings) {
	for _, r := range n.rings {
		if r.block.To >= to && (most == nil || r.block.First() < most.block.First()) {
			most = r
		}
	}
	return most
}

func ringBlocks(rings []*prefixRings) []*transformer.Block {
	blocks := make([]*transformer.Block, len(rings))
	for i, r := range rings {
		blocks[i] = r.block
	}
	return blocks
}

// blocks returns the blocks of the nodes of m.
func (m *prefixMatch) blocks() []*transformer.Block {
	blocks := make([]*transformer.Block, len(m.nodes))
	for i, n := range m.nodes {
		blocks[i] = n.block
	}
	return blocks
}

// use marks what m consists of as the most recently used.
func (t *prefixTree) use(m *prefixMatch) {
	for _, r := range m.rings {
		t.texts.memory.use(&r.prefixEntry)
	}
	t.usePath(m.nodes)
}

// usePath marks nodes as the most recently used, parents after their children.
func (t *prefixTree) usePath(nodes []*prefixNode) {
	for _, n := range slices.Backward(nodes) {
		t.texts.memory.use(&n.prefixEntry)
	}
}

// add adds a child with tokens and their block. It takes the place of children that begin it.
func (n *prefixNode) add(ids []int, block *transformer.Block) *prefixNode {
	memory := n.tree.texts.memory
	c := &prefixNode{tree: n.tree, parent: n, ids: slices.Clone(ids), block: block}
	c.bytes, c.of = block.Bytes()+nodeBytes, c
	for _, old := range slices.Clone(n.children) {
		if len(old.ids) < len(ids) && common(old.ids, ids) == len(old.ids) {
			for _, r := range old.rings {
				r.node = c
			}
			c.rings, old.rings = append(c.rings, old.rings...), nil
			n.remove(old)
			memory.remove(&old.prefixEntry)
		}
	}
	if n.parent == nil || len(n.children) > 0 {
		memory.texts++
	}
	n.children = append(n.children, c)
	memory.add(&c.prefixEntry)
	return c
}

// remove removes a leaf from its parent n.
func (n *prefixNode) remove(leaf *prefixNode) {
	i := slices.Index(n.children, leaf)
	n.children = slices.Delete(n.children, i, i+1)
	if n.parent == nil || len(n.children) > 0 {
		n.tree.texts.memory.texts--
	}
}

// covers reports whether n has rings with the tokens first, ..., to-1.
func (n *prefixNode) covers(first, to int) bool {
	return slices.ContainsFunc(n.rings, func(r *prefixRings) bool { return r.block.To >= to && r.block.First() <= first })
}

// addRings adds rings to a node and removes those that have no token more.
func (n *prefixNode) addRings(block *transformer.Block) {
	if n.covers(block.First(), block.To) {
		return
	}
	for _, old := range slices.Clone(n.rings) {
		if old.block.To <= block.To && old.block.First() >= block.First() {
			old.evict()
		}
	}
	r := &prefixRings{node: n, block: block}
	r.bytes, r.of = block.Bytes(), r
	n.rings = append(n.rings, r)
	n.tree.texts.memory.add(&r.prefixEntry)
}

// evict removes a leaf with its rings, and its tree if that is empty then.
func (n *prefixNode) evict() {
	for len(n.rings) > 0 {
		n.rings[0].evict()
	}
	n.parent.remove(n)
	n.tree.texts.memory.remove(&n.prefixEntry)
	if t := n.tree; len(t.root.children) == 0 {
		delete(t.texts.trees, t.key)
	}
}

// evict removes r from its node.
func (r *prefixRings) evict() {
	i := slices.Index(r.node.rings, r)
	r.node.rings = slices.Delete(r.node.rings, i, i+1)
	r.node.tree.texts.memory.remove(&r.prefixEntry)
}

// clear removes the nodes below n.
func (n *prefixNode) clear() {
	for len(n.children) > 0 {
		c := n.children[len(n.children)-1]
		c.clear()
		c.evict()
	}
}
