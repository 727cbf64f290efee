// Package train trains an Alpha model on one text and writes a run directory that the
// server loads. It knows the architecture, its gradients and the optimiser, but not how
// text is split into tokens, the format of weight files, or terminals: progress goes to a
// callback.
//
// Start with [Run]: the zero [Config] trains a small model of byte pairs.
//
// Sources: Alpha's trainer (architecture, run directory), Radford et al. 2019 (GPT-2),
// Loshchilov and Hutter 2019 (AdamW) and 2017 (cosine schedule).
package train

import (
	"cmp"
	"fmt"
	"runtime"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/tokenizer/alpha"
)

// Config configures a training run. The zero value is a small BPE model. A zero field has
// its default; for WeightDecay and GradClip a negative value disables them.
type Config struct {
	// The run.
	Domain string // default "novels"
	RunID  string // default: the directory's name

	// The vocabulary.
	Tokenizer string   // bpe (default), char or word
	VocabSize int      // upper bound; default 2000 for bpe, all words for word
	Special   []string // special tokens that the text spells, which VocabSize does not count

	// The model.
	NLayer        int     // default 4
	NEmbd         int     // default 128
	NHead         int     // default one for each 32 of NEmbd
	BlockSize     int     // context in tokens; default 256
	SoftCap       float64 // tanh cap of attention scores; 0: none
	FFNActivation string  // only gelu, the default
	Dropout       float64 // only 0

	// The optimisation.
	Steps       int     // default 2000; a run that exists may grow
	BatchSize   int     // windows of BlockSize tokens a step; default 16
	LR          float64 // peak learning rate; default 2e-3, less for NEmbd above 128
	MinLR       float64 // floor of the cosine decay; default LR/10
	Warmup      int     // steps; default 100, at most a tenth of Steps
	Beta1       float64 // default 0.9
	Beta2       float64 // default 0.99
	Eps         float64 // default 1e-8
	WeightDecay float64 // of matrices; default 0.1
	GradClip    float64 // bound of the gradient's norm; default 1
	Seed        uint64
	restart     int     // the optimiser began anew after this step, see [Run]
	ValFraction float64 // held-out share at the end of the text; default 0.05

	// Settings that do not change the losses.
	EvalEvery       int  // steps between validation losses; default 250
	CheckpointEvery int  // steps between checkpoints; default 500
	LogEvery        int  // steps between metrics lines; default 10
	Threads         int  // default GOMAXPROCS
	KeepOptimizer   bool // also keep m and v in the last checkpoint
}

// withDefaults fills in the defaults of zero fields.
func (c Config) withDefaults() Config {
	def := func(p *int, v int) { *p = cmp.Or(*p, v) }
	fdef := func(p *float64, v float64) { *p = cmp.Or(*p, v) }
	c.Domain = cmp.Or(c.Domain, "novels")
	c.Tokenizer = cmp.Or(c.Tokenizer, "bpe")
	if c.Tokenizer == "bpe" {
		def(&c.VocabSize, 2000)
	}
	def(&c.NLayer, 4)
	def(&c.NEmbd, 128)
	def(&c.NHead, max(1, c.NEmbd/32))
	def(&c.BlockSize, 256)
	c.FFNActivation = cmp.Or(c.FFNActivation, checkpoint.GELU)
	def(&c.Steps, 2000)
	def(&c.BatchSize, 16)
	fdef(&c.LR, 2e-3*min(1, 128/float64(max(1, c.NEmbd))))
	fdef(&c.MinLR, c.LR/10)
	def(&c.Warmup, max(1, min(100, c.Steps/10)))
	fdef(&c.Beta1, 0.9)
	fdef(&c.Beta2, 0.99)
	fdef(&c.Eps, 1e-8)
	fdef(&c.WeightDecay, 0.1)
	fdef(&c.GradClip, 1)
	c.WeightDecay, c.GradClip = max(c.WeightDecay, 0), max(c.GradClip, 0)
	fdef(&c.ValFraction, 0.05)
	def(&c.EvalEvery, 250)
	def(&c.CheckpointEvery, 500)
	def(&c.LogEvery, 10)
	def(&c.Threads, runtime.GOMAXPROCS(0))
	return c
}

// Check returns an error that names the first invalid field. [Run] checks them too.
func (c Config) Check() error {
	_, err := c.complete()
	return err
}

// complete fills in the defaults of zero fields, and returns an error that names the first invalid field.
func (c Config) complete() (Config, error) {
	c = c.withDefaults()
	return c, c.validate()
}

// validate reports the first invalid field, with defaults filled in.
func (c *Config) validate() error {
	switch {
	case c.Tokenizer != alpha.BPE && c.Tokenizer != alpha.Char && c.Tokenizer != alpha.Word:
		return fmt.Errorf("tokenizer: %q is not bpe, char or word", c.Tokenizer)
	case c.FFNActivation != checkpoint.GELU:
		return fmt.Errorf("ffnActivation: %q cannot be trained, only %q", c.FFNActivation, checkpoint.GELU)
	case c.Dropout != 0:
		return fmt.Errorf("dropout: %v is not supported, only 0", c.Dropout)
	}
	for _, f := range []struct {
		name       string
		value      int
		least, top int
	}{
		{"vocabSize", c.VocabSize, 0, 1 << 16},
		{"steps", c.Steps, 1, 1 << 30},
		{"batchSize", c.BatchSize, 1, 1 << 16},
		{"warmup", c.Warmup, 1, 1 << 30},
		{"evalEvery", c.EvalEvery, 1, 1 << 30},
		{"checkpointEvery", c.CheckpointEvery, 1, 1 << 30},
		{"logEvery", c.LogEvery, 1, 1 << 30},
		{"threads", c.Threads, 1, 1 << 10},
	} {
		if f.value < f.least || f.value > f.top {
			return fmt.Errorf("%s: %d is not in %d..%d", f.name, f.value, f.least, f.top)
		}
	}
	for _, f := range []struct {
		name       string
		value, top float64
	}{
		{"lr", c.LR, 10},
		{"minLr", c.MinLR, c.LR},
		{"beta1", c.Beta1, 0.999999},
		{"beta2", c.Beta2, 0.999999},
		{"eps", c.Eps, 1},
		{"weightDecay", c.WeightDecay, 100},
		{"gradClip", c.GradClip, 1e9},
		{"valFraction", c.ValFraction, 0.9},
		{"softCap", c.SoftCap, 1e6},
	} {
		if !(f.value >= 0 && f.value <= f.top) {
			return fmt.Errorf("%s: %v is not in 0..%v", f.name, f.value, f.top)
		}
	}
	model := c.model(1)
	return model.Validate()
}

// model returns the shape for a vocabulary of the given size. softCap is written when
// used.
func (c *Config) model(vocab int) checkpoint.ModelConfig {
	m := checkpoint.ModelConfig{
		VocabSize: vocab, BlockSize: c.BlockSize, NLayer: c.NLayer, NEmbd: c.NEmbd, NHead: c.NHead,
		FFNActivation: c.FFNActivation,
	}
	if c.SoftCap != 0 {
		m.SoftCap = new(c.SoftCap)
	}
	return m
}
