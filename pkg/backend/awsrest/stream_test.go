package awsrest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// encode returns a message as encoded by the SDK.
func encode(t testing.TB, payload []byte, headers ...eventstream.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, eventstream.Message{Headers: headers, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(name, value string) eventstream.Header {
	return eventstream.Header{Name: name, Value: eventstream.StringValue(value)}
}

// chunkOf returns an event with headers of every type before the relevant ones.
func chunkOf(t testing.TB, payload []byte) []byte {
	return encode(t, payload,
		eventstream.Header{Name: "a", Value: eventstream.BoolValue(true)}, eventstream.Header{Name: "b", Value: eventstream.BoolValue(false)},
		eventstream.Header{Name: "c", Value: eventstream.Int8Value(1)}, eventstream.Header{Name: "d", Value: eventstream.Int16Value(1)},
		eventstream.Header{Name: "e", Value: eventstream.Int32Value(1)}, eventstream.Header{Name: "f", Value: eventstream.Int64Value(1)},
		eventstream.Header{Name: "g", Value: eventstream.BytesValue([]byte(":message-type"))}, text(strings.Repeat("h", 255), ""),
		eventstream.Header{Name: "i", Value: eventstream.TimestampValue(time.Unix(1, 0))}, eventstream.Header{Name: "j", Value: eventstream.UUIDValue{1}},
		text(":message-type", "event"), text(":event-type", "chunk"), text(":content-type", "application/json"))
}

// read returns the payloads of a stream and its final error.
func read(in io.Reader) (payloads []string, closed bool, failed error) {
	body := &closing{Reader: in}
	a := &Answer{Header: http.Header{"X-Amzn-Requestid": {"one"}}, body: body, length: -1}
	for event, err := range a.Events() {
		if err != nil {
			failed = err
			continue
		}
		payloads = append(payloads, event.Type+" "+string(event.Payload))
	}
	return payloads, body.done, failed
}

// Events of all sizes arrive whole and in order, wherever the stream is cut into packets.
func TestEvents(t *testing.T) {
	var stream []byte
	var want []string
	for _, n := range []int{0, 1, 100, 500, buffered - 300, buffered, buffered + 1, 5 * buffered, 3, 1 << 20, 7} {
		payload := bytes.Repeat([]byte{byte('a' + n%26)}, n)
		stream = append(stream, chunkOf(t, payload)...)
		want = append(want, "chunk "+string(payload))
	}
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "a byte at a time": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves": iotest.HalfReader(bytes.NewReader(stream)), "end with data": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		got, closed, err := read(in)
		if err != nil || !closed || !slices.Equal(got, want) {
			t.Errorf("%s: %d events, closed %v, %v", name, len(got), closed, err)
		}
	}
	body := &closing{Reader: bytes.NewReader(stream)}
	for range (&Answer{body: body}).Events() {
		break
	}
	if !body.done {
		t.Error("leaving a stream does not close it")
	}
}

// A stream that breaks off inside an event is an error, and so is one with a changed
// byte.
func TestBroken(t *testing.T) {
	one := chunkOf(t, []byte("payload"))
	stream := slices.Concat(one, one)
	for cut := range stream {
		got, closed, err := read(bytes.NewReader(stream[:cut]))
		if between := cut%len(one) == 0; (err == nil) != between || len(got) != cut/len(one) || !closed {
			t.Fatalf("cut at %d: %d events, %v", cut, len(got), err)
		}
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || !e.MidStream || e.Status != 200 || e.Header.Get("X-Amzn-Requestid") != "one" || !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Fatalf("cut at %d: %+v", cut, err)
		}
		wrong := bytes.Clone(stream)
		wrong[cut] ^= 1 << (cut % 8)
		if got, _, err := read(bytes.NewReader(wrong)); err == nil || len(got) != cut/len(one) {
			t.Fatalf("another byte at %d: %d events, %v", cut, len(got), err)
		}
	}
	fault := errors.New("the line is cut")
	if _, _, err := read(io.MultiReader(bytes.NewReader(one), iotest.ErrReader(fault))); !errors.Is(err, fault) {
		t.Error(err)
	}
}

// Exceptions and errors within a stream keep the service's names.
func TestExceptions(t *testing.T) {
	exception := encode(t, []byte(`{"message": "slow", "originalStatusCode": 400}`), text(":message-type", "exception"), text(":exception-type", "throttlingException"))
	failure := encode(t, nil, text(":message-type", "error"), text(":error-code", "InternalError"), text(":error-message", "it broke"))
	none := encode(t, nil, text(":message-type", "what"))
	for i, test := range []struct {
		frame               []byte
		name, message, body string
	}{
		{exception, "throttlingException", "slow", `{"message": "slow", "originalStatusCode": 400}`},
		{failure, "InternalError", "it broke", ""},
		{none, "", "", ""},
		{encode(t, nil), "", "", ""},
	} {
		got, closed, err := read(bytes.NewReader(slices.Concat(chunkOf(t, nil), test.frame, chunkOf(t, nil))))
		e, ok := errors.AsType[*Error](err)
		if len(got) != 1 || !closed || !ok || e.Name != test.name || e.Message != test.message || string(e.Body) != test.body || !e.MidStream {
			t.Errorf("%d: %d events, %+v", i, len(got), e)
		}
	}
}

// A message is decoded, or rejected, exactly as by the SDK's decoder.
func FuzzEvents(f *testing.F) {
	one := chunkOf(f, []byte("payload"))
	f.Add(one)
	f.Add(one[:len(one)-1])
	f.Add(encode(f, []byte(`{"message": 1}`), text(":message-type", "exception"), text(":exception-type", "a#b:c")))
	f.Add(encode(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames := frames{in: newReader(b)}
		frame, err := frames.next()
		var event Event
		if err == nil {
			event, err = parse(frame)
		}
		if e, ok := errors.AsType[*Error](err); ok {
			event, err = Event{Type: "", Payload: e.Body}, nil
		}
		theirs, failed := eventstream.NewDecoder().Decode(bytes.NewReader(b), nil)
		if failed != nil {
			if err == nil && !strings.Contains(fmt.Sprint(failed), "duplicate") {
				t.Fatalf("%q is read where the SDK says %v", b, failed)
			}
			return
		}
		switch kind := theirs.Headers.Get(":message-type"); {
		case err != nil:
			if kind != nil && slices.Contains([]string{"event", "exception", "error"}, kind.String()) {
				t.Fatalf("%q: %v, and the SDK reads a message of type %s", b, err, kind)
			}
		case event.Type != "" && !bytes.Equal(event.Payload, theirs.Payload):
			t.Fatalf("%q: %q, the SDK %q", b, event.Payload, theirs.Payload)
		}
	})
}
