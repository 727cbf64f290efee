package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	streamBuffer = 256 << 10 // bytes
	maxKey       = 1024      // bytes of an object key as written
	maxDepth     = 128       // nesting of a skipped or captured value
)

// stream is a JSON reader with a bounded buffer. The buffer always holds
// numberSlack zero bytes after the data, so that parseFloat may look ahead.
type stream struct {
	r    io.Reader
	buf  []byte // data is buf[pos:end]
	pos  int
	end  int
	base int64 // offset in the file of buf[0]
	eof  bool
	keep *bytes.Buffer // captures the consumed bytes, if not nil
	room int           // remaining capacity of keep, in bytes
}

var (
	errTooBig  = errors.New("value is too large")
	errTooMany = errors.New("more than the values")
)

func newStream(r io.Reader) *stream {
	return &stream{r: r, buf: make([]byte, streamBuffer+numberSlack)}
}

// offset returns the position in the file, in bytes.
func (s *stream) offset() int64 { return s.base + int64(s.pos) }

// fill makes at least n bytes available unless the file ends before.
func (s *stream) fill(n int) error {
	if s.end-s.pos >= n || s.eof {
		return nil
	}
	copy(s.buf, s.buf[s.pos:s.end])
	s.base += int64(s.pos)
	s.end -= s.pos
	s.pos = 0
	for s.end < n {
		k, err := s.r.Read(s.buf[s.end:streamBuffer])
		s.end += k
		if err == io.EOF {
			s.eof = true
			break
		}
		if err != nil {
			return err
		}
	}
	clear(s.buf[s.end : s.end+numberSlack])
	return nil
}

// take consumes n bytes that are in the buffer.
func (s *stream) take(n int) error {
	if s.keep != nil {
		if n > s.room {
			return errTooBig
		}
		s.room -= n
		s.keep.Write(s.buf[s.pos : s.pos+n])
	}
	s.pos += n
	return nil
}

// peek returns the next byte that is not white space.
func (s *stream) peek() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\n', '\r':
				if err := s.take(1); err != nil {
					return 0, err
				}
			default:
				return c, nil
			}
		}
		if s.eof {
			return 0, io.ErrUnexpectedEOF
		}
		if err := s.fill(1); err != nil {
			return 0, err
		}
	}
}

// expect consumes the byte c after white space.
func (s *stream) expect(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return fmt.Errorf("offset %d: found %q where %q was expected", s.offset(), got, c)
	}
	return s.take(1)
}

// object calls member for each key of the next object; member consumes the value.
// Duplicate keys are rejected.
func (s *stream) object(member func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if c, err := s.peek(); err != nil {
		return err
	} else if c == '}' {
		return s.take(1)
	}
	seen := map[string]bool{}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q appears twice", key)
		}
		seen[key] = true
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == '}' {
			return s.take(1)
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// key reads a string of at most maxKey bytes.
func (s *stream) key() (string, error) {
	raw, err := s.capture(maxKey)
	if err != nil {
		return "", fmt.Errorf("object key: %w", err)
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", fmt.Errorf("object key: %w", err)
	}
	return key, nil
}

// capture returns the next value as written, at most limit bytes. It checks its nesting,
// but no other syntax.
func (s *stream) capture(limit int) ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	s.keep, s.room = &bytes.Buffer{}, limit
	err := s.skip()
	raw := s.keep.Bytes()
	s.keep = nil
	return raw, err
}

// captureValid is capture for a value that must be valid JSON.
func (s *stream) captureValid(limit int) (json.RawMessage, error) {
	raw, err := s.capture(limit)
	if err == nil && !json.Valid(raw) {
		err = errors.New("not valid JSON")
	}
	return raw, err
}

// decode captures the next value and unmarshals it into v.
func (s *stream) decode(limit int, v any) error {
	raw, err := s.capture(limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// skip consumes the next value. It checks strings and nesting, but not numbers and
// literals.
func (s *stream) skip() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '"':
		return s.skipString()
	case '{', '[':
		return s.skipNested()
	case ',', ':', '}', ']':
		return fmt.Errorf("offset %d: found %q where a value was expected", s.offset(), c)
	}
	return s.skipScalar()
}

// skipScalar consumes a number or literal.
func (s *stream) skipScalar() error {
	for {
		i := s.pos
		for i < s.end && !isDelimiter(s.buf[i]) {
			i++
		}
		done := i < s.end
		if err := s.take(i - s.pos); err != nil {
			return err
		}
		if done || s.eof {
			return nil
		}
		if err := s.fill(1); err != nil {
			return err
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}

// skipNested consumes an array or object.
func (s *stream) skipNested() error {
	var open [maxDepth]byte // the closing byte of each open bracket
	depth := 0
	for {
		if err := s.toStructure(); err != nil {
			return err
		}
		c := s.buf[s.pos]
		if c == '"' {
			if err := s.skipString(); err != nil {
				return err
			}
			continue
		}
		if err := s.take(1); err != nil {
			return err
		}
		switch c {
		case '{', '[':
			if depth == maxDepth {
				return fmt.Errorf("offset %d: nested deeper than %d", s.offset(), maxDepth)
			}
			open[depth] = c + 2 // '{'+2 == '}', '['+2 == ']'
			depth++
		default:
			if open[depth-1] != c {
				return fmt.Errorf("offset %d: found %q where %q was expected", s.offset()-1, c, open[depth-1])
			}
			if depth--; depth == 0 {
				return nil
			}
		}
	}
}

// toStructure consumes up to the next quote or bracket.
func (s *stream) toStructure() error {
	const near, window = 16, 1024
	for {
		if err := s.fill(1); err != nil {
			return err
		}
		b := s.buf[s.pos:s.end]
		if len(b) == 0 {
			return io.ErrUnexpectedEOF
		}
		n := 0
		for n < min(near, len(b)) && !isStructure(b[n]) {
			n++
		}
		if n == min(near, len(b)) {
			n = indexStructure(b[:min(window, len(b))])
		}
		found := n < len(b) && isStructure(b[n])
		if err := s.take(n); err != nil || found {
			return err
		}
	}
}

func isStructure(c byte) bool {
	return c == '"' || c == '{' || c == '}' || c == '[' || c == ']'
}

// indexStructure returns the index of the first quote or bracket in b, or len(b).
func indexStructure(b []byte) int {
	n := len(b)
	for _, c := range []byte(`]"}[{`) {
		if i := bytes.IndexByte(b[:n], c); i >= 0 {
			n = i
		}
	}
	return n
}

// skipString consumes a string.
func (s *stream) skipString() error {
	if err := s.take(1); err != nil {
		return err
	}
	for {
		if err := s.fill(2); err != nil {
			return err
		}
		b := s.buf[s.pos:s.end]
		if len(b) == 0 {
			return io.ErrUnexpectedEOF
		}
		n := 0
		for n < len(b) && b[n] != '"' && b[n] != '\\' {
			n++
		}
		switch {
		case n == len(b):
		case b[n] == '"':
			return s.take(n + 1)
		case n+1 < len(b):
			n += 2 // an escape: the byte after the backslash does not end the string
		case s.eof:
			return io.ErrUnexpectedEOF
		}
		if err := s.take(n); err != nil {
			return err
		}
	}
}

// count reads a non-negative integer that a float64 represents exactly.
func (s *stream) count() (int, error) {
	raw, err := s.capture(maxNumber)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return 0, fmt.Errorf("%.40q is not a whole number from 0 to 2^53", raw)
	}
	return int(f), nil
}
