package spmodel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
)

// protoField is a field of a protobuf message (protobuf.dev, Encoding).
type protoField struct {
	number int
	wire   int    // type: 0 varint, 1 eight bytes, 2 with a length, 5 four bytes
	bits   uint64 // of types 0, 1 and 5
	bytes  []byte // of type 2
}

var errProtoShort = errors.New("the message ends within a field")

// protoFields yields the fields of a message in order, until an error.
func protoFields(message []byte) iter.Seq2[protoField, error] {
	return func(yield func(protoField, error) bool) {
		for len(message) > 0 {
			f, rest, err := nextProtoField(message)
			if !yield(f, err) || err != nil {
				return
			}
			message = rest
		}
	}
}

func nextProtoField(message []byte) (f protoField, rest []byte, err error) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 || tag>>3 >= 1<<29 {
		return f, nil, errors.New("a field has no valid number")
	}
	f.number, f.wire = int(tag>>3), int(tag&7)
	rest = message[n:]
	switch f.wire {
	case 0:
		if f.bits, n = binary.Uvarint(rest); n <= 0 {
			return f, nil, fmt.Errorf("field %d: %w", f.number, errProtoShort)
		}
	case 1:
		if n = 8; len(rest) < n {
			return f, nil, fmt.Errorf("field %d: %w", f.number, errProtoShort)
		}
		f.bits = binary.LittleEndian.Uint64(rest)
	case 2:
		length, m := binary.Uvarint(rest)
		if m <= 0 || length > uint64(len(rest)-m) {
			return f, nil, fmt.Errorf("field %d: %w", f.number, errProtoShort)
		}
		n = m + int(length)
		f.bytes = rest[m:n:n]
	case 5:
		if n = 4; len(rest) < n {
			return f, nil, fmt.Errorf("field %d: %w", f.number, errProtoShort)
		}
		f.bits = uint64(binary.LittleEndian.Uint32(rest))
	default:
		return f, nil, fmt.Errorf("field %d has wire type %d, which is not supported", f.number, f.wire)
	}
	return f, rest[n:], nil
}

// want returns an error unless the field has the given wire type.
func (f *protoField) want(wire int) error {
	if f.wire != wire {
		return fmt.Errorf("field %d has wire type %d, not %d", f.number, f.wire, wire)
	}
	return nil
}

func (f *protoField) readBytes(to *[]byte) error {
	*to = f.bytes
	return f.want(2)
}

func (f *protoField) readString(to *string) error {
	*to = string(f.bytes)
	return f.want(2)
}

func (f *protoField) readBool(to *bool) error {
	*to = f.bits != 0
	return f.want(0)
}

func (f *protoField) readInt32(to *int32) error {
	*to = int32(f.bits)
	return f.want(0)
}

func (f *protoField) readFloat(to *float32) error {
	*to = math.Float32frombits(uint32(f.bits))
	return f.want(5)
}
