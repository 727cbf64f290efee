package jinja

import (
	"context"
	"fmt"
)

// A run is one execution of a template.
type run struct {
	ctx       context.Context
	limits    Limits
	out, root *builder
	frame     *frame
	at        int // offset of the operation in progress
	steps     int
	memory    int
	depth     int
	check     int // steps at which the context is asked next
	generated []Range
}

// itemSize is the memory charged for an element of a list or a dict.
const itemSize = 64

// A frame holds the names of a scope. The outermost has a place for each name of the template.
type frame struct {
	parent *frame
	root   []Value
	slots  []int
	values []Value
}

// lookup returns the value of a name, or a missing one.
func (r *run) lookup(slot int) Value {
	f, seen := r.frame, 16
	for ; f.parent != nil; f = f.parent {
		for i, s := range f.slots {
			if s == slot {
				r.step(seen / 16)
				return f.values[i]
			}
		}
		seen += len(f.slots)
	}
	r.step(seen / 16)
	return f.root[slot]
}

// bind binds a name in this scope.
func (f *frame) bind(slot int, v Value) {
	if f.parent == nil {
		f.root[slot] = v
		return
	}
	for i, s := range f.slots {
		if s == slot {
			f.values[i] = v
			return
		}
	}
	f.slots, f.values = append(f.slots, slot), append(f.values, v)
}

// clear forgets the names of an inner scope.
func (f *frame) clear() { f.slots, f.values = f.slots[:0], f.values[:0] }

// fail ends the execution.
func (r *run) fail(fault Fault, format string, args ...any) {
	panic(failure{fault: fault, at: r.at, message: fmt.Sprintf(format, args...)})
}

// step charges n steps.
func (r *run) step(n int) {
	r.steps += n
	if r.steps < r.check {
		return
	}
	if r.steps > r.limits.Steps || r.steps < 0 {
		r.fail(Limit, "the template needs more than %d steps", r.limits.Steps)
	}
	r.canceled()
	r.check = min(r.steps+4096, r.limits.Steps)
}

// canceled ends the execution if the context has ended.
func (r *run) canceled() {
	if err := r.ctx.Err(); err != nil {
		panic(failure{fault: Canceled, at: r.at, message: "the execution was canceled: " + err.Error(), cause: err})
	}
}

// alloc charges bytes of memory and the work of filling them.
func (r *run) alloc(n int) {
	r.step(1 + n/64)
	r.memory += n
	if r.memory > r.limits.Memory || r.memory < 0 {
		r.fail(Limit, "the template needs more than %d bytes of memory", r.limits.Memory)
	}
}

// allocItems charges the memory of n elements.
func (r *run) allocItems(n int) {
	if n > r.limits.Memory/itemSize {
		r.fail(Limit, "the template needs more than %d bytes of memory", r.limits.Memory)
	}
	r.step(n)
	r.alloc(n * itemSize)
}

// enter guards a recursive step; leave ends it.
func (r *run) enter() {
	if r.depth++; r.depth > r.limits.Depth {
		r.fail(Limit, "calls or values are nested more than %d deep", r.limits.Depth)
	}
}

func (r *run) leave() { r.depth-- }

// write writes to the output.
func (r *run) write(t text) {
	if len(r.out.buf)+len(t.s) > r.limits.Output {
		r.fail(Limit, "the output is longer than %d bytes", r.limits.Output)
	}
	if r.out == r.root {
		r.step(1 + len(t.s)/64)
	} else {
		r.alloc(len(t.s))
	}
	r.out.writeText(t)
}

// capture runs f and returns what it wrote.
func (r *run) capture(f func()) text {
	outer := r.out
	r.out = &builder{}
	f()
	t := r.out.text()
	r.out = outer
	return t
}

// scope runs f in a scope of its own.
func (r *run) scope(parent *frame, f func()) {
	outer := r.frame
	r.frame = &frame{parent: parent}
	f()
	r.frame = outer
}

// block executes statements.
func (r *run) block(body []stmt) flow {
	for _, s := range body {
		if f := s.exec(r); f != flowNext {
			return f
		}
	}
	return flowNext
}
