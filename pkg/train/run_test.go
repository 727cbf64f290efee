package train

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
)

// corpus returns a text with some structure.
func corpus() string {
	var b strings.Builder
	names, verbs := []string{"ann", "bob", "cid"}, []string{"sees", "greets", "helps"}
	for i := range 400 {
		b.WriteString(names[i%3] + " " + verbs[i/3%3] + " " + names[(i/2+1)%3] + ".\n")
	}
	return b.String()
}

func small() Config {
	return Config{
		Tokenizer: "char", NLayer: 1, NEmbd: 16, NHead: 2, BlockSize: 24, BatchSize: 3, Steps: 20, LR: 3e-3, Seed: 7,
		EvalEvery: 7, CheckpointEvery: 5, LogEvery: 1, Threads: 2,
	}
}

func metrics(t *testing.T, dir string) []metricsLine {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, metricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []metricsLine
	s := bufio.NewScanner(f)
	for s.Scan() {
		var l metricsLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.ElapsedMS <= 0 || l.TokensPerSec <= 0 || l.MSPerIter <= 0 {
			t.Errorf("line without times: %s", s.Bytes())
		}
		l.ElapsedMS, l.TokensPerSec, l.MSPerIter = 0, 0, 0
		lines = append(lines, l)
	}
	return lines
}

// sameRun compares two finished runs: metrics except the times, and parameters.
func sameRun(t *testing.T, a, b string) {
	t.Helper()
	x, y := metrics(t, a), metrics(t, b)
	if len(x) != len(y) {
		t.Fatalf("%d metrics lines, and %d", len(x), len(y))
	}
	for i := range x {
		p, q := x[i].ValLoss, y[i].ValLoss
		if (p == nil) != (q == nil) || p != nil && *p != *q {
			t.Errorf("line %d: validation losses differ", i)
		}
		x[i].ValLoss, y[i].ValLoss = nil, nil
		if x[i] != y[i] {
			t.Errorf("line %d: %+v, and %+v", i, x[i], y[i])
		}
	}
	p, q := final(t, a), final(t, b)
	for name, tensor := range p.Params {
		if !slices.Equal(tensor.Data, q.Params[name].Data) {
			t.Errorf("%s differs", name)
		}
	}
}

