package arch_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// Every value of a file is a weight of the model exactly once, except factors of
// frequencies: a value left out or read twice is detected.
func TestCoverage(t *testing.T) {
	drafts := map[string]string{"qwen3_5-gguf": "blk.4.", "glm4_moe-gguf": "blk.3.", "glm4_moe-normed-gguf": "blk.2.", "glm4_moe-normed": "model.layers.2.", "deepseek_v3-biased": "model.layers.2.", "glm4_moe_lite-gguf": "blk.2.", "nemotron_h-experts-gguf": "blk.4."}
	for _, name := range models(t) {
		info, err := arch.Describe(os.DirFS("testdata"), name)
		if err != nil {
			t.Error(err)
			continue
		}
		fsys, file := bare(t, name), "m/model.safetensors"
		for _, other := range []string{"m/model.safetensors.index.json", "m/model.gguf"} {
			if fsys[other] != nil {
				file = other
			}
		}
		want := int64(0)
		f, err := checkpoint.Open(fsys, file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Tensors {
			switch n := int64(f.Tensors[i].Elements()); {
			case strings.HasPrefix(f.Tensors[i].Name, "rope_f"), strings.HasSuffix(f.Tensors[i].Name, "_scales"), // factors, and scales of blocks
				f.Tensors[i].Name == "encoder.embed_tokens.weight",                                                                                                                            // of T5 and BART, a copy
				strings.HasPrefix(f.Tensors[i].Name, "mtp."), strings.HasPrefix(f.Tensors[i].Name, "model.visual."), drafts[name] != "" && strings.HasPrefix(f.Tensors[i].Name, drafts[name]): // not of the model of text
			case strings.HasSuffix(f.Tensors[i].Name, "_blocks"): // bytes of two values
				want += 2 * n
			case strings.HasSuffix(f.Tensors[i].Name, "coder.embed_positions.weight"):
				if !strings.HasPrefix(name, "pegasus") { // which computes them; the first rows of OPT and BART are not positions
					want += n - int64(2*f.Tensors[i].Shape[1])
				}
			default:
				want += n
			}
		}
		if name == "apertus-gguf" { // four numbers of each layer are keys
			want += 4 * 2
		}
		if strings.HasPrefix(name, "falcon_mamba") { // norms without weights are norms by ones
			want += 2 * (5 + 8 + 8)
		}
		if name == "gemma3n" { // three tokens have the first one's embedding of layers
			want += 3 * 6 * 12
		}
		if info.Parameters != want || !padded(info.Bytes[transformer.F32], 4*want) || info.Bytes[transformer.Stored] > max(info.Bytes[transformer.F32], info.Bytes[transformer.BF16]) || info.Bytes[transformer.Q4_0] >= info.Bytes[transformer.Q8_0] {
			t.Errorf("%s: %d parameters in %d bytes, want %d", name, info.Parameters, info.Bytes, want)
		}
		m := openIn(t, fsys, "m")
		if got, err := readAll(m.Weights); err != nil || got != want || m.Bytes(transformer.F32) != info.Bytes[transformer.F32] {
			t.Errorf("%s: %d values in %d bytes, want %d (%v)", name, got, m.Bytes(transformer.F32), want, err)
		}
	}
}

// padded reports whether memory is that of values with limited padding: at most three quarters as much
// again for these small models, whose experts are the smallest matrices, five quarters for smaller ones, and
// four times as much again for the smallest of them, whose matrices have fewer rows than a panel.
func padded(memory, values int64) bool {
	switch {
	case values < 12<<10:
		return memory >= values && memory <= 5*values
	case values < 36<<10:
		return memory >= values && memory <= 9*values/4
	}
	return memory >= values && memory <= 7*values/4
}

// The start and end tokens without a tokenizer.
func TestOpen(t *testing.T) {
	for _, c := range []struct {
		name, kind, title string
		empty             int
		end, start        []int
	}{
		{"gpt2", "gpt2", "GPT-2", 7, []int{5, 6}, nil},
		{"gptj", "gptj", "GPT-J", 7, []int{5, 6}, nil},
		{"gpt_neox", "gpt_neox", "GPT-NeoX", 7, []int{5, 6}, nil},
		{"xglm", "xglm", "XGLM", 5, []int{5, 6}, []int{5}},
		{"fairseq-dense", "xglm", "XGLM", 5, nil, []int{5}},
		{"llama", "llama", "Llama", 7, []int{5, 6}, nil},
		{"m2m_100", "m2m_100", "M2M100", 7, []int{5, 6}, nil},
	} {
		fsys := bare(t, c.name)
		set(t, fsys, "generation_config.json", map[string]any{"eos_token_id": []int{5, 6}, "bos_token_id": 7})
		m := openIn(t, fsys, "m")
		if m.Type != c.kind || m.Name() != c.title || m.Empty != c.empty || !slices.Equal(m.End, c.end) || !slices.Equal(m.Start, c.start) {
			t.Errorf("%s: %s %s, empty %d, end %v, start %v", c.name, m.Type, m.Name(), m.Empty, m.End, m.Start)
		}
		if m.Tokenizer != nil || m.Tokens != m.Spec.Vocab || len(m.Version) != 12 {
			t.Errorf("%s: tokens %d of %d, version %q", c.name, m.Tokens, m.Spec.Vocab, m.Version)
		}
	}
}

// The spelling of configurations before transformers 5 means the same.
func TestLegacyConfig(t *testing.T) {
	n := 0
	for _, name := range models(t) {
		fsys := bare(t, name)
		legacy := fsys["m/config.legacy.json"]
		if legacy == nil {
			continue
		}
		n++
		want := openIn(t, fsys, "m")
		changed := fstest.MapFS{}
		for file, f := range fsys {
			changed[file] = f
		}
		changed["m/config.json"] = legacy
		got := openIn(t, changed, "m")
		if !reflect.DeepEqual(got.Spec, want.Spec) || !slices.Equal(got.End, want.End) {
			t.Errorf("%s: %+v, want %+v", name, got.Spec, want.Spec)
		}
	}
	if n < 4 {
		t.Errorf("%d legacy configurations", n)
	}
}

// Queries, keys and values of a head are adjacent in GPT-NeoX.
func TestPerHead(t *testing.T) {
	fsys := bare(t, "gpt_neox")
	m := openIn(t, fsys, "m")
	all := load(t, fsys, "m/model.safetensors")
	name := "gpt_neox.layers.1.attention.query_key_value"
	d, width := m.Spec.Kinds[0].Attention, m.Spec.Width
	qkv := m.Weights.Decoder[1].QKV
	for _, c := range []struct {
		name   string
		pieces []transformer.Tensor
		cols   int
	}{{name + ".weight", qkv.Weight, width}, {name + ".bias", qkv.Bias, 1}} {
		f, err := checkpoint.Open(fstest.MapFS{"x": safetensors(map[string]stored{"x": all[c.name]})}, "x")
		if err != nil {
			t.Fatal(err)
		}
		file, err := f.Float32("x", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := valuesOf(t, c.pieces)
		for part := range 3 {
			for head := range d.Heads {
				to, from := (part*d.Heads+head)*d.HeadDim*c.cols, (3*head+part)*d.HeadDim*c.cols
				if n := d.HeadDim * c.cols; !slices.Equal(got[to:to+n], file[from:from+n]) {
					t.Errorf("%s: part %d of head %d differs", c.name, part, head)
				}
			}
		}
	}
}

func TestTied(t *testing.T) {
	embed := func(all map[string]stored) stored { return all["wte.weight"] }
	fsys := bare(t, "gpt2")
	tensors(t, fsys, func(all map[string]stored) { all["lm_head.weight"] = embed(all) })
	m := openIn(t, fsys, "m")
	if _, err := readAll(m.Weights); err != nil || m.Weights.Head.Weight != nil {
		t.Errorf("a repeated head: %v", err)
	}

	tensors(t, fsys, func(all map[string]stored) {
		head := embed(all)
		head.data = slices.Clone(head.data)
		head.data[len(head.data)-2] ^= 1
		all["lm_head.weight"] = head
	})
	m = openIn(t, fsys, "m")
	if _, err := readAll(m.Weights); err == nil || !strings.Contains(err.Error(), `"lm_head.weight"`) || !strings.Contains(err.Error(), `"wte.weight"`) {
		t.Errorf("another head: %v", err)
	}
	set(t, fsys, "config.json", map[string]any{"tie_word_embeddings": false})
	m = openIn(t, fsys, "m")
	if len(m.Weights.Head.Weight) != 1 || m.Weights.Head.Weight[0].Name != "lm_head.weight" {
		t.Errorf("a head of its own: %+v", m.Weights.Head)
	}
	tensors(t, fsys, func(all map[string]stored) { delete(all, "lm_head.weight") })
	checkRejected(t, "no head", fsys, `checkpoint m/model.safetensors: tensor "lm_head.weight": missing`)

	// Any of M2M100's names may be the stored one.
	for _, name := range []string{"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"} {
		fsys := bare(t, "m2m_100")
		tensors(t, fsys, func(all map[string]stored) {
			all[name] = all["model.shared.weight"]
			delete(all, "model.shared.weight")
		})
		if m := openIn(t, fsys, "m"); m.Weights.Embed.Weight[0].Name != name {
			t.Errorf("%s: the embedding is %s", name, m.Weights.Embed.Weight[0].Name)
		}
	}

	fsys = bare(t, "gptj")
	set(t, fsys, "config.json", map[string]any{"tie_word_embeddings": true})
	tensors(t, fsys, func(all map[string]stored) { delete(all, "lm_head.weight") })
	if m := openIn(t, fsys, "m"); m.Weights.Head.Weight != nil || len(m.Weights.Head.Bias) != 1 {
		t.Errorf("GPT-J tied: %+v", m.Weights.Head)
	}
}

// Names may have a prefix, and buffers may be present.
func TestNames(t *testing.T) {
	want := openIn(t, bare(t, "gpt2"), "m").Weights.Elements()
	fsys := bare(t, "gpt2")
	tensors(t, fsys, func(all map[string]stored) {
		for name, x := range all {
			delete(all, name)
			all["transformer."+strings.TrimPrefix(name, "transformer.")] = x
		}
		all["transformer.h.0.attn.bias"] = stored{"U8", []int{1, 1, 2, 2}, []byte{1, 0, 1, 1}}
		all["transformer.h.1.attn.masked_bias"] = numbers(0)
	})
	if got := openIn(t, fsys, "m").Weights.Elements(); got != want {
		t.Errorf("with a prefix: %d weights, want %d", got, want)
	}
	tensors(t, fsys, func(all map[string]stored) { all["wte.weight"] = all["transformer.wte.weight"] })
	checkRejected(t, "both", fsys, `conflicts with tensor`)

	fsys = bare(t, "gpt_neox")
	tensors(t, fsys, func(all map[string]stored) {
		all["lm_head.weight"] = all["embed_out.weight"]
		delete(all, "embed_out.weight")
	})
	if m := openIn(t, fsys, "m"); m.Weights.Head.Weight[0].Name != "lm_head.weight" {
		t.Error("GPT-NeoX's head has two names")
	}
}

// fairseq's language models may have learned positions, after two rows.
func TestLearnedPositions(t *testing.T) {
	for _, skip := range []int{0, 2} {
		fsys := bare(t, "xglm")
		m := openIn(t, fsys, "m")
		context, width := m.Spec.Context, m.Spec.Width
		table := numbers(3, context+skip, width)
		tensors(t, fsys, func(all map[string]stored) { all["model.embed_positions.weight"] = table })
		m = openIn(t, fsys, "m")
		if m.Spec.Position != transformer.Learned || m.Weights.Positions.Weight[0].Rows != context {
			t.Fatalf("%+v", m.Weights.Positions)
		}
		got := valuesOf(t, m.Weights.Positions.Weight)
		if want := float32((3+7*skip*width)%23-11) / 16; got[0] != want || len(got) != context*width {
			t.Errorf("skip %d: position 0 begins with %v, want %v", skip, got[0], want)
		}
	}
}

func TestDescribe(t *testing.T) {
	testdata := os.DirFS("testdata")
	i, err := arch.Describe(testdata, "gpt_neox-sequential")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	shards, err := os.ReadDir(path.Join("testdata", "gpt_neox-sequential"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range shards {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), "model-") {
			size += info.Size()
		}
	}
	if i.Type != "gpt_neox" || i.Name != "GPT-NeoX" || i.Context != 64 || i.Size != size || size == 0 || i.ModTime.IsZero() {
		t.Errorf("%+v, %d bytes of shards", i, size)
	}
	i, err = arch.Describe(testdata, "llama-q8_0-gguf")
	if err != nil || i.Type != "llama" || i.Size >= i.Bytes[transformer.F32] {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := arch.Describe(testdata, "none"); err == nil {
		t.Error("there is nothing to describe")
	}
}

func TestDetect(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	fsys := fstest.MapFS{
		"other/config.json":  file(`{"model_type":"plamo2"}`),
		"run/config.json":    file(`{"modelConfig":{}}`),
		"bad/config.json":    file(`{`),
		"number/config.json": file(`{"model_type":1}`),
		"one/a.gguf":         file(""),
		"two/a.gguf":         file(""), "two/b.gguf": file(""),
		"split/a-00001-of-00002.gguf": file(""), "split/a-00002-of-00002.gguf": file(""),
		"rest/a-00002-of-00002.gguf": file(""),
		"dir/config.json/x":          file(""), "dir/x.gguf/x": file(""),
	}
	for dir, want := range map[string]bool{
		"other": true, "run": false, "bad": false, "number": false, "one": true, "two": false, "split": true, "rest": false,
		"dir": false, "none": false, "one/a.gguf": false,
	} {
		if got, err := arch.Detect(fsys, dir); got != want || err != nil && dir != "none" {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
}

// unreadableFS has files that cannot be read.
type unreadableFS struct{ fstest.MapFS }

func (d unreadableFS) Open(name string) (fs.File, error) {
	f, err := d.MapFS.Open(name)
	if info, _ := d.MapFS.Stat(name); err == nil && !info.IsDir() {
		return unreadableFile{f}, nil
	}
	return f, err
}

type unreadableFile struct{ fs.File }

var errUnreadable = errors.New("the store is away")

func (unreadableFile) Read([]byte) (int, error) { return 0, errUnreadable }

// An unreadable file is not treated as absent: it may be a model.
func TestDetectUnreadable(t *testing.T) {
	file := &fstest.MapFile{Data: make([]byte, 100)}
	fsys := unreadableFS{fstest.MapFS{"a/config.json": file, "b/b.safetensors": file, "c.safetensors": file, "d/d.gguf": file, "e/notes.txt": file}}
	for dir, want := range map[string]error{"a": errUnreadable, "b": errUnreadable, "c.safetensors": errUnreadable, "d": nil, "e": nil} {
		if _, err := arch.Detect(fsys, dir); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
}

// Half of each head is rotated where the configuration does not say the share.
func TestPartialRotaryDefault(t *testing.T) {
	for _, name := range []string{"phi", "glm", "glm4", "nemotron"} {
		fsys := bare(t, name)
		want := openIn(t, fsys, "m")
		set(t, fsys, "config.json", map[string]any{"rope_parameters": map[string]any{"rope_type": "default", "rope_theta": 1000.0}})
		if got := openIn(t, fsys, "m"); !reflect.DeepEqual(got.Spec.Rotaries, want.Spec.Rotaries) || got.Spec.Rotaries[0].Dims >= got.Spec.Kinds[0].Attention.HeadDim {
			t.Errorf("%s: %+v, want %+v", name, got.Spec.Rotaries, want.Spec.Rotaries)
		}
	}
}

// EXAONE 4 32B states the pattern of its layers in letters too, beside layer_types.
func TestPatternInLetters(t *testing.T) {
	fsys := bare(t, "exaone4")
	want := openIn(t, fsys, "m")
	set(t, fsys, "config.json", map[string]any{"sliding_window_pattern": "LLLG"})
	if got := openIn(t, fsys, "m"); !reflect.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("%+v, want %+v", got.Spec, want.Spec)
	}
}
