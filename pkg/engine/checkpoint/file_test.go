package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// convertible lists the names of the tensors that Float32 accepts, sorted.
func convertible(f *checkpoint.File) (names []string) {
	for _, t := range f.Tensors {
		switch t.Type {
		case dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U8, dtype.Bool:
		default:
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

func open(t testing.TB, name string) *checkpoint.File {
	t.Helper()
	f, err := checkpoint.Open(os.DirFS("testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// The values equal those that the packages which define the formats read from the same
// bytes (testdata/goldens.py), to the bit: package dtype says why no tolerance is needed.
func TestGoldenWeights(t *testing.T) {
	bins, err := filepath.Glob("testdata/*.bin")
	if err != nil || len(bins) != 16 {
		t.Fatalf("%d goldens, want 16 (%v)", len(bins), err)
	}
	for _, bin := range bins {
		want, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(bin), ".bin")
		f := open(t, name)
		var got []float32
		for _, tensor := range convertible(f) {
			values, err := f.Float32(tensor, nil)
			if err != nil {
				t.Fatal(err)
			}
			if info, _ := f.Tensor(tensor); len(values) != info.Elements() {
				t.Errorf("%s: tensor %q: %d values, want %d", name, tensor, len(values), info.Elements())
			}
			got = append(got, values...)
		}
		if len(got) != len(want)/4 || len(got) < 24 {
			t.Fatalf("%s: %d values, want %d", name, len(got), len(want)/4)
		}
		for i, v := range got {
			if w := binary.LittleEndian.Uint32(want[4*i:]); math.Float32bits(v) != w {
				t.Fatalf("%s: value %d is %v, want %v", name, i, v, math.Float32frombits(w))
			}
		}
	}
}

// All finite binary16 values, against the digest of numpy's conversion.
func TestHalf(t *testing.T) {
	want, err := os.ReadFile("testdata/half.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for bits := range 1 << 16 {
		if bits&0x7c00 != 0x7c00 {
			data = binary.LittleEndian.AppendUint16(data, uint16(bits))
		}
	}
	f := openTensors(t, tensor{"half", "F16", []int{len(data) / 2}, data})
	values, err := f.Float32("half", nil)
	if err != nil {
		t.Fatal(err)
	}
	var wide []byte
	for _, v := range values {
		wide = binary.LittleEndian.AppendUint32(wide, math.Float32bits(v))
	}
	if sum := sha256.Sum256(wide); hex.EncodeToString(sum[:]) != strings.TrimSpace(string(want)) {
		t.Errorf("digest %x, want %s", sum, want)
	}
}

func TestSafetensorsTensors(t *testing.T) {
	f := open(t, "floats.safetensors")
	shapes := map[string][]int{}
	end := int64(0)
	for _, info := range f.Tensors {
		shapes[info.Name+" "+string(info.Type)] = info.Shape
		if info.Offset < end {
			t.Errorf("tensor %q is not in the order of the file", info.Name)
		}
		end = info.Offset + info.Size
	}
	want := map[string][]int{"f64 F64": {3, 5}, "f32 F32": {2, 3, 4}, "f16 F16": {7}, "bf16 BF16": {4, 2}, "scalar F32": {}, "empty F32": {3, 0},
		"i64 I64": {2}, "i32 I32": {1}, "i16 I16": {1}, "i8 I8": {3}, "u8 U8": {2}, "bool BOOL": {3}}
	if !reflect.DeepEqual(shapes, want) {
		t.Errorf("tensors %v, want %v", shapes, want)
	}
	if !reflect.DeepEqual(f.Meta, checkpoint.Meta{"note": `café "quoted"`}) {
		t.Errorf("meta %v", f.Meta)
	}
	r, err := f.Raw("i64")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(raw, []byte{255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0x40}) {
		t.Errorf("i64 is % x, %v", raw, err)
	}
	if _, err := f.Float32("i64", nil); err == nil || !strings.Contains(err.Error(), `floats.safetensors: tensor "i64": type I64`) {
		t.Errorf("i64 as float32: %v", err)
	}
	if _, err := f.Float32("none", nil); err == nil {
		t.Error("a tensor that is not there was read")
	}
	if _, err := f.Raw("none"); err == nil {
		t.Error("a tensor that is not there was read")
	}
}

func TestSharded(t *testing.T) {
	f := open(t, "model.safetensors.index.json")
	var names []string
	for _, info := range f.Tensors {
		names = append(names, info.Name)
	}
	if want := []string{"layer.0.weight", "layer.10.weight", "layer.1.weight", "layer.11.weight"}; !slices.Equal(names, want) {
		t.Errorf("tensors %q, want %q", names, want)
	}
	if v, err := f.Meta.Text("format"); v != "pt" || err != nil {
		t.Errorf("format %q, %v", v, err)
	}
}

func TestGGUFKeys(t *testing.T) {
	f := open(t, "keys.gguf")
	want := checkpoint.Meta{"general.architecture": "gpt2", "general.alignment": uint32(64),
		"u8": uint8(255), "i8": int8(-128), "u16": uint16(65535), "i16": int16(-32768), "u32": uint32(1<<32 - 1), "i32": int32(-1 << 31),
		"u64": uint64(1<<64 - 1), "i64": int64(-1 << 63), "f32": float32(0.1), "f64": 0.1, "yes": true, "no": false, "text": "café\n",
		"texts": []string{"a", "", "Ġb"}, "floats": []float32{0.5, -1}, "ints": []int32{3, -4},
		"bools": []bool{true, false, true}, "bytes": []uint8{0, 255}}
	if !reflect.DeepEqual(f.Meta, want) {
		t.Errorf("keys %#v, want %#v", f.Meta, want)
	}
	for _, info := range f.Tensors {
		if info.Offset%64 != 0 {
			t.Errorf("tensor %q at %d", info.Name, info.Offset)
		}
	}
	if info, _ := f.Tensor("f32"); !slices.Equal(info.Shape, []int{2, 3, 5}) {
		t.Errorf("shape %v", info.Shape)
	}
}

func TestMeta(t *testing.T) {
	m := open(t, "keys.gguf").Meta
	for key, want := range map[string]int64{"u8": 255, "i8": -128, "u16": 65535, "i16": -32768, "u32": 1<<32 - 1, "i32": -1 << 31, "i64": -1 << 63} {
		if v, err := m.Int(key); v != want || err != nil {
			t.Errorf("%s = %d, %v", key, v, err)
		}
	}
	if v, err := m.Ints("ints"); !slices.Equal(v, []int64{3, -4}) || err != nil {
		t.Errorf("ints = %v, %v", v, err)
	}
	if v, err := m.Ints("bytes"); !slices.Equal(v, []int64{0, 255}) || err != nil {
		t.Errorf("bytes = %v, %v", v, err)
	}
	if v, err := m.Floats("floats"); !slices.Equal(v, []float32{0.5, -1}) || err != nil {
		t.Errorf("floats = %v, %v", v, err)
	}
	if v, err := m.Texts("texts"); len(v) != 3 || err != nil {
		t.Errorf("texts = %v, %v", v, err)
	}
	if v, err := m.Bool("yes"); !v || err != nil {
		t.Errorf("yes = %v, %v", v, err)
	}
	if _, err := m.Text("none"); !errors.Is(err, checkpoint.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
	for _, key := range []string{"u64", "text", "none"} {
		if v, err := m.Int(key); err == nil {
			t.Errorf("%s = %d", key, v)
		}
	}
	if _, err := m.Text("u8"); err == nil || errors.Is(err, checkpoint.ErrNoKey) {
		t.Errorf("a number as text: %v", err)
	}
}

// dst is used if it has room; a chunked read reaches the end of every chunk.
func TestFloat32Memory(t *testing.T) {
	const n = 3*65536 + 5
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)))
	}
	f := openTensors(t, tensor{"x", "F32", []int{n}, data}, tensor{"y", "F32", []int{2}, data[4:12]})
	dst := make([]float32, 7, n)
	got, err := f.Float32("x", dst)
	if err != nil || len(got) != n || &got[0] != &dst[0] {
		t.Fatalf("%d values, %v", len(got), err)
	}
	for i, v := range got {
		if v != float32(i) {
			t.Fatalf("value %d is %v", i, v)
		}
	}
	if got, err = f.Float32("y", got); err != nil || !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("y = %v, %v", got, err)
	}
}

func TestNotFinite(t *testing.T) {
	for _, x := range []tensor{
		{"nan", "F32", []int{3}, []byte{0, 0, 0, 0, 1, 0, 0x80, 0x7f, 0, 0, 0, 0}},
		{"inf", "F16", []int{2}, []byte{0, 0, 0, 0xfc}},
		{"inf", "BF16", []int{2}, []byte{0, 0, 0x80, 0xff}},
		{"big", "F64", []int{2}, binary.LittleEndian.AppendUint64(make([]byte, 8), math.Float64bits(1e39))},
	} {
		_, err := openTensors(t, x).Float32(x.name, nil)
		if err == nil || !strings.Contains(err.Error(), `tensor "`+x.name+`": value 1 is`) {
			t.Errorf("%s %s: %v", x.dtype, x.name, err)
		}
	}
}