// final reads the checkpoint of a finished run in the same way as the server.
func final(t *testing.T, dir string) *checkpoint.Alpha {
	t.Helper()
	runs, problems := checkpoint.Scan(os.DirFS(filepath.Dir(dir)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, r := range runs {
		if r.ID == filepath.Base(dir) {
			a, err := checkpoint.ReadAlphaFile(os.DirFS(filepath.Dir(dir)), r.Checkpoint, checkpoint.Options{Optimizer: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Config.ConfigHash != a.ConfigHash {
				t.Errorf("config hash %s, in the checkpoint %s", r.Config.ConfigHash, a.ConfigHash)
			}
			return a
		}
	}
	t.Fatalf("no run %s", dir)
	return nil
}

func mustRun(t *testing.T, c Config, dir string) {
	t.Helper()
	if err := Run(t.Context(), c, corpus(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

func TestRunLearns(t *testing.T) {
	for _, kind := range []string{"char", "word", "bpe"} {
		t.Run(kind, func(t *testing.T) {
			c, dir := small(), filepath.Join(t.TempDir(), "run")
			c.Tokenizer, c.Steps, c.BlockSize = kind, 120, 16
			if kind == "bpe" {
				c.VocabSize = 40
			}
			var seen []Progress
			if err := Run(t.Context(), c, corpus(), dir, func(p Progress) { seen = append(seen, p) }); err != nil {
				t.Fatal(err)
			}
			last := seen[len(seen)-1]
			if len(seen) != 120 || last.Step != 120 || last.Steps != 120 || last.Left != 0 || last.TokensPerSecond <= 0 {
				t.Errorf("%d reports, the last %+v", len(seen), last)
			}
			if last.ValLoss == nil || *last.ValLoss > 0.7*seen[0].Loss {
				t.Errorf("loss %g at first, validation %v at last", seen[0].Loss, *last.ValLoss)
			}
			a := final(t, dir)
			if a.Step != 120 || len(a.Optimizer) > 0 || a.Tokenizer == nil {
				t.Errorf("checkpoint: step %d, %d optimizer buffers, tokenizer %.20s", a.Step, len(a.Optimizer), a.Tokenizer)
			}
			if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 3 {
				t.Errorf("files %q, %v", names, err)
			}
		})
	}
}

func TestThreadsDoNotMatter(t *testing.T) {
	root := t.TempDir()
	for _, threads := range []int{1, 3} {
		c := small()
		c.Threads, c.RunID = threads, "same"
		mustRun(t, c, filepath.Join(root, string(rune('0'+threads))))
	}
	sameRun(t, filepath.Join(root, "1"), filepath.Join(root, "3"))
}

// TestResume stops a run by cancelling, which saves, and by a kill, simulated by a copy
// of the directory in the middle of a step.
func TestResume(t *testing.T) {
	root := t.TempDir()
	c := small()
	c.RunID = "same"
	whole := filepath.Join(root, "whole")
	mustRun(t, c, whole)

	cancelled := filepath.Join(root, "cancelled")
	ctx, cancel := context.WithCancel(t.Context())
	err := Run(ctx, c, corpus(), cancelled, func(p Progress) {
		if p.Step == 12 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	mustRun(t, c, cancelled)
	sameRun(t, whole, cancelled)

	killed := filepath.Join(root, "killed")
	if err := Run(t.Context(), c, corpus(), filepath.Join(root, "victim"), func(p Progress) {
		if p.Step == 13 {
			if err := os.CopyFS(killed, os.DirFS(filepath.Join(root, "victim"))); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if lines := metrics(t, killed); len(lines) != 13 {
		t.Fatalf("%d lines before resuming", len(lines))
	}
	for name, text := range map[string]string{tempPrefix + "1": "left over", metricsName: `{"step":14,"lo`} {
		f, err := os.OpenFile(filepath.Join(killed, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	mustRun(t, c, killed)
	sameRun(t, whole, killed)
	if _, err := os.Stat(filepath.Join(killed, tempPrefix+"1")); err == nil {
		t.Error("the temporary file is still there")
	}

	before := metrics(t, killed)
	mustRun(t, c, killed) // a finished run is unchanged
	if after := metrics(t, killed); len(after) != len(before) {
		t.Error("a finished run went on")
	}
}

// A run grows: complete, with the moments kept, or stopped half-way. Where and how often it is
// stopped afterwards does not change it.
func TestRunGrows(t *testing.T) {
	more := small()
	more.Steps = 40
	grown := func(name string, first, rest Config) string {
		dir := filepath.Join(t.TempDir(), name)
		mustRun(t, first, dir)
		before := metrics(t, dir)
		mustRun(t, rest, dir)
		if after := metrics(t, dir); len(after) != rest.Steps || !slices.EqualFunc(before[:6], after[:6], func(a, b metricsLine) bool { return a.Loss == b.Loss }) {
			t.Errorf("%s: %d lines, or the first ones changed", name, len(after))
		}
		if a := final(t, dir); a.Step != rest.Steps {
			t.Errorf("%s ends after step %d", name, a.Step)
		}
		return dir
	}
	whole := grown("whole", small(), more)

	stopped := filepath.Join(t.TempDir(), "whole")
	mustRun(t, small(), stopped)
	for _, at := range []int{21, 33} {
		ctx, cancel := context.WithCancel(t.Context())
		err := Run(ctx, more, corpus(), stopped, func(p Progress) {
			if p.Step == at {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: %v", at, err)
		}
	}
	mustRun(t, more, stopped)
	sameRun(t, whole, stopped)

	// With the moments there is no second warm-up, and so another run.
	keeps := small()
	keeps.KeepOptimizer = true
	kept := grown("whole", keeps, more)
	warm := func(dir string) float64 { return metrics(t, dir)[20].LR }
	if warm(kept) <= warm(whole) {
		t.Errorf("step 21 has the rate %g with moments, %g without", warm(kept), warm(whole))
	}
	if err := Run(t.Context(), small(), corpus(), whole, nil); err == nil || !strings.Contains(err.Error(), "trainConfig.iters differs: the run there has 40, not 20") {
		t.Errorf("it shrinks: %v", err)
	}
}

func TestRefusesOtherRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, small(), dir)
	for field, change := range map[string]func(c *Config){
		"trainConfig.lr":       func(c *Config) { c.LR = 1 },
		"trainConfig.seed":     func(c *Config) { c.Seed = 8 },
		"trainConfig.iters":    func(c *Config) { c.Steps = 10 },
		"trainConfig.warmup":   func(c *Config) { c.Steps, c.Warmup = 30, 3 },
		"modelConfig.nLayer":   func(c *Config) { c.NLayer = 2 },
		"modelConfig.softCap":  func(c *Config) { c.SoftCap = 30 },
		"trainConfig.maxVocab": func(c *Config) { c.VocabSize = 300 },
		"domain":               func(c *Config) { c.Domain = "abc" },
	} {
		c := small()
		change(&c)
		if err := Run(t.Context(), c, corpus(), dir, nil); err == nil || !strings.Contains(err.Error(), field+" differs") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := Run(t.Context(), small(), corpus()+"more", dir, nil); err == nil || !strings.Contains(err.Error(), "textBytes differs") {
		t.Errorf("other text: %v", err)
	}
}

func TestRefusesConfig(t *testing.T) {
	for field, change := range map[string]func(c *Config){
		"tokenizer":     func(c *Config) { c.Tokenizer = "tiles" },
		"ffnActivation": func(c *Config) { c.FFNActivation = "swiglu" },
		"dropout":       func(c *Config) { c.Dropout = 0.1 },
		"nHead":         func(c *Config) { c.NHead = 3 },
		"steps":         func(c *Config) { c.Steps = -1 },
		"batchSize":     func(c *Config) { c.BatchSize = -4 },
		"beta2":         func(c *Config) { c.Beta2 = 1 },
		"valFraction":   func(c *Config) { c.ValFraction = 0.95 },
		"blockSize":     func(c *Config) { c.BlockSize = 1 << 30 },
	} {
		c, dir := small(), t.TempDir()
		change(&c)
		if err := Run(t.Context(), c, corpus(), dir, nil); err == nil || !strings.HasPrefix(err.Error(), field+": ") || c.Check() == nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, text := range []string{"", "a", "a short text"} {
		if err := Run(t.Context(), small(), text, t.TempDir(), nil); err == nil {
			t.Errorf("text %q: no error", text)
		}
	}
}

func TestKeepOptimizer(t *testing.T) {
	c, dir := small(), filepath.Join(t.TempDir(), "run")
	c.KeepOptimizer = true
	mustRun(t, c, dir)
	before := final(t, dir)
	if len(before.Optimizer) != 2*len(before.Params) {
		t.Fatalf("%d optimizer buffers for %d parameters", len(before.Optimizer), len(before.Params))
	}
}
