package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Options specify how much of a file to read.
type Options struct {
	Optimizer bool  // also build the optimizer's buffers
	MaxBytes  int64 // budget for tensors, bytes; 0: [DefaultMaxBytes]
	// MaxTokenizer bounds tokenizerArtifacts, bytes; 0 means 64 MiB.
	MaxTokenizer int
	// Config, if set, is called with modelConfig as soon as it is read. Its error is
	// returned unchanged.
	Config func(*ModelConfig) error

	leave *source // parameters stay there; nil: they are read
}

// A source is an open file.
type source struct {
	io.Closer
	name string
	r    io.ReaderAt
	size int64
}

// DefaultMaxBytes is the budget for the tensors of one file: 4 GiB.
const DefaultMaxBytes = 4 << 30

// Bounds of the parts of a file other than tensors, in bytes.
const (
	maxConfig    = 1 << 20
	maxTokenizer = 64 << 20
	maxShape     = 256
)

const magic = "ALPH"

// ReadAlpha reads a checkpoint of size bytes in either encoding. Errors name the file by
// name, the tensor and the reason. Memory is bounded by the requested tensors, at most
// twice the file's size, and some MiB.
func ReadAlpha(r io.ReaderAt, size int64, name string, opt Options) (*Alpha, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	a, err := readAlpha(r, size, opt)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return a, nil
}

// ReadAlphaFile is [ReadAlpha] on a file of fsys.
func ReadAlphaFile(fsys fs.FS, name string, opt Options) (*Alpha, error) {
	f, err := openAlpha(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAlpha(f.r, f.size, name, opt)
}

// OpenAlpha is [ReadAlphaFile] without the optimizer's buffers, and leaves the parameters in the
// file: they have no Data, and [Alpha.Values] reads and checks them until [Alpha.Close].
func OpenAlpha(fsys fs.FS, name string) (*Alpha, error) {
	f, err := openAlpha(fsys, name)
	if err != nil {
		return nil, err
	}
	a, err := ReadAlpha(f.r, f.size, name, Options{leave: f})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return a, nil
}

// openAlpha opens a regular file with random access. Archives have none: such a file is read
// into memory.
func openAlpha(fsys fs.FS, name string) (*source, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", name, err), f.Close())
	}
	if r, ok := f.(io.ReaderAt); ok {
		return &source{f, name, r, info.Size()}, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, info.Size()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", name, err), f.Close())
	}
	return &source{f, name, bytes.NewReader(data), int64(len(data))}, nil
}

func readAlpha(r io.ReaderAt, size int64, opt Options) (*Alpha, error) {
	var first [len(magic)]byte
	if _, err := r.ReadAt(first[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	if size > int64(len(magic)) && string(first[:]) == magic {
		return readALPH(r, size, opt)
	}
	s := newStream(io.NewSectionReader(r, 0, size))
	if c, err := s.peek(); err != nil || c != '{' {
		return nil, foreign(first[:], errors.New(`begins neither with "ALPH" nor with a JSON object`))
	}
	return readJSON(s, size, opt)
}

// header holds the members of both encodings other than tensors.
type header struct {
	*Alpha
	opt   Options
	arch  *architecture   // nil until modelConfig is read
	graph json.RawMessage // symbioActivationGraph
}

// member reads one top-level member that both encodings share; ok is false for other
// members.
func (h *header) member(s *stream, key string) (ok bool, err error) {
	switch key {
	case "modelConfig":
		h.ModelConfigRaw, err = s.captureValid(maxConfig)
		if err != nil {
			break
		}
		if h.ModelConfig, err = decodeConfig(h.ModelConfigRaw); err != nil {
			return true, err
		}
		h.arch = newArchitecture(h.ModelConfig)
		if h.opt.Config != nil {
			err = h.opt.Config(&h.ModelConfig)
		}
		return true, err
	case "symbioActivationGraph":
		h.graph, err = s.captureValid(maxConfig)
	case "tokenizerArtifacts":
		if h.Tokenizer, err = s.captureValid(cmp.Or(h.opt.MaxTokenizer, maxTokenizer)); string(h.Tokenizer) == "null" {
			h.Tokenizer = nil
		}
	case "rngState":
		err = s.decode(maxNumber, &h.RNGState)
	case "configHash":
		err = s.decode(maxKey, &h.ConfigHash)
	case "step":
		h.Step, err = s.count()
	default:
		return false, nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return true, err
}

// finish performs the checks that need all members, which come in any order.
func (h *header) finish() error {
	if h.arch == nil {
		return errors.New("no modelConfig")
	}
	c := &h.ModelConfig
	if c.Activation() == Composed && c.ActivationGraph == nil && h.graph != nil {
		c.ActivationGraph = h.graph
		head := bytes.TrimRight(h.ModelConfigRaw, "} \t\r\n")
		h.ModelConfigRaw = slices.Concat(head, []byte(`,"activationGraph":`), h.graph, []byte("}"))
	}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("modelConfig: %w", err)
	}
	return nil
}
