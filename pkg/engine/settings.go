package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/sampler"
	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// maxRows bounds the rows of one request.
const maxRows = 256

// maxTexts bounds the texts of one request for embeddings, as OpenAI does.
const maxTexts = 2048

// settings are the validated parameters of a request.
type settings struct {
	n, bestOf  int // completions of each prompt: returned, decoded
	maxTokens  int
	truncate   *int
	stop       []string
	echo       bool
	score      bool // the prompt's tokens are described
	tokens     bool // chunks carry tokens
	logprobs   int  // number of alternatives; -1 without log-probabilities
	penalise   bool // penalties count the prompt
	sampler    sampler.Config
	constraint *grammar.Constraint // of the texts; nil: any text
	tools      []llm.Tool          // that a chat may call
	calls      toolcall.Syntax     // of its calls
	continues  bool                // the answer continues the last message of a chat
	prediction string              // of the answer
	search     *arch.Search        // of the model, that chooses the tokens; nil: the sampler does

	maxThinking int             // tokens of reasoning; -1: any number
	variables   json.RawMessage // of the chat template
}

// newSettings validates the effective parameters p of a request, except its constraint,
// and rejects those that the engine does not support.
func (e *Engine) newSettings(req *llm.Request, p *llm.Params) (*settings, error) {
	s := &settings{
		n: max(1, req.N), maxTokens: min(or(p.MaxTokens, e.context), e.context), truncate: p.Truncate, stop: p.Stop,
		echo: or(p.Echo, false), tokens: or(p.Tokens, false) || p.Logprobs != nil, logprobs: min(or(p.Logprobs, -1), e.tokens),
		penalise: or(p.PenalizePrompt, false), sampler: e.samplerConfig(p), tools: p.Tools, calls: e.calls.of(p),
		maxThinking: or(p.MaxThinking, -1), continues: or(p.Continue, false), prediction: req.Prediction,
	}
	if !or(p.Thinking, true) {
		s.maxThinking = 0 // whether or not the template can turn reasoning off
	}
	s.score = s.echo && s.tokens
	s.bestOf = max(s.n, or(p.BestOf, s.n))
	switch {
	case s.maxTokens < 0:
		return nil, invalid("max_new_tokens", "must not be negative")
	case p.Logprobs != nil && *p.Logprobs < 0:
		return nil, invalid("logprobs", "must not be negative")
	case p.Truncate != nil && *p.Truncate < 0:
		return nil, invalid("truncate", "must not be negative")
	case p.BestOf != nil && *p.BestOf < s.n:
		return nil, invalid("best_of", fmt.Sprintf("must be at least n, which is %d", s.n))
	case or(p.MustCall, false) && len(p.Tools) == 0:
		return nil, invalid("must_call", "there are no tools to call")
	case p.MaxThinking != nil && *p.MaxThinking < 0:
		return nil, invalid("max_thinking_tokens", "must not be negative")
	case e.thinker == nil && or(p.Thinking, false):
		return nil, doesNotReason("thinking")
	case e.thinker == nil && p.Effort != nil:
		return nil, doesNotReason("reasoning_effort")
	case len(p.TemplateArgs) > 0 && slices.ContainsFunc(req.Prompts, func(p llm.Prompt) bool { return p.Messages == nil }):
		return nil, invalid("chat_template_kwargs", "only a chat has a template")
	case s.continues && (len(p.Schema) > 0 || p.Grammar != nil || or(p.MustCall, false)):
		return nil, invalid("continue_final_message", "an answer with a schema, a grammar or a required call begins anew")
	case len(req.Prompts) == 0:
		return nil, invalid("prompt", "is required")
	case s.bestOf > maxRows/len(req.Prompts): // their product may overflow
		return nil, s.tooManyRows(len(req.Prompts))
	}
	var err error
	if s.variables, err = e.templateVariables(p); err != nil {
		return nil, err
	}
	for _, stop := range p.Stop {
		if stop == "" {
			return nil, invalid("stop", "must not be an empty string")
		}
	}
	err = s.sampler.Check(e.tokens)
	if p, ok := errors.AsType[*sampler.ParamError](err); ok {
		return nil, invalid(p.Param, p.Message)
	}
	return s, err
}

// samplerConfig translates parameters. Without a temperature, the choice is greedy, but
// top_k, top_p or typical_p imply sampling at temperature 1.
func (e *Engine) samplerConfig(p *llm.Params) sampler.Config {
	temperature := 0.0
	if p.TopK != nil || p.TopP != nil || p.TypicalP != nil {
		temperature = 1
	}
	seed := rand.Uint64()
	if p.Seed != nil {
		seed = uint64(*p.Seed)
	}
	return sampler.Config{
		Temperature: or(p.Temperature, temperature), TopK: or(p.TopK, 0), TopP: or(p.TopP, 1), TypicalP: or(p.TypicalP, 1),
		LogitBias: e.bias(p.LogitBias), RepetitionPenalty: or(p.RepetitionPenalty, 1),
		PresencePenalty: or(p.PresencePenalty, 0), FrequencyPenalty: or(p.FrequencyPenalty, 0),
		MultiplyPresence: or(p.MultiplyPenalties, false), MultiplyFrequency: or(p.MultiplyFrequency, or(p.MultiplyPenalties, false)), Seed: seed,
	}
}

// never is the bias of a token that is not written.
const never = -1e30

// bias returns the biases of a request with those of the tokens that the model never writes.
//
// Source: transformers 5.23, SuppressTokensLogitsProcessor.
func (e *Engine) bias(sent map[int]float64) map[int]float64 {
	if len(e.suppressed) == 0 {
		return sent
	}
	all := map[int]float64{}
	maps.Copy(all, sent)
	for _, id := range e.suppressed {
		if id < e.tokens { // the others only pad the vocabulary
			all[id] = never
		}
	}
	return all
}

// newSampler returns the sampler of completion i of a prompt. It is seeded by i only, so
// that a prompt's text is the same alone and in a list.
func (e *Engine) newSampler(s *settings, i int) (*sampler.Sampler, error) {
	cfg := s.sampler
	cfg.Row, cfg.Kernels = i, e.kernels
	return sampler.New(cfg, e.tokens)
}

// tooManyRows returns the error of a request for more than [maxRows] rows, which names what the client sent.
func (s *settings) tooManyRows(prompts int) error {
	param := "n"
	switch {
	case s.bestOf > s.n:
		param = "best_of"
	case s.n == 1:
		return invalid("prompt", fmt.Sprintf("must be at most %d prompts, not %d", maxRows, prompts))
	}
	return invalid(param, fmt.Sprintf("must be at most %d, multiplied by the number of prompts", maxRows))
}

// doesNotReason returns the error of a parameter that asks a model to reason that does not.
func doesNotReason(param string) error {
	return &llm.Error{Code: llm.Unsupported, Param: param, Message: "this model does not reason before its answer"}
}

func invalid(param, message string) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: message}
}

func fmtID(id, vocab int) string {
	return fmt.Sprintf("token %d does not exist: the vocabulary has %d", id, vocab)
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
