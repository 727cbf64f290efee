package engine_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// An embeddingGolden is a request and sentence-transformers' answer.
type embeddingGolden struct {
	Texts      []string `json:"texts"`
	Prompt     string   `json:"prompt"`
	Dimensions int      `json:"dimensions"`
	Tokens     []int    `json:"tokens"` // of each text, cut to the model's length
	Width      int      `json:"width"`
	Vectors    string   `json:"vectors"` // (texts, Width) in float32, base64
}

func (g *embeddingGolden) request() *llm.EmbedRequest {
	return embedTexts(g.Texts, func(r *llm.EmbedRequest) { r.PromptName, r.Dimensions = g.Prompt, g.Dimensions })
}

// embedTexts returns a request that cuts long texts.
func embedTexts(texts []string, change func(*llm.EmbedRequest)) *llm.EmbedRequest {
	r := &llm.EmbedRequest{Truncate: true}
	for _, text := range texts {
		r.Prompts = append(r.Prompts, llm.Text(text))
	}
	if change != nil {
		change(r)
	}
	return r
}

// vectors decodes the vectors of a golden.
func (g *embeddingGolden) vectors(t *testing.T) [][]float32 {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(g.Vectors)
	if err != nil || len(raw) != 4*g.Width*len(g.Texts) {
		t.Fatalf("%d bytes of vectors, %v", len(raw), err)
	}
	all := make([]float32, len(raw)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return slices.Collect(slices.Chunk(all, g.Width))
}

// encoderNames lists the golden encoders.
func encoderNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/encoders/*/golden.json")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d golden encoders, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

func readGoldens(t *testing.T, name string) (list []embeddingGolden) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/encoders", name, "golden.json"))
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func openEncoder(t *testing.T, dir string, cfg engine.Config) *engine.Encoder {
	t.Helper()
	m, err := arch.OpenPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.NewEncoder(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// vectorsOf returns the sentence vectors of a request.
func vectorsOf(t *testing.T, e *engine.Encoder, req *llm.EmbedRequest) ([][]float32, llm.Usage) {
	t.Helper()
	list, usage, err := e.Embed(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float32, len(list))
	for i := range list {
		out[i] = list[i].Layers[0].Vectors[0]
	}
	return out, usage
}

// difference returns the largest difference of an element.
func difference(a, b []float32) (most float64) {
	for i, v := range a {
		most = max(most, math.Abs(float64(v)-float64(b[i])))
	}
	return most
}

// Embeddings equal those of sentence-transformers, for each architecture, prompt, pooling and
// cut. Texts of several lengths are computed together, and beyond the model's length.
func TestEncoderGoldens(t *testing.T) {
	for _, name := range encoderNames(t) {
		t.Run(name, func(t *testing.T) {
			e := openEncoder(t, filepath.Join("testdata/encoders", name), engine.Config{})
			for c, g := range readGoldens(t, name) {
				got, usage := vectorsOf(t, e, g.request())
				for i, want := range g.vectors(t) {
					if len(got[i]) != len(want) {
						t.Fatalf("case %d, text %d: %d dimensions, want %d", c, i, len(got[i]), len(want))
					}
					if d := difference(got[i], want); !(d <= 1e-5) {
						t.Errorf("case %d, text %d: differs by %.2g", c, i, d)
					}
				}
				total := 0
				for _, n := range g.Tokens {
					total += n
				}
				if usage.Input != total {
					t.Errorf("case %d: %d tokens, want %d", c, usage.Input, total)
				}
			}
		})
	}
}

// The embedding of a text is the same to the bit whatever texts are in the request, and
// whatever team computes it.
func TestEncoderBatches(t *testing.T) {
	team := transformer.NewTeam(3)
	t.Cleanup(team.Close)
	for _, name := range encoderNames(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata/encoders", name)
			alone, shared := openEncoder(t, dir, engine.Config{}), openEncoder(t, dir, engine.Config{Team: team})
			texts := readGoldens(t, name)[0].Texts
			for range 6 { // more tokens than one pass
				texts = slices.Concat(texts, texts[:3])
			}
			together, _ := vectorsOf(t, shared, embedTexts(texts, nil))
			for i, text := range texts {
				if one, _ := vectorsOf(t, alone, embedTexts([]string{text}, nil)); !slices.Equal(one[0], together[i]) {
					t.Fatalf("text %d of %d differs", i, len(texts))
				}
			}
		})
	}
}

// Weights of the files are BF16, so embeddings in that format are the same. Other formats change
// little, although rounding shows in random models of a width of 32 more than in others.
func TestEncoderFormats(t *testing.T) {
	for _, name := range encoderNames(t) {
		for format, least := range map[transformer.Format]float64{transformer.BF16: 1 - 1e-9, transformer.Q8_0: 0.95, transformer.Q8W: 0.95} {
			exact := openEncoder(t, filepath.Join("testdata/encoders", name), engine.Config{})
			e := openEncoder(t, filepath.Join("testdata/encoders", name), engine.Config{Format: format})
			texts := readGoldens(t, name)[0].Texts
			want, _ := vectorsOf(t, exact, embedTexts(texts, nil))
			got, _ := vectorsOf(t, e, embedTexts(texts, nil))
			for i := range want {
				if c := cosine(got[i], want[i]); !(c >= least) {
					t.Errorf("%s, %v, text %d: cosine %.5f", name, format, i, c)
				}
			}
		}
	}
}

// A model of any kind that was closed meanwhile has no vectors.
func TestEmbedClosed(t *testing.T) {
	for _, dir := range []string{"bert", "qwen3"} {
		e := openEncoder(t, filepath.Join("testdata", "encoders", dir), engine.Config{})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a")}}); err == nil {
			t.Errorf("%s: a closed model embeds", dir)
		}
	}
}
