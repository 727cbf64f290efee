package traffic

// A heap is a binary heap of instances by the time at which they are free.
//
// Source: Knuth, The Art of Computer Programming, vol. 3, sec. 5.2.3.
type heap []instance

func (h *heap) push(one instance) {
	*h = append(*h, one)
	list := *h
	for i := len(list) - 1; i > 0; {
		parent := (i - 1) / 2
		if list[parent].at <= list[i].at {
			return
		}
		list[parent], list[i] = list[i], list[parent]
		i = parent
	}
}

// pop removes the first to be free; there must be one.
func (h *heap) pop() instance {
	list := *h
	first, n := list[0], len(list)-1
	list[0] = list[n]
	list = list[:n]
	*h = list
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			return first
		}
		if child+1 < n && list[child+1].at < list[child].at {
			child++
		}
		if list[i].at <= list[child].at {
			return first
		}
		list[i], list[child] = list[child], list[i]
		i = child
	}
}

// A queue is a list from which both ends are taken.
type queue[T any] struct {
	list []T // from head on
	head int
}

func (q *queue[T]) len() int { return len(q.list) - q.head }

func (q *queue[T]) add(v T) { q.list = append(q.list, v) }

func (q *queue[T]) peek() T { return q.list[q.head] }

// first removes the first.
func (q *queue[T]) first() T {
	v := q.list[q.head]
	if q.head++; 2*q.head >= len(q.list) { // the part before head is reused
		q.list, q.head = append(q.list[:0], q.list[q.head:]...), 0
	}
	return v
}

// last removes the last.
func (q *queue[T]) last() T {
	v := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return v
}
