package transformer_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// blocks returns a tensor of random blocks of a type; its values have a standard deviation
// of about 0.05.
func blocks(t *testing.T, r *rand.Rand, kind dtype.Type, rows, cols int) transformer.Tensor {
	t.Helper()
	values, size := kind.Block()
	raw := make([]byte, rows*cols/values*size)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	d, minimum := map[dtype.Type]float64{ // of half of the codes and scales that are possible
		dtype.Q8_0: 1. / 80, dtype.Q4_0: 1. / 5, dtype.Q2K: 1. / 10, dtype.Q3K: 1. / 40, dtype.Q4K: 1. / 250, dtype.Q5K: 1. / 500, dtype.Q6K: 1. / 1400,
		dtype.Q4_1: 1. / 5, dtype.Q5_0: 1. / 10, dtype.Q5_1: 1. / 10, dtype.IQ4NL: 1. / 70, dtype.IQ4XS: 1. / 1200,
	}[kind]/20, map[dtype.Type]float64{dtype.Q2K: 1.5, dtype.Q4K: 7.5, dtype.Q5K: 15.5, dtype.Q4_1: -7.5, dtype.Q5_1: -15.5}[kind]
	for at := 0; at < len(raw); at += size {
		for i, half := range kind.Halves() {
			binary.LittleEndian.PutUint16(raw[at+half:], dtype.ToFloat16(float32(d*[]float64{1, minimum}[i])))
		}
		if kind == dtype.MXFP4 {
			raw[at] = byte(120 + r.IntN(3))
		}
	}
	all := make([]float32, rows*cols)
	if decode := kind.Decoder(); kind == dtype.F32 {
		for i := range all {
			all[i] = float32(r.NormFloat64() / 20)
		}
	} else {
		decode(all, raw)
	}
	return transformer.Tensor{
		Name: string(kind), Rows: rows, Cols: cols, Stored: transformer.FormatOf(kind),
		Read:       func(dst []float32, from int) error { copy(dst, all[from:]); return nil },
		ReadStored: func(dst []byte, from int) error { copy(dst, raw[from/values*size:]); return nil },
	}
}

// stored lists the types that are kept as files have them.
var stored = []dtype.Type{
	dtype.Q8_0, dtype.Q4_0, dtype.Q2K, dtype.Q3K, dtype.Q4K, dtype.Q5K, dtype.Q6K,
	dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.IQ4NL, dtype.IQ4XS, dtype.MXFP4,
}

// Pieces of a matrix that are stored in several formats keep them: in memory, in a packed
// file, and whatever the number of workers.
func TestStoredPieces(t *testing.T) {
	const width = 256
	r := rand.New(rand.NewPCG(1, 2))
	for i, kind := range stored {
		spec, w := plain(width, 1, 50)
		other := stored[(i+5)%len(stored)]
		d := &w.Decoder[0]
		d.QKV.Weight = []transformer.Tensor{
			blocks(t, r, kind, 256, width), blocks(t, r, kind, 256, width), blocks(t, r, other, 256, width),
		}
		d.QKV.Bias = vector("bias", 3*width)
		d.Up.Weight = []transformer.Tensor{
			blocks(t, r, kind, 48, width), blocks(t, r, other, 80, width), blocks(t, r, dtype.F32, 96, width), blocks(t, r, kind, 800, width),
		}
		d.Down.Weight = []transformer.Tensor{blocks(t, r, kind, width, 4*width)}
		w.Head.Weight = []transformer.Tensor{blocks(t, r, kind, 50, width)}
		w.Embed.Weight = []transformer.Tensor{blocks(t, r, other, 50, width)}
		exact, got := forward(t, spec, w, transformer.F32), forward(t, spec, w, transformer.Stored)
		if off := distance(got, exact); !(off > 0 && off < 0.03) {
			t.Errorf("%s, %s: logits are %.4f away", kind, other, off)
		}
		for _, workers := range []int{2, 3, 5} {
			if !slices.Equal(forwardWith(t, spec, w, transformer.Stored, workers), got) {
				t.Errorf("%s, %s: %d workers differ from one", kind, other, workers)
			}
		}
		again := unpacked(t, spec, w)
		if !slices.Equal(forward(t, spec, again, transformer.Stored), got) {
			t.Errorf("%s, %s: packed weights compute something else", kind, other)
		}
		if !slices.Equal(forward(t, spec, again, transformer.F32), exact) {
			t.Errorf("%s, %s: packed weights in float32 compute something else", kind, other)
		}
		if was, is := w.Bytes(spec, transformer.Stored), again.Bytes(spec, transformer.Stored); was != is {
			t.Errorf("%s, %s: %d bytes, packed %d", kind, other, was, is)
		}
		if n := w.Bytes(spec, transformer.Stored); n > w.Bytes(spec, transformer.F32)/2 {
			t.Errorf("%s, %s: %d bytes", kind, other, n)
		}
	}
}

