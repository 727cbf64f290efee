package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/fair"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer/alpha"
)

// minCheckpoint is the size below which a scan ignores an Alpha checkpoint, in bytes.
const minCheckpoint = 1024

// Magic bytes of the other kinds of files.
const (
	ggufMagic = "GGUF"
	alphMagic = "ALPH"
)

// check checks all fields but the checkpoint.
func (u *Upload) check() error {
	if err := CheckName(u.Name); err != nil {
		return err
	}
	switch {
	case u.Step < 0 || u.Step > maxStep:
		return invalid("step", nil, "%d is not in 0..2^53", u.Step)
	case u.Checkpoint == nil || u.Size < 0:
		return invalid("checkpoint", nil, "missing")
	case u.Quant != "" && !slices.Contains(Quants(), u.Quant):
		return invalid("quant", nil, "must be one of %s, not %.20q", strings.Join(Quants(), ", "), u.Quant)
	}
	return nil
}

// A model is a valid upload that can be written.
type model struct {
	write func(to io.WriterAt) error
	close func() error
}

// read checks an upload, and returns its model. Errors of the file are of type [*llm.Error].
func (s *Store) read(ctx context.Context, u *Upload) (*model, error) {
	in := &source{ctx: ctx, r: u.Checkpoint}
	m, err := s.readFrom(in, u)
	if err != nil {
		return nil, in.blame(err)
	}
	write := m.write
	m.write = func(to io.WriterAt) error {
		out := &sink{w: to}
		err := write(out)
		switch {
		case err == nil:
			return nil
		case out.first() != nil:
			return out.first()
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return in.blame(err)
	}
	return m, nil
}

// readFrom distinguishes the kinds of files.
func (s *Store) readFrom(in *source, u *Upload) (*model, error) {
	head := make([]byte, 4)
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head = bytes.TrimLeft(head[:n], " \t\r\n")
	if string(head) == alphMagic || len(head) == 0 || head[0] == '{' {
		return s.alpha(in, u)
	}
	if u.Config != nil || u.Metrics != "" || u.TrainingData != "" {
		return nil, invalid("config", nil, "only for checkpoints of Alpha: other models describe themselves")
	}
	name := u.Name + checkpoint.PackSuffix
	fsys := oneFile{name, in, u.Size}
	isPack, err := checkpoint.IsPack(fsys, name)
	switch {
	case string(head) == ggufMagic:
		return s.gguf(in, u)
	case err != nil:
		return nil, err
	case isPack:
		if u.Quant != "" {
			return nil, invalid("quant", nil, "a packed model already has a format")
		}
		return s.packed(in, u, fsys, name)
	}
	return nil, errors.New("it is not a checkpoint of Alpha, a packed model or GGUF: use glossa pack to convert other models")
}

// alpha reads an Alpha checkpoint and compares it with its configuration.
func (s *Store) alpha(in *source, u *Upload) (*model, error) {
	if len(u.Config) == 0 {
		return nil, invalid("config", nil, "missing")
	}
	config, err := checkpoint.ParseRunConfig(u.Config)
	if err != nil {
		return nil, invalid("config", nil, "%v", err)
	}
	if u.Size < minCheckpoint {
		return nil, invalid("checkpoint", nil, "%d bytes, at least %d", u.Size, minCheckpoint)
	}
	label := path.Join(u.Name, "checkpoint-"+strconv.Itoa(u.Step)+".json")
	weights := 4 * checkpoint.Elements(&config.ModelConfig)
	claim, err := s.holdWeights(in.ctx, "weights", weights, tokenizerCopies*min(u.Size, maxTokenizer))
	if err != nil {
		return nil, err
	}
	m, err := s.readAlpha(in, u, label, checkpoint.Options{
		MaxBytes: weights, MaxTokenizer: maxTokenizer,
		Config: func(inside *checkpoint.ModelConfig) error { return sameShape(&config.ModelConfig, inside) },
	})
	if err != nil {
		claim.Release()
		return nil, err
	}
	return m.holding(claim), nil
}

// holding returns the model with a claim that ends when it is closed.
func (m *model) holding(c *fair.Claim) *model {
	return &model{write: m.write, close: func() error {
		defer c.Release()
		return m.close()
	}}
}

// readAlpha reads an Alpha checkpoint into memory.
func (s *Store) readAlpha(in *source, u *Upload, label string, opt checkpoint.Options) (*model, error) {
	a, err := checkpoint.ReadAlpha(in, u.Size, label, opt)
	if err != nil {
		return nil, err
	}
	if a.Tokenizer == nil {
		return nil, invalid("checkpoint", nil, "tokenizerArtifacts: missing")
	}
	t, err := alpha.Parse(a.Tokenizer)
	if err != nil {
		return nil, invalid("checkpoint", nil, "tokenizerArtifacts: %v", err)
	}
	if c := &a.ModelConfig; t.Size() > c.VocabSize {
		return nil, invalid("checkpoint", nil, "tokenizerArtifacts: %d tokens for vocabSize %d", t.Size(), c.VocabSize)
	}
	m, err := arch.FromAlpha(a, "")
	if err != nil {
		return nil, err
	}
	m.Run = u.run()
	return s.pack(in.ctx, u, m, cmp.Or(u.Quant, dtype.F32.Option())), nil
}

// run returns the files of a run that are stored with the weights.
func (u *Upload) run() *arch.Run {
	r := &arch.Run{Config: u.Config, Step: u.Step, LastLoss: checkpoint.LastLoss([]byte(u.Metrics))}
	for _, f := range []struct{ name, text string }{{"metrics.jsonl", u.Metrics}, {"training-data.txt", u.TrainingData}} {
		if f.text != "" {
			r.Files = append(r.Files, arch.RunFile{Name: f.name, Size: len(f.text), Data: func() ([]byte, error) { return []byte(f.text), nil }})
		}
	}
	return r
}

// sameShape rejects a configuration that describes another model than the checkpoint:
// listings show the configuration, but the engine runs the checkpoint.
func sameShape(config, inside *checkpoint.ModelConfig) error {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"vocabSize", config.VocabSize, inside.VocabSize},
		{"blockSize", config.BlockSize, inside.BlockSize},
		{"nLayer", config.NLayer, inside.NLayer},
		{"nEmbd", config.NEmbd, inside.NEmbd},
		{"nHead", config.NHead, inside.NHead},
		{"ffnActivation", config.Activation(), inside.Activation()},
		{"ffnDim", config.FFN(), inside.FFN()},
	} {
		if f.a != f.b {
			return invalid("config", nil, "modelConfig.%s is %v, but in the checkpoint %v", f.name, f.a, f.b)
		}
	}
	return nil
}

