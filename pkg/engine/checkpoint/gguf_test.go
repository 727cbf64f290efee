package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
)

// ggufBuilder writes the parts of a GGUF file without checking anything.
type ggufBuilder struct{ bytes.Buffer }

func gguf(version uint32, tensors, keys uint64) *ggufBuilder {
	b := &ggufBuilder{}
	b.WriteString("GGUF")
	return b.u32(version).u64(tensors).u64(keys)
}

func (b *ggufBuilder) u32(v uint32) *ggufBuilder {
	b.Write(binary.LittleEndian.AppendUint32(nil, v))
	return b
}

func (b *ggufBuilder) u64(v uint64) *ggufBuilder {
	b.Write(binary.LittleEndian.AppendUint64(nil, v))
	return b
}

func (b *ggufBuilder) text(s string) *ggufBuilder {
	b.u64(uint64(len(s))).WriteString(s)
	return b
}

// tensor describes a tensor; the first dimension is the contiguous one.
func (b *ggufBuilder) tensor(name string, kind uint32, offset uint64, dims ...uint64) *ggufBuilder {
	b.text(name).u32(uint32(len(dims)))
	for _, d := range dims {
		b.u64(d)
	}
	return b.u32(kind).u64(offset)
}

// data pads the header and appends n zero bytes.
func (b *ggufBuilder) data(n int) []byte {
	b.Write(make([]byte, (32-b.Len()%32)%32+n))
	return b.Bytes()
}

const (
	kindF32  = 0
	kindQ4_0 = 2
)