// A pass over pieces in several formats allocates nothing.
func TestPiecesAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	spec, w := plain(256, 1, 50)
	w.Decoder[0].QKV.Weight = []transformer.Tensor{
		blocks(t, r, dtype.Q4K, 512, 256), blocks(t, r, dtype.Q6K, 128, 256), blocks(t, r, dtype.Q8_0, 128, 256),
	}
	m, err := transformer.New(spec, w, kernel.Best(), transformer.Stored)
	if err != nil {
		t.Fatal(err)
	}
	p, seqs := m.NewPass(nil), []transformer.Sequence{{Cache: m.NewCache(m.Context), Tokens: []int{1}, Logits: 1}}
	if n := testing.AllocsPerRun(20, func() { must(p.Forward(seqs)) }); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

// A piece that does not begin with a panel makes the matrix float32.
func TestStoredPiecesWithinPanels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		rows   int
		second dtype.Type
	}{{40, dtype.Q6K}, {48, dtype.F32}} {
		spec, w := plain(256, 1, 50)
		w.Decoder[0].Out.Weight = []transformer.Tensor{blocks(t, r, dtype.Q4K, c.rows, 256), blocks(t, r, c.second, 256-c.rows, 256)}
		if got, want := forward(t, spec, w, transformer.Stored), forward(t, spec, w, transformer.F32); !slices.Equal(got, want) {
			t.Errorf("%s after %d rows: the pieces were rounded", c.second, c.rows)
		}
	}
}

// An embedding that is the head too is not divided: its rows are looked up.
func TestStoredPiecesOfTheEmbedding(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	spec, w := plain(256, 1, 50)
	w.Embed.Weight, w.Head = []transformer.Tensor{blocks(t, r, dtype.Q4K, 32, 256), blocks(t, r, dtype.Q6K, 18, 256)}, transformer.Linear{}
	if got, want := forward(t, spec, w, transformer.Stored), forward(t, spec, w, transformer.F32); !slices.Equal(got, want) {
		t.Error("the embedding was rounded")
	}
}

// Opening a model of K-quants allocates at most 1.1 times the size of its blocks.
func TestStoredMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	spec, w := plain(512, 2, 4000)
	for i := range w.Decoder {
		d := &w.Decoder[i]
		d.QKV.Weight = []transformer.Tensor{blocks(t, r, dtype.Q4K, 1024, 512), blocks(t, r, dtype.Q6K, 512, 512)}
		d.Out.Weight = []transformer.Tensor{blocks(t, r, dtype.Q4K, 512, 512)}
		d.Up.Weight, d.Down.Weight = []transformer.Tensor{blocks(t, r, dtype.Q4K, 2048, 512)}, []transformer.Tensor{blocks(t, r, dtype.Q5K, 512, 2048)}
	}
	w.Embed.Weight, w.Head = []transformer.Tensor{blocks(t, r, dtype.Q6K, 4000, 512)}, transformer.Linear{}
	var blocks int64
	for _, d := range w.Decoder {
		for _, l := range []transformer.Linear{d.QKV, d.Out, d.Up, d.Down, w.Embed} {
			for _, t := range l.Weight {
				values, bytes := dtype.Type(t.Name).Block()
				blocks += int64(t.Rows * t.Cols / values * bytes)
			}
		}
	}
	values, bytes := dtype.Q6K.Block()
	blocks -= int64(4000 * 512 / values * bytes) // counted in both layers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := transformer.New(spec, w, kernel.Best(), transformer.Stored)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	const buffers = 6 << 20 // of loaders
	taken := int64(after.TotalAlloc - before.TotalAlloc)
	if most := blocks*11/10 + buffers; taken > most || m.Bytes() > blocks*11/10 {
		t.Errorf("%d bytes were allocated, %d for weights, whose blocks have %d", taken, m.Bytes(), blocks)
	}
}

