package arch_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// A published model: its configuration, and the tensors that transformers makes for it, by
// names in which * is the number of a layer. See testdata/sizes.py.
type published struct {
	Name      string
	Config    json.RawMessage
	Processor json.RawMessage // of pictures
	Tensors   map[string]counted
}

// A counted is a shape that several layers have, [count, shape].
type counted struct {
	n     int
	shape []int64
}

func (c *counted) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.n, &c.shape})
}

// hollow is a file whose data are zeros that nobody keeps.
type hollow struct {
	*strings.Reader // of the header
	size            int64
}

func (h *hollow) Stat() (fs.FileInfo, error) { return hollowInfo{size: h.size}, nil }
func (h *hollow) Close() error               { return nil }

func (h *hollow) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	if at >= h.Reader.Size() {
		return len(b), nil
	}
	n, err := h.Reader.ReadAt(b, at)
	if err == io.EOF {
		n, err = len(b), nil
	}
	return n, err
}

// hollowInfo describes a hollow file.
type hollowInfo struct {
	fs.FileInfo
	size int64
}

func (i hollowInfo) Size() int64       { return i.size }
func (i hollowInfo) Mode() fs.FileMode { return 0o644 }
func (i hollowInfo) IsDir() bool       { return false }
func (i hollowInfo) Name() string      { return "model.safetensors" }

// hollowFS has a directory with a model without data.
type hollowFS struct {
	fstest.MapFS
	header string
	size   int64
}

func (h hollowFS) Open(name string) (fs.File, error) {
	if name == "m/model.safetensors" && h.size > 0 {
		return &hollow{strings.NewReader(h.header), h.size}, nil
	}
	return h.MapFS.Open(name)
}

// files returns the directory of a published model, with weights in BF16.
func (p *published) files(t *testing.T) fs.FS {
	t.Helper()
	h := hollowFS{MapFS: fstest.MapFS{"m/config.json": {Data: p.Config}, "m/model.safetensors": {}}}
	if p.Processor != nil {
		h.MapFS["m/preprocessor_config.json"] = &fstest.MapFile{Data: p.Processor}
	}
	type info struct {
		Type    string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	header, end := map[string]info{}, int64(0)
	for _, name := range slices.Sorted(maps.Keys(p.Tensors)) {
		c, elements := p.Tensors[name], int64(1)
		for _, n := range c.shape {
			elements *= n
		}
		for layer := range c.n {
			header[strings.Replace(name, "*", fmt.Sprint(layer), 1)] = info{"BF16", c.shape, [2]int64{end, end + 2*elements}}
			end += 2 * elements
		}
	}
	raw, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	h.header = string(binary.LittleEndian.AppendUint64(nil, uint64(len(raw)))) + string(raw)
	h.size = int64(len(h.header)) + end
	return h
}

// parameters returns the number of weights that transformers counts.
func (p *published) parameters() (total int64) {
	for _, c := range p.Tensors {
		elements := int64(c.n)
		for _, n := range c.shape {
			elements *= n
		}
		total += elements
	}
	return total
}

// The tables of the README list published models: those that the engine reads, with the
// memory that it admits them with, and those that it does not read, with the reason.
func TestPublishedModels(t *testing.T) {
	raw, err := os.ReadFile("testdata/sizes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []published
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	sizes := "| model | weights | F32 | BF16 | Q8_0 | Q4_0 | KV cache, 4,096 tokens |\n|---|---|---|---|---|---|---|\n"
	refused := "| model | `model_type` | why it is rejected |\n|---|---|---|\n"
	for i := range all {
		p := &all[i]
		fsys := p.files(t)
		info, err := arch.Describe(fsys, "m")
		if p.Tensors == nil {
			refused += refusal(t, p, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		m := openIn(t, fsys, "m")
		cache := m.Weights.CacheBytes(m.Spec, transformer.BF16, 4096)
		// Tables of positions have rows that are not positions: two of each of these. BART has two tables.
		// DeBERTa has embeddings of distances and their norm, of which vectors of each layer are made.
		rows := map[string]int{"opt": 2, "xlm-roberta": 2, "mpnet": 2, "bart": 4, "mbart": 4, "deberta-v2": 514}[info.Type]
		var repeated int64 // rows of an embedding of layers that has fewer than the vocabulary
		for _, t := range m.Weights.LayerEmbed.Weight {
			if repeated += int64(t.Rows) * int64(t.Cols); t.Rows > 1 {
				repeated = 0
			}
		}
		if n := p.parameters() - info.Parameters + repeated; n != int64(rows*m.Spec.Width) {
			t.Errorf("%s: %d weights, transformers has %d more", p.Name, info.Parameters, n)
		}
		sizes += fmt.Sprintf("| %s | %s |", p.Name, short(info.Parameters))
		for _, f := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q4_0} {
			sizes += " " + short(info.Bytes[f]) + "B |"
		}
		if cache == 0 {
			sizes += " none |\n"
		} else {
			sizes += " " + short(cache) + "B |\n"
		}
	}
	if n := strings.Count(sizes, "\n") - 2 + strings.Count(refused, "\n") - 2; n < 50 || n != len(all) {
		t.Errorf("%d models in the tables, of %d", n, len(all))
	}
	compare(t, "testdata/sizes.md", sizes)
	compare(t, "testdata/refused.md", refused)
}

// refusal returns the row of a model that is not supported. The error must say what it needs.
func refusal(t *testing.T, p *published, err error) string {
	t.Helper()
	if err == nil {
		t.Errorf("%s is supported", p.Name)
		return ""
	}
	why, ok := strings.CutPrefix(err.Error(), "m/config.json: ")
	if !ok || strings.Contains(why, ", only ") {
		t.Errorf("%s: %v does not say what is missing", p.Name, err)
	}
	var config struct {
		Type string `json:"model_type"`
	}
	if err := json.Unmarshal(p.Config, &config); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("| %s | `%s` | %s |\n", p.Name, config.Type, why)
}

// short returns three digits of a number with a decimal unit.
func short(n int64) string {
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 4 {
		v, unit = v/1000, unit+1
	}
	digits := 0
	if v < 9.995 {
		digits = 2
	} else if v < 99.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, []string{"", "k", "M", "G", "T"}[unit])
}

// compare compares a generated table with a file, or writes it.
func compare(t *testing.T, file, table string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(file); err != nil || string(old) != table {
		t.Errorf("%s is not up to date (go test ./pkg/engine/arch -update mends it): %v\n%s", file, err, table)
	}
}
