package pushdown

import (
	"slices"
	"strings"
)

// An object is an Object with its keys in a trie.
type object struct {
	keys  []string // by member of Props: `"name":` as it is written
	nodes []keyNode
	order []int32 // members sorted by key; those below a node are a range

	required []int32 // the first required member at or after i (props+1); len(Props) if none
	needs    []int32 // how many members are required at or after i (props+1)
}

// A keyNode is a node of the trie of keys. Its children are contiguous from child on.
type keyNode struct {
	child, children int32
	lo, hi          int32 // range in order
	b               byte
	depth           int32 // bytes from the root
	member          int32 // the member whose key ends here, or -1
}

func newObject(o *Object, quote func(name string) string) *object {
	n := len(o.Props)
	t := &object{
		keys: make([]string, n), order: make([]int32, n),
		required: make([]int32, n+1), needs: make([]int32, n+1),
	}
	t.required[n] = int32(n)
	for i := n - 1; i >= 0; i-- {
		t.keys[i], t.order[i] = quote(o.Props[i].Name)+":", int32(i)
		t.required[i], t.needs[i] = t.required[i+1], t.needs[i+1]
		if o.Props[i].Required {
			t.required[i] = int32(i)
			t.needs[i]++
		}
	}
	slices.SortFunc(t.order, func(a, b int32) int { return strings.Compare(t.keys[a], t.keys[b]) })
	t.nodes = append(t.nodes, keyNode{lo: 0, hi: int32(n), member: -1})
	for at, depth, last := 0, 0, 1; at < len(t.nodes); depth++ {
		for ; at < last; at++ {
			t.branch(at, depth)
		}
		last = len(t.nodes)
	}
	return t
}

// branch appends the children of a node whose keys share depth bytes.
func (t *object) branch(at, depth int) {
	node := t.nodes[at]
	first := int32(len(t.nodes))
	for i := node.lo; i < node.hi; {
		key := t.keys[t.order[i]]
		if len(key) == depth {
			t.nodes[at].member = t.order[i]
			i++
			continue
		}
		end := i + 1
		for end < node.hi && len(t.keys[t.order[end]]) > depth && t.keys[t.order[end]][depth] == key[depth] {
			end++
		}
		t.nodes = append(t.nodes, keyNode{lo: i, hi: end, b: key[depth], depth: int32(depth) + 1, member: -1})
		i = end
	}
	t.nodes[at].child, t.nodes[at].children = first, int32(len(t.nodes))-first
}

// descend returns the child of a node for b, or -1.
func (t *object) descend(node int32, b byte) int32 {
	n := &t.nodes[node]
	for c := n.child; c < n.child+n.children; c++ {
		if t.nodes[c].b == b {
			return c
		}
	}
	return -1
}
