package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
)

// Config configures how a model runs. Its zero value works.
type Config struct {
	Name     string               // of the model, for errors and Info
	Kernels  *kernel.Kernels      // nil: the fastest for this CPU
	Format   transformer.Format   // of the weights in memory
	KV       transformer.KVFormat // of the keys and values in memory; 0: that of the weights decides, but embedding and ranking models have float32
	Team     *transformer.Team    // computes passes, shared by all engines of a process; nil: the caller alone
	Queue    *Queue               // shared by all engines of a process; nil: unbounded
	Turns    *grammar.Turns       // to compile grammars, shared by all engines of a process; nil: unbounded
	Template *chat.Template       // of chats; nil: that of the model's files, or else [chat.Concat]

	// Reasoning are the marks around the reasoning of answers in chats; nil: those of Template.
	// If there are none, or the tokenizer cannot spell them, the model does not reason.
	Reasoning *reasoning.Marks

	ParseSpecial bool     // raw prompts may spell special tokens; chats never may
	Languages    []string // of a translator; nil: all of its languages

	TokenizerJSON func() ([]byte, error) // reads the model's tokenizer.json; nil: there is none

	Context   int   // maximum tokens of prompt and completion; 0: the model's
	MaxMemory int64 // bytes that a request may take in addition to the weights; 0: [DefaultMaxMemory]

	// PrefixMemory is the size in bytes of the cache of computed prompts and completions,
	// for prompts with the same beginning. 0 is an eighth of MaxMemory; a negative value
	// disables the cache.
	PrefixMemory int64

	// Prefixes, if set, is the memory of that cache instead, shared by all engines of a process.
	Prefixes *PrefixMemory

	// PublicPrefixes uses computed texts for all owners, see [llm.OwnerOf]. Otherwise a text is
	// only used for the owner that had it computed: how fast a prompt is answered tells whether
	// its beginning is known.
	PublicPrefixes bool

	// Archive, if set, keeps the texts with which several prompts begin beyond the process.
	// Fingerprint then identifies the weights and all that says how they compute: texts are used
	// for models with the same one. If it is empty, nothing is archived.
	Archive     *sealed.Archive
	Fingerprint string

	// Weights, if set, are those of the model, or of the base of an adapter, see [Load] and
	// [arch.Model.Shares]. They must have been read with the same Kernels, Format, KV and Team. If nil, the
	// engine reads its own: an adapter is merged with them.
	Weights *Weights

	// NoDrafts computes one token of a row in a pass, except for text that is forced. By
	// default the tokens that probably come next are drafted from the row's text and verified
	// in one pass where that is faster. Completions are the same. Models with states have no drafts.
	NoDrafts bool

	// Draft, if set, is a smaller model with the same vocabulary. Where that is faster, it
	// proposes the tokens that probably come next, which are verified like other drafts. Completions
	// are the same. The engine uses the weights of Draft until it is closed.
	Draft *Engine
}

// core is the part common to all kinds of engines.
type core struct {
	weights       *Weights
	model         *transformer.Model // of weights
	kernels       *kernel.Kernels
	tokenizer     tokenizer.Tokenizer
	lanes         *lanes
	prefixes      *prefixTexts
	queue         *Queue
	drafting      drafting
	draft         *core // proposes tokens; nil: there is no draft model
	memory        int64 // bytes for a request
	workers       int   // that compute a pass
	context       int   // maximum tokens of a text
	start, end    []int // tokens that the tokenizer puts around a text
	empty         int   // the token that stands for an empty text
	tokens        int   // ids from here on only pad the vocabulary
	tokenizerJSON func() ([]byte, error)
	info          llm.ModelInfo
	closing       sync.Once
}

