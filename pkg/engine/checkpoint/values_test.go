package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// Parts of a tensor equal those of the whole tensor, for every type.
func TestValues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, bin := range files {
		f := open(t, strings.TrimSuffix(filepath.Base(bin), ".bin"))
		for _, name := range convertible(f) {
			info, _ := f.Tensor(name)
			want, err := f.Float32(name, nil)
			if err != nil || !info.Type.Convertible() {
				t.Fatal(name, err)
			}
			block := blockLength(info.Type)
			half := len(want) / 2 / block * block
			for _, from := range []int{0, block, half, max(0, len(want)-block), len(want)} {
				for _, n := range []int{0, block, 3 * block, len(want) - from} {
					if n = min(n, len(want)-from); n < 0 {
						continue
					}
					got := make([]float32, n)
					if err := f.Values(name, from, got); err != nil || !slices.Equal(got, want[from:from+n]) {
						t.Errorf("%s: values %d to %d differ (%v)", name, from, from+n, err)
					}
				}
			}
			if block > 1 {
				for _, c := range [][2]int{{1, block}, {0, block - 1}, {block, 1}} {
					err := f.Values(name, c[0], make([]float32, c[1]))
					if len(want) >= c[0]+c[1] && (err == nil || !strings.Contains(err.Error(), "are not whole blocks")) {
						t.Errorf("%s: %v: %v", name, c, err)
					}
				}
			}
		}
	}
}

func blockLength(d dtype.Type) int {
	switch d {
	case dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q8_0, dtype.IQ4NL, dtype.MXFP4:
		return 32
	case dtype.Q2K, dtype.Q3K, dtype.Q4K, dtype.Q5K, dtype.Q6K, dtype.IQ4XS:
		return 256
	}
	return 1
}

func TestValuesRefused(t *testing.T) {
	data := binary.LittleEndian.AppendUint32(make([]byte, 12), math.Float32bits(float32(math.Inf(1))))
	f := openTensors(t, tensor{"x", "F32", []int{2, 2}, data}, tensor{"n", "I32", []int{4}, make([]byte, 16)})
	for _, c := range []struct {
		name    string
		from, n int
		want    string
	}{
		{"none", 0, 1, `checkpoint x.bin: tensor "none": missing`},
		{"x", -1, 1, `checkpoint x.bin: tensor "x": values -1 to 0 of 4 were requested`},
		{"x", 0, 5, "values 0 to 5 of 4"},
		{"x", 4, 1, "values 4 to 5 of 4"},
		{"x", math.MaxInt, 1, "of 4 were requested"},
		{"x", 2, 2, `checkpoint x.bin: tensor "x": value 3 is +Inf`},
		{"n", 0, 1, `tensor "n": type I32 cannot be converted`},
	} {
		err := f.Values(c.name, c.from, make([]float32, c.n))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %d %d: %v, want %q", c.name, c.from, c.n, err, c.want)
		}
	}
	if err := f.Values("x", 0, make([]float32, 3)); err != nil {
		t.Error(err)
	}
	info, _ := f.Tensor("n")
	if info.Type.Convertible() || dtype.Type("x").Convertible() || f.Holder(info) != "x.bin" || f.Name() != "x.bin" {
		t.Errorf("%s in %s", info.Type, f.Holder(info))
	}
}

