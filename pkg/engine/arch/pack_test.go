package arch_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
	"glossa/pkg/tokenizer"
)

// packed returns a model of testdata as a packed file.
func packed(t testing.TB, name string, f transformer.Format) []byte {
	t.Helper()
	m, err := arch.Open(os.DirFS("testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var b checkpointtest.File
	last := int64(-1)
	err = arch.Pack(&b, m, kernel.Best(), f, func(done, total int64) error {
		if done <= last || done > total {
			t.Errorf("%d bytes of %d after %d", done, total, last)
		}
		last = done
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.Data
}

// outputs returns the logits of a model for some tokens.
func outputs(t *testing.T, m *arch.Model, f transformer.Format) []float32 {
	t.Helper()
	model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), f)
	if err != nil {
		t.Fatal(err)
	}
	pass, ids := model.NewPass(nil), []int{1, 5, 9, 2, 7}
	seq := transformer.Sequence{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}
	if len(m.Spec.Encoder) > 0 {
		seq.Memory = must(pass.Encode([][]int{{3, 4, 6}}))[0]
	}
	return slices.Clone(must(pass.Forward([]transformer.Sequence{seq})))
}

// A packed model computes the same bits as its source in the same format, mapped or read,
// and has the same tokenizer and description. Two formats are those of all models, each of the others is
// that of every fourth.
func TestPack(t *testing.T) {
	others := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8W, transformer.Q4_0}
	for i, name := range models(t) {
		formats := []transformer.Format{transformer.Q8_0, transformer.Stored}
		if !testing.Short() {
			formats = append(formats, others[i%len(others)])
		}
		for _, f := range formats {
			data := packed(t, name, f)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "m.safetensors"), data, 0o644); err != nil {
				t.Fatal(err)
			}
			source := must(arch.Open(os.DirFS("testdata"), name))
			want := outputs(t, source, f)
			for place, fsys := range map[string]fs.FS{".": os.DirFS(dir), "m.safetensors": fstest.MapFS{"m.safetensors": {Data: data}}} {
				m, err := arch.Open(fsys, place)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !slices.Equal(outputs(t, m, transformer.Stored), want) {
					t.Errorf("%s, format %v, %s: computes something else", name, f, place)
				}
				same(t, name, m, source)
			}
			if err := source.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// same compares the descriptions of two models.
func same(t *testing.T, name string, got, want *arch.Model) {
	t.Helper()
	type said struct {
		kind, title   string
		template      chat.Source
		spec          transformer.Spec
		start, end    []int
		empty, tokens int
		translation   *arch.Translation
	}
	say := func(m *arch.Model) said {
		s := said{m.Type, m.Name(), m.Chat, *m.Spec, append([]int{}, m.Start...), append([]int{}, m.End...), m.Empty, m.Tokens, m.Translation}
		return s
	}
	if g, w := say(got), say(want); !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n%+v\n%+v", name, g, w)
	}
	if (got.Tokenizer == nil) != (want.Tokenizer == nil) {
		t.Fatalf("%s: tokenizer %v", name, got.Tokenizer)
	}
	if got.Tokenizer == nil {
		return
	}
	sameVocabulary(t, name, got, want)
	for _, text := range []string{"Hello, world!\n\nThe cat's  naïve 猫 12345 </s> <|endoftext|>", "", "\x00\xff"} {
		for _, encode := range []func(tokenizer.Tokenizer, string) []int{tokenizer.Tokenizer.Encode, tokenizer.Tokenizer.EncodeSpecial} {
			if g, w := encode(got.Tokenizer, text), encode(want.Tokenizer, text); !slices.Equal(g, w) {
				t.Errorf("%s: %q is %v, not %v", name, text, g, w)
			}
		}
	}
}

// sameVocabulary compares the bytes of tokens, which a packed model stores.
func sameVocabulary(t *testing.T, name string, got, want *arch.Model) {
	t.Helper()
	w, wantErr := want.Vocabulary()()
	g, err := got.Vocabulary()()
	if wantErr != nil || err != nil {
		if err == nil || wantErr == nil {
			t.Errorf("%s: vocabulary: %v, %v", name, err, wantErr)
		}
		return
	}
	for id := range want.Tokens {
		if g.Token(id) != w.Token(id) {
			t.Errorf("%s: token %d is %q, not %q", name, id, g.Token(id), w.Token(id))
		}
	}
}

// Packing stops at an error of progress, and the incomplete file is not a model.
func TestPackStops(t *testing.T) {
	m := must(arch.Open(os.DirFS("testdata"), "gpt2"))
	defer m.Close()
	var b checkpointtest.File
	enough := errors.New("enough")
	if err := arch.Pack(&b, m, kernel.Best(), transformer.Q8_0, func(_, _ int64) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if is, err := checkpoint.IsPack(inMemory(b.Data), "m.safetensors"); is || err != nil {
		t.Error("half a model looks like one")
	}
}

// A pass begins when the first weights are loaded: the last ones are not loaded before
// the first layer is computed.
func TestPackComesLate(t *testing.T) {
	data := packed(t, "llama", transformer.F32) // more than the first pieces, which are read at once
	f := must(checkpoint.Open(inMemory(data), "m.safetensors"))
	last, _ := f.Tensor("norm")
	file := &late{Reader: bytes.NewReader(data), after: last.Offset, come: make(chan struct{})}
	m := must(arch.Open(file, "m.safetensors"))
	model := must(transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored))
	pass, seen := model.NewPass(nil), 0
	pass.Hidden = func(_ bool, layer int, _ []float32) {
		if seen = layer; layer == 1 {
			close(file.come)
		}
	}
	seq := transformer.Sequence{Cache: model.NewCache(3), Tokens: []int{1, 2, 3}, Logits: 1}
	if _, err := pass.Forward([]transformer.Sequence{seq}); err != nil || seen != len(m.Spec.Decoder) {
		t.Errorf("%d layers, %v", seen, err)
	}
	if !file.asked.Load() {
		t.Error("nothing came late")
	}
}

// late is a file system of one file, whose end cannot be read before come is closed.
type late struct {
	*bytes.Reader
	after int64
	come  chan struct{}
	asked atomic.Bool
}

func (l *late) Open(string) (fs.File, error) { return l, nil }
func (l *late) Close() error                 { return nil }
func (l *late) Stat() (fs.FileInfo, error) {
	return fs.Stat(fstest.MapFS{"m": {Data: make([]byte, l.Size())}}, "m")
}

func (l *late) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) <= l.after {
		return l.Reader.ReadAt(p, at)
	}
	l.asked.Store(true)
	select {
	case <-l.come:
		return l.Reader.ReadAt(p, at)
	case <-time.After(time.Minute):
		return 0, errors.New("nobody computed the first layer")
	}
}