// Open reads the weights of a model and makes the engine for its kind: an [*Engine], for
// a translator a [*Translator], for a model that embeds texts an [*Encoder], for one that ranks
// documents a [*Ranker], and for one that classifies texts a [*Classifier]. It closes m. Errors name
// the model and the fault.
func Open(m *arch.Model, cfg Config) (llm.Backend, error) {
	if m.Ranking != nil && !m.Ranking.Ranks() {
		c, err := NewClassifier(m, cfg)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	if m.Ranking != nil {
		r, err := NewRanker(m, cfg)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	if m.Sentence != nil {
		e, err := NewEncoder(m, cfg)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	if m.Translation != nil {
		t, err := NewTranslator(m, cfg)
		if err != nil {
			return nil, err // not a nil *Translator in an interface
		}
		return t, nil
	}
	e, err := New(m, cfg)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func newCore(m *arch.Model, cfg Config) (*core, error) {
	if cfg.Kernels == nil {
		cfg.Kernels = kernel.Best()
	}
	if m.Tokenizer == nil {
		return nil, fmt.Errorf("model %q: no tokenizer", cfg.Name)
	}
	if cfg.KV == transformer.KVAuto && (m.Sentence != nil || m.Ranking != nil) {
		cfg.KV = transformer.KVF32 // a text's are needed only while it is read, and vectors should be exact
	}
	weights, adapter, err := weightsOf(m, cfg)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	model := weights.model
	context := model.Context
	if cfg.Context > 0 {
		context = min(context, cfg.Context)
	}
	memory := cmp.Or(cfg.MaxMemory, DefaultMaxMemory)
	c := &core{
		weights: weights, model: model, kernels: cfg.Kernels, tokenizer: m.Tokenizer, queue: cfg.Queue, memory: memory, workers: cfg.Team.Size(),
		lanes: &lanes{cfg.Name, adapter, cfg.Kernels, weights.batches}, prefixes: newPrefixTexts(model, cmp.Or(cfg.PrefixMemory, memory/prefixShare), cfg.Prefixes),
		context: context, start: m.Start, empty: m.Empty, tokens: m.Tokens, tokenizerJSON: cfg.TokenizerJSON,
		info: llm.ModelInfo{Name: cfg.Name, Family: "local", InProcess: true, Type: m.Name(), Version: m.Version, Streaming: true, Context: context},
	}
	if c.prefixes != nil {
		c.prefixes.public = cfg.PublicPrefixes
		c.prefixes.archive = newArchivedTexts(cfg)
	}
	if cfg.NoDrafts || !model.Rewinds() { // drafts that are rejected are dropped
		c.drafting = draftNever
	}
	if len(m.End) > 0 {
		c.info.EndToken = c.tokenizer.Piece(m.End[0])
	}
	if len(m.Start) > 0 {
		c.info.StartToken = c.tokenizer.Piece(m.Start[0])
	}
	return c, nil
}

// closeOpened ends the constructor of an engine, whose core is nil if there is none yet: it closes
// m and, after an error, the engine. It returns the error.
func closeOpened(m *arch.Model, engine io.Closer, err error) error {
	if closing := m.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = engine.Close() // it has no error
	}
	return err
}

// Info describes the model, as an [llm.Model] needs it.
func (c *core) Info() llm.ModelInfo { return c.info }

// Parameters returns the number of weights.
func (c *core) Parameters() int64 { return c.model.Parameters() }

// Failed returns why the weights, or those of the draft model, which may still be loading, will
// never be complete; nil while they may be.
func (c *core) Failed() error {
	if err := c.model.Failed(); err != nil || c.draft == nil {
		return err
	}
	return c.draft.model.Failed()
}

// Close releases the weights. If no other engine has them, the memory of mapped ones is freed
// after the last pass has ended, and later calls of the engine fail. A nil core has none.
func (c *core) Close() error {
	if c == nil {
		return nil
	}
	c.prefixes.close()
	c.closing.Do(c.release)
	return nil
}

// ExpertUse returns how the model's experts were found in memory. ok is false if all stay there.
func (c *core) ExpertUse() (use llm.ExpertUse, ok bool) {
	u, ok := c.model.ExpertUse()
	return llm.ExpertUse(u), ok
}

// release ends the use of all weights.
func (c *core) release() {
	c.weights.Release()
	if c.draft != nil {
		c.draft.weights.Release()
	}
}

// Bytes returns the memory of the weights, with that of an adapter.
func (c *core) Bytes() int64 {
	bytes := c.model.Bytes()
	if a := c.lanes.adapter; a != nil {
		bytes += a.Bytes()
	}
	return bytes
}

// Tokenize implements [llm.Tokenizer]. It waits for a worker, since a long text takes
// seconds.
func (c *core) Tokenize(ctx context.Context, parts []llm.Part, start bool) ([]llm.Token, error) {
	return c.tokenize(ctx, start, func(to *tokenizer.Collector) error { return c.encode(ctx, to, parts) })
}

// tokenize is Tokenize of what encode adds to the collector.
func (c *core) tokenize(ctx context.Context, start bool, encode func(*tokenizer.Collector) error) ([]llm.Token, error) {
	worker, err := c.queue.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer worker.release()
	to := tokenizer.Collector{Max: int(max(1, c.memory/tokenBytes))}
	if start {
		err = to.AddTokens(c.start)
	}
	if err == nil {
		err = encode(&to)
	}
	if start && err == nil {
		err = to.AddTokens(c.end)
	}
	n := int64(to.Total())
	if e, ok := errors.AsType[*tokenizer.LimitError](err); ok {
		n, err = int64(e.AtLeast), nil
	}
	if err == nil {
		err = c.affords(tokenBytes*n, "the tokens of a shorter text")
	}
	if err == nil {
		err = worker.claim(ctx, tokenBytes*n)
	}
	if err != nil {
		return nil, err
	}
	return c.describe(to.IDs()), nil
}

// describe returns the tokens of a text. Inputs of a picture have the id -1.
func (c *core) describe(ids []int) []llm.Token {
	tokens, decoder := make([]llm.Token, len(ids)), c.tokenizer.NewDecoder()
	for i, id := range ids {
		if id < 0 {
			tokens[i] = llm.Token{ID: -1}
			continue
		}
		tokens[i] = llm.Token{ID: id, Text: decoder.Next(id), Piece: c.tokenizer.Piece(id)}
	}
	return tokens
}

// Detokenize implements [llm.Tokenizer].
func (c *core) Detokenize(_ context.Context, ids []int) (string, error) {
	if err := c.checkIDs(ids); err != nil {
		return "", err
	}
	return tokenizer.Decode(c.tokenizer, ids), nil
}
