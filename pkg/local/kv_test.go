package local

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"glossa/pkg/catalog"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A record chooses the format of keys and values. Without, it follows from that of the weights.
func TestKV(t *testing.T) {
	records := fstest.MapFS{}
	for name, options := range map[string]string{
		"plain": `"quant":"f32"`, "exact": `"quant":"f32","kv":"f32"`, "half": `"quant":"f32","kv":"bf16"`,
		"small": `"quant":"q8_0"`, "small-half": `"quant":"q8_0","kv":"bf16"`, "small-exact": `"quant":"q8_0","kv":"f32"`,
	} {
		records[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"pk":"models","sk":"local-%s","schema":{"checkpoint":"gpt2",%s}}`, name, options)}
	}
	p := start(t, settings{checkpoints: goldens, records: records})
	said := map[string][]float64{}
	for name := range records {
		name := name[:len(name)-len(".json")]
		m, end := p.use(t, name)
		defer end()
		rows, _, err := llm.Collect(m.Backend.Generate(t.Context(), &llm.Request{
			Prompts: []llm.Prompt{llm.Text("the fox and the hen")}, Params: llm.Params{MaxTokens: new(9), Temperature: new(0.0), Logprobs: new(1)},
		}), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range rows[0].Tokens {
			said[name] = append(said[name], token.Logprob)
		}
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{{"plain", "exact", true}, {"plain", "half", false}, {"small", "small-half", true}, {"small", "small-exact", false}} {
		if got := slices.Equal(said[test.a], said[test.b]); got != test.same || len(said[test.a]) == 0 {
			t.Errorf("%s and %s have the same log-probabilities: %v: %v, %v", test.a, test.b, got, said[test.a], said[test.b])
		}
	}
}

// The catalog has the engine's formats of keys and values by name.
func TestKVs(t *testing.T) {
	formats := transformer.KVFormats()
	for _, name := range catalog.KVs() {
		if _, ok := formats[name]; !ok {
			t.Errorf("the engine has no format %q", name)
		}
	}
	if len(catalog.KVs()) != len(formats) {
		t.Errorf("records may name %v, the engine has %v", catalog.KVs(), formats)
	}
}

// Models with keys and values in two formats have weights of their own, and are counted so.
func TestKVOfBase(t *testing.T) {
	p := start(t, settings{checkpoints: adapted(t), records: fstest.MapFS{
		"half.json": {Data: []byte(`{"pk":"models","sk":"local-half","schema":{"checkpoint":"two","kv":"bf16"}}`)},
	}})
	total := int64(0)
	for _, name := range []string{"one", "half"} {
		_, end := p.use(t, name)
		defer end()
		total += must(p.Entry(t.Context(), name)).Run.Bytes
	}
	if held := p.heldBytes(); held["gpt2"]+held["one"]+held["half"] != total || len(p.loader.shared.byKey) != 2 {
		t.Errorf("held: %v, want %d in all; %d weights are in memory", held, total, len(p.loader.shared.byKey))
	}
}
