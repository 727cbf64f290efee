package checkpoint_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// Stored values are read as in the file, whole or in parts, for bfloat16 and the types that
// have blocks; other types return an error.
func TestStored(t *testing.T) {
	seen := map[dtype.Type]bool{}
	for _, name := range []string{"q8_0.gguf", "q4_0.gguf", "q5_0.gguf", "floats.safetensors"} {
		f := open(t, name)
		for i := range f.Tensors {
			info := &f.Tensors[i]
			r, err := f.Raw(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			whole := make([]byte, len(raw))
			err = f.Stored(info.Name, 0, whole)
			if kept := info.Type == dtype.Q8_0 || info.Type == dtype.Q4_0 || info.Type == dtype.Q5_0 || info.Type == dtype.BF16 || info.Type == dtype.F16; !kept {
				if err == nil || !strings.Contains(err.Error(), "read as blocks") {
					t.Errorf("%s of %s: %v", info.Name, info.Type, err)
				}
				continue
			}
			seen[info.Type] = true
			if err != nil || !bytes.Equal(whole, raw) {
				t.Errorf("%s: differs (%v)", info.Name, err)
			}
			block := blockLength(info.Type)
			size := len(raw) / (info.Elements() / block)
			part := make([]byte, size)
			if err := f.Stored(info.Name, block, part); err != nil || !bytes.Equal(part, raw[size:2*size]) {
				t.Errorf("%s: the second block differs (%v)", info.Name, err)
			}
			for _, c := range [][2]int{{info.Elements(), size}, {-block, size}, {0, len(raw) + size}} {
				if err := f.Stored(info.Name, c[0], make([]byte, c[1])); err == nil || !strings.Contains(err.Error(), "were requested") {
					t.Errorf("%s: %v: %v", info.Name, c, err)
				}
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("only %v were there", seen)
	}
	if err := open(t, "q8_0.gguf").Stored("nowhere", 0, nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a tensor that is not there: %v", err)
	}
}

// A scale or value that is not finite is rejected with its index.
func TestStoredNotFinite(t *testing.T) {
	for _, kind := range []dtype.Type{
		dtype.Q8_0, dtype.Q4_0, dtype.Q2K, dtype.Q3K, dtype.Q4K, dtype.Q5K, dtype.Q6K,
		dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.IQ4NL, dtype.IQ4XS, dtype.MXFP4,
	} {
		values, block := kind.Block()
		data := make([]byte, 2*block)
		if halves := kind.Halves(); kind == dtype.MXFP4 {
			data[block] = 0xff
		} else {
			data[block+halves[len(halves)-1]+1] = 0x7c // infinity
		}
		b := gguf(3, 1, 0)
		id, _ := kind.GGUF()
		b.tensor("x", id, 0, uint64(2*values))
		b.Write(make([]byte, (32-b.Len()%32)%32))
		b.Write(data)
		f, err := checkpoint.OpenGGUF(bytes.NewReader(b.Bytes()), int64(b.Len()), "x.gguf")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Stored("x", 0, make([]byte, len(data))); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("value %d is +Inf", values)) {
			t.Errorf("type %s: %v", kind, err)
		}
	}
	for kind, data := range map[string][]byte{"BF16": {0x80, 0x3f, 0xc0, 0x7f}, "F16": {0xff, 0x7b, 0x00, 0x7e}} {
		entry := fmt.Sprintf(`{"x":%s}`, entryOf(kind, "[2]", "[0,4]"))
		f, err := openBytes(append(safetensors(entry, 0), data...))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Stored("x", 0, make([]byte, 4)); err == nil || !strings.Contains(err.Error(), "value 1 is NaN") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
