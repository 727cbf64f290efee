package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"glossa/pkg/bench"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// fileForms are the forms of models in files, with the functions that write one with weights of
// 100 to 140 MB as m into a directory and return the file of the weights.
var fileForms = []struct {
	name  string
	write func(t testing.TB, dir string) string
}{
	{"directory", writeDirectory}, {"alpha", writeAlpha(checkpoint.WriteALPH)}, {"alpha-json", writeAlpha(checkpoint.WriteJSON)}, {"gguf", writeGGUF},
	{"pack", func(t testing.TB, dir string) string {
		return writeFile(t, filepath.Join(dir, "m.safetensors"), packOf(t, wide(t, 64, 8), "m"))
	}},
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

func writeDirectory(t testing.TB, dir string) string {
	t.Helper()
	fsys := wide(t, 64, 8)
	for _, entry := range must(fs.ReadDir(fsys, "m")) {
		writeFile(t, filepath.Join(dir, "m", entry.Name()), must(fs.ReadFile(fsys, "m/"+entry.Name())))
	}
	return filepath.Join(dir, "m", "model.safetensors")
}

// alphaConfig is the architecture of writeAlpha.
var alphaConfig = checkpoint.ModelConfig{VocabSize: 3, BlockSize: 256, NLayer: 8, NEmbd: 512, NHead: 8}

func writeAlpha(write func(io.Writer, *checkpoint.Alpha) error) func(t testing.TB, dir string) string {
	return func(t testing.TB, dir string) string {
		t.Helper()
		a := &checkpoint.Alpha{
			ModelConfig: alphaConfig, Params: map[string]checkpoint.Tensor{}, ConfigHash: "00000000", Step: 7,
			Tokenizer: json.RawMessage(`{"type":"char","vocabSize":3,"vocab":["\n","a","b"]}`),
		}
		for _, p := range checkpoint.Params(&alphaConfig, true) {
			data := make([]float32, p.Elements())
			for i := range data {
				data[i] = float32(i*7919%1009-504) / 16_384 // few digits
			}
			a.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
		}
		writeFile(t, filepath.Join(dir, "m", "config.json"), fmt.Appendf(nil, `{"modelConfig":%s,"trainConfig":{},"configHash":"00000000"}`, must(json.Marshal(&alphaConfig))))
		return create(t, filepath.Join(dir, "m", "checkpoint-7.json"), func(f *os.File) error { return write(f, a) })
	}
}

func writeGGUF(t testing.TB, dir string) string {
	t.Helper()
	m := must(bench.Random("gpt2-124m"))
	return create(t, filepath.Join(dir, "m.gguf"), func(f *os.File) error { return m.Save(f, transformer.Q8_0) })
}

// create creates a file whose content write writes.
func create(t testing.TB, name string, write func(f *os.File) error) string {
	t.Helper()
	f := must(os.Create(name))
	if err := errors.Join(write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// Opening a model in a file takes at most 1.1 times its weights: they are streamed into place. Of
// a pack, all is mapped.
func TestFilesPeak(t *testing.T) {
	skipPeak(t)
	for _, form := range fileForms {
		t.Run(form.name, func(t *testing.T) {
			dir := t.TempDir()
			size, beside := must(os.Stat(form.write(t, dir))).Size(), 10e6 // caches and garbage
			switch form.name {
			case "alpha-json":
				size = 4 * checkpoint.Elements(&alphaConfig)
			case "gguf":
				beside = 25e6 // a tokenizer of 50,257 tokens
			}
			ratio := peakAlone(t, "open "+dir, int(size)) - beside/float64(size)
			if ratio > 1.1 || ratio < 0.9 {
				t.Errorf("opening takes %.2f times the weights", ratio)
			}
		})
	}
}

// BenchmarkFiles measures the time from the name of a model in a file that the system has in its
// cache to its first token, and the time to copy the file's bytes into memory with as many
// threads.
func BenchmarkFiles(b *testing.B) {
	for _, form := range fileForms {
		b.Run(form.name, func(b *testing.B) {
			dir := b.TempDir()
			file := form.write(b, dir)
			size := int(must(os.Stat(file)).Size())
			var first, copied []float64
			for b.Loop() {
				begun := time.Now()
				copyFile(b, file, size)
				copied = append(copied, time.Since(begun).Seconds())
				p := start(b, settings{checkpoints: dir})
				begun = time.Now()
				firstToken(b, p)
				first = append(first, time.Since(begun).Seconds())
			}
			b.ReportMetric(float64(size)/1e6, "MB")
			b.ReportMetric(1e3*median(first), "ms/first-token")
			b.ReportMetric(1e3*median(copied), "ms/copy")
			b.ReportMetric(median(first)/median(copied), "x")
		})
	}
}

// copyFile reads a file into memory, in pieces of 1 MiB.
func copyFile(b *testing.B, name string, size int) {
	b.Helper()
	f := must(os.Open(name))
	defer f.Close()
	memory, threads := kernel.Allocate(size), runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	for i := range threads {
		group.Go(func() {
			for at, end := i*size/threads, (i+1)*size/threads; at < end; {
				n, err := f.ReadAt(memory[at:min(end, at+1<<20)], int64(at))
				if err != nil {
					b.Error(err)
					return
				}
				at += n
			}
		})
	}
	group.Wait()
}