// A packed model can be kept in another format than its own.
func TestPackAgain(t *testing.T) {
	fsys := fstest.MapFS{"m.safetensors": {Data: packed(t, "llama", transformer.Q8_0)}}
	source := must(arch.Open(os.DirFS("testdata"), "llama"))
	defer source.Close()
	near := outputs(t, source, transformer.Q8_0)
	for _, f := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Q4_0} {
		got := outputs(t, must(arch.Open(fsys, ".")), f)
		worst := float32(0)
		for i := range got {
			worst = max(worst, max(got[i]-near[i], near[i]-got[i]))
		}
		if limit := map[transformer.Format]float32{transformer.F32: 0.6, transformer.BF16: 0.6, transformer.Q4_0: 4}[f]; worst > limit || worst == 0 {
			t.Errorf("format %v: logits differ by up to %v", f, worst)
		}
	}
	var b checkpointtest.File
	if err := arch.Pack(&b, must(arch.Open(fsys, ".")), kernel.Best(), transformer.Stored, func(_, _ int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	again := must(arch.Open(fstest.MapFS{"m.safetensors": {Data: b.Data}}, "."))
	if !slices.Equal(outputs(t, again, transformer.Stored), near) {
		t.Error("packed once more it computes something else")
	}
}

// A listing of a packed model reads no weights.
func TestDescribePack(t *testing.T) {
	data := packed(t, "gpt2", transformer.Q8_0)
	fsys := fstest.MapFS{"m/m.safetensors": {Data: data}}
	if is, err := arch.Detect(fsys, "m"); !is || err != nil {
		t.Fatal("no model was found", err)
	}
	i, err := arch.Describe(fsys, "m")
	if err != nil {
		t.Fatal(err)
	}
	want := must(arch.Describe(os.DirFS("testdata"), "gpt2"))
	if i.Type != want.Type || i.Parameters != want.Parameters || i.Context != want.Context || i.Size != int64(len(data)) ||
		i.Bytes[transformer.Stored] != want.Bytes[transformer.Q8_0] || i.Bytes[transformer.F32] != want.Bytes[transformer.F32] {
		t.Errorf("got %+v, want %+v", i, want)
	}
}

// Damage is found before a pass that needs the damaged tensor gives a result.
func TestPackDamage(t *testing.T) {
	data := packed(t, "gpt2", transformer.Q8_0)
	f := must(checkpoint.Open(fstest.MapFS{"m": {Data: data}}, "m"))
	for i := range f.Tensors {
		info := &f.Tensors[i]
		for what, open := range map[string]func([]byte) fs.FS{"read": inMemory, "mapped": func(b []byte) fs.FS { return onDisk(t, b) }} {
			broken := slices.Clone(data)
			broken[info.Offset+info.Size/2] ^= 0x40
			m, err := arch.Open(open(broken), ".")
			if err != nil {
				t.Fatal(err)
			}
			model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored)
			if err != nil {
				t.Fatal(err)
			}
			_, err = model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(2), Tokens: []int{1, 2}, Logits: 1}})
			if _, late := m.Vocabulary()(); info.Name == "tokens.trie" { // which no pass needs
				err = errors.Join(late, err)
			}
			if err == nil || !strings.Contains(err.Error(), info.Name) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s, %s: %v", info.Name, what, err)
			}
		}
	}
}

