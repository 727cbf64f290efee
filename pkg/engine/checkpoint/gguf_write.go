package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"glossa/pkg/engine/dtype"
)

// A GGUFTensor is a tensor for [WriteGGUF].
type GGUFTensor struct {
	Name  string
	Type  dtype.Type // F32, BF16, Q8_0 or Q4_0
	Shape []int      // row-major

	// Read reads len(dst) values, beginning with value from, both whole rows.
	Read func(dst []float32, from int) error
}

const (
	ggufVersion = 3
	ggufAlign   = 32      // bytes, the format's default
	ggufPiece   = 1 << 18 // approximate number of values that are encoded at once
)

// WriteGGUF writes a GGUF file: the keys in the order of their names, of type uint32,
// int32, float32, bool, string, []string or []int32, and the tensors in the given order,
// quantised as ggml's reference does.
func WriteGGUF(w io.Writer, meta Meta, tensors []GGUFTensor) error {
	if err := writeGGUF(w, meta, tensors); err != nil {
		return fmt.Errorf("checkpoint: GGUF: %w", err)
	}
	return nil
}

func writeGGUF(w io.Writer, meta Meta, tensors []GGUFTensor) error {
	header, err := ggufHead(meta, tensors)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	b.Write(padded(header)) // b keeps errors until Flush
	for i := range tensors {
		t := &tensors[i]
		if err := t.write(b); err != nil {
			return fmt.Errorf("tensor %.80q: %w", t.Name, err)
		}
	}
	return b.Flush()
}

// ggufHead returns everything before the tensors' values.
func ggufHead(meta Meta, tensors []GGUFTensor) ([]byte, error) {
	if len(meta) > maxGGUFKeys || len(tensors) > maxTensors {
		return nil, fmt.Errorf("%d keys and %d tensors, at most %d and %d", len(meta), len(tensors), maxGGUFKeys, maxTensors)
	}
	if _, ok := meta[ggufAlignmentKey]; ok {
		return nil, fmt.Errorf("key %q: tensors are aligned to %d bytes", ggufAlignmentKey, ggufAlign)
	}
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(ggufMagic), ggufVersion)
	b = le.AppendUint64(b, uint64(len(tensors)))
	b = le.AppendUint64(b, uint64(len(meta)))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		var err error
		if b, err = appendGGUFText(b, key, maxGGUFKey); err == nil {
			b, err = appendGGUFValue(b, meta[key])
		}
		if err != nil {
			return nil, fmt.Errorf("key %.80q: %w", key, err)
		}
	}
	names, offset := map[string]bool{}, uint64(0)
	for i := range tensors {
		t := &tensors[i]
		size, err := t.check()
		if err == nil && names[t.Name] {
			err = errors.New("appears twice")
		}
		if err == nil {
			b, err = appendGGUFText(b, t.Name, maxGGUFKey)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %.80q: %w", t.Name, err)
		}
		names[t.Name] = true
		b = le.AppendUint32(b, uint32(len(t.Shape)))
		for _, d := range slices.Backward(t.Shape) {
			b = le.AppendUint64(b, uint64(d))
		}
		number, _ := t.Type.GGUF()
		b = le.AppendUint32(b, number)
		b = le.AppendUint64(b, offset)
		offset += (uint64(size) + ggufAlign - 1) &^ (ggufAlign - 1)
	}
	return b, nil
}

// check validates a tensor and returns its size in bytes.
func (t *GGUFTensor) check() (int64, error) {
	if t.Type.Encoder() == nil {
		return 0, fmt.Errorf("values of type %.40q cannot be written", string(t.Type))
	}
	if len(t.Shape) < 1 || len(t.Shape) > maxGGUFDims {
		return 0, fmt.Errorf("%d dimensions, not 1 to %d", len(t.Shape), maxGGUFDims)
	}
	return sizeOf(t.Type, t.Shape)
}

// write writes the values of a tensor, some rows at a time.
func (t *GGUFTensor) write(w *bufio.Writer) error {
	values, err := product(t.Shape)
	if err != nil || values == 0 {
		return err
	}
	row := t.Shape[len(t.Shape)-1]
	buffer := make([]float32, min(values, max(1, ggufPiece/row)*row))
	var raw []byte
	total := 0
	encode := t.Type.Encoder()
	for from := 0; from < values; from += len(buffer) {
		part := buffer[:min(len(buffer), values-from)]
		if err := t.Read(part, from); err != nil {
			return err
		}
		if raw, err = encode(raw[:0], part); err != nil {
			return fmt.Errorf("values %d to %d: %w", from, from+len(part)-1, err)
		}
		total += len(raw)
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	_, err = w.Write(make([]byte, -total&(ggufAlign-1)))
	return err
}

func padded(b []byte) []byte { return append(b, make([]byte, -len(b)&(ggufAlign-1))...) }

func appendGGUFText(b []byte, s string, limit int) ([]byte, error) {
	if len(s) > limit {
		return nil, fmt.Errorf("string of %d bytes, at most %d", len(s), limit)
	}
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...), nil
}

// appendGGUFValue appends the type of a value and the value.
func appendGGUFValue(b []byte, value any) ([]byte, error) {
	le := binary.LittleEndian
	switch v := value.(type) {
	case uint32:
		return le.AppendUint32(le.AppendUint32(b, ggufUint32), v), nil
	case int32:
		return le.AppendUint32(le.AppendUint32(b, ggufInt32), uint32(v)), nil
	case float32:
		return le.AppendUint32(le.AppendUint32(b, ggufFloat32), math.Float32bits(v)), nil
	case bool:
		b = le.AppendUint32(b, ggufBool)
		if v {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case string:
		return appendGGUFText(le.AppendUint32(b, ggufString), v, maxGGUFString)
	case []string:
		b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, ggufArray), ggufString), uint64(len(v)))
		for i, s := range v {
			var err error
			if b, err = appendGGUFText(b, s, maxGGUFString); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return b, nil
	case []int32:
		b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, ggufArray), ggufInt32), uint64(len(v)))
		for _, n := range v {
			b = le.AppendUint32(b, uint32(n))
		}
		return b, nil
	}
	return nil, fmt.Errorf("values of type %T cannot be written", value)
}
