package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RunConfig is a run's config.json.
type RunConfig struct {
	ModelConfig    ModelConfig
	ModelConfigRaw json.RawMessage // modelConfig as written in the file
	TrainConfig    json.RawMessage // trainConfig as written in the file; nil if absent
	ConfigHash     string
	RunID          string
	Domain         string          // "novels" if absent
	Raw            json.RawMessage // the whole file
}

// Run is a training run's directory with its newest checkpoint.
type Run struct {
	ID         string // the directory's name
	Dir        string // path of the directory in the scanned file system
	Step       int
	Checkpoint string    // path of the checkpoint in the scanned file system
	ModTime    time.Time // of the checkpoint
	Size       int64     // of the checkpoint, bytes
	Config     RunConfig
	LastLoss   *float64 // of the last metrics line: valLoss, or else loss; nil if none
}

// MetricsFile is the name of a run's file of measurements, one object a line.
const MetricsFile = "metrics.jsonl"

const (
	minCheckpoint = 1024    // bytes; a smaller checkpoint is unfinished
	metricsTail   = 1 << 20 // the part at the end of metrics.jsonl that is read, bytes
	configFile    = "config.json"
	defaultDomain = "novels"
	scanTries     = 8 // of a run whose files vanish while they are read
)

var errNoCheckpoint = errors.New("no checkpoint")

var checkpointName = regexp.MustCompile(`^checkpoint-([0-9]+)\.json$`)

// Scan lists the runs in the directories of fsys and in those that it links to: those with a config.json and a
// checkpoint of at least 1024 bytes, of which the one with the highest step is used. The
// run with the newest checkpoint comes first; equal times, as in an embedded file system,
// are ordered by name. Names that begin with a dot are skipped. A run that cannot be read
// is reported in problems and does not hide the others.
func Scan(fsys fs.FS) (runs []Run, problems []error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		problems = append(problems, fmt.Errorf("checkpoints: %w", err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !isDir(fsys, e) {
			continue
		}
		run, err := readRun(fsys, e.Name())
		for try := 1; try < scanTries && (err == errNoCheckpoint || errors.Is(err, fs.ErrNotExist)); try++ {
			// Another run may have taken the name between two steps.
			run, err = readRun(fsys, e.Name())
		}
		switch {
		case err == errNoCheckpoint:
		case err != nil:
			problems = append(problems, fmt.Errorf("run %s: %w", e.Name(), err))
		case run != nil:
			runs = append(runs, *run)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.ID, b.ID))
	})
	return runs, problems
}

// isDir reports whether an entry is a directory or a link to one.
func isDir(fsys fs.FS, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(fsys, e.Name())
	return err == nil && info.IsDir()
}

// ReadRun reads the run whose directory is fsys; paths in it are relative to that.
func ReadRun(fsys fs.FS) (*Run, error) {
	run, err := readRun(fsys, ".")
	if err == nil && run == nil {
		err = fmt.Errorf("%s: %w", configFile, fs.ErrNotExist)
	}
	return run, err
}

// readRun reads the run in a directory; it is nil if there is no config.json.
func readRun(fsys fs.FS, dir string) (*Run, error) {
	raw, err := readAtMost(fsys, path.Join(dir, configFile), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run := &Run{ID: dir, Dir: dir, Step: -1}
	if err := run.findCheckpoint(fsys); err != nil {
		return nil, err
	}
	if run.Config, err = ParseRunConfig(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	run.LastLoss = lastLoss(fsys, path.Join(dir, MetricsFile))
	return run, nil
}

// findCheckpoint chooses the checkpoint with the highest step.
func (r *Run) findCheckpoint(fsys fs.FS) error {
	entries, err := fs.ReadDir(fsys, r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		match := checkpointName.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		step, err := strconv.Atoi(match[1])
		if err != nil {
			return fmt.Errorf("%s: the step is out of range", e.Name())
		}
		if step <= r.Step {
			continue
		}
		name := path.Join(r.Dir, e.Name())
		info, err := fs.Stat(fsys, name) // follows links
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && info.Size() >= minCheckpoint {
			r.Step, r.Checkpoint, r.ModTime, r.Size = step, name, info.ModTime(), info.Size()
		}
	}
	if r.Step < 0 {
		return errNoCheckpoint
	}
	return nil
}

// ParseRunConfig reads a config.json.
func ParseRunConfig(raw []byte) (RunConfig, error) {
	var f struct {
		ModelConfig json.RawMessage `json:"modelConfig"`
		TrainConfig json.RawMessage `json:"trainConfig"`
		ConfigHash  string          `json:"configHash"`
		RunID       string          `json:"runId"`
		Domain      *string         `json:"domain"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return RunConfig{}, err
	}
	if f.ModelConfig == nil {
		return RunConfig{}, errors.New("no modelConfig")
	}
	c := RunConfig{
		ModelConfigRaw: f.ModelConfig, TrainConfig: f.TrainConfig,
		ConfigHash: f.ConfigHash, RunID: f.RunID, Domain: defaultDomain, Raw: raw,
	}
	if f.Domain != nil {
		c.Domain = *f.Domain
	}
	var err error
	c.ModelConfig, err = decodeConfig(f.ModelConfig)
	return c, err
}

// readAtMost reads a file of at most limit bytes.
func readAtMost(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return raw, err
}

// lastLoss returns the loss in the last line of metrics.jsonl. An unreadable file counts
// as absent: it may be incomplete.
func lastLoss(fsys fs.FS, name string) *float64 {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if s, ok := f.(io.Seeker); ok {
		if info, err := f.Stat(); err == nil && info.Size() > metricsTail {
			if _, err := s.Seek(-metricsTail, io.SeekEnd); err != nil {
				return nil
			}
		}
	}
	tail, err := io.ReadAll(io.LimitReader(f, metricsTail))
	if err != nil {
		return nil
	}
	return LastLoss(tail)
}

// LastLoss returns the loss in the last line of metrics.jsonl, valLoss if present; nil if
// there is none.
func LastLoss(metrics []byte) *float64 {
	tail := bytes.TrimSpace(metrics)
	if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	var line struct {
		Loss    *float64 `json:"loss"`
		ValLoss *float64 `json:"valLoss"`
	}
	if err := json.Unmarshal(tail, &line); err != nil {
		return nil
	}
	return cmp.Or(line.ValLoss, line.Loss)
}
