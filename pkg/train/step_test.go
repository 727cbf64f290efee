package train

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRate(t *testing.T) {
	c := Config{Steps: 110, Warmup: 10, LR: 1, MinLR: 0.1}
	for step, want := range map[int]float64{1: 0.1, 5: 0.5, 10: 1, 60: 0.55, 110: 0.1} {
		if got := rate(&c, step); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d: rate %g, want %g", step, got, want)
		}
	}
	for step := 11; step <= 110; step++ {
		if rate(&c, step) >= rate(&c, step-1) {
			t.Errorf("step %d: the rate does not fall", step)
		}
	}
	c.restart = 60 // a second warm-up to the same cosine
	for step, want := range map[int]float64{65: 0.239802, 70: 0.410942, 110: 0.1} {
		if got := rate(&c, step); math.Abs(got-want) > 1e-6 {
			t.Errorf("step %d after a restart: rate %g, want %g", step, got, want)
		}
	}
	one := Config{Steps: 1}.withDefaults()
	if got := rate(&one, 1); got != one.LR {
		t.Errorf("a single step has rate %g", got)
	}
}

func TestWindows(t *testing.T) {
	const n, draws = 10, 20000
	var count [n]int
	for step := range draws / 4 {
		for row := range 4 {
			count[windowAt(3, step, row, n)]++
		}
	}
	for i, c := range count {
		if math.Abs(float64(c)-draws/n) > 6*math.Sqrt(draws/n) {
			t.Errorf("start %d was drawn %d times of %d", i, c, draws)
		}
	}
	if a, b := windowAt(1, 2, 3, 1<<40), windowAt(1, 3, 2, 1<<40); a == b {
		t.Error("step and row are confused")
	}
	// Later versions must be able to resume a run.
	if got := windowAt(1, 2, 3, 1<<40); got != 459109941696 {
		t.Errorf("the windows have changed: %d", got)
	}
}

func TestDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if err := c.validate(); err != nil {
		t.Error(err)
	}
	c = Config{WeightDecay: -1, GradClip: -1}.withDefaults()
	if c.WeightDecay != 0 || c.GradClip != 0 {
		t.Errorf("negative values mean none, got %v and %v", c.WeightDecay, c.GradClip)
	}
}

func TestFirstLossIsUniform(t *testing.T) {
	c := small()
	c.Steps, c.ValFraction = 1, 1e-6 // nothing is held out
	var p Progress
	if err := Run(t.Context(), c, corpus(), t.TempDir(), func(q Progress) { p = q }); err != nil {
		t.Fatal(err)
	}
	var symbols [128]bool
	n := 0.0
	for _, b := range []byte(corpus()) {
		if !symbols[b] {
			symbols[b] = true
			n++
		}
	}
	if math.Abs(p.Loss-math.Log(n)) > 0.1 || p.ValLoss != nil {
		t.Errorf("loss %g, want about ln %g; validation %v", p.Loss, n, p.ValLoss)
	}
}

func TestDiverging(t *testing.T) {
	c := small()
	c.LR, c.Warmup, c.GradClip, c.Eps, c.Steps = 10, 1, -1, 1e-30, 200
	c.WeightDecay = 100 // rate times decay is far beyond 1
	err := Run(t.Context(), c, corpus(), t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "lower lr") {
		t.Errorf("diverging: %v", err)
	}
}

func TestBrokenDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), small(), corpus(), file, nil); err == nil {
		t.Error("no error for a file as directory")
	}
	for name, content := range map[string]string{
		"checkpoint-20.json": "ALPH\x10\x00\x00\x00garbage",
		configName:           "{",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		mustRun(t, small(), dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), small(), corpus(), dir, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("broken %s: %v", name, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, small(), dir)
	if err := os.Remove(filepath.Join(dir, configName)); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), small(), corpus(), dir, nil); err == nil || !strings.Contains(err.Error(), configName) {
		t.Errorf("no %s: %v", configName, err)
	}
}
