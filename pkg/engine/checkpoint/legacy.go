package checkpoint

import (
	"errors"
	"fmt"
	"io"
)

// legacy reads the JSON encoding: one object with its members in any order.
type legacy struct {
	header
	s      *stream
	size   int64   // of the file, bytes
	budget int64   // left for tensors, in bytes
	arrays *arrays // of the values of parameters, which stay in the file; nil: they are read
}

func readJSON(s *stream, size int64, opt Options) (*Alpha, error) {
	l := &legacy{header: header{Alpha: &Alpha{}, opt: opt}, s: s, size: size, budget: opt.MaxBytes}
	if opt.leave != nil {
		l.arrays = &arrays{source: opt.leave, list: map[string]*array{}}
		l.file = l.arrays
	}
	if err := s.object(l.member); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("truncated after %d bytes: %w", s.offset(), err)
		}
		return nil, err
	}
	if c, err := s.peek(); err == nil {
		return nil, fmt.Errorf("offset %d: %q after the end", s.offset(), c)
	} else if err != io.ErrUnexpectedEOF {
		return nil, err
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	if l.Params == nil {
		return nil, errors.New("no params")
	}
	for name, t := range l.Params {
		if err := l.arch.check(name, t.Shape); err != nil {
			return nil, err
		}
	}
	return l.Alpha, l.arch.complete(l.Params)
}

func (l *legacy) member(key string) error {
	switch key {
	case "params":
		l.Params = map[string]Tensor{}
		return l.s.object(func(name string) error {
			return l.tensor(l.Params, name, name, l.arch)
		})
	case "optimizerState":
		if c, err := l.s.peek(); err != nil || c != '{' {
			return errors.Join(err, l.s.skip())
		}
		return l.s.object(l.optimizer)
	}
	if ok, err := l.header.member(l.s, key); ok {
		return err
	}
	return l.s.skip()
}

// optimizer reads one member of optimizerState.
func (l *legacy) optimizer(key string) (err error) {
	switch {
	case key == "step":
		l.OptimizerStep, err = l.s.count()
		return err
	case key == "buffers" && l.opt.Optimizer:
		l.Optimizer = map[string]Tensor{}
		return l.s.object(func(name string) error {
			return l.tensor(l.Optimizer, name, "optimizer "+name, nil)
		})
	}
	return l.s.skip()
}

// tensor reads {shape, data} into dst. arch, if already known, determines the shape
// before anything is allocated.
func (l *legacy) tensor(dst map[string]Tensor, name, label string, arch *architecture) error {
	var t Tensor
	var expected []int
	if arch != nil {
		if expected = arch.shapes[name]; expected == nil {
			return arch.check(name, nil)
		}
	}
	hasShape, hasData := false, false
	var at [2]int64 // where the values are in the file, if they stay there
	err := l.s.object(func(key string) (err error) {
		switch key {
		case "shape":
			hasShape = true
			if err = l.s.decode(maxShape, &t.Shape); err == nil && expected != nil {
				return arch.check(name, t.Shape)
			}
		case "data":
			hasData = true
			if l.arrays != nil {
				at, err = l.offset()
				break
			}
			shape := expected
			if hasShape {
				shape = t.Shape
			}
			t.Data, err = l.data(shape, hasShape || expected != nil)
		default:
			return l.s.skip()
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %s: %w", label, key, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !hasShape || !hasData {
		return fmt.Errorf("tensor %q: shape or data is missing", label)
	}
	n, err := product(t.Shape)
	switch {
	case err == nil && l.arrays != nil:
		err = l.place(name, at, n)
	case err != nil || n != len(t.Data):
		err = fmt.Errorf("%d values for shape %v", len(t.Data), t.Shape)
	}
	if err != nil {
		return fmt.Errorf("tensor %q: %w", label, err)
	}
	l.budget -= int64(n) * 4
	dst[name] = t
	return nil
}

// offset skips an array, and returns where it begins and ends.
func (l *legacy) offset() (at [2]int64, err error) {
	if c, err := l.s.peek(); err != nil || c != '[' {
		return at, errors.Join(err, l.s.expect('['))
	}
	at[0] = l.s.offset()
	err = l.s.skip()
	at[1] = l.s.offset()
	return at, err
}

// place keeps where the values of a tensor are in the file, if there may be as many.
func (l *legacy) place(name string, at [2]int64, n int) error {
	switch {
	case int64(n) > l.budget/4:
		return fmt.Errorf("%d values are over the budget of %d bytes", n, l.opt.MaxBytes)
	case at[1]-at[0] < 2*int64(n): // a digit and what separates it from the next, at least
		return fmt.Errorf("data: %d bytes are not %d values", at[1]-at[0], n)
	}
	l.arrays.list[name] = &array{at: at, n: n}
	return nil
}

// data reads the values of a tensor. shape is known if its member came first or the
// configuration names the tensor.
func (l *legacy) data(shape []int, known bool) ([]float32, error) {
	limit := int(l.budget / 4)
	if !known {
		values, err := l.s.floats(nil, limit)
		if errors.Is(err, errTooMany) {
			err = fmt.Errorf("%w of the budget of %d bytes", err, l.opt.MaxBytes)
		}
		return values, err
	}
	n, err := product(shape)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("shape %v is over the budget of %d bytes", shape, l.opt.MaxBytes)
	}
	// A value takes at least two bytes of the file.
	left := (l.size-l.s.offset())/2 + 1
	values, err := l.s.floats(make([]float32, 0, min(n, int(left))), n)
	if errors.Is(err, errTooMany) {
		err = fmt.Errorf("%w of shape %v", err, shape)
	}
	return values, err
}