func inMemory(data []byte) fs.FS { return fstest.MapFS{"m.safetensors": {Data: data}} }

func onDisk(t testing.TB, data []byte) fs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.safetensors"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(dir)
}

// Changed and foreign descriptions are rejected by name.
func TestPackRefuses(t *testing.T) {
	data := packed(t, "gpt2", transformer.Q8_0)
	for _, c := range []struct{ old, new, want string }{
		{`glossa.version":"2"`, `glossa.version":"3"`, `version "3"`},
		{`glossa.version":"2"`, `glossa.version":"1"`, "glossa.model"},
		{`\"vocab\":`, `\"vocab\" `, "glossa.model"},
		{`\"width\":`, `\"widht\":`, "widht"},
		{`\"type\":\"gpt2\"`, `\"type\":\"gpt3\"`, "gpt3"},
		{`\"eps\":0.00001`, `\"eps\":0.00002`, "checksum"},
		{`\"kv_heads\":`, `\"kv_heads\":7`, "kinds[0].attention.kv_heads"},
		{`decoder.0.qkv"`, `decoder.0.qvk"`, `"decoder.0.qkv": missing`},
	} {
		if !bytes.Contains(data, []byte(c.old)) {
			t.Fatalf("there is no %s", c.old)
		}
		broken := bytes.Replace(data, []byte(c.old), []byte(c.new), 1)
		if grown := len(broken) - len(data); grown > 0 { // the header is padded
			broken = bytes.Replace(broken, []byte("}"+strings.Repeat(" ", grown)), []byte("}"), 1)
		}
		m, err := arch.Open(inMemory(broken), ".")
		if err == nil {
			var model *transformer.Model
			if model, err = transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored); err == nil {
				_, err = model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(2), Tokens: []int{1, 2}, Logits: 1}})
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "m.safetensors") {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	step := 7
	if testing.Short() {
		step = 200
	}
	for n := range data {
		if n%step == 0 || n < 200 {
			if m, err := arch.Open(inMemory(data[:n]), "m.safetensors"); err == nil {
				t.Fatalf("%d bytes of %d are a model: %+v", n, len(data), m)
			}
		}
	}
}

// describedIn returns the description in a packed model.
func describedIn(t testing.TB, data []byte) string {
	t.Helper()
	return must(must(checkpoint.Open(inMemory(data), "m.safetensors")).Meta.Text("glossa.model"))
}

// repacked returns a packed model with another description.
func repacked(t testing.TB, data []byte, model string) []byte {
	t.Helper()
	return rewriting{meta: func(meta map[string]string) { meta["glossa.model"] = model }}.of(t, data)
}

// FuzzPack opens packed models with arbitrary descriptions and right checksums: an opened
// model computes.
func FuzzPack(f *testing.F) {
	for _, name := range []string{"gpt2", "gpt2-inverse", "llama", "m2m_100"} {
		f.Add(describedIn(f, packed(f, name, transformer.Q8_0)), false)
		f.Add(version1(f, name), true)
	}
	data := packed(f, "llama", transformer.Q8_0)
	model := describedIn(f, data)
	for _, change := range newInVersion2() {
		f.Add(changedDescription(f, model, change), false)
	}
	f.Fuzz(func(t *testing.T, model string, old bool) {
		if !utf8.ValidString(model) {
			return
		}
		pack := repacked(t, data, model)
		if old {
			pack = relabelled(t, pack)
		}
		m, err := arch.Open(inMemory(pack), "m.safetensors")
		if err != nil {
			return
		}
		defer m.Close()
		checkModel(t, m)
		if m.Translation == nil {
			outputs(t, m, transformer.Stored)
		}
	})
}

// Every description of layers can be packed: any architecture computes the same bits as
// before, in every format.
func TestPackRandomArchitectures(t *testing.T) {
	formats := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q8W, transformer.Q4_0}
	for seed := range 60 {
		random := transformertest.Random(uint64(seed))
		m := &arch.Model{Type: "llama", Spec: random.Spec, Weights: random.Weights, Tokens: random.Spec.Vocab}
		if len(m.Spec.Encoder) > 0 {
			m.Translation = &arch.Translation{Search: arch.Search{Beams: 1, MaxLength: 10}}
		}
		var b checkpointtest.File
		f := formats[seed%len(formats)]
		if err := arch.Pack(&b, m, kernel.Best(), f, func(_, _ int64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		got := must(arch.Open(inMemory(b.Data), "."))
		same(t, fmt.Sprint("seed ", seed), got, m)
		if !slices.Equal(outputs(t, got, transformer.Stored), outputs(t, m, f)) {
			t.Errorf("seed %d, format %v: computes something else", seed, f)
		}
		if got.Weights.Elements() != m.Weights.Elements() {
			t.Errorf("seed %d: %d weights, not %d", seed, got.Weights.Elements(), m.Weights.Elements())
		}
	}
}
