package train

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/tokenizer/alpha"
)

// Progress is the state after a step.
type Progress struct {
	Step, Steps     int
	Loss            float64  // mean of the step's batch, nats per token
	ValLoss         *float64 // nil if not measured in this step
	LR              float64
	GradNorm        float64 // before clipping
	TokensPerSecond float64 // since the last report or, at first, since the start
	Elapsed         time.Duration
	Left            time.Duration // at the recent speed
}

// Run trains a model on text and keeps the run in directory dir: config.json,
// metrics.jsonl and the newest checkpoint. If dir holds a run of the same configuration
// and text, Run continues from its checkpoint, with the same losses as an uninterrupted
// run; any other run there is an error that names the differing field. Only Steps may grow:
// the next step then follows the schedule of the new number. A complete run has no moments
// unless KeepOptimizer kept them; its optimiser restarts, with another warm-up. progress,
// which may be nil, is called after every step. When ctx ends, Run saves the state and
// returns the context's error.
func Run(ctx context.Context, c Config, text, dir string, progress func(Progress)) error {
	keepWarmup := c.Warmup == 0
	c, err := c.complete()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if c.RunID == "" {
		c.RunID = filepath.Base(abs)
	}
	r := &run{dir: runDir(abs), config: c, keepWarmup: keepWarmup, progress: progress}
	if err := r.open(text); err != nil {
		return fmt.Errorf("run %s: %w", abs, err)
	}
	if err := r.steps(ctx); err != nil {
		return fmt.Errorf("run %s: %w", abs, err)
	}
	return nil
}

// A run is one call of Run.
type run struct {
	dir    runDir
	config Config
	// keepWarmup continues a run with its own warm-up instead of the default of the new number
	// of steps.
	keepWarmup bool
	progress   func(Progress)
	trainer    *trainer
	doc        document
	artifacts  json.RawMessage // of the tokenizer
	step       int             // steps done
	before     time.Duration   // time spent in earlier calls
	metrics    *metricsFile
}

// open prepares the directory, the vocabulary and the state.
func (r *run) open(text string) error {
	old, err := r.dir.prepare()
	if err != nil {
		return err
	}
	if old == nil {
		if r.artifacts, err = vocabulary(&r.config, text); err != nil {
			return err
		}
	} else {
		r.artifacts, r.step = old.Tokenizer, old.Step
	}
	have, err := r.dir.document()
	if err != nil {
		return err
	}
	if have != nil && old != nil {
		if err := r.grow(have, old); err != nil {
			return err
		}
	}
	tok, err := alpha.Parse(r.artifacts)
	if err != nil {
		return err
	}
	if r.doc, err = newDocument(&r.config, tok.Size(), text); err != nil {
		return err
	}
	if err := r.dir.claim(r.doc, have); err != nil {
		return err
	}
	train, val, err := split(tok.EncodeSpecial(text), &r.config)
	if err != nil {
		return err
	}
	m := newModel(r.config.model(tok.Size()))
	m.initialise(r.config.Seed)
	r.trainer = newTrainer(m, r.config, train, val)
	if old != nil {
		if err := r.trainer.restore(old); err != nil {
			return err
		}
	}
	r.metrics, r.before, err = r.dir.openMetrics(r.step)
	return err
}

// grow adopts what a run in the directory keeps when its number of steps grows: its warm-up, and
// the step after which its optimiser restarted.
func (r *run) grow(have *document, old *checkpoint.Alpha) error {
	var c trainConfig
	if err := json.Unmarshal(have.TrainConfig, &c); err != nil {
		return fmt.Errorf("%s: trainConfig: %w", configName, err)
	}
	if r.keepWarmup && c.Warmup > 0 {
		r.config.Warmup = c.Warmup
	}
	r.config.restart = c.Restart
	if r.config.Steps > c.Iters && old.Step == c.Iters && len(old.Optimizer) == 0 {
		r.config.restart = old.Step
	}
	return nil
}

