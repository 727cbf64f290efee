package awsrest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"net/http"
)

// An Event is an event of a stream.
type Event struct {
	Type    string // "chunk"
	Payload []byte // valid until the next event
}

// The parts of a message: two lengths and the checksum of both, headers, the payload, the
// checksum of all before it; integers are big-endian, checksums CRC-32 (IEEE). Source:
// Smithy, "Amazon Event Stream specification".
const (
	prelude  = 4 + 4 + 4
	trailer  = 4
	maxFrame = 24 << 20
	// buffer for reading frames without copying; a token's frame has half a kilobyte
	buffered = 8 << 10
)

// Events returns the events of a streamed answer. The answer is closed when the sequence
// ends or is left. An exception of the service is an error, and so is an answer that
// breaks off or is not an event stream; both are of type [*Error].
func (a *Answer) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer a.Close()
		f := frames{in: bufio.NewReaderSize(a.body, buffered)}
		for {
			frame, err := f.next()
			if err == io.EOF {
				return
			}
			var event Event
			if err == nil {
				event, err = parse(frame)
			}
			if err != nil {
				yield(Event{}, a.streamError(err))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// streamError returns an error within the answer as an [Error].
func (a *Answer) streamError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Err: err}
	}
	e.MidStream, e.Status, e.Header = true, http.StatusOK, a.Header
	return e
}

// frames reads messages.
type frames struct {
	in   *bufio.Reader
	long bytes.Buffer // a frame larger than the buffer of in
}

var errFrame = errors.New("the answer is not an event stream")

// next returns the next message, valid until the following call; io.EOF after the last.
func (f *frames) next() ([]byte, error) {
	head, err := f.in.Peek(prelude)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	length, headers := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if crc32.ChecksumIEEE(head[:8]) != binary.BigEndian.Uint32(head[8:]) || length > maxFrame || length < prelude+trailer ||
		headers > length-prelude-trailer {
		return nil, errFrame
	}
	frame, err := f.take(int(length))
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if body, sum := frame[:length-trailer], frame[length-trailer:]; crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return nil, errFrame
	}
	return frame, nil
}

// take returns the next n bytes. A false length costs no memory.
func (f *frames) take(n int) ([]byte, error) {
	if n <= f.in.Size() {
		b, err := f.in.Peek(n)
		if err != nil {
			return nil, err
		}
		_, err = f.in.Discard(n)
		return b, err
	}
	f.long.Reset()
	if _, err := io.CopyN(&f.long, f.in, int64(n)); err != nil {
		return nil, err
	}
	return f.long.Bytes(), nil
}

// parse returns the event in a complete message, or the exception as an error.
func parse(frame []byte) (Event, error) {
	end := prelude + int(binary.BigEndian.Uint32(frame[4:]))
	payload := frame[end : len(frame)-trailer]
	var kind, event, exception, code, message string
	for rest := frame[prelude:end]; len(rest) > 0; {
		name, value, after, ok := header(rest)
		if !ok {
			return Event{}, errFrame
		}
		switch rest = after; string(name) {
		case ":message-type":
			kind = intern(value)
		case ":event-type":
			event = intern(value)
		case ":exception-type":
			exception = string(value)
		case ":error-code":
			code = string(value)
		case ":error-message":
			message = string(value)
		}
	}
	switch kind {
	case "event":
		return Event{event, payload}, nil
	case "exception":
		body := bytes.Clone(payload)
		return Event{}, &Error{Name: baseName(exception), Message: messageOf(body), Body: body}
	case "error":
		return Event{}, &Error{Name: baseName(code), Message: message}
	}
	return Event{}, errFrame
}

// intern returns common header values without a copy.
func intern(value []byte) string {
	switch string(value) {
	case "event":
		return "event"
	case "chunk":
		return "chunk"
	case "PayloadPart":
		return "PayloadPart"
	}
	return string(value)
}

// header splits off the first header: the length of its name in a byte, its name, its
// type, its value. value is nil unless it is text or bytes.
func header(b []byte) (name, value, rest []byte, ok bool) {
	if len(b) < 1 || len(b) < 1+int(b[0])+1 {
		return nil, nil, nil, false
	}
	end := 1 + int(b[0])
	name, kind, b := b[1:end], b[end], b[end+1:]
	// Sizes of values by type: true, false, byte, short, integer, long; bytes and text,
	// preceded by their length; timestamp, UUID.
	sizes := [...]int{0, 0, 1, 2, 4, 8, -1, -1, 8, 16}
	if int(kind) >= len(sizes) {
		return nil, nil, nil, false
	}
	n := sizes[kind]
	if n < 0 {
		if len(b) < 2 {
			return nil, nil, nil, false
		}
		n = int(binary.BigEndian.Uint16(b))
		b = b[2:]
		if len(b) >= n {
			value = b[:n]
		}
	}
	if len(b) < n {
		return nil, nil, nil, false
	}
	return name, value, b[n:], true
}