// gguf opens a GGUF file, whose weights are read one by one during packing.
func (s *Store) gguf(in *source, u *Upload) (*model, error) {
	name := u.Name + ".gguf"
	h, claim, err := s.holdGGUF(in, u.Size)
	if err != nil {
		return nil, err
	}
	m, err := arch.Open(oneFile{name, h, u.Size}, name)
	if err != nil {
		claim.Release()
		return nil, err
	}
	h.opened.Store(true)
	claim.Shrink(ggufCopies * h.read.Load())
	return s.pack(in.ctx, u, m, Quant(u.Quant, m)).holding(claim), nil
}

// pack returns a model that packs m.
func (s *Store) pack(ctx context.Context, u *Upload, m *arch.Model, quant string) *model {
	return &model{close: m.Close, write: func(to io.WriterAt) error {
		k := s.Kernels
		if k == nil {
			k = kernel.Best()
		}
		return arch.Pack(to, m, k, transformer.Formats()[quant], func(done, total int64) error {
			u.tell(done, total)
			return ctx.Err()
		})
	}}
}

// packed opens a packed model, which is copied unchanged.
func (s *Store) packed(in *source, u *Upload, fsys fs.FS, name string) (*model, error) {
	var size [8]byte // of the header
	if _, err := in.ReadAt(size[:], 0); err != nil {
		return nil, err
	}
	header := min(binary.LittleEndian.Uint64(size[:]), uint64(u.Size))
	claim, err := s.holdWeights(in.ctx, "header", packCopies*int64(header), 0)
	if err != nil {
		return nil, err
	}
	write := func(to io.WriterAt) error {
		done := int64(0)
		return arch.CopyPack(to, fsys, name, func(n int64) error {
			done += n
			u.tell(done, u.Size)
			return in.ctx.Err()
		})
	}
	m := &model{write: write, close: func() error { return nil }}
	return m.holding(claim), nil
}

func (u *Upload) tell(done, total int64) {
	if u.Progress != nil {
		u.Progress(done, total)
	}
}

// A source reads until its context ends and keeps its own error, to distinguish it
// from an error in the content.
type source struct {
	ctx context.Context
	r   io.ReaderAt
	failure
}

// A failure keeps the first error of many.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *failure) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// ReadAt implements [io.ReaderAt].
func (s *source) ReadAt(p []byte, at int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.ReadAt(p, at)
	if err != nil && err != io.EOF {
		s.keep(err)
	}
	return n, err
}

// blame returns err as an error in the content, unless it is an error of reading.
func (s *source) blame(err error) error {
	own := s.first()
	e, ok := errors.AsType[*llm.Error](own)
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case ok:
		return e
	case own != nil:
		return own
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	return invalid("checkpoint", nil, "%v", err)
}

// A sink keeps the first error of writing.
type sink struct {
	w io.WriterAt
	failure
}

// WriteAt implements [io.WriterAt].
func (s *sink) WriteAt(p []byte, at int64) (int, error) {
	n, err := s.w.WriteAt(p, at)
	if err != nil {
		s.keep(err)
	}
	return n, err
}

// oneFile is a file system of one file. It implements [fs.FS].
type oneFile struct {
	name string
	r    io.ReaderAt
	size int64
}

// Open implements [fs.FS].
func (o oneFile) Open(name string) (fs.File, error) {
	if name != o.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{io.NewSectionReader(o.r, 0, o.size), o}, nil
}

// openFile is the open file and its own fs.FileInfo.
type openFile struct {
	*io.SectionReader
	o oneFile
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Name() string               { return f.o.name }
func (f *openFile) Mode() fs.FileMode          { return 0o444 }
func (f *openFile) ModTime() time.Time         { return time.Time{} }
func (f *openFile) IsDir() bool                { return false }
func (f *openFile) Sys() any                   { return nil }