// splitFile returns file i of count, with a tensor of one value.
func splitFile(i, count, total int, name string) *fstest.MapFile {
	b := gguf(3, 1, 3)
	for key, v := range map[string]int{"split.no": i, "split.count": count, "split.tensors.count": total} {
		b.text(key).u32(4).u32(uint32(v))
	}
	b.tensor(name, kindF32, 0, 1)
	b.Write(make([]byte, (32-b.Len()%32)%32))
	b.u32(math.Float32bits(float32(i)))
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestSplit(t *testing.T) {
	whole := func() fstest.MapFS {
		fsys := fstest.MapFS{}
		for i := range 3 {
			fsys[fmt.Sprintf("d/m-%05d-of-00003.gguf", i+1)] = splitFile(i, 3, 3, fmt.Sprint("t", i))
		}
		return fsys
	}
	for i := range 3 {
		name := fmt.Sprintf("d/m-%05d-of-00003.gguf", i+1)
		f, err := checkpoint.Open(whole(), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Tensors) != 3 || len(f.Files()) != 3 || f.Name() != name {
			t.Errorf("%d tensors in %v of %s", len(f.Tensors), f.Files(), f.Name())
		}
		for k := range 3 {
			info, ok := f.Tensor(fmt.Sprint("t", k))
			if !ok || f.Holder(info) != fmt.Sprintf("d/m-%05d-of-00003.gguf", k+1) {
				t.Fatalf("tensor %d is in %v", k, info)
			}
			if v, err := f.Float32(info.Name, nil); err != nil || v[0] != float32(k) {
				t.Errorf("tensor %d is %v, %v", k, v, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for want, change := range map[string]func(fstest.MapFS){
		"d/m-00002-of-00003.gguf: open":                        func(f fstest.MapFS) { delete(f, "d/m-00002-of-00003.gguf") },
		"d/m-00002-of-00003.gguf: split.no is 2":               func(f fstest.MapFS) { f["d/m-00002-of-00003.gguf"] = splitFile(2, 3, 3, "t1") },
		"d/m-00002-of-00003.gguf: split.count is 1":            func(f fstest.MapFS) { f["d/m-00002-of-00003.gguf"] = splitFile(1, 1, 3, "t1") },
		`d/m-00002-of-00003.gguf: tensor "t0" appears twice`:   func(f fstest.MapFS) { f["d/m-00002-of-00003.gguf"] = splitFile(1, 3, 3, "t0") },
		"3 tensors in 3 files, not split.tensors.count, 4":     func(f fstest.MapFS) { f["d/m-00001-of-00003.gguf"] = splitFile(0, 3, 4, "t0") },
		"d/m-00002-of-00003.gguf: not GGUF":                    func(f fstest.MapFS) { f["d/m-00002-of-00003.gguf"] = &fstest.MapFile{Data: safetensors("{}", 0)} },
		`d/m-00002-of-00003.gguf: key "split.no": no such key`: func(f fstest.MapFS) { f["d/m-00002-of-00003.gguf"] = &fstest.MapFile{Data: gguf(3, 0, 0).data(0)} },
	} {
		fsys := whole()
		change(fsys)
		if _, err := checkpoint.Open(fsys, "d/m-00001-of-00003.gguf"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for name, count := range map[string]int{"m.gguf": 2, "m-00001-of-09999.gguf": 9999} {
		if _, err := checkpoint.Open(fstest.MapFS{name: splitFile(0, count, 9, "t")}, name); err == nil || !strings.Contains(err.Error(), "one of ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A split model of one file is a whole model.
func TestSplitOfOne(t *testing.T) {
	f, err := checkpoint.Open(fstest.MapFS{"m.gguf": splitFile(0, 1, 1, "t")}, "m.gguf")
	if err != nil || len(f.Tensors) != 1 {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// Opening reads only headers. Values are read on request, and no others.
func TestReadsOnlyWhatIsNeeded(t *testing.T) {
	data, err := os.ReadFile("testdata/q8_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	r := &countingReader{r: bytes.NewReader(data)}
	f, err := checkpoint.OpenGGUF(r, int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	info := &f.Tensors[len(f.Tensors)-1]
	r.n = 0
	if err := f.Values(info.Name, 32, make([]float32, 32)); err != nil || r.n != 34 {
		t.Errorf("%d bytes were read for a block of 34 (%v)", r.n, err)
	}
}

type countingReader struct {
	r *bytes.Reader
	n int
}

func (c *countingReader) ReadAt(b []byte, offset int64) (int, error) {
	n, err := c.r.ReadAt(b, offset)
	c.n += n
	return n, err
}
