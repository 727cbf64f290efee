package engine

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// loras are the base and its adapters, in their directories.
var loras = []string{"llama", "adapters/llama-all", "adapters/llama-two"}

// openNumbers opens a model whose tokens are spelled as numbers.
func openNumbers(t testing.TB, dir string) *arch.Model {
	t.Helper()
	m, err := arch.Open(os.DirFS("arch/testdata"), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Tokenizer, m.End = numbers{m.Tokens}, nil
	return m
}

// loadLlama reads the weights of the base.
func loadLlama(t testing.TB, cfg Config) *Weights {
	t.Helper()
	return loadDir(t, "llama", cfg, nil)
}

// loadDir reads the weights of the model in a directory.
func loadDir(t testing.TB, dir string, cfg Config, released func()) *Weights {
	t.Helper()
	m := openNumbers(t, dir)
	w, err := Load(m, cfg, released)
	if err = errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	return w
}

// onWeights returns the engines of the base and of its adapters, which share weights. Only the
// engines use the weights.
func onWeights(t testing.TB, w *Weights, cfg Config) (engines []*Engine) {
	t.Helper()
	for _, dir := range loras {
		cfg.Name, cfg.Weights = dir, w
		e, err := New(openNumbers(t, dir), cfg)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	w.Release()
	return engines
}

// asking returns a request for tokens after a prompt of n tokens.
func asking(n int) *llm.Request {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = (7*i*i + 3*i + 1) % 112
	}
	req := &llm.Request{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: ids}}}}}
	req.Params = llm.Params{MaxTokens: new(24), Tokens: new(true), Logprobs: new(1), Temperature: new(1.0), Seed: new(int64(3))}
	return req
}

// Requests of a base and of its adapters are computed in the same passes, and each gets what it gets
// alone, to the bit.
func TestAdaptersShareWeights(t *testing.T) {
	team := transformer.NewTeam(2)
	defer team.Close()
	for _, format := range []transformer.Format{transformer.F32, transformer.Q8_0} {
		cfg := Config{Team: team, Format: format, PrefixMemory: -1}
		var want [][]llm.Chunk
		for i := range loras {
			rows, _ := collect(t, onWeights(t, loadLlama(t, cfg), cfg)[i], asking(9))
			want = append(want, rows)
		}
		if same(want[0], want[1]) || same(want[1], want[2]) || same(want[0], want[2]) {
			t.Errorf("%v: adapters change nothing", format)
		}
		engines := onWeights(t, loadLlama(t, cfg), cfg)
		var group sync.WaitGroup
		for i, e := range slices.Concat(engines, engines) {
			group.Go(func() {
				rows, _, err := llm.Collect(e.Generate(t.Context(), asking(9)), 1)
				if err != nil || !same(rows, want[i%3]) {
					t.Errorf("%v, %s: %+v, %v, want %+v", format, loras[i%3], rows, err, want[i%3])
				}
			})
		}
		group.Wait()
	}
}

// One pass computes the rows of a base and of its adapters.
func TestAdaptersShareAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engines := onWeights(t, loadLlama(t, Config{}), Config{})
		alone := make([][]float32, len(engines))
		for i, e := range engines {
			m := e.lanes.join("", nil)
			if err := forward(t, e, m); err != nil {
				t.Fatal(err)
			}
			alone[i] = slices.Clone(m.logits)
			m.leave()
		}
		if slices.Equal(alone[0], alone[1]) || slices.Equal(alone[1], alone[2]) || slices.Equal(alone[0], alone[2]) {
			t.Error("adapters change nothing")
		}
		hold, busy := make(chan struct{}), engines[0].lanes.join("", nil)
		go func() {
			_ = busy.runExclusive(t.Context(), func(*transformer.Pass) error { <-hold; return nil })
			busy.leave()
		}()
		synctest.Wait()
		b := busy.batch
		for i, e := range engines {
			go func() {
				m := e.lanes.join("", nil)
				if err := forward(t, e, m); err != nil || !slices.Equal(m.logits, alone[i]) {
					t.Errorf("%s: together it computes something else, %v", loras[i], err)
				}
			}()
		}
		synctest.Wait()
		close(hold)
		synctest.Wait()
		if n := len(b.last); n != len(engines) {
			t.Errorf("the last pass had %d members, want %d", n, len(engines))
		}
	})
}

// Embeddings are the adapter's.
func TestAdapterEmbeds(t *testing.T) {
	engines := onWeights(t, loadLlama(t, Config{}), Config{})
	merged, err := New(openNumbers(t, loras[1]), Config{})
	if err != nil {
		t.Fatal(err)
	}
	vector := func(e *Engine) []float32 {
		out, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: asking(9).Prompts})
		if err != nil {
			t.Fatal(err)
		}
		return out[0].Layers[0].Vectors[0]
	}
	base, got, want := vector(engines[0]), vector(engines[1]), vector(merged)
	off, moved := 0.0, 0.0
	for i := range want {
		off, moved = max(off, math.Abs(float64(got[i]-want[i]))), max(moved, math.Abs(float64(base[i]-want[i])))
	}
	if off > 1e-4 || moved < 0.1 {
		t.Errorf("%.2g from those of the merged weights, the base's %.2g", off, moved)
	}
}

