package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/internal/osfile"
)

// A runDir is the directory of a run.
type runDir string

const (
	configName = "config.json"
	tempPrefix = ".train-" // of files being written
)

// A document is config.json.
type document struct {
	ModelConfig json.RawMessage `json:"modelConfig"`
	TrainConfig json.RawMessage `json:"trainConfig"`
	ConfigHash  string          `json:"configHash"`
	RunID       string          `json:"runId"`
	Domain      string          `json:"domain"`
}

// trainConfig holds the settings, other than the model, that a run's losses depend on,
// with Alpha's names if it has them.
type trainConfig struct {
	Iters       int      `json:"iters"`
	BatchSize   int      `json:"batchSize"`
	LR          float64  `json:"lr"`
	MinLR       float64  `json:"minLr"`
	Warmup      int      `json:"warmup"`
	Beta1       float64  `json:"beta1"`
	Beta2       float64  `json:"beta2"`
	Eps         float64  `json:"eps"`
	WeightDecay float64  `json:"weightDecay"`
	GradClip    float64  `json:"gradClip"`
	Seed        uint64   `json:"seed"`
	Tokenizer   string   `json:"tokenizer"`
	MaxVocab    int      `json:"maxVocab"` // 0: no bound
	Special     []string `json:"special,omitempty"`
	ValFraction float64  `json:"valFraction"`
	TextBytes   int      `json:"textBytes"`
	TextSHA256  string   `json:"textSHA256"`
	Restart     int      `json:"restart,omitempty"` // the optimiser began anew after this step
}

// newDocument describes a run with a vocabulary of the given size.
func newDocument(c *Config, vocab int, text string) (d document, err error) {
	d = document{RunID: c.RunID, Domain: c.Domain}
	if d.ModelConfig, err = json.Marshal(c.model(vocab)); err != nil {
		return d, err
	}
	d.TrainConfig, err = json.Marshal(trainConfig{
		Iters: c.Steps, BatchSize: c.BatchSize, LR: c.LR, MinLR: c.MinLR, Warmup: c.Warmup,
		Beta1: c.Beta1, Beta2: c.Beta2, Eps: c.Eps, WeightDecay: c.WeightDecay, GradClip: c.GradClip,
		Seed: c.Seed, Tokenizer: c.Tokenizer, MaxVocab: c.VocabSize, Special: c.Special, ValFraction: c.ValFraction,
		TextBytes: len(text), TextSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text))), Restart: c.restart,
	})
	if err != nil {
		return d, err
	}
	// The hash covers the fields of both objects merged: Alpha's hash would ignore nested
	// ones.
	all := map[string]json.RawMessage{}
	for _, raw := range []json.RawMessage{d.ModelConfig, d.TrainConfig} {
		if err := json.Unmarshal(raw, &all); err != nil {
			return d, err
		}
	}
	d.ConfigHash = checkpoint.ConfigHash(all)
	return d, nil
}

// prepare creates the directory, removes leftovers of a killed run and reads the newest
// checkpoint, nil if there is none.
func (d runDir) prepare() (*checkpoint.Alpha, error) {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if err := os.Remove(filepath.Join(string(d), e.Name())); err != nil {
				return nil, err
			}
		}
	}
	names, err := d.checkpoints()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return checkpoint.ReadAlphaFile(os.DirFS(string(d)), names[len(names)-1].name, checkpoint.Options{Optimizer: true})
}

// document reads config.json, nil if there is none.
func (d runDir) document() (*document, error) {
	raw, err := os.ReadFile(filepath.Join(string(d), configName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := &document{}
	if err := json.Unmarshal(raw, have); err != nil {
		return nil, fmt.Errorf("%s: %w", configName, err)
	}
	return have, nil
}

// claim writes config.json, or compares it with the existing one, whose number of steps may
// grow.
func (d runDir) claim(want document, have *document) error {
	if have == nil {
		if names, err := d.checkpoints(); err != nil || len(names) > 0 {
			return cmpError(err, "has checkpoints but no "+configName)
		}
	} else {
		if grew, err := have.differs(want); err != nil || !grew {
			return err
		}
	}
	raw, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		return err
	}
	return d.write(configName, func(w io.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	})
}

// cmpError returns err or, if that is nil, a new error.
func cmpError(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// differs names the first field in which the existing run differs from the requested one. A
// larger number of steps is no difference: it reports that the run grew.
func (have document) differs(want document) (grew bool, err error) {
	for _, pair := range []struct {
		name       string
		have, want any
	}{{"modelConfig", have.ModelConfig, want.ModelConfig}, {"trainConfig", have.TrainConfig, want.TrainConfig},
		{"", map[string]string{"runId": have.RunID, "domain": have.Domain}, map[string]string{"runId": want.RunID, "domain": want.Domain}}} {
		a, err := fields(pair.have)
		if err != nil {
			return false, fmt.Errorf("%s: %s: %w", configName, pair.name, err)
		}
		b, err := fields(pair.want)
		if err != nil {
			return false, err
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		if fewer(a["iters"], b["iters"]) {
			grew = true
			delete(names, "iters")
			delete(names, "restart")
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if a[name] != b[name] {
				return false, fmt.Errorf("%s: %s differs: the run there has %s, not %s (choose another directory)",
					configName, strings.TrimPrefix(pair.name+"."+name, "."), orNone(a[name]), orNone(b[name]))
			}
		}
	}
	return grew, nil
}

// fewer compares two numbers of steps.
func fewer(have, want string) bool {
	a, errA := strconv.Atoi(have)
	b, errB := strconv.Atoi(want)
	return errA == nil && errB == nil && a < b
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// fields returns the members of a JSON object as compact JSON.
func fields(v any) (map[string]string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, m := range members {
		var b bytes.Buffer
		if err := json.Compact(&b, m); err != nil {
			return nil, err
		}
		out[name] = b.String()
	}
	return out, nil
}

// checkpointFile is a checkpoint in the directory.
type checkpointFile struct {
	name string
	step int
}

// checkpoints lists the checkpoints, oldest first.
func (d runDir) checkpoints() ([]checkpointFile, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var list []checkpointFile
	for _, e := range entries {
		var step int
		if _, err := fmt.Sscanf(e.Name(), "checkpoint-%d.json", &step); err == nil && e.Name() == checkpointFor(step) {
			list = append(list, checkpointFile{e.Name(), step})
		}
	}
	slices.SortFunc(list, func(a, b checkpointFile) int { return a.step - b.step })
	return list, nil
}

func checkpointFor(step int) string { return fmt.Sprintf("checkpoint-%d.json", step) }

// saveCheckpoint writes a checkpoint, then removes all others.
func (d runDir) saveCheckpoint(a *checkpoint.Alpha) error {
	name := checkpointFor(a.Step)
	if err := d.write(name, func(w io.Writer) error { return checkpoint.WriteALPH(w, a) }); err != nil {
		return err
	}
	list, err := d.checkpoints()
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.name != name {
			if err := os.Remove(filepath.Join(string(d), c.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// write replaces a file atomically: a temporary file, fsync, rename.
func (d runDir) write(name string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(string(d), tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := f.Chmod(0o644); err != nil && runtime.GOOS != "windows" {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(string(d), name)); err != nil {
		return err
	}
	return osfile.SyncDir(os.Open(string(d)))
}
