package checkpoint

import (
	"fmt"
	"io"
	"sync"
)

// arrays are the parameters of a checkpoint in JSON that stay in its file.
type arrays struct {
	*source
	list map[string]*array
}

// Values implements [parameters].
func (a *arrays) Values(name string, from int, dst []float32) error {
	t, ok := a.list[name]
	if !ok {
		return fmt.Errorf("checkpoint %s: tensor %.80q: missing", a.name, name)
	}
	if err := within(t.n, from, len(dst)); err != nil {
		return fmt.Errorf("checkpoint %s: tensor %q: %w", a.name, name, err)
	}
	if err := t.read(a.r, dst, from); err != nil {
		return fmt.Errorf("checkpoint %s: tensor %q: data: %w", a.name, name, err)
	}
	return nil
}

// An array holds the place of numbers in a file. Those that are read one after another are parsed
// once. It is safe for concurrent use.
type array struct {
	at [2]int64 // where it begins and ends
	n  int      // values that it must have

	mu   sync.Mutex
	s    *stream // nil: reading begins at the first value
	next int     // the value that s is at
}

// read reads len(dst) values from the file, beginning with value from.
func (a *array) read(file io.ReaderAt, dst []float32, from int) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.s == nil || from < a.next {
		if a.s == nil {
			a.s = streams.Get().(*stream)
		}
		*a.s = stream{r: io.NewSectionReader(file, a.at[0], a.at[1]-a.at[0]), buf: a.s.buf}
		a.next = 0
		err = a.s.expect('[')
	}
	for skip := make([]float32, min(from-a.next, streamBuffer)); a.next < from && err == nil; {
		err = a.advance(skip[:min(len(skip), from-a.next)])
	}
	if err == nil {
		err = a.advance(dst)
	}
	if err != nil || a.next == a.n {
		streams.Put(a.s)
		a.s = nil
	}
	return err
}

// streams holds streams, for the memory of their buffers.
var streams = sync.Pool{New: func() any { return newStream(nil) }}

// advance reads the next values, and the end of the array after the last.
func (a *array) advance(dst []float32) error {
	for len(dst) > 0 {
		if a.next > 0 {
			if err := a.s.expect(','); err != nil {
				return fmt.Errorf("value %d: %w", a.next, err)
			}
		}
		if _, err := a.s.peek(); err != nil {
			return fmt.Errorf("value %d: %w", a.next, err)
		}
		got, err := a.s.floatRun(dst[:0], len(dst))
		if a.next += len(got); err != nil {
			return fmt.Errorf("value %d: %w", a.next, err)
		}
		dst = dst[len(got):]
	}
	if a.next < a.n {
		return nil
	}
	if err := a.s.expect(']'); err != nil {
		return fmt.Errorf("value %d: %w", a.n, err)
	}
	return nil
}
