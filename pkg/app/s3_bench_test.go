package app

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/llm"
)

// wide is a GPT-2 with the tokenizer of the golden one, of some width and depth, in m.
func wide(t testing.TB, heads, depth int) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		files["m/"+name] = &fstest.MapFile{Data: must(os.ReadFile(goldens + "gpt2/" + name))}
	}
	width := 8 * heads
	files["m/config.json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"activation_function":"gelu_new",
		"n_embd":%d,"n_head":%d,"n_layer":%d,"n_positions":256,"vocab_size":261,"layer_norm_epsilon":1e-05,"bos_token_id":260,"eos_token_id":260,"tie_word_embeddings":true}`, width, heads, depth)}
	shapes := map[string][]int{"wte.weight": {261, width}, "wpe.weight": {256, width}, "ln_f.weight": {width}, "ln_f.bias": {width}}
	for i := range depth {
		for name, shape := range map[string][]int{
			"ln_1.weight": {width}, "ln_1.bias": {width}, "ln_2.weight": {width}, "ln_2.bias": {width},
			"attn.c_attn.weight": {width, 3 * width}, "attn.c_attn.bias": {3 * width}, "attn.c_proj.weight": {width, width}, "attn.c_proj.bias": {width},
			"mlp.c_fc.weight": {width, 4 * width}, "mlp.c_fc.bias": {4 * width}, "mlp.c_proj.weight": {4 * width, width}, "mlp.c_proj.bias": {width},
		} {
			shapes[fmt.Sprintf("h.%d.%s", i, name)] = shape
		}
	}
	files["m/model.safetensors"] = &fstest.MapFile{Data: safetensors(shapes)}
	return files
}

// safetensors is a file of small values.
func safetensors(shapes map[string][]int) []byte {
	header, at := map[string]any{}, 0
	for name, shape := range shapes {
		size := 4
		for _, n := range shape {
			size *= n
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{at, at + size}}
		at += size
	}
	raw := must(json.Marshal(header))
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...)
	for i := range at / 4 {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(i*7919%1009-504)/20_000))
	}
	return out
}

// BenchmarkS3 is the time from the name of a packed model of 100 MB in S3 to its first
// token, listing and opening it included, and the time to copy its bytes into memory over
// as many connections: at most 1.5 times as long. Over loopback the processors are the
// limit, which reading, computing and the store share; a store such as S3 begins to answer
// after 30 ms and gives 90 MB/s a request.
func BenchmarkS3(b *testing.B) {
	s := &buckettest.Store{}
	data := packOf(b, wide(b, 64, 8), "m")
	s.Put("root/m.safetensors", data)
	for name, handler := range map[string]http.Handler{"loopback": s, "paced": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(30 * time.Millisecond)
		s.ServeHTTP(&paced{w, time.Now(), 0}, r)
	})} {
		b.Run(name, func(b *testing.B) { benchmarkS3(b, handler, data) })
	}
}

// A paced answer has 90 MB/s.
type paced struct {
	http.ResponseWriter
	begun time.Time
	sent  int
}

// Write implements [io.Writer].
func (p *paced) Write(data []byte) (int, error) {
	n, err := p.ResponseWriter.Write(data)
	p.sent += n
	if ahead := time.Duration(p.sent)*time.Second/90e6 - time.Since(p.begun); ahead > 2*time.Millisecond {
		time.Sleep(ahead)
	}
	return n, err
}

func benchmarkS3(b *testing.B, handler http.Handler, data []byte) {
	server := httptest.NewServer(handler)
	defer server.Close()
	var first, copied []float64
	for b.Loop() {
		begun := time.Now()
		copyAll(b, server.URL+"/models/root/m.safetensors", len(data))
		copied = append(copied, time.Since(begun).Seconds())
		a := must(New(Config{Checkpoints: "s3://models/root", Records: fstest.MapFS{}, Endpoints: Endpoints{S3: server.URL}}))
		a.cloud.load = signer
		begun = time.Now()
		firstToken(b, a)
		first = append(first, time.Since(begun).Seconds())
	}
	b.ReportMetric(float64(len(data))/1e6, "MB")
	b.ReportMetric(1e3*median(first), "ms/first-token")
	b.ReportMetric(1e3*median(copied), "ms/copy")
	b.ReportMetric(median(first)/median(copied), "x")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// firstToken generates a token of the one model.
func firstToken(b *testing.B, a *App) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	m, err := a.Models().Open(ctx, "m")
	if err != nil {
		b.Fatal(err)
	}
	one := 1
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("the hen")}, Params: llm.Params{MaxTokens: &one}}
	if _, _, err := llm.Collect(m.Backend.Generate(ctx, req), 1); err != nil {
		b.Fatal(err)
	}
}

// copyAll reads the bytes over eight connections, an eighth each.
func copyAll(b *testing.B, url string, n int) {
	memory := kernel.Allocate(n)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			from, to := i*n/8, (i+1)*n/8
			r := must(http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil))
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			defer answer.Body.Close()
			if _, err := io.ReadFull(answer.Body, memory[from:to]); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
}
