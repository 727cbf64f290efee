package engine_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// plainTexts are read alike by all tokenizers: GGUF keeps neither Unicode's normal forms nor
// whether a WordPiece tokenizer has capital letters.
var plainTexts = []string{"the red hen sees a cat", "cats, dogs & hens: seven of them!", "a", strings.Repeat("the cat and the dog ", 4), "two spaces"}

// A file of GGUF with the weights of a directory has its vectors, with length 1.
func TestEncoderGGUF(t *testing.T) {
	files, err := filepath.Glob("testdata/ggufs/encoder-*.gguf")
	if err != nil || len(files) != 11 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "encoder-"), ".gguf")
		t.Run(name, func(t *testing.T) {
			directory := openEncoder(t, filepath.Join("testdata/encoders", name), engine.Config{})
			want, tokens := vectorsOf(t, directory, embedTexts(plainTexts, nil))
			got, used := vectorsOf(t, openEncoder(t, file, engine.Config{}), embedTexts(plainTexts, nil))
			if used != tokens {
				t.Errorf("%+v, want %+v", used, tokens)
			}
			for i := range want {
				if d := difference(got[i], ofLength1(want[i])); !(d <= 1e-6) {
					t.Errorf("text %d differs by %.2g", i, d)
				}
			}
			info, err := arch.Describe(os.DirFS(filepath.Dir(file)), filepath.Base(file))
			if err != nil || !info.Embeds || info.Ranks || info.Tokens != nil {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// ofLength1 returns v divided by its length.
func ofLength1(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := slices.Clone(v)
	for i := range out {
		out[i] = float32(float64(out[i]) / math.Sqrt(sum))
	}
	return out
}

// A reranker in GGUF has the scores of its directory.
func TestRankerGGUF(t *testing.T) {
	files, err := filepath.Glob("testdata/ggufs/reranker-*.gguf")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	var pairs []llm.Pair
	for _, text := range plainTexts {
		pairs = append(pairs, llm.Pair{Query: "a red hen", Document: text})
	}
	req := &llm.RerankRequest{Pairs: pairs, Truncate: true}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "reranker-"), ".gguf")
		want, tokens := rerank(t, openRanker(t, name, engine.Config{}), req)
		got, used := rerank(t, openRanker(t, "../ggufs/"+filepath.Base(file), engine.Config{}), req)
		if used != tokens {
			t.Errorf("%s: %+v, want %+v", name, used, tokens)
		}
		for i := range want {
			if d := math.Abs(got[i].Logit - want[i].Logit); !(d <= 1e-5) {
				t.Errorf("%s: pair %d: %+v, want %+v", name, i, got[i], want[i])
			}
		}
		if info, err := arch.Describe(os.DirFS(filepath.Dir(file)), filepath.Base(file)); err != nil || !info.Ranks || info.Embeds || info.Tokens != nil {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// A classifier in GGUF has the labels and scores of its directory, unless several labels apply at once, which
// the file does not say: then the scores of one, of the same logits. The file has no pooling_type.
func TestClassifierGGUF(t *testing.T) {
	files, err := filepath.Glob("testdata/ggufs/classifier-*.gguf")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	req := &llm.ClassifyRequest{Truncate: true, Function: llm.ScoreNone}
	for _, text := range slices.Concat(plainTexts[:3], plainTexts[4:]) { // directories cut the long one
		req.Inputs = append(req.Inputs, llm.ClassifyInput{Text: text}, llm.ClassifyInput{Text: "a red hen", Second: &text})
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "classifier-"), ".gguf")
		directory, same := openClassifier(t, "classifiers/"+name, engine.Config{}), openClassifier(t, "ggufs/"+filepath.Base(file), engine.Config{})
		if a, b := directory.Info().Labels, same.Info().Labels; !slices.Equal(a, b) {
			t.Errorf("%s: labels %q, want %q", name, b, a)
		}
		want, used := classify(t, directory, req)
		got, usedToo := classify(t, same, req)
		if used != usedToo {
			t.Errorf("%s: %+v, want %+v", name, usedToo, used)
		}
		for i := range want {
			for j, v := range want[i].Scores {
				if d := math.Abs(got[i].Scores[j] - v); !(d <= 1e-5) {
					t.Errorf("%s: text %d: %v, want %v", name, i, got[i].Scores, want[i].Scores)
				}
			}
		}
		info, err := arch.Describe(os.DirFS(filepath.Dir(file)), filepath.Base(file))
		if err != nil || info.Ranks || info.Embeds || !slices.Equal(info.Labels, directory.Info().Labels) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// randomBERT writes a BERT of a usual head, and of a third of MiniLM's depth, with random
// weights and the tokenizer of a golden one.
func randomBERT(t *testing.T) string {
	t.Helper()
	const width, ffn, vocab, context, layers = 384, 1536, 188, 64, 4
	rng := rand.New(rand.NewPCG(3, 4))
	header, data := map[string]any{}, []byte{}
	tensor := func(name string, scale, around float64, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		from := len(data)
		for range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(around+scale*rng.NormFloat64())))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(data)}}
	}
	linear := func(name string, out, in int) {
		tensor(name+".weight", 1/math.Sqrt(float64(in)), 0, out, in)
		tensor(name+".bias", 0.1, 0, out)
	}
	norm := func(name string) {
		tensor(name+".weight", 0.2, 1, width)
		tensor(name+".bias", 0.1, 0, width)
	}
	tensor("embeddings.word_embeddings.weight", 1, 0, vocab, width)
	tensor("embeddings.position_embeddings.weight", 0.3, 0, context, width)
	tensor("embeddings.token_type_embeddings.weight", 0.3, 0, 2, width)
	norm("embeddings.LayerNorm")
	for layer := range layers {
		at := fmt.Sprintf("encoder.layer.%d.", layer)
		for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"} {
			linear(at+name, width, width)
		}
		norm(at + "attention.output.LayerNorm")
		linear(at+"intermediate.dense", ffn, width)
		linear(at+"output.dense", width, ffn)
		norm(at + "output.LayerNorm")
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf(`{"model_type":"bert","hidden_size":%d,"intermediate_size":%d,"vocab_size":%d,"max_position_embeddings":%d,"num_hidden_layers":%d,"num_attention_heads":12}`, width, ffn, vocab, context, layers)
	tokenizer, err := os.ReadFile("testdata/encoders/bert/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"config.json": []byte(config), "tokenizer.json": tokenizer,
		"model.safetensors": slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, data),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// In models of a usual width, quantised weights change embeddings little.
func TestEncoderQuantised(t *testing.T) {
	dir := randomBERT(t)
	texts := []string{"the red hen sees a cat", "seven of them!", "a", strings.Repeat("the cat and the dog ", 8)}
	want, _ := vectorsOf(t, openEncoder(t, dir, engine.Config{}), embedTexts(texts, nil))
	if c := cosine(want[0], want[1]); c > 0.9 {
		t.Fatalf("different texts have the cosine %v", c)
	}
	for format, least := range map[transformer.Format]float64{transformer.BF16: 0.9999, transformer.Q8_0: 0.999, transformer.Q8W: 0.999} {
		got, _ := vectorsOf(t, openEncoder(t, dir, engine.Config{Format: format}), embedTexts(texts, nil))
		for i := range want {
			c := cosine(got[i], want[i])
			if t.Logf("%v, text %d: cosine %.6f", format, i, c); !(c >= least) {
				t.Errorf("%v, text %d: cosine %.6f", format, i, c)
			}
		}
	}
}
