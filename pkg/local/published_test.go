package local

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/catalog"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// Directories of published models are found, described, opened and scored: the score of a
// continuation is the sum of the scores of its parts.
func TestPublishedModels(t *testing.T) {
	p := start(t, settings{checkpoints: goldens})
	infos, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scored := map[string]bool{}
	for _, info := range infos {
		if info.Type == "" || info.Context == 0 || info.Run != nil || !info.InProcess {
			t.Errorf("%s: %+v", info.Name, info)
		}
		m, err := p.open(t, info.Name)
		if err != nil { // most of them have no tokenizer
			continue
		}
		if info.Name == "packs:alpha" || slices.Contains([]string{"M2M100", "Marian", "T5", "mT5", "umT5", "BART", "mBART", "Pegasus"}, m.Type) {
			continue // which has three tokens; these do not continue texts
		}
		logprob := func(prompt, continuation string) float64 {
			sum, err := p.logprob(t, info.Name, prompt, continuation)
			if err != nil || sum >= 0 {
				t.Fatalf("%s: %v %v", info.Name, sum, err)
			}
			return sum
		}
		first, second, whole := logprob("the hen", " and"), logprob("the hen and", " the fox"), logprob("the hen", " and the fox")
		if math.Abs(whole-first-second) > 1e-3 {
			t.Errorf("%s: %v, and %v + %v in parts", info.Name, whole, first, second)
		}
		scored[m.Type] = true
	}
	if len(scored) < 5 {
		t.Errorf("scored: %v", scored)
	}
}

// Several models in a directory have names of their own, and weights that cannot be opened
// are a problem with its reason, in the listing and for the client.
func TestDirectoriesOfSeveralFiles(t *testing.T) {
	file := func(name string) *fstest.MapFile {
		data, err := os.ReadFile(goldens + name)
		if err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: data}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{
		"tiny/tiny-Q8_0.gguf": file("llama-q8_0-gguf/model.gguf"), "tiny/tiny-F32.gguf": file("llama-f32-gguf/model.gguf"),
		"gpt2.gguf": file("gpt2-gguf/model.gguf"), "lora/adapter_config.json": {Data: []byte("{}")},
	}); err != nil {
		t.Fatal(err)
	}
	p := start(t, settings{checkpoints: dir})
	for _, name := range []string{"tiny:Q8_0", "tiny:F32", "gpt2"} {
		if _, err := p.score(t, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, problems := p.Entries(t.Context())
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "an adapter needs adapter_config.json and adapter_model.safetensors") {
		t.Errorf("problems %v", problems)
	}
	if _, err := p.score(t, "lora"); err == nil || !strings.Contains(err.Error(), "an adapter needs") {
		t.Errorf("lora: %v", err)
	}
}

// A model larger than the memory for weights is rejected with the numbers; the others
// fit one after the other.
func TestPublishedModelsInLittleMemory(t *testing.T) {
	p := start(t, settings{checkpoints: goldens, memory: 150 << 10})
	opened, refused := 0, 0
	for _, name := range []string{"gpt2", "gptj", "gpt_neox", "fairseq-dense", "llama-f32-gguf", "llama-q4_k-gguf"} {
		_, err := p.score(t, name)
		switch {
		case err == nil:
			opened++
		case codeOf(err) == llm.Unsupported && strings.Count(err.Error(), "MiB") == 2:
			refused++
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	if opened < 3 || refused < 1 {
		t.Errorf("%d were opened, %d refused", opened, refused)
	}
}

// A model with another tokenizer is another model, though its weights are the same.
func TestPublishedModelWithOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/m", os.DirFS(goldens+"gpt2")); err != nil {
		t.Fatal(err)
	}
	p := start(t, settings{checkpoints: dir})
	open := func() llm.Backend {
		t.Helper()
		p.Refresh()
		m, err := p.Open(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		return m.Backend
	}
	first := open()
	if open() != first {
		t.Error("nothing changed, and the model was opened again")
	}
	if err := os.Chtimes(dir+"/m/tokenizer.json", time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if open() == first {
		t.Error("the tokenizer changed, and the model is the same")
	}
}

// The weights in memory have the quantisation of the record, or of the loader by default;
// their size shows it.
func TestQuant(t *testing.T) {
	records := fstest.MapFS{"a.json": {Data: []byte(
		`{"pk":"models","sk":"local-small","schema":{"checkpoint":"gpt2","quant":"q4_0"}}`)}}
	bytes := map[string]int64{}
	for _, quant := range []string{"", "f32", "q8_0"} {
		p := start(t, settings{checkpoints: goldens, records: records, quant: quant})
		for _, name := range []string{"gptj", "small"} {
			m, err := p.open(t, name)
			if err != nil {
				t.Fatal(err)
			}
			weights, ok := m.Backend.(interface{ Bytes() int64 })
			if !ok {
				t.Fatalf("%T", m.Backend)
			}
			bytes[name+" "+quant] = weights.Bytes()
		}
	}
	if bytes["gptj "] != bytes["gptj f32"] || bytes["gptj q8_0"] >= bytes["gptj f32"] {
		t.Errorf("by the server: %v", bytes)
	}
	if bytes["small "] != bytes["small f32"] || bytes["small "] != bytes["small q8_0"] || bytes["small "] >= bytes["gptj f32"] {
		t.Errorf("by the record: %v", bytes)
	}
}

// The catalog has the engine's formats by name, because it may not import the engine.
func TestQuants(t *testing.T) {
	formats := transformer.Formats()
	for _, name := range catalog.Quants() {
		if _, ok := formats[name]; !ok {
			t.Errorf("the engine has no format %q", name)
		}
	}
	if len(catalog.Quants()) != len(formats) {
		t.Errorf("records may name %v, the engine has %v", catalog.Quants(), formats)
	}
}
