package transformer

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A fault is the first panic of goroutines that work for one caller. It ends their work, and the caller
// panics with it: a panic that no caller gets would end the process.
type fault struct{ cause atomic.Pointer[string] }

// note records a recovered panic, with its stack. It reports whether it is the first one.
func (f *fault) note(cause any) bool {
	if cause == nil || f.occurred() {
		return false
	}
	text := fmt.Sprintf("%v\n%s", cause, debug.Stack())
	return f.cause.CompareAndSwap(nil, &text)
}

// occurred reports whether there was a panic.
func (f *fault) occurred() bool { return f.cause.Load() != nil }

// raise panics if there was a panic.
func (f *fault) raise() {
	if cause := f.cause.Load(); cause != nil {
		panic(*cause)
	}
}

// Concurrently calls do with 0, ..., n-1 in n goroutines, one of which is the caller's, and waits for all. If one
// panics, so does Concurrently, after all have ended.
func Concurrently(n int, do func(i int)) {
	var f fault
	var group sync.WaitGroup
	call := func(i int) {
		defer func() { f.note(recover()) }()
		do(i)
	}
	for i := range n - 1 {
		group.Go(func() { call(i) })
	}
	if n > 0 {
		call(n - 1)
	}
	group.Wait()
	f.raise()
}
