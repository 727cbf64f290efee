package fair

import (
	"cmp"
	"slices"
)

// Turns schedules turns among senders. Each sender has items that hold a turn and items that
// wait for one. The next turn goes to the sender that holds the fewest, and among those to
// the least recently served. A [Line] lists the items of a sender. The zero value is ready
// to use. Its owner provides the lock and counts the free turns.
type Turns[T comparable] struct {
	lines map[string]*Line[T] // by sender; only those that are open
	queue []*Line[T]          // lines with waiting items, the least recently served first
}

// A Line lists the items of one sender. Only Turns may change it.
type Line[T comparable] struct {
	Sender  string
	Open    int // items that have entered and have not left
	Held    []T // items with a turn, the newest last
	Waiting []T // the next one first
}

// Enter counts an item of a sender, which neither holds a turn nor waits.
func (t *Turns[T]) Enter(sender string) *Line[T] {
	l := t.lines[sender]
	if l == nil {
		if l = (&Line[T]{Sender: sender}); t.lines == nil {
			t.lines = map[string]*Line[T]{}
		}
		t.lines[sender] = l
	}
	l.Open++
	return l
}

// Leave undoes Enter, for an item that neither holds a turn nor waits.
func (t *Turns[T]) Leave(l *Line[T]) {
	if l.Open--; l.Open == 0 {
		delete(t.lines, l.Sender)
	}
}

// Hold gives an item of l a turn.
func (t *Turns[T]) Hold(l *Line[T], item T) { l.Held = append(l.Held, item) }

// Free ends the turn of an item of l.
func (t *Turns[T]) Free(l *Line[T], item T) { l.Held = without(l.Held, item) }

// Wait inserts an item of l at index at of its waiting items.
func (t *Turns[T]) Wait(l *Line[T], item T, at int) {
	if len(l.Waiting) == 0 {
		t.queue = append(t.queue, l)
	}
	l.Waiting = slices.Insert(l.Waiting, at, item)
}

// Cancel ends the wait of an item of l. It reports whether the item waited.
func (t *Turns[T]) Cancel(l *Line[T], item T) bool {
	n := len(l.Waiting)
	if l.Waiting = without(l.Waiting, item); n > 0 && len(l.Waiting) == 0 {
		t.queue = without(t.queue, l)
	}
	return len(l.Waiting) < n
}

// Next returns the line with the next turn, or nil if no item waits.
func (t *Turns[T]) Next() *Line[T] {
	if len(t.queue) == 0 {
		return nil
	}
	return slices.MinFunc(t.queue, func(a, b *Line[T]) int { return cmp.Compare(len(a.Held), len(b.Held)) })
}

// Serve gives the first waiting item of l a turn. Then l is the most recently served.
func (t *Turns[T]) Serve(l *Line[T]) T {
	item := l.Waiting[0]
	t.Cancel(l, item)
	t.Hold(l, item)
	if len(l.Waiting) > 0 {
		t.queue = append(without(t.queue, l), l)
	}
	return item
}

// Busiest returns the line that holds the most turns, or nil if there are no lines.
func (t *Turns[T]) Busiest() (most *Line[T]) {
	for _, l := range t.lines {
		if most == nil || len(l.Held) > len(most.Held) {
			most = l
		}
	}
	return most
}

// Waiting returns the lines in which items wait, the least recently served first. It is
// valid until the next change.
func (t *Turns[T]) Waiting() []*Line[T] { return t.queue }

// without removes an item from a list.
func without[T comparable](list []T, item T) []T {
	return slices.DeleteFunc(list, func(other T) bool { return other == item })
}
