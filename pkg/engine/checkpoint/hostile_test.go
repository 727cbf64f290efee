package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/checkpoint"
)

// tensor is a tensor to write to a safetensors file.
type tensor struct {
	name, dtype string
	shape       []int
	data        []byte
}

// safetensors writes a file of a header and n zero bytes.
func safetensors(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

// manyKeys returns n members of an object.
func manyKeys(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%d":""`, i)
	}
	return strings.Join(list, ",")
}

func openTensors(t *testing.T, list ...tensor) *checkpoint.File {
	t.Helper()
	var entries []string
	var data []byte
	for _, x := range list {
		shape := strings.ReplaceAll(fmt.Sprint(x.shape), " ", ",")
		entries = append(entries, fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, x.name, x.dtype, shape, len(data), len(data)+len(x.data)))
		data = append(data, x.data...)
	}
	f, err := openBytes(append(safetensors("{"+strings.Join(entries, ",")+"}", 0), data...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// openBytes opens a file of either format.
func openBytes(data []byte) (*checkpoint.File, error) {
	open := checkpoint.OpenSafetensors
	if bytes.HasPrefix(data, []byte("GGUF")) {
		open = checkpoint.OpenGGUF
	}
	return open(bytes.NewReader(data), int64(len(data)), "x.bin")
}

// readAll converts every tensor and checks the invariants of a File.
func readAll(t testing.TB, f *checkpoint.File, size int64) {
	t.Helper()
	var dst []float32
	for _, info := range f.Tensors {
		if info.Offset < 0 || info.Size < 0 || info.Offset+info.Size > size {
			t.Fatalf("tensor %q: %d bytes at %d of %d", info.Name, info.Size, info.Offset, size)
		}
		if got, err := f.Float32(info.Name, dst); err == nil {
			if dst = got; len(got) != info.Elements() {
				t.Fatalf("tensor %q: %d values", info.Name, len(got))
			}
		}
	}
}

func entryOf(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"dtype":%q,"shape":%s,"data_offsets":%s}`, dtype, shape, offsets)
}

func TestHostileSafetensors(t *testing.T) {
	x := func(dtype, shape, offsets string) string { return `{"x":` + entryOf(dtype, shape, offsets) + `}` }
	two := func(a, b string) string {
		return `{"a":` + entryOf("U8", "[4]", a) + `,"b":` + entryOf("U8", "[4]", b) + `}`
	}
	for _, c := range []struct {
		header string
		data   int
		want   string
	}{
		{two("[0,4]", "[3,7]"), 7, `tensor "b": begins at 3 within tensor "a"`},
		{two("[0,4]", "[0,4]"), 4, `tensor "b": begins at 0 within tensor "a"`},
		{two("[0,4]", "[5,9]"), 9, `tensor "b": begins at 5, a hole of 1 bytes`},
		{two("[1,5]", "[5,9]"), 9, `tensor "a": begins at 1, a hole`},
		{two("[0,4]", "[4,8]"), 9, `1 bytes after the last tensor`},
		{two("[0,4]", "[4,8]"), 7, `tensor "b": 4 bytes from offset`},
		{`{}`, 1, `1 bytes after the last tensor`},
		{x("F32", "[2]", "[0,4]"), 4, `tensor "x": data_offsets [0 4], but shape [2] of F32 needs 8 bytes`},
		{x("F32", "[1]", "[4,0]"), 4, `tensor "x": data_offsets [4 0] are not a range`},
		{x("F32", "[1]", "[-4,0]"), 4, `are not a range`},
		{x("F32", "[1]", "[0,4,8]"), 4, `are not a range`},
		{x("F32", "[1]", "[4]"), 4, `are not a range`},
		{x("F32", "[1]", "[null,4]"), 4, `element 0 is null`},
		{x("F32", "[null]", "[0,0]"), 0, `tensor "x": shape: element 0 is null`},
		{x("F32", "null", "[0,4]"), 4, `missing`},
		{x("F32", "[-1]", "[0,4]"), 4, `shape [-1] is impossible`},
		{x("F32", "[1.5]", "[0,4]"), 4, `tensor "x": shape`},
		{x("F32", `["1"]`, "[0,4]"), 4, `tensor "x": shape`},
		{x("F64", "[1152921504606846976]", "[0,9223372036854775808]"), 4, `tensor "x": data_offsets`},
		{x("F64", "[1152921504606846976]", "[0,9223372036854775807]"), 4, `tensor "x": shape [1152921504606846976] is impossible`},
		{x("U8", "[1152921504606846976]", "[0,1152921504606846976]"), 4, `truncated`},
		{x("F32", "[4294967296,4294967296]", "[0,4]"), 4, `is impossible`},
		{x("F32", "[65536,65536,65536,65536]", "[0,0]"), 0, `is impossible`},
		{x("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, `9 dimensions`},
		{x("F32", "["+strings.Repeat("1,", 200)+"1]", "[0,4]"), 4, `too large`},
		{x("F8_E5M2", "[4]", "[0,4]"), 4, `tensor "x": dtype "F8_E5M2": of the eight-bit floats only F8_E4M3 is supported`},
		{x("Q4_0", "[32]", "[0,18]"), 18, `tensor "x": dtype "Q4_0" is not supported`},
		{x("", "[4]", "[0,4]"), 4, `missing`},
		{`{"x":{"dtype":"F32","shape":[1]}}`, 4, `tensor "x": dtype, shape or data_offsets is missing`},
		{`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4, `unknown member "more"`},
		{`{"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, `"dtype" appears twice`},
		{`{"x":` + entryOf("F32", "[1]", "[0,4]") + `,"\u0078":` + entryOf("F32", "[1]", "[4,8]") + `}`, 8, `"x" appears twice`},
		{`{"__metadata__":{"a":1}}`, 0, `__metadata__ "a"`},
		{`{"__metadata__":{"a":null}}`, 0, `null`},
		{`{"__metadata__":[]}`, 0, `header`},
		{`{"__metadata__":{` + manyKeys(1<<14+1) + `}}`, 0, `more than 16384 keys`},
		{`[]`, 0, `does not begin with an object`},
		{``, 9, `does not begin with an object`},
		{` {}`, 0, `does not begin with an object`},
		{`{} x`, 0, `after the object`},
		{`{"x":`, 0, `header`},
		{`{"` + strings.Repeat("x", 2000) + `":1}`, 0, `too large`},
	} {
		_, err := openBytes(safetensors(c.header, c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "checkpoint x.bin: ") {
			t.Errorf("%.100s: %v, want %q", c.header, err, c.want)
		}
	}
	// Unusual but legal: padding, empty tensors at the same offset.
	empty := entryOf("F32", "[0]", "[4,4]")
	if _, err := openBytes(safetensors(`{"a":`+empty+`,"b":`+entryOf("F32", "[1]", "[0,4]")+`,"c":`+empty+`}   `, 4)); err != nil {
		t.Error(err)
	}
	for _, n := range []uint64{1 << 60, math.MaxUint64, 100_000_001} {
		data := binary.LittleEndian.AppendUint64(nil, n)
		if _, err := openBytes(append(data, "{}"...)); err == nil || !strings.Contains(err.Error(), "header of") {
			t.Errorf("header of %d bytes: %v", n, err)
		}
	}
}

// weights returns the golden files except the index.
func weights(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"testdata/*.gguf", "testdata/*.safetensors"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if files[name], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files) != 17 {
		t.Fatalf("%d files, want 17", len(files))
	}
	return files
}

func TestTruncatedWeights(t *testing.T) {
	for name, data := range weights(t) {
		f, err := openBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		last := f.Tensors[len(f.Tensors)-1]
		for n := range int(last.Offset + last.Size) {
			if _, err := openBytes(data[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes are accepted", name, n, len(data))
			}
			// A file that shrinks after its size was read.
			open := checkpoint.OpenSafetensors
			if strings.HasSuffix(name, "gguf") {
				open = checkpoint.OpenGGUF
			}
			short, err := open(bytes.NewReader(data[:n]), int64(len(data)), "x.bin")
			if err != nil {
				continue
			}
			failed := false
			for _, info := range short.Tensors {
				r, err := short.Raw(info.Name)
				if err != nil {
					t.Fatal(err)
				}
				k, _ := io.Copy(io.Discard, r)
				failed = failed || k < info.Size
				if _, err := short.Float32(info.Name, nil); err == nil && k < info.Size {
					t.Fatalf("%s: tensor %q: %d of %d bytes are accepted", name, info.Name, k, info.Size)
				}
			}
			if !failed {
				t.Fatalf("%s: shrunk to %d of %d bytes it is accepted", name, n, len(data))
			}
		}
	}
}

// A flipped bit anywhere gives an error or a file with valid invariants.
func TestFlippedWeights(t *testing.T) {
	for _, data := range weights(t) {
		for i := range min(len(data), 1100) {
			for _, mask := range []byte{1, 0x80, 0xff} {
				data[i] ^= mask
				if f, err := openBytes(data); err == nil {
					readAll(t, f, int64(len(data)))
				}
				data[i] ^= mask
			}
		}
	}
}

// Neither lengths within the file's size nor those beyond it make a reader allocate more
// than it can read.
func TestWeightAllocation(t *testing.T) {
	array := gguf(3, 0, 1).text("k").u32(9).u32(0).u64(200 << 20).Bytes()
	texts := gguf(3, 0, 1).text("k").u32(9).u32(8).u64(20 << 20).Bytes()
	long := gguf(3, 0, 1).text("k").u32(8).u64(15 << 20).Bytes()
	header := append(binary.LittleEndian.AppendUint64(nil, 99_000_000), `{"x":`...)
	for i, data := range [][]byte{array, texts, long, header} {
		for _, size := range []int64{int64(len(data)), 1 << 50, math.MaxInt64} {
			open := checkpoint.OpenGGUF
			if i == 3 {
				open = checkpoint.OpenSafetensors
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := open(bytes.NewReader(data), size, "x.bin"); err == nil {
				t.Errorf("%d: accepted", i)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
				t.Errorf("%d of size %d: %d bytes allocated", i, size, n)
			}
		}
	}
}

func TestHostileIndex(t *testing.T) {
	shard := safetensors(`{"a":`+entryOf("U8", "[2]", "[0,2]")+`}`, 2)
	both := safetensors(`{"a":`+entryOf("U8", "[1]", "[0,1]")+`,"b":`+entryOf("U8", "[1]", "[1,2]")+`}`, 2)
	for _, c := range []struct{ index, want string }{
		{`{"weight_map":{"a":"1.safetensors"}}`, ""},
		{`{"weight_map":{"a":"both.safetensors"}}`, `tensor "b": is in both.safetensors, but the index has ""`},
		{`{"weight_map":{"a":"1.safetensors","b":"both.safetensors"}}`, `tensor "a": is in both.safetensors, but the index has "1.safetensors"`},
		{`{"weight_map":{"a":"1.safetensors","b":"1.safetensors"}}`, `tensor "b": missing in 1.safetensors`},
		{`{"weight_map":{"a":"2.safetensors"}}`, `shard 2.safetensors: `},
		{`{"weight_map":{"a":"cut.safetensors"}}`, `checkpoint dir/cut.safetensors: tensor "a": 2 bytes`},
		{`{"weight_map":{"a":"../secret"}}`, `tensor "a": "../secret" is not the name`},
		{`{"weight_map":{"a":"sub/1.safetensors"}}`, `is not the name`},
		{`{"weight_map":{"a":"/etc/passwd"}}`, `is not the name`},
		{`{"weight_map":{"a":"c:\\x"}}`, `is not the name`},
		{`{"weight_map":{"a":""}}`, `is not the name`},
		{`{"weight_map":{"a":"."}}`, `is not the name`},
		{`{"weight_map":{"a":"sub"}}`, `not a regular file`},
		{`{"weight_map":{"a":null}}`, `is not the name`},
		{`{"weight_map":{"a":1}}`, `tensor "a"`},
		{`{"weight_map":{"a":"1.safetensors","a":"1.safetensors"}}`, `"a" appears twice`},
		{`{"weight_map":{}}`, `names 0 files`},
		{`{}`, `names 0 files`},
		{`{"weight_map":{"a":"1.safetensors"}} 1`, `after the end`},
		{`[]`, `offset 0`},
		{``, `unexpected EOF`},
	} {
		fsys := fstest.MapFS{"dir/m.index.json": {Data: []byte(c.index)}, "dir/1.safetensors": {Data: shard}, "dir/both.safetensors": {Data: both},
			"dir/cut.safetensors": {Data: shard[:len(shard)-1]}, "dir/sub/x": {}, "secret": {Data: shard}}
		f, err := checkpoint.OpenSharded(fsys, "dir/m.index.json")
		if c.want == "" {
			if err != nil || len(f.Tensors) != 1 || f.Close() != nil {
				t.Errorf("%s: %v", c.index, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "checkpoint dir/m.index.json: ") {
			t.Errorf("%s: %v, want %q", c.index, err, c.want)
		}
	}
	if _, err := checkpoint.Open(fstest.MapFS{}, "none"); err == nil || !strings.Contains(err.Error(), "checkpoint none: ") {
		t.Errorf("no file: %v", err)
	}
}

func FuzzSafetensors(f *testing.F) {
	for name, data := range weights(f) {
		if strings.HasSuffix(name, "safetensors") {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if w, err := checkpoint.OpenSafetensors(bytes.NewReader(data), int64(len(data)), "x"); err == nil {
			readAll(t, w, int64(len(data)))
		}
	})
}

func FuzzGGUF(f *testing.F) {
	for name, data := range weights(f) {
		if strings.HasSuffix(name, "gguf") {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if w, err := checkpoint.OpenGGUF(bytes.NewReader(data), int64(len(data)), "x"); err == nil {
			readAll(t, w, int64(len(data)))
		}
	})
}

// A pointer of Git LFS, or another text, in place of a model is called what it is.
func TestForeignFiles(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
	read := map[string]func(text string) error{
		"safetensors": func(text string) error {
			_, err := checkpoint.OpenSafetensors(strings.NewReader(text), int64(len(text)), "m")
			return err
		},
		"GGUF": func(text string) error {
			_, err := checkpoint.OpenGGUF(strings.NewReader(text), int64(len(text)), "m")
			return err
		},
		"ALPH": func(text string) error {
			_, err := checkpoint.ReadAlpha(strings.NewReader(text), int64(len(text)), "m", checkpoint.Options{})
			return err
		},
	}
	for format, read := range read {
		if err := read(pointer); err == nil || !strings.Contains(err.Error(), "is a Git LFS pointer, not the model's file: run git lfs pull") {
			t.Errorf("%s: %v", format, err)
		}
		if err := read("Entry not found, or another text"); err == nil || !strings.Contains(err.Error(), format) || strings.Contains(err.Error(), "LFS") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
