// Package engine is the in-process backend. It tokenises prompts, runs them through a
// transformer, samples rows together and streams their text, constrained by a grammar if
// the request has one. It also scores, embeds and translates. It knows llm's requests,
// but not wire formats, model records, files, the origin of checkpoints or the syntax of
// grammars.
//
// # Where to start
//
// [arch.OpenPath] opens a model's files, [New] makes an [Engine] of them, and
// [Engine.Generate] answers an [llm.Request]:
//
//	model, err := arch.OpenPath("path/to/model")
//	...
//	e, err := engine.New(model, engine.Config{})
//
// The zero [Config] computes with the model's numbers in float32 on one thread. For speed, set
// Format to quantise the weights and Team to use more threads; the examples show both. For a
// model of unknown kind, [Open] returns an [Engine], a [Translator], an [Encoder] or a [Ranker].
//
// To choose tokens yourself, use the packages below: transformer computes logits, sampler
// chooses from them.
package engine

import (
	"cmp"
	"fmt"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Engine is a model in memory that continues texts, or answers them if it is an encoder-decoder.
// It implements [llm.Backend], [llm.Tokenizer], [llm.Scorer] and [llm.Embedder] and is safe for
// concurrent use.
type Engine struct {
	*core

	template    *chat.Template
	thinker     *thinker         // nil: the model does not reason
	special     bool             // raw prompts may spell special tokens
	ends        map[int]bool     // tokens that end a completion
	suppressed  []int            // tokens that no completion has
	calls       callSyntax       // of the template
	constraints *constraintCache // of constrained texts
	seq2seq     *arch.Seq2Seq    // of an encoder-decoder, whose prompts are the encoder's; nil: a decoder
	sight       *sight           // of a model that reads pictures; nil: it reads text only
}

var (
	_ llm.Backend   = (*Engine)(nil)
	_ llm.Tokenizer = (*Engine)(nil)
	_ llm.Scorer    = (*Engine)(nil)
	_ llm.Embedder  = (*Engine)(nil)
)

// New reads the weights of a model that continues or answers texts and makes its engine. It closes m. Errors
// name the model and the fault.
func New(m *arch.Model, cfg Config) (_ *Engine, err error) {
	e := &Engine{special: cfg.ParseSpecial, ends: map[int]bool{}, seq2seq: m.Seq2Seq}
	defer func() { err = closeOpened(m, e, err) }()
	if e.template, err = templateOf(m, cfg); err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if m.Translation != nil {
		return nil, fmt.Errorf("model %q: a %s model translates and does not continue texts", cfg.Name, m.Type)
	}
	if m.Ranking != nil {
		return nil, fmt.Errorf("model %q: a %s model with these files ranks or classifies texts and does not continue them", cfg.Name, m.Type)
	}
	if m.Sentence != nil || len(m.Spec.Decoder) == 0 {
		return nil, fmt.Errorf("model %q: a %s model embeds texts and does not continue them", cfg.Name, m.Type)
	}
	if m.Seq2Seq != nil {
		cfg.PrefixMemory = -1 // no prompt continues an answer
	}
	if e.core, err = newCore(m, cfg); err != nil {
		return nil, err
	}
	if m.Seq2Seq != nil && len(e.answerStart()) > e.context {
		return nil, fmt.Errorf("model %q: answers begin with %d tokens, in a context of %d", cfg.Name, len(e.answerStart()), e.context)
	}
	if e.sight, err = newSight(m.Vision, e.kernels, cfg); err != nil {
		return nil, err
	}
	e.info.Images = e.sight != nil
	if err := e.useDraft(cfg.Draft); err != nil {
		return nil, err
	}
	e.thinker = newThinker(cmp.Or(cfg.Reasoning, e.template.Reasoning()), e.tokenizer, e.tokens)
	e.info.Reasons = e.thinker != nil
	for _, id := range m.End {
		e.ends[id] = true
	}
	e.suppressed = m.Suppress
	if err := e.endTurns(); err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	e.calls = newCallSyntax(e.template.Calls(), e.tokenizer, e.tokens)
	e.constraints = &constraintCache{vocabulary: e.calls.vocabulary(m.Vocabulary()), turns: cfg.Turns}
	return e, nil
}

// templateOf returns the chat template of a model.
func templateOf(m *arch.Model, cfg Config) (t *chat.Template, err error) {
	switch {
	case cfg.Template != nil:
		t = cfg.Template
	case m.Chat.Empty():
		t, err = chat.Named(chat.Concat)
	default:
		t, err = chat.Compile(m.Chat)
	}
	if err == nil && m.Vision != nil {
		t, err = t.Pictures(m.Vision.Mark)
	}
	return t, err
}

// endTurns adds the special token that the chat template writes after an answer to the tokens
// that end a completion. A template of package chat needs all of its special tokens: spelled
// in letters, they would be text that clients can write too.
func (e *Engine) endTurns() error {
	var special map[string]int
	if t, ok := e.tokenizer.(tokenizer.Specials); ok {
		special = t.SpecialTokens()
	}
	for _, mark := range e.template.Marks() {
		if _, ok := special[mark]; !ok && e.template.Name() != "" {
			return fmt.Errorf("its tokenizer has no special token %q, which the chat template %s needs", mark, e.template.Name())
		}
	}
	after, end := strings.TrimSpace(e.template.After()), ""
	for mark := range special {
		if strings.HasPrefix(after, mark) && len(mark) > len(end) {
			end = mark
		}
	}
	if end != "" {
		e.ends[special[end]] = true
	}
	return nil
}
