package bpe

// rankHeap is a binary min-heap of rank<<32 | position. It never exchanges items that are
// equal above shift: an item rises while its parent is greater, and sinks to the smaller
// child, or to the left one of equal children.
type rankHeap struct {
	items []uint64
	shift uint // low bits that are ignored in comparisons
}

func (h *rankHeap) push(item uint64) {
	h.items = append(h.items, item)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h.items[parent]>>h.shift <= item>>h.shift {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = item
}

func (h *rankHeap) pop() uint64 {
	top := h.items[0]
	n := len(h.items) - 1
	item := h.items[n]
	h.items = h.items[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.items[right]>>h.shift < h.items[child]>>h.shift {
			child = right
		}
		if h.items[child]>>h.shift >= item>>h.shift {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	h.items[i] = item
	return top
}
