package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
)

// finished matches the end of a text in an event.
var finished = regexp.MustCompile(`"finish_reason"\s*:\s*"`)

// errEnd is the error of a stream that its endpoint leaves before the model has finished.
var errEnd = errors.New("the stream ends before the model has finished")

// events returns the data of a stream's events, until [DONE] or, once the model has finished,
// the end. It calls finish then. Its events share memory.
func events(from io.Reader, finish func()) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(make([]byte, 0, 16<<10), maxEvent)
		var data []byte
		done := false
		event := func() (more bool) {
			if len(data) == 0 || bytes.Equal(data, []byte("[DONE]")) {
				more = len(data) == 0
				done = done || !more
				return more
			}
			if !done && finished.Match(data) {
				done = true
				finish()
			}
			more = yield(data, nil)
			data = data[:0]
			return more
		}
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if !event() {
					return
				}
				continue
			}
			text, ok := bytes.CutPrefix(line, []byte("data:"))
			if !ok {
				continue // a comment, or a field that these streams do not use
			}
			if len(data) > 0 {
				data = append(data, '\n')
			}
			if data = append(data, bytes.TrimPrefix(text, []byte(" "))...); len(data) > maxEvent {
				yield(nil, bufio.ErrTooLong)
				return
			}
		}
		if lines.Err() == nil && !event() {
			return
		}
		switch err := lines.Err(); {
		case done && !errors.Is(err, bufio.ErrTooLong):
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, fmt.Errorf("an event has more than %d bytes", maxEvent))
		case err != nil:
			yield(nil, err)
		default:
			yield(nil, errEnd)
		}
	}
}

// bounded reads as many bytes as an answer may have.
type bounded struct {
	from io.Reader
	left int
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
