// Package engine is the in-process backend: it tokenises prompts, runs them
// through a transformer, samples rows together and streams their text. It knows
// llm's requests; it refuses to know wire formats, model records and where
// checkpoints come from.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"glossa/pkg/chat"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Config says how to run a checkpoint. Its zero value works.
type Config struct {
	Name     string          // of the model, for errors
	Kernels  *kernel.Kernels // nil: the fastest of this CPU
	Queue    *Queue          // shared by all engines of a process; nil: unbounded
	Template chat.Template   // how chats are written
	Cap      string          // bound of attention scores, see [transformer.ScoreCap]

	MaxMemory int64 // bytes that a request may take beside the weights; 0 is [DefaultMaxMemory]
}

// Engine is a model in memory. It implements [llm.Backend] and [llm.Tokenizer]
// and is safe for concurrent use.
type Engine struct {
	model     *transformer.Model
	tokenizer tokenizer.Tokenizer
	template  chat.Template
	queue     *Queue
	memory    int64 // bytes for a request
	start     int   // the token that an empty prompt begins with
	version   string
}

// New makes an engine of a checkpoint. Errors name the model and what is wrong.
func New(ck *checkpoint.Alpha, cfg Config) (*Engine, error) {
	e, err := open(ck, cfg)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	return e, nil
}

func open(ck *checkpoint.Alpha, cfg Config) (*Engine, error) {
	if cfg.Kernels == nil {
		cfg.Kernels = kernel.Best()
	}
	if err := cfg.Template.Check(); err != nil {
		return nil, err
	}
	limit, err := transformer.ScoreCap(ck, cfg.Cap)
	if err != nil {
		return nil, err
	}
	if ck.Tokenizer == nil {
		return nil, fmt.Errorf("the checkpoint has no tokenizerArtifacts")
	}
	tok, err := tokenizer.FromAlpha(ck.Tokenizer)
	if err != nil {
		return nil, err
	}
	if tok.Size() > ck.ModelConfig.VocabSize {
		return nil, fmt.Errorf("the tokenizer has %d tokens, the model %d", tok.Size(), ck.ModelConfig.VocabSize)
	}
	model, err := transformer.New(ck, cfg.Kernels, limit)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		model: model, tokenizer: tok, template: cfg.Template, queue: cfg.Queue,
		memory:  cmp.Or(cfg.MaxMemory, DefaultMaxMemory),
		version: ck.ConfigHash + "-" + strconv.Itoa(ck.Step),
	}
	if line := tok.Encode("\n"); len(line) == 1 {
		e.start = line[0] // Alpha has no start token: a line begins where one ends
	}
	return e, nil
}

// Info returns what the engine knows of its model.
func (e *Engine) Info() llm.ModelInfo {
	return llm.ModelInfo{Family: "local", Type: "Alpha", Version: e.version, Streaming: true, Context: e.model.Context}
}

// Parameters returns the number of weights.
func (e *Engine) Parameters() int { return e.model.Parameters() }

// Bytes returns the memory of the weights.
func (e *Engine) Bytes() int64 { return 4 * int64(e.model.Parameters()) }

// Tokenize implements [llm.Tokenizer]. Alpha models have no start token to add.
func (e *Engine) Tokenize(_ context.Context, text llm.Part, _ bool) ([]llm.Token, error) {
	ids, err := e.encode([]llm.Part{text})
	if err != nil {
		return nil, err
	}
	tokens, decoder := make([]llm.Token, len(ids)), e.tokenizer.NewDecoder()
	for i, id := range ids {
		tokens[i] = llm.Token{ID: id, Text: decoder.Next(id), Piece: e.tokenizer.Piece(id)}
	}
	return tokens, nil
}

// Detokenize implements [llm.Tokenizer].
func (e *Engine) Detokenize(_ context.Context, ids []int) (string, error) {
	if err := e.checkIDs(ids); err != nil {
		return "", err
	}
	return tokenizer.Decode(e.tokenizer, ids), nil
}