// Pieces of a packed file that are missing, of the wrong shape or not joined are refused by
// their names.
func TestPiecesRefused(t *testing.T) {
	const first, second = "decoder.0.qkv.0", "decoder.0.qkv.1"
	r := rand.New(rand.NewPCG(9, 10))
	spec, w := plain(256, 1, 50)
	w.Decoder[0].QKV.Weight = []transformer.Tensor{blocks(t, r, dtype.Q4K, 512, 256), blocks(t, r, dtype.Q6K, 256, 256)}
	for _, c := range []struct {
		change func(file map[string]transformer.StoredTensor)
		want   string
	}{
		{func(f map[string]transformer.StoredTensor) { delete(f, first) }, `"decoder.0.qkv": missing`},
		{func(f map[string]transformer.StoredTensor) { delete(f, second) }, second + `": missing: its pieces have 512 rows of 768`},
		{func(f map[string]transformer.StoredTensor) { f[second] = f[first] }, second},
		{func(f map[string]transformer.StoredTensor) {
			x := f[second]
			x.Shape = []int{1 << 60, 1, 3392}
			f[second] = x
		}, second},
		{func(f map[string]transformer.StoredTensor) {
			x := f[second]
			x.Shape = []int{17, 1, 3392}
			f[second] = x
		}, second},
	} {
		file := packedFile(t, spec, w)
		c.change(file)
		_, err := transformer.Unpack(spec, func(name string, _ int, _ bool) (transformer.StoredTensor, bool) {
			s, ok := file[name]
			return s, ok
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// unpacked returns the weights as a packed file gives them back.
func unpacked(t *testing.T, spec *transformer.Spec, w *transformer.Weights) *transformer.Weights {
	t.Helper()
	file := packedFile(t, spec, w)
	return must(transformer.Unpack(spec, func(name string, _ int, _ bool) (transformer.StoredTensor, bool) {
		s, ok := file[name]
		return s, ok
	}))
}

// packedFile returns the tensors of a packed file by name.
func packedFile(t *testing.T, spec *transformer.Spec, w *transformer.Weights) map[string]transformer.StoredTensor {
	t.Helper()
	l, err := transformer.NewLayout(spec, w, kernel.Best(), transformer.Stored)
	if err != nil {
		t.Fatal(err)
	}
	file := map[string]transformer.StoredTensor{}
	for i, x := range l.Tensors {
		data := must(l.Load(i))
		s := transformer.StoredTensor{Floats: x.Format == transformer.F32, Shape: x.Shape, Bytes: func() []byte { return data }}
		if !s.Floats {
			s.Type = x.Format.Type()
		}
		file[x.Name] = s
	}
	return file
}

// distance returns the root mean square of the differences, relative to that of b.
func distance(a, b []float32) float64 {
	var off, size float64
	for i := range a {
		off += float64(a[i]-b[i]) * float64(a[i]-b[i])
		size += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(off / size)
}

// The matrices of a gated block may be kept in different formats.
func TestGatedFormats(t *testing.T) {
	spec, w := plain(64, 1, 50)
	spec.Kinds[0].FeedForward.Gated = true
	w.Decoder[0].Gate = matrix("gate", 256, 64)
	want := forward(t, spec, w, transformer.F32)
	all := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q8W, transformer.Q4_0}
	for _, up := range all {
		for _, gate := range all {
			mixed := *w
			mixed.Decoder = slices.Clone(w.Decoder)
			mixed.Decoder[0].Up = kept(t, spec, w, "decoder.0.up", up)
			mixed.Decoder[0].Gate = kept(t, spec, w, "decoder.0.gate", gate)
			far := 0.0
			for i, v := range forward(t, spec, &mixed, transformer.Stored) {
				far = max(far, math.Abs(float64(v-want[i])))
			}
			if far > 0.05 {
				t.Errorf("up in format %v, gate in %v: logits differ by %v", up, gate, far)
			}
		}
	}
}

// kept returns a matrix of w as stored in a packed file.
func kept(t *testing.T, spec *transformer.Spec, w *transformer.Weights, name string, f transformer.Format) transformer.Linear {
	t.Helper()
	l, err := transformer.NewLayout(spec, w, kernel.Best(), f)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(l.Tensors, func(x transformer.PackedTensor) bool { return x.Name == name })
	data := must(l.Load(i))
	return transformer.Linear{Weight: []transformer.Tensor{{
		Name: name, Rows: 256, Cols: 64, Stored: f, Packed: func() []byte { return data },
	}}}
}

func forward(t *testing.T, spec *transformer.Spec, w *transformer.Weights, f transformer.Format) []float32 {
	t.Helper()
	return forwardWith(t, spec, w, f, 1)
}

// forwardWith is forward with so many workers.
func forwardWith(t *testing.T, spec *transformer.Spec, w *transformer.Weights, f transformer.Format, workers int) []float32 {
	t.Helper()
	m, err := transformer.New(spec, w, kernel.Best(), f)
	if err != nil {
		t.Fatal(err)
	}
	team := transformer.NewTeam(workers)
	defer team.Close()
	p := m.NewPass(team)
	p.ShareAll = true
	return slices.Clone(must(p.Forward([]transformer.Sequence{{Cache: m.NewCache(4), Tokens: []int{1, 2, 3}, Logits: 3}})))
}
