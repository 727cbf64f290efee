package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Limits of a [scanner].
const (
	scanBuffer   = 64 << 10 // bytes
	maxScanKey   = 4 << 10  // of an encoded key, bytes
	maxScanDepth = 200      // of nested objects and arrays
)

// A scanner parses JSON (RFC 8259) of any size without storing it.
type scanner struct {
	r    io.Reader
	buf  []byte
	pos  int // of the next byte in buf
	end  int
	base int64 // offset of buf[0]
	err  error // of r
	keep []byte
	kept bool // consumed bytes are stored
}

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, scanBuffer)} }

// offset returns the position of the next byte.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos == s.end && !s.fill() {
		return 0
	}
	return s.buf[s.pos]
}

func (s *scanner) fill() bool {
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for s.end == 0 && s.err == nil {
		s.end, s.err = s.r.Read(s.buf)
	}
	return s.end > 0
}

// take consumes the byte of peek.
func (s *scanner) take() {
	if s.kept {
		s.keep = append(s.keep, s.buf[s.pos])
	}
	s.pos++
}

// space consumes white space and returns the byte after it.
func (s *scanner) space() byte {
	for {
		switch c := s.peek(); c {
		case ' ', '\t', '\n', '\r':
			s.take()
		default:
			return c
		}
	}
}

// wrong returns the error for the next byte.
func (s *scanner) wrong() error {
	c := s.peek()
	switch {
	case s.err != nil && !errors.Is(s.err, io.EOF):
		return s.err
	case s.pos == s.end:
		return fmt.Errorf("byte %d: unexpected end", s.offset())
	}
	return fmt.Errorf("byte %d: unexpected %q", s.offset(), c)
}

// expect consumes one byte.
func (s *scanner) expect(c byte) error {
	if s.peek() != c || s.pos == s.end {
		return s.wrong()
	}
	s.take()
	return nil
}

// ends checks that only white space follows.
func (s *scanner) ends() error {
	s.space()
	if s.pos < s.end || !errors.Is(s.err, io.EOF) {
		return s.wrong()
	}
	return nil
}

// object consumes an object. member consumes the value of each key.
func (s *scanner) object(member func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.space() == '}' {
		return s.expect('}')
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		s.space()
		if err := s.expect(':'); err != nil {
			return err
		}
		s.space()
		if err := member(key); err != nil {
			return err
		}
		if s.space() == '}' {
			return s.expect('}')
		}
		if err := s.expect(','); err != nil {
			return err
		}
		s.space()
	}
}

// key consumes a key.
func (s *scanner) key() (key string, err error) {
	s.kept, s.keep = true, s.keep[:0]
	err = s.text(maxScanKey)
	s.kept = false
	if err == nil {
		err = json.Unmarshal(s.keep, &key)
	}
	return key, err
}

// value consumes a value at a nesting depth.
func (s *scanner) value(depth int) error {
	if depth > maxScanDepth {
		return fmt.Errorf("byte %d: nested deeper than %d", s.offset(), maxScanDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(func(string) error { return s.value(depth + 1) })
	case '[':
		return s.array(depth)
	case '"':
		return s.text(1 << 62)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) array(depth int) error {
	s.take()
	if s.space() == ']' {
		return s.expect(']')
	}
	for {
		s.space()
		if !s.numbers() {
			if err := s.value(depth + 1); err != nil {
				return err
			}
		}
		if s.space() == ']' {
			return s.expect(']')
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// numbers consumes plain numbers that are separated only by commas, as weights are, while
// they and the byte after them are in the buffer. It reports whether it consumed any.
func (s *scanner) numbers() (some bool) {
	b := s.buf[:s.end]
	for n := plainNumber(b[s.pos:]); n > 0; n = plainNumber(b[s.pos+1:]) {
		if some {
			s.pos++ // the comma before it
		}
		s.pos += n
		some = true
		if b[s.pos] != ',' {
			break
		}
	}
	return some
}

// plainNumber returns the length of the number at the beginning of b in bytes; 0 if there is
// none, if it has an exponent, or if it does not end in b.
func plainNumber(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if len(b) > 0 && b[0] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i == len(b) || b[i] == 'e' || b[i] == 'E' {
		return 0
	}
	return i
}

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if err := s.expect(word[i]); err != nil {
			return err
		}
	}
	return nil
}

// number consumes a number.
func (s *scanner) number() error {
	if s.peek() == '-' {
		s.take()
	}
	if s.peek() == '0' {
		s.take()
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.take()
		if err := s.digits(); err != nil {
			return err
		}
	}
	if c := s.peek(); c != 'e' && c != 'E' {
		return nil
	}
	s.take()
	if c := s.peek(); c == '+' || c == '-' {
		s.take()
	}
	return s.digits()
}

// digits consumes one or more digits.
func (s *scanner) digits() error {
	if c := s.peek(); c < '0' || c > '9' {
		return s.wrong()
	}
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.take()
	}
	return nil
}

// text consumes a string of at most most bytes.
func (s *scanner) text(most int64) error {
	begin := s.offset()
	if err := s.expect('"'); err != nil {
		return err
	}
	for {
		switch c := s.peek(); {
		case s.offset()-begin > most:
			return fmt.Errorf("byte %d: a key of more than %d bytes", begin, most)
		case c == '"':
			s.take()
			return nil
		case c == '\\':
			s.take()
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.wrong() // or the end of the input
		case c < utf8.RuneSelf:
			s.take()
		default:
			if err := s.rune(); err != nil {
				return err
			}
		}
	}
}

// escape consumes what follows a backslash.
func (s *scanner) escape() error {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.take()
		return nil
	case 'u':
		s.take()
	default:
		return s.wrong()
	}
	for range 4 {
		switch c := s.peek(); {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			s.take()
		default:
			return s.wrong()
		}
	}
	return nil
}

// rune consumes a multi-byte character.
func (s *scanner) rune() error {
	begin := s.offset()
	var b []byte
	for len(b) < utf8.UTFMax && !utf8.FullRune(b) {
		c := s.peek()
		if s.pos == s.end {
			break
		}
		b = append(b, c)
		s.take()
	}
	if r, n := utf8.DecodeRune(b); r == utf8.RuneError && n <= 1 || n != len(b) {
		return fmt.Errorf("byte %d: not valid UTF-8", begin)
	}
	return nil
}
