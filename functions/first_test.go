package functions_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/host/runtimeapi"
)

// The shape of MiniLM-L6 (sentence-transformers/all-MiniLM-L6-v2, config.json), which has
// 23 million weights.
const (
	miniWidth, miniLayers, miniHeads, miniFFN = 384, 6, 12, 1536
	miniVocab, miniContext                    = 30522, 512
)

// A firstEmbedding measures the first embedding of a cold function: from the start of its process
// to the end of the answer, with its model in a directory or in a bucket.
type firstEmbedding struct {
	bytes        int64 // of the model
	beside, inS3 []time.Duration

	dir, bucket string
}

// newFirstEmbedding makes a random model.
func newFirstEmbedding(b *testing.B) *firstEmbedding {
	first := &firstEmbedding{dir: b.TempDir()}
	const name = "minilm.safetensors"
	file, err := os.Create(filepath.Join(first.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	m, err := arch.OpenPath(miniLM(b))
	if err == nil {
		err = arch.Pack(file, m, kernel.Best(), transformer.Q8_0, func(_, _ int64) error { return nil })
	}
	if err == nil {
		err = m.Close()
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	content, err := os.ReadFile(file.Name())
	if err != nil {
		b.Fatal(err)
	}
	store := &buckettest.Store{}
	store.Put("checkpoints/"+name, content)
	server := httptest.NewServer(store)
	b.Cleanup(server.Close)
	first.bytes, first.bucket = int64(len(content)), server.URL
	return first
}

// measure starts the program twice.
func (first *firstEmbedding) measure(b *testing.B, binary string) {
	first.beside = append(first.beside, embedOnce(b, binary, "GLOSSA_CHECKPOINTS="+first.dir))
	first.inS3 = append(first.inS3, embedOnce(b, binary, "GLOSSA_CHECKPOINTS=s3://models/checkpoints", "AWS_ENDPOINT_URL_S3="+first.bucket))
}

// embedOnce returns the time from the start of a program to the end of its first answer.
func embedOnce(b *testing.B, binary string, environment ...string) time.Duration {
	begun := time.Now()
	f, err := runtimeapi.Start(b.Context(), runtimeapi.Options{
		Binary: binary, Timeout: time.Minute, MemoryMB: 1769, Stderr: io.Discard, Env: append(environment, "GLOSSA_OPEN=true", "GLOSSA_STREAM_URL=true"),
	})
	if err != nil {
		b.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.FunctionURL(true).ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/embeddings",
		strings.NewReader(`{"model": "minilm", "input": "w7 w77 w777 w7777 w1 w2 w3 w4"}`)))
	took := time.Since(begun)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"prompt_tokens":10`) {
		b.Fatalf("%d %.300s", w.Code, w.Body)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}

// table returns the results.
func (first *firstEmbedding) table() string {
	return fmt.Sprintf("The first embedding of `embeddings`, with a random model of MiniLM-L6's shape in q8_0 (%.1f MB), from the start of the process\n"+
		"to the end of the answer:\n\n| model | median, ms | nine in ten |\n|---|---:|---:|\n| in a directory | %.0f | %.0f |\n| in a bucket, on the same machine | %.0f | %.0f |\n| at most | %d | |\n",
		float64(first.bytes)/1e6, milliseconds(quantile(first.beside, 0.5)), milliseconds(quantile(first.beside, 0.9)),
		milliseconds(quantile(first.inS3, 0.5)), milliseconds(quantile(first.inS3, 0.9)), maxFirst.Milliseconds())
}

// maxFirst is the goal for the first embedding of a cold function.
const maxFirst = 300 * time.Millisecond

// miniLM writes a directory of sentence-transformers with random weights. Its words are those
// of the test's encoder, and w0, w1, ...
func miniLM(b *testing.B) string {
	const from = "../pkg/engine/testdata/encoders/bert"
	dir := filepath.Join(b.TempDir(), "minilm")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
	change(b, dir, "config.json", func(c map[string]any) {
		for key, value := range map[string]int{
			"hidden_size": miniWidth, "num_hidden_layers": miniLayers, "num_attention_heads": miniHeads, "intermediate_size": miniFFN,
			"vocab_size": miniVocab, "max_position_embeddings": miniContext,
		} {
			c[key] = value
		}
	})
	change(b, dir, "1_Pooling/config.json", func(c map[string]any) {
		delete(c, "embedding_dimension")
		c["word_embedding_dimension"] = miniWidth
	})
	change(b, dir, "sentence_bert_config.json", func(c map[string]any) { c["max_seq_length"] = miniContext })
	change(b, dir, "tokenizer.json", func(c map[string]any) {
		vocabulary := c["model"].(map[string]any)["vocab"].(map[string]any)
		for first, id := len(vocabulary), len(vocabulary); id < miniVocab; id++ {
			vocabulary[fmt.Sprintf("w%d", id-first)] = id
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), miniWeights(), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}

// change changes a JSON file.
func change(b *testing.B, dir, name string, do func(map[string]any)) {
	name = filepath.Join(dir, name)
	raw, err := os.ReadFile(name)
	var content map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err == nil {
		do(content)
		raw, err = json.Marshal(content)
	}
	if err == nil {
		err = os.WriteFile(name, raw, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// miniWeights returns a safetensors file of random weights in bf16.
func miniWeights() []byte {
	type info struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, at := map[string]info{}, 0
	add := func(name string, shape ...int) {
		n := 2
		for _, d := range shape {
			n *= d
		}
		header[name] = info{"BF16", shape, [2]int{at, at + n}}
		at += n
	}
	linear := func(name string, rows, cols int) {
		add(name+".weight", rows, cols)
		add(name+".bias", rows)
	}
	norm := func(name string) {
		add(name+".weight", miniWidth)
		add(name+".bias", miniWidth)
	}
	add("embeddings.word_embeddings.weight", miniVocab, miniWidth)
	add("embeddings.position_embeddings.weight", miniContext, miniWidth)
	add("embeddings.token_type_embeddings.weight", 2, miniWidth)
	norm("embeddings.LayerNorm")
	for i := range miniLayers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			linear(layer+"attention."+name, miniWidth, miniWidth)
		}
		norm(layer + "attention.output.LayerNorm")
		linear(layer+"intermediate.dense", miniFFN, miniWidth)
		linear(layer+"output.dense", miniWidth, miniFFN)
		norm(layer + "output.LayerNorm")
	}
	text, _ := json.Marshal(header) // strings and numbers cannot fail
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	file = append(file, text...)
	random := rand.New(rand.NewPCG(1, 2))
	for range at / 2 { // bf16 of ±0.03 to ±0.06: the exponent of 2^-5, and 7 bits
		file = binary.LittleEndian.AppendUint16(file, 122<<7|uint16(random.Uint32())&0x807f)
	}
	return file
}
