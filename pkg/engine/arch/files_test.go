package arch_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// A stored tensor is one of a file that a test writes.
type stored struct {
	dtype string
	shape []int
	data  []byte
}

// numbers returns a tensor of float32 with different values.
func numbers(first int, shape ...int) stored {
	n := 1
	for _, d := range shape {
		n *= d
	}
	var data []byte
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32((first+7*i)%23-11)/16))
	}
	return stored{"F32", shape, data}
}

// safetensors writes a file.
func safetensors(tensors map[string]stored) *fstest.MapFile {
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, data := map[string]entry{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		header[name] = entry{t.dtype, append([]int{}, t.shape...), [2]int{len(data), len(data) + len(t.data)}}
		data = append(data, t.data...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return &fstest.MapFile{Data: slices.Concat(raw, text, data)}
}

// load reads all tensors of a file.
func load(t testing.TB, fsys fs.FS, name string) map[string]stored {
	t.Helper()
	f, err := checkpoint.Open(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensors := map[string]stored{}
	for _, info := range f.Tensors {
		r, err := f.Raw(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, r.Size())
		if n, err := r.ReadAt(data, 0); n < len(data) {
			t.Fatal(err)
		}
		tensors[info.Name] = stored{string(info.Type), info.Shape, data}
	}
	return tensors
}

// copyOf returns a copy of a directory of testdata, without its goldens, as "m".
func copyOf(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	entries, err := os.ReadDir(path.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "golden.") {
			continue
		}
		data, err := os.ReadFile(path.Join("testdata", name, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fsys[path.Join("m", e.Name())] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// bare returns copyOf without the tokenizer.
func bare(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	fsys := copyOf(t, name)
	for _, file := range []string{"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "sentencepiece.bpe.model"} {
		delete(fsys, "m/"+file)
	}
	return fsys
}

// set changes members of a JSON file; nil removes one, and a missing file is empty.
func set(t testing.TB, fsys fstest.MapFS, name string, changes map[string]any) {
	t.Helper()
	members := map[string]any{}
	if f := fsys["m/"+name]; f != nil {
		d := json.NewDecoder(bytes.NewReader(f.Data))
		d.UseNumber()
		if err := d.Decode(&members); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range changes {
		if members[key] = value; value == nil {
			delete(members, key)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	fsys["m/"+name] = &fstest.MapFile{Data: data}
}

// tensors changes the tensors of a model in one file.
func tensors(t testing.TB, fsys fstest.MapFS, change func(map[string]stored)) {
	t.Helper()
	all := load(t, fsys, "m/model.safetensors")
	change(all)
	fsys["m/model.safetensors"] = safetensors(all)
}

func openIn(t testing.TB, fsys fs.FS, dir string) *arch.Model {
	t.Helper()
	m, err := arch.Open(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// checkRejected checks that a model cannot be opened, and the error.
func checkRejected(t *testing.T, what string, fsys fs.FS, want string) {
	t.Helper()
	m, err := arch.Open(fsys, "m")
	if err == nil {
		t.Errorf("%s: opened", what)
		m.Close()
		return
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "m/") && !strings.HasPrefix(err.Error(), "m: ") {
		t.Errorf("%s: %v, want %q and the file", what, err, want)
	}
}

// each calls f with every tensor of a model.
func each(w *transformer.Weights, f func(t *transformer.Tensor)) {
	vector := func(v transformer.Vector) {
		for i := range v {
			f(&v[i])
		}
	}
	linear := func(list ...transformer.Linear) {
		for _, l := range list {
			vector(l.Weight)
			vector(l.Bias)
		}
	}
	norm := func(list ...transformer.Norm) {
		for _, n := range list {
			vector(n.Weight)
			vector(n.Bias)
		}
	}
	linear(w.Embed, w.ProjectIn, w.Positions, w.DecoderPositions, w.Relative, w.CausalRelative, w.ProjectOut, w.Head, w.HeadDense, w.LayerEmbed, w.LayerProjection, w.StreamsIn)
	linear(w.StreamsOut...)
	norm(w.EmbedNorm, w.DecoderEmbedNorm, w.DecoderNorm, w.EncoderNorm, w.HeadNorm, w.LayerNorm)
	for _, l := range slices.Concat(w.Decoder, w.Encoder) {
		norm(l.AttentionNorm, l.CrossNorm, l.FFNNorm, l.AttentionPostNorm, l.CrossPostNorm, l.FFNPostNorm, l.QNorm, l.KNorm, l.InputNorm, l.RouterNorm, l.ExpertsNorm, l.SharedPostNorm, l.ExpertsPostNorm, l.StreamsNorm, l.LaurelNorm)
		linear(l.QKV, l.Relative, l.Out, l.CrossQ, l.CrossKV, l.CrossOut, l.Up, l.Gate, l.Down, l.Router, l.SharedGate, l.ConvolutionIn, l.ConvolutionOut, l.StatesIn, l.StatesSelection, l.StatesSteps, l.StatesOut, l.DeltasIn, l.DeltasOut, l.InputGate, l.InputOut, l.LatentQueries)
		linear(l.StreamsRouter, l.StreamsPredict, l.StreamsCorrect, l.LaurelLeft, l.LaurelRight)
		for _, e := range l.Experts {
			linear(e.Up, e.Gate, e.Down)
		}
		for _, h := range l.LatentHeads {
			vector(h.Key)
			vector(h.Value)
		}
		vector(l.Sinks)
		vector(l.Correction)
		vector(l.Convolution)
		vector(l.ConvolutionBias)
		for _, v := range []transformer.Vector{l.Step, l.Decay, l.Skip, l.StepNorm, l.InnerNorm, l.Scale, l.ExpertScale, l.StreamsScale} {
			vector(v)
		}
		for _, v := range l.Learned {
			vector(v)
		}
	}
}

// readAll reads every tensor of a model.
func readAll(w *transformer.Weights) (values int64, err error) {
	each(w, func(t *transformer.Tensor) {
		if t.Packed != nil {
			values += int64(t.Rows) * int64(t.Cols)
			return
		}
		dst := make([]float32, t.Rows*t.Cols)
		values += int64(len(dst))
		if e := t.Read(dst, 0); e != nil && err == nil {
			err = fmt.Errorf("%s: %w", t.Name, e)
		}
	})
	return values, err
}

// valuesOf returns the values of a vector or matrix, piece after piece.
func valuesOf(t *testing.T, pieces []transformer.Tensor) (all []float32) {
	t.Helper()
	for _, piece := range pieces {
		dst := make([]float32, piece.Rows*piece.Cols)
		if err := piece.Read(dst, 0); err != nil {
			t.Fatal(err)
		}
		all = append(all, dst...)
	}
	return all
}