// What one of them has computed is not used for another.
func TestAdapterPrefixes(t *testing.T) {
	shared := NewPrefixMemory(func() int64 { return 1 << 30 })
	engines := onWeights(t, loadLlama(t, Config{}), Config{Prefixes: shared, NoDrafts: true})
	for round, cached := range []int{0, 149} {
		for i, e := range engines {
			req := asking(150)
			want, _ := collect(t, onWeights(t, loadLlama(t, Config{}), Config{PrefixMemory: -1})[i], req)
			got, usage := collect(t, e, req)
			if usage.Cached != cached || !same(got, want) {
				t.Errorf("round %d, %s: %d tokens were cached, want %d; %+v, want %+v", round, loras[i], usage.Cached, cached, got, want)
			}
		}
	}
	for _, e := range engines {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := shared.Bytes(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

// Weights stay until their last engine is closed.
func TestWeightsAreReleased(t *testing.T) {
	released := 0
	w := loadDir(t, "llama", Config{}, func() { released++ })
	engines := onWeights(t, w, Config{})
	for i, e := range engines {
		if got, most := e.Bytes(), w.model.Bytes()*3/2; got < w.model.Bytes() || got > most || i == 0 && got != w.model.Bytes() {
			t.Errorf("%s: %d bytes, its base has %d", loras[i], got, w.model.Bytes())
		}
		for range 2 { // closing twice is closing once
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, open := range engines[i+1:] {
			collect(t, open, asking(3))
		}
		if used := w.Use(); used != (i < len(engines)-1) {
			t.Errorf("after %d engines were closed: in use %v", i+1, used)
		} else if used {
			w.Release()
		}
	}
	if released != 1 {
		t.Errorf("they were released %d times", released)
	}
	if _, _, err := llm.Collect(engines[0].Generate(t.Context(), asking(3)), 1); err == nil {
		t.Error("closed weights compute")
	}
	if _, err := New(openNumbers(t, "llama"), Config{Weights: w}); err == nil || !strings.Contains(err.Error(), "released") {
		t.Error(err)
	}
}

// Weights of another base are refused, and so are those of the base for an adapter that must be merged.
func TestAdapterOnOtherWeights(t *testing.T) {
	w := loadDir(t, "gpt_neox", Config{}, nil)
	if e, err := New(openNumbers(t, loras[1]), Config{Name: "lora", Weights: w}); err == nil || !strings.Contains(err.Error(), `model "lora"`) {
		t.Errorf("%v, %v", e, err)
	}
	if e, err := New(openNumbers(t, "adapters/llama"), Config{Name: "merged", Weights: w}); err == nil || !strings.Contains(err.Error(), "cannot share") {
		t.Errorf("%v, %v", e, err)
	}
	if w.users != 1 {
		t.Errorf("%d users", w.users)
	}
}

// openFiles is a file system that counts its open files. Closing one returns err.
type openFiles struct {
	fs.FS
	count int
	err   error
}

func (o *openFiles) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	o.count++
	return openFile{f.(*os.File), o}, nil
}

type openFile struct {
	*os.File
	of *openFiles
}

func (o openFile) Close() error {
	o.of.count--
	return errors.Join(o.File.Close(), o.of.err)
}

// A constructor that fails closes the files of the model and releases its weights.
func TestFailedConstructors(t *testing.T) {
	engine := func(m *arch.Model, cfg Config) error { _, err := New(m, cfg); return err }
	translator := func(m *arch.Model, cfg Config) error { _, err := NewTranslator(m, cfg); return err }
	torn := errors.New("torn")
	for _, c := range []struct {
		dir      string
		open     func(*arch.Model, Config) error
		cfg      Config
		closing  error
		want     string
		released int // weights, which only an engine that fails later has read
	}{
		{"marian", engine, Config{}, nil, "does not continue texts", 0},
		{"llama", engine, Config{Template: named(t, chat.ChatML)}, nil, "no special token", 1},
		{"llama", engine, Config{}, torn, "torn", 1},
		{"llama", translator, Config{}, nil, "does not translate", 0},
		{"marian", translator, Config{Languages: []string{"xx"}}, nil, "no language", 0},
		{"marian", translator, Config{}, torn, "torn", 1},
	} {
		files, released := &openFiles{FS: os.DirFS("arch/testdata")}, 0
		m, err := arch.Open(files, c.dir)
		if err != nil || files.count == 0 {
			t.Fatalf("%d files are open, %v", files.count, err)
		}
		files.err = c.closing
		m.Tokenizer, m.Weights.Release = numbers{m.Tokens}, func() { released++ }
		if err := c.open(m, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.dir, err, c.want)
		}
		if files.count != 0 || released != c.released {
			t.Errorf("%s, %s: %d files are open, the weights were released %d times, want %d", c.dir, c.want, files.count, released, c.released)
		}
	}
}
