package app

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/catalog"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// published is an app that serves the golden models of every architecture.
func published(t *testing.T, cfg Config) *App {
	t.Helper()
	cfg.Checkpoints = "../engine/arch/testdata"
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func post(t *testing.T, h http.Handler, path, body string) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // as the server does after an answer
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return w.Code, answer
}

// Directories of published models are found, described, opened and scored through
// TextSynth's route: what a text and its continuation score is what they score alone.
func TestPublishedModels(t *testing.T) {
	a := published(t, Config{})
	infos, err := a.Catalog().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scored := map[string]bool{}
	for _, info := range infos {
		if info.Type == "" || info.Context == 0 || info.Run != nil {
			t.Errorf("%s: %+v", info.Name, info)
		}
		m, err := a.Catalog().Open(t.Context(), info.Name)
		if err != nil { // most of them have no tokenizer
			continue
		}
		if m.Type == "M2M100" {
			continue
		}
		logprob := func(context, continuation string) (sum, tokens float64) {
			body, _ := json.Marshal(map[string]string{"context": context, "continuation": continuation})
			code, answer := post(t, a.Handler("textsynth"), "/v1/engines/"+info.Name+"/logprob", string(body))
			sum, _ = answer["logprob"].(float64)
			tokens, _ = answer["input_tokens"].(float64)
			if code != 200 || sum >= 0 || tokens < 2 {
				t.Fatalf("%s: %d %v", info.Name, code, answer)
			}
			return sum, tokens
		}
		first, _ := logprob("the hen", " and")
		second, _ := logprob("the hen and", " the fox")
		whole, tokens := logprob("the hen", " and the fox")
		if math.Abs(whole-first-second) > 1e-3 || tokens < 4 {
			t.Errorf("%s: %v for %v tokens, and %v + %v in parts", info.Name, whole, tokens, first, second)
		}
		scored[m.Type] = true
	}
	if len(scored) < 5 {
		t.Errorf("scored: %v", scored)
	}
}

// A model beyond the memory for weights is refused with the numbers; one after the
// other they all fit.
func TestPublishedModelsInLittleMemory(t *testing.T) {
	a := published(t, Config{Memory: 150 << 10})
	opened, refused := 0, 0
	for _, name := range []string{"gpt2", "gptj", "gpt_neox", "fairseq-dense", "llama-f32-gguf", "llama-q4_k-gguf"} {
		code, answer := post(t, a.Handler("textsynth"), "/v1/engines/"+name+"/logprob", `{"context":"the","continuation":" hen"}`)
		text, _ := answer["error"].(string)
		switch {
		case code == 200:
			opened++
		case code == 400 && strings.Count(text, "KiB")+strings.Count(text, "MiB") == 2:
			refused++
		default:
			t.Errorf("%s: %d %v", name, code, answer)
		}
	}
	if opened < 3 || refused < 1 {
		t.Errorf("%d were opened, %d refused", opened, refused)
	}
}

// A model with another tokenizer is another model, though its weights are the same.
func TestPublishedModelWithOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/m", os.DirFS("../engine/arch/testdata/gpt2")); err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Checkpoints: dir})
	if err != nil {
		t.Fatal(err)
	}
	open := func() llm.Backend {
		t.Helper()
		a.Catalog().Refresh()
		m, err := a.Catalog().Open(t.Context(), "m")
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

// A record's quantisation, or else the server's, is that of the weights in memory, and
// what is counted as their memory.
func TestQuant(t *testing.T) {
	records := fstest.MapFS{"a.json": {Data: []byte(
		`{"pk":"models","sk":"local-small","schema":{"checkpoint":"gpt2","quant":"q4_0"}}`)}}
	bytes := map[string]int64{}
	for _, quant := range []string{"", "f32", "q8_0"} {
		a := published(t, Config{Records: records, Quant: quant})
		for _, name := range []string{"gptj", "small"} {
			m, err := a.Catalog().Open(t.Context(), name)
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
	if _, err := New(Config{Quant: "q3_k"}); err == nil || !strings.Contains(err.Error(), "q3_k") {
		t.Errorf("an unknown one: %v", err)
	}
}

// The catalog knows the formats of the engine, which it may not import, by name.
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
