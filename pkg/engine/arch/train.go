package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// A Run is the training run of Alpha that produced a model. A packed model keeps its
// description in the metadata and its files after all other tensors, where no pass reads
// them.
type Run struct {
	Config   json.RawMessage `json:"config"` // config.json
	Step     int             `json:"step"`
	LastLoss *float64        `json:"last_loss,omitempty"`
	Files    []RunFile       `json:"files,omitempty"`
}

// A RunFile is a file of the run: metrics.jsonl, training-data.txt.
type RunFile struct {
	Name string                 `json:"name"`
	Size int                    `json:"size"` // bytes
	Data func() ([]byte, error) `json:"-"`
}

const (
	packRunKey   = "glossa.run" // [Run], in JSON
	packRunFiles = "run/"       // prefix of tensors with the files' names, padded with line feeds
	maxRunFiles  = 8
	maxRunConfig = 1 << 20 // bytes
)

// runTensors returns the tensors of a run's files.
func (r *Run) runTensors() (tensors []checkpoint.PackTensor) {
	if r == nil {
		return nil
	}
	for i := range r.Files {
		size := (r.Files[i].Size + packUnit - 1) / packUnit * packUnit
		tensors = append(tensors, checkpoint.PackTensor{Name: packRunFiles + r.Files[i].Name, Type: dtype.U8, Shape: []int{size}})
	}
	return tensors
}

// packUnit is the unit of the sizes of tensors in a packed model, in bytes.
const packUnit = 64

// writeRun writes a run's files as tensors first, first+1, and so on.
func (r *Run) writeRun(w *checkpoint.PackWriter, first int) error {
	if r == nil {
		return nil
	}
	for i := range r.Files {
		f := &r.Files[i]
		data, err := f.Data()
		if err == nil && len(data) != f.Size {
			err = fmt.Errorf("%d bytes, not %d", len(data), f.Size)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		fill := bytes.Repeat([]byte{'\n'}, (packUnit-f.Size%packUnit)%packUnit)
		if err := w.Write(first+i, append(bytes.Clone(data), fill...)); err != nil {
			return err
		}
	}
	return nil
}

// readRun reads the run of a packed model, if it has one, and excludes its files from
// fetching.
func (o *opened) readRun(fsys fs.FS, p *location) error {
	text, err := o.file.Meta.Text(packRunKey)
	if errors.Is(err, checkpoint.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	r := &Run{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return fmt.Errorf("%s: %w", packRunKey, err)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("%s: %w", packRunKey, err)
	}
	first := len(o.file.Tensors) - len(r.Files)
	for i := range r.Files {
		f := &r.Files[i]
		name := packRunFiles + f.Name
		index, ok := o.file.Index(name)
		if !ok || index != first+i || f.Size < 1 || int64(f.Size) > o.file.Tensors[index].Size {
			return fmt.Errorf("%s: %d bytes of tensor %.80q do not follow the others", packRunKey, f.Size, name)
		}
		size := f.Size
		f.Data = func() ([]byte, error) { return readRunFile(fsys, p.weights, name, size) }
	}
	o.Run = r
	o.file.Truncate(first)
	return nil
}

// check rejects a run that a listing could not show.
func (r *Run) check() error {
	if _, err := checkpoint.ParseRunConfig(r.Config); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if r.Step < 0 || len(r.Files) > maxRunFiles || len(r.Config) > maxRunConfig {
		return fmt.Errorf("step %d with %d files and %d bytes of config", r.Step, len(r.Files), len(r.Config))
	}
	return nil
}

// readRunFile reads the bytes of a run's file in a packed model.
func readRunFile(fsys fs.FS, pack, name string, size int) (_ []byte, err error) {
	f, err := checkpoint.Open(fsys, pack)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := f.Raw(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(raw, int64(size)))
	return data, err
}

// RunFileOf returns a file of the training run in the packed model at dir, which is a
// file or a directory with one; nil if there is no packed model or no such file. It reads
// no weights.
func RunFileOf(fsys fs.FS, dir, name string) (_ []byte, err error) {
	p, err := find(fsys, dir)
	if err != nil || !p.packed {
		return nil, err
	}
	f, err := checkpoint.Open(fsys, p.weights)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := f.Meta.Text(packRunKey)
	if errors.Is(err, checkpoint.ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("%s: %w", packRunKey, err)
	}
	for _, kept := range r.Files {
		if kept.Name == name {
			return readRunFile(fsys, p.weights, packRunFiles+name, kept.Size)
		}
	}
	return nil, nil
}

// SetCap bounds the attention scores of a model of Alpha like [FromAlpha]; "" keeps its
// bound.
func (m *Model) SetCap(limit string) error {
	if limit == "" {
		return nil
	}
	if m.Type != alphaType {
		return fmt.Errorf("cap %.40q: only Alpha's models may have it", limit)
	}
	score, err := parseBound(limit)
	if err == nil {
		score.apply(m.Spec)
	}
	return err
}

// CopyPack copies a packed model unchanged to an empty file, and checks all of it: its
// description, its tokenizer, its checksums. progress is that of
// [checkpoint.File.CopyPack].
func CopyPack(to io.WriterAt, fsys fs.FS, name string, progress func(n int64) error) (err error) {
	o, err := openPackWeights(fsys, &location{weights: name, packed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := o.readPackTokens(); err != nil {
		return fmt.Errorf("checkpoint %s: %w", name, err)
	}
	if err := o.finish(); err != nil {
		return fmt.Errorf("checkpoint %s: %w", name, err)
	}
	whole, err := checkpoint.Open(fsys, name) // with the files of a run
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, whole.Close()) }()
	return whole.CopyPack(to, progress)
}
