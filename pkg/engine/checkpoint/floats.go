package checkpoint

import (
	"errors"
	"fmt"
)

// floats reads an array of numbers into dst, which is empty and grows to at most
// limit values.
func (s *stream) floats(dst []float32, limit int) ([]float32, error) {
	if err := s.expect('['); err != nil {
		return nil, err
	}
	if c, err := s.peek(); err != nil {
		return nil, err
	} else if c == ']' {
		return dst, s.take(1)
	}
	for {
		if len(dst) == limit {
			return nil, errTooMany
		}
		var err error
		if dst, err = s.floatRun(dst, limit); err != nil {
			return nil, fmt.Errorf("value %d: %w", len(dst), err)
		}
		c, err := s.peek()
		if err != nil {
			return nil, err
		}
		if c == ']' {
			return dst, s.take(1)
		}
		if err := s.expect(','); err != nil {
			return nil, fmt.Errorf("value %d: %w", len(dst), err)
		}
		if _, err := s.peek(); err != nil {
			return nil, err
		}
	}
}

// floatRun appends numbers separated only by commas to dst, which has fewer than limit. It
// stops after the last one, at the limit, or when the buffer needs filling.
func (s *stream) floatRun(dst []float32, limit int) ([]float32, error) {
	if err := s.fill(numberSlack); err != nil {
		return dst, err
	}
	for {
		v, i, err := parseFloat(s.buf, s.pos)
		if err != nil {
			return dst, s.badNumber(err)
		}
		if v-v != 0 {
			return dst, fmt.Errorf("%.40q is beyond float32", s.buf[s.pos:i])
		}
		dst = append(dst, v)
		s.pos = i
		if len(dst) == limit || s.buf[i] != ',' || i+1+numberSlack > s.end {
			return dst, nil
		}
		if c := s.buf[i+1]; c != '-' && c-'0' > 9 {
			return dst, nil
		}
		s.pos++
	}
}

// badNumber returns an error for input that is not a number.
func (s *stream) badNumber(err error) error {
	raw, _ := s.capture(maxNumber)
	if string(raw) == "null" {
		return errors.New("null, which is how NaN and infinity are written")
	}
	return fmt.Errorf("%.40q: %w", raw, err)
}