func TestHostileGGUF(t *testing.T) {
	alignment := func(v uint32) *ggufBuilder { return gguf(3, 0, 1).text("general.alignment").u32(4).u32(v) }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"version", gguf(1, 0, 0).Bytes(), "GGUF version 1 is not supported"},
		{"version", gguf(4, 0, 0).Bytes(), "GGUF version 4 is not supported"},
		{"endian", gguf(3<<24, 0, 0).Bytes(), "big-endian"},
		{"tensors", gguf(3, 1<<60, 0).Bytes(), "1152921504606846976 tensors"},
		{"tensors", gguf(3, 2, 0).tensor("a", kindF32, 0).Bytes(), "2 tensors: offset 24: truncated"},
		{"keys", gguf(3, 0, 1<<60).Bytes(), "1152921504606846976 keys"},
		{"key length", gguf(3, 0, 1).u64(1 << 60).data(64), "key 0: offset 32: truncated"},
		{"key length", gguf(3, 0, 1).text(strings.Repeat("k", 70000)).data(64), "key 0: offset 32: string of 70000 bytes"},
		{"key twice", gguf(3, 0, 2).text("k").u32(4).u32(1).text("k").u32(4).u32(1).Bytes(), `key "k" appears twice`},
		{"type", gguf(3, 0, 1).text("k").u32(13).data(32), `key "k": value of unknown type 13`},
		{"array type", gguf(3, 0, 1).text("k").u32(9).u32(13).u64(0).data(32), `key "k": array of unknown type 13`},
		{"nested", gguf(3, 0, 1).text("k").u32(9).u32(9).u64(1).data(32), `key "k": arrays of arrays`},
		{"array", gguf(3, 0, 1).text("k").u32(9).u32(0).u64(1 << 60).data(32), `key "k": offset`},
		{"array", gguf(3, 0, 1).text("k").u32(9).u32(10).u64(1 << 61).data(32), `key "k": offset`},
		{"texts", gguf(3, 0, 1).text("k").u32(9).u32(8).u64(1 << 61).data(32), `key "k": offset`},
		{"text", gguf(3, 0, 1).text("k").u32(9).u32(8).u64(2).text("a").u64(1 << 60).data(32), `key "k": element 1: offset`},
		{"bool", gguf(3, 0, 1).text("k").u32(7).u32(2).Bytes(), `key "k": bool 0 is 2`},
		{"alignment", alignment(0).data(0), `"general.alignment": 0 is not a power of two`},
		{"alignment", alignment(24).data(0), `"general.alignment": 24 is not a power of two`},
		{"alignment", alignment(1 << 31).data(0), `is not a power of two`},
		{"alignment", gguf(3, 0, 1).text("general.alignment").u32(8).text("32").data(0), `string where`},
		{"overlap", gguf(3, 2, 0).tensor("a", kindF32, 0, 8).tensor("b", kindF32, 0, 8).data(64), `tensor "b": offset 0 where 32 was expected`},
		{"hole", gguf(3, 2, 0).tensor("a", kindF32, 0, 8).tensor("b", kindF32, 64, 8).data(96), `tensor "b": offset 64 where 32 was expected`},
		{"first hole", gguf(3, 1, 0).tensor("a", kindF32, 32, 8).data(64), `tensor "a": offset 32 where 0 was expected`},
		{"misaligned", gguf(3, 2, 0).tensor("a", kindF32, 0, 1).tensor("b", kindF32, 4, 1).data(36), `tensor "b": offset 4 is not a multiple of 32`},
		{"offset", gguf(3, 1, 0).tensor("a", kindF32, 1<<63, 8).data(64), `tensor "a": offset 9223372036854775808 is impossible`},
		{"twice", gguf(3, 2, 0).tensor("a", kindF32, 0, 8).tensor("a", kindF32, 32, 8).data(64), `tensor "a" appears twice`},
		{"short", gguf(3, 1, 0).tensor("a", kindF32, 0, 8).data(31), `tensor "a": 32 bytes from offset 64 in a file of 95 bytes: truncated`},
		{"long", gguf(3, 1, 0).tensor("a", kindF32, 0, 8).data(33), `1 bytes after the last tensor`},
		{"rows", gguf(3, 1, 0).tensor("a", kindQ4_0, 0, 16, 2).data(18), `tensor "a": shape [2 16]: rows of 16 values`},
		{"scalar", gguf(3, 1, 0).tensor("a", kindQ4_0, 0).data(18), `rows of 1 values`},
		{"dims", gguf(3, 1, 0).tensor("a", kindF32, 0, 1, 1, 1, 1, 1).data(32), `tensor "a": 5 dimensions`},
		{"dims", gguf(3, 1, 0).text("a").u32(1 << 31).data(32), `tensor "a": 2147483648 dimensions`},
		{"shape", gguf(3, 1, 0).tensor("a", kindF32, 0, 1<<63).data(32), `tensor "a": dimensions [9223372036854775808] are impossible`},
		{"shape", gguf(3, 1, 0).tensor("a", kindF32, 0, 1<<60).data(32), `tensor "a": 4611686018427387904 bytes from offset 64 in a file of 96 bytes: truncated`},
		{"shape", gguf(3, 1, 0).tensor("a", kindF32, 0, 1<<62).data(32), `is impossible`},
		{"shape", gguf(3, 1, 0).tensor("a", 28, 0, 1<<60).data(32), `is impossible`},
		{"shape", gguf(3, 1, 0).tensor("a", kindF32, 0, 1<<32, 1<<32).data(32), `is impossible`},
		{"type", gguf(3, 1, 0).tensor("a", 4, 0, 32).data(32), `tensor "a": type Q4_2 is not supported, only F32, F16, Q4_0`},
		{"type", gguf(3, 1, 0).tensor("a", 1<<31, 0, 32).data(32), `tensor "a": type 2147483648, which is unknown, is not supported`},
		{"empty", nil, "truncated"},
		{"magic", []byte("GGML0000"), `is not a GGUF file: it does not begin with "GGUF"`},
	} {
		_, err := checkpoint.OpenGGUF(bytes.NewReader(c.data), int64(len(c.data)), "x.gguf")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "checkpoint x.gguf: ") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Version 2 has the same layout; the last tensor need not be padded; a file may contain
// only keys.
func TestLegalGGUF(t *testing.T) {
	data, err := os.ReadFile("testdata/q8_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	data[4] = 2
	f, err := openBytes(data)
	if err != nil || len(f.Tensors) != 2 {
		t.Fatal(err)
	}
	for _, data := range [][]byte{
		gguf(3, 1, 0).tensor("a", kindF32, 0, 1).data(4),
		gguf(3, 1, 0).tensor("a", kindF32, 0, 1).data(32),
		gguf(3, 1, 0).tensor("a", kindF32, 0).data(4),
		gguf(3, 2, 0).tensor("a", kindF32, 0, 0, 5).tensor("b", kindF32, 0, 2).data(8),
		gguf(3, 0, 1).text("k").u32(4).u32(1).Bytes(),
	} {
		f, err := openBytes(data)
		if err != nil {
			t.Errorf("% x: %v", data, err)
			continue
		}
		readAll(t, f, int64(len(data)))
	}
}
