package starter

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/llm"
)

var update = flag.Bool("update", false, "write testdata/speed.md, which the README shows")

const mostBytes = 22 << 20 // of all run directories

// The models fit into the repository and into one binary.
func TestRunsAreSmall(t *testing.T) {
	total := int64(0)
	err := fs.WalkDir(Runs(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if total > mostBytes {
		t.Errorf("%d bytes, at most %d", total, mostBytes)
	}
	for _, name := range Names()[:4] { // the others are published models
		if m, err := fs.Glob(Runs(), name+"/checkpoint-*.json"); err != nil || len(m) != 1 {
			t.Errorf("%s has the checkpoints %v", name, m)
		}
	}
}

// Names lists the directories of Runs.
func TestNames(t *testing.T) {
	entries, err := fs.ReadDir(Runs(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, e.Name())
	}
	if got := slices.Sorted(slices.Values(Names())); !slices.Equal(got, dirs) {
		t.Errorf("%v, want %v", got, dirs)
	}
}

// BenchmarkDecode generates with the novels model on one core: rows concurrent requests,
// 200 tokens each. limit is the share of the rate at which the machine could read the
// weights once for each token of a row.
func BenchmarkDecode(b *testing.B) {
	e := novels(b)
	for _, rows := range []int{1, 8} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			tokens := 0
			for b.Loop() {
				tokens += decode(b, e, rows)
			}
			speed := float64(tokens) / b.Elapsed().Seconds()
			b.ReportMetric(speed, "tokens/s")
			b.ReportMetric(speed/readsPerSecond(e.Bytes()), "limit")
		})
	}
}

// novels opens the model with that name.
func novels(t testing.TB) *engine.Engine {
	names, err := fs.Glob(Runs(), "novels/checkpoint-*.json")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	ck, err := checkpoint.ReadAlphaFile(Runs(), names[0], checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(m, engine.Config{Name: "novels"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// decode generates 200 tokens in each of rows rows and counts them.
func decode(t testing.TB, e *engine.Engine, rows int) int {
	req := &llm.Request{
		Prompts: []llm.Prompt{llm.Text("The old lighthouse stood")}, N: rows,
		Params: llm.Params{MaxTokens: new(200), Seed: new(int64(1)), Temperature: new(0.7), TopK: new(40)},
	}
	_, usage, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return usage.Output
}

// readsPerSecond measures how often one core can read a model's bytes from its caches or
// memory.
func readsPerSecond(bytes int64) float64 {
	k, half := kernel.Best(), make([]float32, bytes/8)
	other := make([]float32, len(half))
	n, begin := 0, time.Now()
	for ; time.Since(begin) < 300*time.Millisecond; n++ {
		k.Dot(half, other)
	}
	return float64(n) / time.Since(begin).Seconds()
}

// TestSpeedTable writes the README's table of speeds with -update. The figures depend on
// the machine, so nothing is compared.
func TestSpeedTable(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	table := "| requests decoded together | tokens/s, one core | weights read in full, times/s |\n|---|---|---|\n"
	e := novels(t)
	limit := readsPerSecond(e.Bytes())
	for _, rows := range []int{1, 8} {
		r := testing.Benchmark(func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			for b.Loop() {
				decode(b, e, rows)
			}
		})
		table += fmt.Sprintf("| %d | %.0f | %.0f |\n", rows, float64(200*rows*r.N)/r.T.Seconds(), limit)
	}
	if err := os.WriteFile("testdata/speed.md", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
}
