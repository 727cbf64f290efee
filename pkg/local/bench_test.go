package local

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

// wide returns a GPT-2 with the tokenizer of the golden one, of a given width and depth, in m.
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

// safetensors returns a file of small values.
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

// BenchmarkS3 measures the time from the name of a packed model of 100 MB in S3 to its
// first token, including listing and opening, and the time to copy its bytes into memory
// over as many connections: the ratio is at most 1.5. Over loopback the processors are the
// limit, which reading, computing and the store share; the other cases have the pace of
// S3, and that of S3 behind a network of 5 Gbit/s.
func BenchmarkS3(b *testing.B) {
	s := &buckettest.Store{}
	data := packOf(b, wide(b, 64, 8), "m")
	s.Put("root/m.safetensors", data)
	narrow := buckettest.S3()
	narrow.Total = 625e6
	for _, c := range []struct {
		name string
		pace buckettest.Pace
	}{{"loopback", buckettest.Pace{}}, {"paced", buckettest.S3()}, {"narrow", narrow}} {
		b.Run(c.name, func(b *testing.B) { benchmarkS3(b, c.pace.Handler(s), data) })
	}
}

// BenchmarkTmp measures keeping that model in a function's /tmp: writing it there while
// reading it, and the time from its name to its first token when it is there and still in
// the system's file cache, which is memory of the function.
func BenchmarkTmp(b *testing.B) {
	dir := b.TempDir()
	data := packOf(b, wide(b, 64, 8), "m")
	var wrote, first []float64
	for b.Loop() {
		begun := time.Now()
		if err := os.WriteFile(dir+"/m.safetensors", data, 0o600); err != nil {
			b.Fatal(err)
		}
		wrote = append(wrote, time.Since(begun).Seconds())
		p := start(b, settings{checkpoints: dir})
		begun = time.Now()
		firstToken(b, p)
		first = append(first, time.Since(begun).Seconds())
	}
	b.ReportMetric(1e3*median(wrote), "ms/write")
	b.ReportMetric(1e3*median(first), "ms/first-token")
}

func benchmarkS3(b *testing.B, handler http.Handler, data []byte) {
	server := httptest.NewServer(handler)
	defer server.Close()
	var first, copied []float64
	for b.Loop() {
		begun := time.Now()
		copyAll(b, server.URL+"/models/root/m.safetensors", len(data))
		copied = append(copied, time.Since(begun).Seconds())
		p := startAt(b, server.URL)
		begun = time.Now()
		firstToken(b, p)
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

// firstToken generates a token of the only model.
func firstToken(b testing.TB, p *process) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	m, err := p.Open(ctx, "m")
	if err != nil {
		b.Fatal(err)
	}
	one := 1
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("the hen")}, Params: llm.Params{MaxTokens: &one}}
	if _, _, err := llm.Collect(m.Backend.Generate(ctx, req), 1); err != nil {
		b.Fatal(err)
	}
}

// connections is the number of connections of [checkpoint.Load].
const connections = 16

// copyAll reads the bytes over as many connections as the reading of a model, the same number
// each.
func copyAll(b *testing.B, url string, n int) {
	memory := kernel.Allocate(n)
	var group sync.WaitGroup
	for i := range connections {
		group.Go(func() {
			from, to := i*n/connections, (i+1)*n/connections
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
