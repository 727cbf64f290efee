package alephalpha

import (
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// cloud is the hosting that every model has.
const cloud = "cloud"

// request translates a request for completions. Every error names the key at fault.
func (c *completeRequest) request() (*llm.Request, error) {
	prompt, err := readPrompt("prompt", c.Prompt, true)
	if err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &c.sampling
	return &llm.Request{
		Prompts: []llm.Prompt{prompt},
		N:       valueOr(c.N, 1),
		Stream:  valueOr(c.Stream, false),
		Params: llm.Params{
			MaxTokens: c.MaximumTokens, Stop: c.StopSequences, BestOf: c.BestOf, Echo: c.Echo, Tokens: c.Tokens, Logprobs: c.LogProbs,
			Temperature: s.Temperature, TopK: s.TopK, TopP: s.nucleus(), LogitBias: wire.TokenBias(s.LogitBias),
			PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, PenalizePrompt: s.PenalizePrompt,
			MultiplyPenalties: s.MultiplyPresence, MultiplyFrequency: s.MultiplyFrequency,
		},
		Defaults: llm.Params{Temperature: new(s.temperature())},
	}, nil
}

// check validates keys that depend on each other.
func (c *completeRequest) check() error {
	if n := valueOr(c.N, 1); c.BestOf != nil && *c.BestOf <= n {
		return wire.Invalid("best_of", "must be greater than n, which is %d", n)
	}
	return nil
}

// nucleus returns top_p. Both 0 and 1 keep all tokens.
func (s *sampling) nucleus() *float64 {
	if s.TopP != nil && *s.TopP == 0 {
		return new(1.0)
	}
	return s.TopP
}

// temperature returns the default temperature: greedy, unless top_k or top_p request
// sampling.
func (s *sampling) temperature() float64 {
	if valueOr(s.TopK, 0) > 0 || valueOr(s.TopP, 0) > 0 {
		return 1
	}
	return 0
}

// request translates a request for embeddings.
func (e *embedRequest) request() (*llm.EmbedRequest, error) {
	prompt, err := notEmptyPrompt("prompt", e.Prompt)
	if err != nil {
		return nil, err
	}
	req := &llm.EmbedRequest{Prompts: []llm.Prompt{prompt}, Layers: e.Layers}
	for _, name := range e.Pooling {
		if p := llm.Pooling(name); !slices.Contains(req.Pooling, p) {
			req.Pooling = append(req.Pooling, p)
		}
	}
	return req, nil
}

// request translates a request for an evaluation.
func (e *evaluateRequest) request() (*llm.ScoreRequest, error) {
	prompt, err := readPrompt("prompt", e.Prompt, false)
	return &llm.ScoreRequest{Prompt: prompt, Continuation: valueOr(e.CompletionExpected, "")}, err
}

// part returns the text to tokenise.
func (t *tokenizeRequest) part() (llm.Part, error) { return llm.Part{Text: *t.Prompt}, nil }

// ids returns the tokens that were sent.
func (d *detokenizeRequest) ids() ([]int, error) { return d.TokenIDs, nil }

// check rejects a model that is not at the requested hosting.
func (t *target) check(info *llm.ModelInfo) error {
	if t.Hosting == nil || *t.Hosting == cloud || slices.Contains(info.Hostings, *t.Hosting) {
		return nil
	}
	return wire.Invalid("hosting", "the model %q is not hosted at %.40q: see /models_available", info.Name, *t.Hosting)
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
