package arch_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

var update = flag.Bool("update", false, "rewrite testdata/architectures.md")

// A checked lists the coverage of the goldens of one architecture.
type checked struct {
	configs                    int
	safetensors, gguf          map[string]bool // types of weights
	sharded                    bool
	hidden, batch              bool
	context                    int // of the longest text
	tokens, beams, word, rules bool
	worst                      float64 // difference of a logit
}

// elsewhere says how GGUF files of architectures without goldens are read.
var elsewhere = map[string]string{"DeepSeek-V3": "as DeepSeek-V2", "GLM": "not read", "GLM-4-MoE-Lite": "as DeepSeek-V2", "Granite 4": "as Granite", "Granite Swash": "as Granite", "InternLM3": "as Llama", "Mistral": "as Llama", "Mixtral": "as Llama", "OLMo 3": "as OLMo 2", "Solar Open": "as GLM-4-MoE", "Youtu-LLM": "as DeepSeek-V2", "mT5": "as T5", "umT5": "as T5"}

// survey reads the goldens, by the makers' names of the architectures.
func survey(t *testing.T) map[string]*checked {
	all := map[string]*checked{}
	for _, dir := range models(t) {
		m, err := arch.Open(os.DirFS("testdata"), dir)
		if err != nil {
			t.Fatal(err)
		}
		c := all[m.Name()]
		if c == nil {
			c = &checked{safetensors: map[string]bool{}, gguf: map[string]bool{}}
			all[m.Name()] = c
		}
		types := c.safetensors
		if name := weights(t, dir); strings.HasSuffix(name, ".gguf") {
			types = c.gguf
			addTypes(t, types, name)
		} else {
			c.configs++
			c.sharded = c.sharded || strings.HasSuffix(name, ".index.json")
			addTypes(t, types, name)
		}
		g := openGolden(t, dir, "golden.safetensors")
		c.hidden = c.hidden || g.has("hidden.1")
		c.batch = c.batch || g.has("batch.left.ids") || g.has("batch.source.ids")
		for _, name := range []string{"ids", "long.ids"} {
			if g.has(name) {
				c.context = max(c.context, g.shape(name)[0])
			}
		}
		for _, k := range kernel.Implementations() {
			for name, d := range run(t, build(t, m, k), g) {
				if name == "logits" || path.Ext(name) == ".logits" {
					c.worst = max(c.worst, d)
				}
			}
		}
		raw, err := os.ReadFile(filepath.Join("testdata", dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		c.word = c.word || strings.Contains(string(raw), `"texts"`)
		c.tokens = c.tokens || strings.Contains(string(raw), `"greedy`)
		c.beams = c.beams || strings.Contains(string(raw), `"searches"`)
		_, err = os.Stat(filepath.Join("testdata", dir, "beams.json"))
		c.rules = c.rules || err == nil
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// weights returns the file of a golden model's weights.
func weights(t *testing.T, dir string) string {
	t.Helper()
	for _, pattern := range []string{"*.index.json", "model.safetensors", "*.gguf"} {
		if files, _ := filepath.Glob(filepath.Join("testdata", dir, pattern)); len(files) > 0 {
			return path.Join(dir, filepath.Base(files[0]))
		}
	}
	t.Fatalf("%s has no weights", dir)
	return ""
}

// addTypes records the types of the matrices of a file.
func addTypes(t *testing.T, types map[string]bool, name string) {
	t.Helper()
	f, err := checkpoint.Open(os.DirFS("testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.Tensors {
		if len(f.Tensors[i].Shape) > 1 {
			types[string(f.Tensors[i].Type)] = true
		}
	}
}

// row returns the row of a table, with a bound of the differences: that of an earlier table if
// it holds.
func (c *checked) row(name string, bounds map[string]string) string {
	files := strings.Join(slices.Sorted(maps.Keys(c.safetensors)), ", ")
	if c.sharded {
		files += "; in shards"
	}
	gguf := strings.Join(slices.Sorted(maps.Keys(c.gguf)), ", ")
	if gguf == "" {
		gguf = cmp.Or(elsewhere[name], "the format has none")
	}
	bound := bounds[name]
	if limit, err := strconv.ParseFloat(bound, 64); err != nil || c.worst > limit {
		unit := math.Pow(10, math.Floor(math.Log10(2*c.worst)))
		bound = fmt.Sprintf("%.0e", min(tolerance, math.Ceil(2*c.worst/unit)*unit)) // room for other processors
	}
	var what []string
	for _, x := range []struct {
		so   bool
		text string
	}{
		{c.hidden, "every layer"}, {true, fmt.Sprintf("logits up to token %d", c.context)}, {c.batch, "padded batches"},
		{c.tokens, "greedy text"}, {c.beams, "searches with 1 to 5 beams"}, {c.rules, "searches with rules"}, {c.word, "tokens of texts"},
	} {
		if x.so {
			what = append(what, x.text)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s |\n", name, files, gguf, c.configs, strings.Join(what, ", "), bound)
}

// bounds returns the last column of a table.
func bounds(table string) map[string]string {
	out := map[string]string{}
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, "|"); len(cells) == 8 {
			out[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[6])
		}
	}
	return out
}

// The table of the README lists the goldens, which TestGoldens and related tests compare. No
// logit differs by more than its last column.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("measures differences, which the race detector does not change")
	}
	const file = "testdata/architectures.md"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := bounds(string(old))
	if *update {
		known = nil
	}
	all := survey(t)
	table := "| architecture | safetensors | GGUF | configurations | compared with the original | logits differ by at most |\n|---|---|---|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		table += c.row(name, known)
		if c.configs < 2 || !c.hidden || !c.batch || c.context < 100 {
			t.Errorf("%s: too little is checked: %+v", name, c)
		}
	}
	table += "| Alpha | its own JSON and binary files | | 7 activations | logits of the trainer's code; a float64 reference | 1e-06 |\n"
	if *update {
		if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !*update && string(old) != table {
		t.Errorf("%s is not up to date (go test ./pkg/engine/arch -update mends it):\n%s", file, table)
	}
}
