// Package arch knows the files of models. It reads the description of a model, in a
// Hugging Face directory, a GGUF file or an Alpha checkpoint, and translates it to the
// transformer's terms: the computation and the location of each weight. An architecture
// is a table of the names in its configuration and of its tensors. An unknown setting
// that would change a result is rejected by name, and so is an unused tensor. Package
// arch neither computes a model nor reads its weights.
//
// Start with [OpenPath], or with [Open] for a file system of another kind. [Describe] reads only
// what a listing shows, and [Pack] writes a model as one file that opens without conversion.
//
// Sources: the published checkpoints' config.json, generation_config.json and tensor
// names, as transformers' classes read them; the keys and names of GGUF; Alpha's own
// files.
package arch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"glossa/pkg/chat"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// A Model is an opened model: everything except its weights, which [transformer.New]
// reads.
type Model struct {
	Type    string // model_type of its configuration, or "alpha"
	Version string // a digest of the description of the weights, or Alpha's own version

	Spec    *transformer.Spec
	Weights *transformer.Weights

	Tokenizer tokenizer.Tokenizer // nil if a directory has none: the model computes, but cannot read texts
	Start     []int               // tokens that the model's own tokenizer puts before a text; may be empty
	Empty     int                 // the token of an empty context
	End       []int               // tokens that end a text; may be empty
	Suppress  []int               // tokens that no text of a decoder has; may be empty
	Tokens    int                 // ids from here on only pad the vocabulary

	Chat        chat.Source  // the chat templates; empty if there are none
	Translation *Translation // of an encoder-decoder that translates
	Seq2Seq     *Seq2Seq     // of another encoder-decoder
	Sentence    *Sentence    // of a model whose vectors are embeddings of texts
	Ranking     *Ranking     // of a model that scores documents for a query
	Vision      *Vision      // of a decoder that also reads pictures
	Run         *Run         // of a packed model trained by Alpha

	shared string // see Shares
	added  int64

	trie   func() ([]byte, error)            // the packed vocabulary; nil if there is none
	source func() (*tokenizer.Source, error) // the files or parts of Tokenizer; nil if there is none
	closer io.Closer                         // of the files; nil if there is nothing to close
}

// Translation is what an encoder-decoder that translates does with texts.
type Translation struct {
	Search
	DecoderStart int `json:"decoder_start"` // the token that every target begins with
	End          int `json:"end"`           // the token that ends a source and a target

	// The languages of sources and of targets. None are known without a tokenizer.
	Sources []Language `json:"sources,omitempty"`
	Targets []Language `json:"targets,omitempty"`
}

// Seq2Seq holds the tokens around the texts of an encoder-decoder that answers a text with another,
// and how its authors look for an answer.
type Seq2Seq struct {
	DecoderStart int `json:"decoder_start"` // the token that every answer begins with
	End          int `json:"end"`           // the token that ends a text

	// Begin has the tokens behind DecoderStart that every answer begins with, which no model
	// chooses. They are not part of its text.
	Begin []int `json:"begin,omitempty"`

	Search *Search `json:"search,omitempty"` // nil: the files do not tell
}

// A Language is one that a translator reads or writes.
type Language struct {
	Code   string `json:"code"`             // as requests spell it, see [language.Code]
	Source int    `json:"source,omitempty"` // the token before those of a source; 0: there is none
	Target int    `json:"target,omitempty"` // the token before those of a target; 0: there is none
}

// Open opens the model in a directory: config.json, a tokenizer and safetensors as in a
// Hugging Face directory, or a GGUF file, or a packed model. dir may also be the name of
// a GGUF file or a packed model. Errors name the file and the field or tensor. The caller
// closes the result.
func Open(fsys fs.FS, dir string) (*Model, error) { return openPages(fsys, dir, 0) }

// OpenPaged is [Open] of a packed model with a mixture of experts that may be larger than memory. It
// is a local file, which must not be changed while the model is open. Experts stay in it until tokens choose them; at most memory bytes
// of them are kept, those that were used last. Experts are checked when they are used for the first time.
func OpenPaged(fsys fs.FS, dir string, memory int64) (*Model, error) {
	if memory < 1 {
		return nil, fmt.Errorf("%s: %d bytes of memory for experts", dir, memory)
	}
	return openPages(fsys, dir, memory)
}

func openPages(fsys fs.FS, dir string, pages int64) (*Model, error) {
	m, err := open(fsys, dir, pages)
	if err != nil {
		return nil, err
	}
	if err := m.finish(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), m.Close())
	}
	return m, nil
}

// OpenWeights is [Open] without the tokenizer and all that depends on it.
func OpenWeights(fsys fs.FS, dir string) (*Model, error) {
	p, err := find(fsys, dir)
	if err != nil {
		return nil, err
	}
	o, err := openWeights(fsys, p)
	if err != nil {
		return nil, err
	}
	return o.Model, nil
}

func open(fsys fs.FS, dir string, pages int64) (*Model, error) {
	p, err := find(fsys, dir)
	if err != nil {
		return nil, err
	}
	switch {
	case p.packed:
		return openPack(fsys, p, pages)
	case pages > 0:
		return nil, fmt.Errorf("%s: only the experts of a packed model can stay in its file", dir)
	case p.config == "":
		return openGGUF(fsys, p)
	}
	return openHF(fsys, p)
}

// TokenizerSource returns the files or parts of the tokenizer; nil if there is none.
func (m *Model) TokenizerSource() (*tokenizer.Source, error) {
	if m.source == nil {
		return nil, nil
	}
	return m.source()
}

// padding matches the names of tokens that only pad a vocabulary: those of GPT-J and of
// llama.cpp's converter.
var padding = regexp.MustCompile(`^(<\|extratoken_[0-9]+\|>|\[PAD[0-9]+\])$`)

// finish checks the model after everything is read.
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
	if m.Tokenizer != nil { // its line feed may come from a file, see [tokenizer.WithNewline]
		for _, id := range m.Tokenizer.Encode("\n") {
			if id >= vocab {
				return fmt.Errorf("a line feed is token %d, which is not below %d", id, vocab)
			}
		}
	}
	return nil
}

// Name returns the authors' name of the model's architecture.
func (m *Model) Name() string {
	if f := families[m.Type]; f != nil {
		return f.title
	}
	if v := viewers[m.Type]; v != nil {
		return v.title
	}
	return "Alpha"
}

// Bytes returns the memory of the weights in a format, with those after the layers.
func (m *Model) Bytes(f transformer.Format) int64 {
	return m.Weights.Bytes(m.Spec, f) + headMemory(m.Sentence, m.Ranking, m.Vision) + m.Vision.Bytes(f)
}

// Shares returns the directory whose weights in memory m can share with other models: its own, or
// that of its base if it is an adapter that need not be merged. dir is "" if it cannot. added is the memory
// of what the adapter adds to them, see [transformer.Model.NewAdapter].
func (m *Model) Shares() (dir string, added int64) {
	if m.Sentence != nil || m.Ranking != nil || m.Vision != nil {
		return "", 0
	}
	return m.shared, m.added
}

// Close closes the files. No weights can be read afterwards.
func (m *Model) Close() error {
	if m.closer == nil {
		return nil
	}
	err := m.closer.Close()
	m.closer = nil
	return err
}
