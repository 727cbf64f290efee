package engine_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A vectorGolden is a request for embeddings of a type and the reference's answer.
type vectorGolden struct {
	Type    llm.EmbedKind `json:"type"`
	Task    llm.EmbedTask `json:"task"`
	Texts   []string      `json:"texts"`
	Tokens  []int         `json:"tokens"` // of each text, cut to the model's length; nil: not known
	Indices [][]int       `json:"indices"`
	Width   int           `json:"width"`
	Vectors []string      `json:"vectors"` // of each text, (rows, Width) in float32, base64
}

func (g *vectorGolden) request() *llm.EmbedRequest {
	return embedTexts(g.Texts, func(r *llm.EmbedRequest) { r.Kind, r.Task = g.Type, g.Task })
}

// rows decodes the vectors of a text; one row for a sparse one.
func (g *vectorGolden) rows(t *testing.T, text int) [][]float32 {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(g.Vectors[text])
	if err != nil || len(raw)%4 != 0 {
		t.Fatalf("%d bytes of vectors, %v", len(raw), err)
	}
	all := make([]float32, len(raw)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	if g.Type == llm.EmbedSparse {
		return [][]float32{all}
	}
	return slices.Collect(slices.Chunk(all, g.Width))
}

// vectorModels lists the golden models with sparse embeddings or vectors of tokens.
func vectorModels(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*/golden.json")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d golden models, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

func vectorGoldens(t *testing.T, name string) (list []vectorGolden) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/vectors", name, "golden.json"))
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func embeddingsOf(t *testing.T, e *engine.Encoder, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage) {
	t.Helper()
	list, usage, err := e.Embed(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return list, usage
}

// idsOf returns the ids of tokens.
func idsOf(tokens []llm.Token) (ids []int) {
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	return ids
}

// Sparse embeddings and vectors of tokens equal those of the reference, for each form of
// directory, for queries and documents.
func TestVectorGoldens(t *testing.T) {
	for _, name := range vectorModels(t) {
		t.Run(name, func(t *testing.T) {
			e := openEncoder(t, filepath.Join("testdata/vectors", name), engine.Config{})
			for _, g := range vectorGoldens(t, name) {
				got, usage := embeddingsOf(t, e, g.request())
				total := 0
				for i, made := range got {
					checkVectors(t, &g, i, &made)
					if g.Tokens != nil {
						total += g.Tokens[i]
					}
				}
				if g.Tokens != nil && usage.Input != total {
					t.Errorf("%s: %d tokens, want %d", g.Type, usage.Input, total)
				}
			}
		})
	}
}

// checkVectors compares the embedding of a text with the reference.
func checkVectors(t *testing.T, g *vectorGolden, text int, made *llm.Embedding) {
	t.Helper()
	got, want := made.Layers[0].Vectors, g.rows(t, text)
	if g.Type == llm.EmbedSparse && !slices.Equal(idsOf(made.Tokens), g.Indices[text]) {
		t.Errorf("text %d: tokens %v, want %v", text, idsOf(made.Tokens), g.Indices[text])
		return
	}
	if g.Type == llm.EmbedMulti && len(made.Tokens) != len(got) {
		t.Errorf("text %d: %d tokens for %d vectors", text, len(made.Tokens), len(got))
	}
	if len(got) != len(want) {
		t.Errorf("%s %s, text %d: %d vectors, want %d", g.Type, g.Task, text, len(got), len(want))
		return
	}
	for row := range want {
		if len(got[row]) != len(want[row]) {
			t.Errorf("%s %s, text %d, row %d: %d values, want %d", g.Type, g.Task, text, row, len(got[row]), len(want[row]))
			continue
		}
		for i, v := range want[row] { // sums of weights are large
			if d := math.Abs(float64(got[row][i]) - float64(v)); !(d <= 1e-5*max(1, math.Abs(float64(v)))) {
				t.Errorf("%s %s, text %d, row %d, value %d: %v, want %v", g.Type, g.Task, text, row, i, got[row][i], v)
			}
		}
	}
}

// sameVectors reports whether two lists of embeddings are the same to the bit.
func sameVectors(a, b []llm.Embedding) bool {
	return slices.EqualFunc(a, b, func(a, b llm.Embedding) bool {
		return slices.Equal(idsOf(a.Tokens), idsOf(b.Tokens)) && slices.EqualFunc(a.Layers[0].Vectors, b.Layers[0].Vectors, slices.Equal)
	})
}

// The embedding of a text is the same to the bit whatever texts are in the request, and
// whatever team computes it.
func TestVectorBatches(t *testing.T) {
	team := transformer.NewTeam(3)
	t.Cleanup(team.Close)
	for _, name := range vectorModels(t) {
		dir := filepath.Join("testdata/vectors", name)
		alone, shared := openEncoder(t, dir, engine.Config{}), openEncoder(t, dir, engine.Config{Team: team})
		for _, g := range vectorGoldens(t, name) {
			for range 4 { // more tokens than one pass
				g.Texts = slices.Concat(g.Texts, g.Texts[:3])
			}
			together, _ := embeddingsOf(t, shared, g.request())
			for i, text := range g.Texts {
				g.Texts = []string{text}
				if one, _ := embeddingsOf(t, alone, g.request()); !sameVectors(one, together[i:i+1]) {
					t.Errorf("%s, %s, text %d differs", name, g.Type, i)
				}
			}
		}
	}
}

// A packed model has the embeddings of its directory in the same format, to the bit, and can be
// packed again.
func TestPackedVectors(t *testing.T) {
	for _, name := range vectorModels(t) {
		dir := filepath.Join("testdata/vectors", name)
		for _, f := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			source := openEncoder(t, dir, engine.Config{Format: f})
			m, info := openPacked(t, packDir(t, dir, f))
			want, err := arch.Describe(os.DirFS(filepath.Dir(dir)), name)
			if err != nil || !slices.Equal(engine.EmbedKinds(info.Sentence), engine.EmbedKinds(want.Sentence)) || info.Bytes[f] != want.Bytes[f] {
				t.Errorf("%s: %v and %d bytes, want %v and %d, %v", name, engine.EmbedKinds(info.Sentence), info.Bytes[f], engine.EmbedKinds(want.Sentence), want.Bytes[f], err)
			}
			var again checkpointtest.File
			if err := arch.Pack(&again, m, kernel.Best(), transformer.Stored, func(_, _ int64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			for round, fsys := range []fs.FS{nil, fstest.MapFS{packName: {Data: again.Data}}} {
				if fsys != nil {
					m, _ = openPacked(t, fsys)
				}
				e, err := engine.NewEncoder(m, engine.Config{Format: transformer.Stored})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				for _, g := range vectorGoldens(t, name) {
					got, _ := embeddingsOf(t, e, g.request())
					if want, _ := embeddingsOf(t, source, g.request()); !sameVectors(got, want) {
						t.Errorf("%s, %v, round %d, %s %s: other embeddings", name, f, round, g.Type, g.Task)
					}
				}
			}
		}
	}
}

// Weights of the files are BF16, so embeddings in that format are the same. Q8_0 changes little.
func TestVectorFormats(t *testing.T) {
	for _, name := range vectorModels(t) {
		for format, least := range map[transformer.Format]float64{transformer.BF16: 1 - 1e-9, transformer.Q8_0: 0.97} {
			dir := filepath.Join("testdata/vectors", name)
			exact, rounded := openEncoder(t, dir, engine.Config{}), openEncoder(t, dir, engine.Config{Format: format})
			for _, g := range vectorGoldens(t, name) {
				want, _ := embeddingsOf(t, exact, g.request())
				got, _ := embeddingsOf(t, rounded, g.request())
				worst := 1.0
				for i := range want {
					worst = min(worst, likeness(g.Type, &got[i], &want[i]))
				}
				t.Logf("%s, %v, %s %s: cosine %.5f", name, format, g.Type, g.Task, worst)
				if !(worst >= least) {
					t.Errorf("%s, %v, %s %s: cosine %.5f, at least %v", name, format, g.Type, g.Task, worst, least)
				}
			}
		}
	}
}

// likeness returns the cosine of two embeddings of a text; of vectors of tokens their mean.
func likeness(kind llm.EmbedKind, a, b *llm.Embedding) float64 {
	x, y := a.Layers[0].Vectors, b.Layers[0].Vectors
	if kind == llm.EmbedSparse {
		n := 1000
		u, v := make([]float32, n), make([]float32, n)
		for i, token := range a.Tokens {
			u[token.ID] = x[0][i]
		}
		for i, token := range b.Tokens {
			v[token.ID] = y[0][i]
		}
		if slices.Equal(u, v) {
			return 1
		}
		return cosine(u, v)
	}
	sum := 0.0
	for i := range x {
		sum += cosine(x[i], y[i])
	}
	return sum / float64(len(x))
}

// A model refuses what it does not have, by name, and what would be too large, before it is
// computed.
func TestVectorRefuses(t *testing.T) {
	const dir = "testdata/vectors/"
	for _, c := range []struct {
		model  string
		change func(*llm.EmbedRequest)
		param  string
		want   string
	}{
		{"splade-bert", func(*llm.EmbedRequest) {}, "type", "no dense embeddings: its types are sparse"},
		{"splade-bert", func(r *llm.EmbedRequest) { r.Kind = llm.EmbedMulti }, "type", "no multi_vector embeddings: its types are sparse"},
		{"splade-bert", func(r *llm.EmbedRequest) { r.Kind, r.Dimensions = llm.EmbedSparse, 7 }, "dimensions", "no dimensions"},
		{"pylate", func(r *llm.EmbedRequest) { r.Kind = llm.EmbedSparse }, "type", "its types are multi_vector"},
		{"pylate", func(r *llm.EmbedRequest) { r.Kind, r.Dimensions = llm.EmbedMulti, 21 }, "dimensions", "between 1 and 20, not 21"},
		{"pylate", func(r *llm.EmbedRequest) { r.Kind, r.Truncate, r.Task = llm.EmbedMulti, false, llm.EmbedQuery }, "", "at least 17 tokens, the context of this model 16"},
		{"pylate", func(r *llm.EmbedRequest) { r.Kind, r.MaxValues = llm.EmbedMulti, 899 }, "prompt", "have 900 values, at most 899 in one answer"},
		{"pylate", func(r *llm.EmbedRequest) { r.Kind, r.MaxValues, r.Dimensions = llm.EmbedMulti, 89, 2 }, "prompt", "have 90 values, at most 89"},
		{"bge-m3", func(r *llm.EmbedRequest) { r.Kind = "other" }, "type", "no other embeddings: its types are dense, sparse, multi_vector"},
		{"bge-m3", func(r *llm.EmbedRequest) { r.Kind, r.Dimensions = llm.EmbedUnpooled, 3 }, "dimensions", "not pooled cannot be shortened"},
		{"bge-m3", func(r *llm.EmbedRequest) { r.Kind, r.MaxValues = llm.EmbedUnpooled, 64 }, "prompt", "at most 64 in one answer"},
		{"bge-m3", func(r *llm.EmbedRequest) { r.MaxValues = 63 }, "prompt", "have 64 values, at most 63"},
	} {
		e := openEncoder(t, dir+c.model, engine.Config{})
		texts := []string{strings.Repeat("the cat and the dog ", 6), "the red hen sees a cat and seven cows and dogs"}
		_, _, err := e.Embed(t.Context(), embedTexts(texts, c.change))
		if got := llm.AsError(err); err == nil || got.Param != c.param && c.param != "" || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s: %v, want %q at %s", c.model, err, c.want, c.param)
		}
	}
}

// Unpooled vectors are those that the model's own embeddings are pooled from, whatever steps follow.
func TestUnpooled(t *testing.T) {
	text := func(r *llm.EmbedRequest) { r.Truncate = false }
	unpooled := func(r *llm.EmbedRequest) { r.Kind, r.Truncate = llm.EmbedUnpooled, false }
	texts := []string{"the hen sees a cow", "a cat"}
	for _, c := range []struct {
		model string
		pool  func(rows [][]float32) []float32
	}{
		{"encoders/bert-bare", func(rows [][]float32) []float32 {
			sum := make([]float32, len(rows[0]))
			for _, row := range rows {
				for i, v := range row {
					sum[i] += v / float32(len(rows))
				}
			}
			return sum
		}},
		{"encoders/qwen3", func(rows [][]float32) []float32 { return rows[len(rows)-1] }},
	} {
		e := openEncoder(t, "testdata/"+c.model, engine.Config{})
		want, used := embeddingsOf(t, e, embedTexts(texts, text))
		got, usage := embeddingsOf(t, e, embedTexts(texts, unpooled))
		for i, made := range got {
			rows := made.Layers[0].Vectors
			if d := difference(llm.Unit(c.pool(rows)), llm.Unit(want[i].Layers[0].Vectors[0])); len(rows) != len(made.Tokens) || len(rows) != len(want[i].Tokens) || !(d <= 1e-5) {
				t.Errorf("%s: %d vectors of %d tokens, pooled %g off", c.model, len(rows), len(made.Tokens), d)
			}
		}
		if usage.Input != used.Input {
			t.Errorf("%s: %d tokens, not %d", c.model, usage.Input, used.Input)
		}
	}
	e := openEncoder(t, "testdata/vectors/pylate", engine.Config{}) // all tokens, as wide as the model
	made, _ := embeddingsOf(t, e, embedTexts(texts, unpooled))
	if multi, _ := embeddingsOf(t, e, embedTexts(texts, func(r *llm.EmbedRequest) { r.Kind = llm.EmbedMulti })); len(made[0].Layers[0].Vectors[0]) <= len(multi[0].Layers[0].Vectors[0]) {
		t.Errorf("%d dimensions, those of compared vectors %d", len(made[0].Layers[0].Vectors[0]), len(multi[0].Layers[0].Vectors[0]))
	}
}

// Vectors of tokens can be shorter, and stay of length 1. Prompts of tokens are complete: without
// markers and fillers.
func TestMultiVectorOptions(t *testing.T) {
	e := openEncoder(t, "testdata/vectors/pylate", engine.Config{})
	whole, _ := embeddingsOf(t, e, embedTexts([]string{"a hen"}, func(r *llm.EmbedRequest) { r.Kind = llm.EmbedMulti }))
	short, _ := embeddingsOf(t, e, embedTexts([]string{"a hen"}, func(r *llm.EmbedRequest) { r.Kind, r.Dimensions = llm.EmbedMulti, 6 }))
	for i, v := range short[0].Layers[0].Vectors {
		if want := llm.Unit(whole[0].Layers[0].Vectors[i][:6]); !(difference(v, want) <= 1e-6) {
			t.Errorf("vector %d is %v, want %v", i, v, want)
		}
	}
	req := &llm.EmbedRequest{Kind: llm.EmbedMulti, Task: llm.EmbedQuery, Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: []int{2, 9, 3}}}}, llm.Text("a")}}
	mixed, usage := embeddingsOf(t, e, req)
	if got := idsOf(mixed[0].Tokens); !slices.Equal(got, []int{2, 9, 3}) || len(mixed[1].Tokens) != 16 || usage.Input != 3+4 {
		t.Errorf("tokens %v and %d, %d of input", got, len(mixed[1].Tokens), usage.Input)
	}
}