// steps runs the remaining steps.
func (r *run) steps(ctx context.Context) (err error) {
	defer func() {
		if cerr := r.metrics.close(); err == nil {
			err = cerr
		}
	}()
	c, clock := &r.config, newClock(r.before)
	for r.step < c.Steps {
		if ctx.Err() != nil {
			if r.step > 0 {
				if err := r.save(); err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		}
		p, err := r.one(clock)
		if err != nil {
			return err
		}
		if err := r.record(p); err != nil {
			return err
		}
		if r.progress != nil {
			r.progress(p)
		}
	}
	return nil
}

// one runs one step and takes the measurements that are due.
func (r *run) one(clock *clock) (Progress, error) {
	c, n := &r.config, r.step+1
	loss, norm, err := r.trainer.step(n)
	if err != nil {
		return Progress{}, err
	}
	r.step = n
	p := Progress{Step: n, Steps: c.Steps, Loss: loss, LR: rate(c, n), GradNorm: norm}
	clock.tick(&p, c.BatchSize*c.BlockSize)
	if n%c.EvalEvery == 0 || n == c.Steps {
		if v, ok := r.trainer.evaluate(); ok {
			p.ValLoss = &v
		}
	}
	return p, nil
}

// record writes the metrics line and the checkpoint that are due. The line comes first: a
// line newer than the checkpoint is dropped on resuming.
func (r *run) record(p Progress) error {
	c := &r.config
	last := p.Step == c.Steps
	if last || p.Step == 1 || p.Step%c.LogEvery == 0 || p.ValLoss != nil {
		if err := r.metrics.append(p, c.BatchSize*c.BlockSize); err != nil {
			return err
		}
	}
	if last || p.Step%c.CheckpointEvery == 0 {
		return r.save()
	}
	return nil
}

// save writes the checkpoint of the current step and removes older ones.
func (r *run) save() error {
	if err := r.metrics.sync(); err != nil {
		return err
	}
	a := r.trainer.snapshot(r.step)
	a.Tokenizer, a.ConfigHash, a.RNGState = r.artifacts, r.doc.ConfigHash, float64(r.config.Seed)
	a.ModelConfigRaw = r.doc.ModelConfig
	if r.step == r.config.Steps && !r.config.KeepOptimizer {
		a.Optimizer = nil
	}
	return r.dir.saveCheckpoint(a)
}

// snapshot returns a checkpoint of the state after step; it shares the trainer's memory.
func (t *trainer) snapshot(step int) *checkpoint.Alpha {
	a := &checkpoint.Alpha{
		ModelConfig: t.model.config, Step: step, OptimizerStep: step - t.config.restart,
		Params: map[string]checkpoint.Tensor{}, Optimizer: map[string]checkpoint.Tensor{},
	}
	for _, p := range t.params {
		a.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: p.of(t.weights)}
		a.Optimizer[p.Name+".m"] = checkpoint.Tensor{Shape: p.Shape, Data: p.of(t.m)}
		a.Optimizer[p.Name+".v"] = checkpoint.Tensor{Shape: p.Shape, Data: p.of(t.v)}
	}
	return a
}

// restore restores the state of a checkpoint. A checkpoint without optimizer is complete,
// was complete before the run grew, or is from another trainer.
func (t *trainer) restore(a *checkpoint.Alpha) error {
	for _, p := range t.params {
		if err := restoreTensor(p.of(t.weights), a.Params, p.Name); err != nil {
			return err
		}
		if a.Step == t.config.Steps || a.Step == t.config.restart {
			continue
		}
		if err := restoreTensor(p.of(t.m), a.Optimizer, p.Name+".m"); err != nil {
			return err
		}
		if err := restoreTensor(p.of(t.v), a.Optimizer, p.Name+".v"); err != nil {
			return err
		}
	}
	return nil
}

func restoreTensor(dst []float32, tensors map[string]checkpoint.Tensor, name string) error {
	src, ok := tensors[name]
	if !ok {
		return fmt.Errorf("checkpoint: tensor %q is missing: the run cannot continue from it", name)
	}
	if len(src.Data) != len(dst) {
		return fmt.Errorf("checkpoint: tensor %q has %d values, but the model has %d", name, len(src.Data), len(dst))
	}
	copy(dst, src.Data)
	return nil
}

// A clock measures speed.
type clock struct {
	start, last time.Time
	before      time.Duration
	perStep     float64 // seconds, smoothed
}

func newClock(before time.Duration) *clock {
	now := time.Now()
	return &clock{start: now, last: now, before: before}
}

// tick fills in the times after a step of the given number of tokens.
func (c *clock) tick(p *Progress, tokens int) {
	now := time.Now()
	seconds := max(now.Sub(c.last).Seconds(), 1e-9)
	c.last = now
	if c.perStep == 0 {
		c.perStep = seconds
	}
	c.perStep += (seconds - c.perStep) / 20
	p.Elapsed = c.before + now.Sub(c.start)
	p.TokensPerSecond = float64(tokens) / c.perStep
	p.Left = time.Duration(c.perStep * float64(p.Steps-p.Step) * float64(time.Second))
}
