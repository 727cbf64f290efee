// Package arch knows the files of models: it reads what describes one, a Hugging
// Face directory, a GGUF file or an Alpha checkpoint, and says in the transformer's
// terms what is computed and where each weight lies. An architecture is a table: how
// its configuration is spelled, and what its tensors are called. What a file says
// that would change a result and is not known here is refused by name, and so is a
// tensor that nothing uses. It refuses to know how a model computes, and reads no
// weights.
//
// Sources: the published checkpoints' config.json, generation_config.json and tensor
// names, as transformers' classes read them; the keys and names of GGUF; seed 002
// (Alpha).
package arch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// A Model is a model that was opened: all but its weights, which
// [transformer.New] reads.
type Model struct {
	Type    string // "gpt2", "gptj", "gpt_neox", "xglm", "llama", "m2m_100" or "alpha"
	Version string // a digest of what describes the weights, or Alpha's own

	Spec    *transformer.Spec
	Weights *transformer.Weights

	Tokenizer tokenizer.Tokenizer // nil if a directory has none: enough to compute, not to talk
	Start     []int               // what texts begin with where the model's own tokenizer adds it; may be none
	Empty     int                 // the token of an empty context
	End       []int               // tokens that end a text; may be none
	Tokens    int                 // ids from here on pad the vocabulary and mean nothing

	ChatTemplate string       // the template that comes with the tokenizer, if it is "llama3" or "chatml"
	Translation  *Translation // of an encoder-decoder
	Run          *Run         // of a packed model that was trained by Alpha

	trie   func() ([]byte, error)            // the vocabulary, as it was packed; nil if it was not
	source func() (*tokenizer.Source, error) // what Tokenizer was made of; nil if there is none
	closer io.Closer                         // of the files; nil if there is nothing to close
}

// Translation is how the authors of an encoder-decoder meant it to be used.
type Translation struct {
	Beams         int           `json:"beams"`
	MaxLength     int           `json:"max_length"` // tokens that are generated at most, the start included
	LengthPenalty float64       `json:"length_penalty"`
	EarlyStopping EarlyStopping `json:"early_stopping"`
	DecoderStart  int           `json:"decoder_start"` // the token that every target begins with
	End           int           `json:"end"`           // the token that ends a source and a target
}

// EarlyStopping says when a search of several beams ends that has found as many
// results.
type EarlyStopping uint8

// The values of early_stopping, as generation_config.json has them.
const (
	StopFalse EarlyStopping = iota // false: when nothing better is likely at the present length
	StopTrue                       // true: at once
	StopNever                      // "never": when nothing better is possible
)

// Open opens the model in a directory: config.json, a tokenizer and safetensors, as
// Hugging Face has them, or a GGUF file, or a packed model. dir may also be the name of a
// GGUF file or a packed model. Errors name the file and the field or tensor. The caller
// closes the result.
func Open(fsys fs.FS, dir string) (*Model, error) {
	m, err := open(fsys, dir)
	if err != nil {
		return nil, err
	}
	if err := m.finish(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), m.Close())
	}
	return m, nil
}

func open(fsys fs.FS, dir string) (*Model, error) {
	p, err := find(fsys, dir)
	if err != nil {
		return nil, err
	}
	switch {
	case p.packed:
		return openPack(fsys, p)
	case p.config == "":
		return openGGUF(fsys, p)
	}
	return openHF(fsys, p)
}

// Words returns what the tokenizer was made of; nil if there is none.
func (m *Model) Words() (*tokenizer.Source, error) {
	if m.source == nil {
		return nil, nil
	}
	return m.source()
}

// padding is how the tokens are called that only fill a vocabulary up: GPT-J's, and
// those that llama.cpp's converter adds.
var padding = regexp.MustCompile(`^(<\|extratoken_[0-9]+\|>|\[PAD[0-9]+\])$`)

// finish checks what is left when everything was read.
func (m *Model) finish() error {
	vocab := m.Spec.Vocab
	if m.Tokenizer == nil {
		m.Tokens = vocab
	} else {
		m.Tokens = max(m.Tokens, m.Tokenizer.Size())
	}
	if m.Tokens < 1 || m.Tokens > vocab {
		return fmt.Errorf("the tokenizer has %d tokens, the model %d", m.Tokens, vocab)
	}
	for m.Tokenizer != nil && m.Tokens > 1 && padding.MatchString(m.Tokenizer.Piece(m.Tokens-1)) {
		m.Tokens--
	}
	for _, id := range append([]int{m.Empty}, m.Start...) {
		if id < 0 || id >= vocab {
			return fmt.Errorf("texts begin with token %d, which is not below %d", id, vocab)
		}
	}
	if m.Tokenizer != nil { // whose line feeds may be what a file says, see [tokenizer.WithNewline]
		for _, id := range m.Tokenizer.Encode("\n") {
			if id >= vocab {
				return fmt.Errorf("a line feed is token %d, which is not below %d", id, vocab)
			}
		}
	}
	return nil
}

// Name returns what the model's makers call its kind.
func (m *Model) Name() string {
	if f := families[m.Type]; f != nil {
		return f.title
	}
	return "Alpha"
}

// Bytes returns the memory that the weights take when they are read in a format.
func (m *Model) Bytes(f transformer.Format) int64 { return m.Weights.Bytes(m.Spec, f) }

// Close closes the files, after which no weights can be read.
func (m *Model) Close() error {
	if m.closer == nil {
		return nil
	}
	err := m.closer.Close()
	m.closer = nil
	return err
}
