package alephalpha

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// cloud is the hosting that every model has.
const cloud = "cloud"

// maxCompletions bounds n: each is a row.
const maxCompletions = 256

// request translates a request for completions; every error names the key at fault.
func (c *completeRequest) request() (*llm.Request, error) {
	prompt, err := readPrompt(c.Prompt)
	if err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	bias, err := c.bias()
	if err != nil {
		return nil, err
	}
	s := &c.sampling
	return &llm.Request{
		Prompts: []llm.Prompt{prompt},
		N:       or(c.N, 1),
		Stream:  or(c.Stream, false),
		Params: llm.Params{
			MaxTokens: c.MaximumTokens, Stop: c.StopSequences, BestOf: c.BestOf, Echo: c.Echo, Tokens: c.Tokens, Logprobs: c.LogProbs,
			Temperature: s.Temperature, TopK: s.TopK, TopP: s.nucleus(), LogitBias: bias,
			PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, PenalizePrompt: s.PenalizePrompt,
			MultiplyPenalties: s.MultiplyPresence, MultiplyFrequency: s.MultiplyFrequency,
		},
		Defaults: llm.Params{Temperature: new(s.temperature())},
	}, nil
}

// check returns what is wrong with the keys that need no translation.
func (c *completeRequest) check() error {
	if err := wire.Refuse(Parameters(), &c.refused, "/complete ", ""); err != nil {
		return err
	}
	if slices.Contains(c.StopSequences, "") {
		return invalid("stop_sequences", "a stop sequence must not be empty")
	}
	if n := or(c.N, 1); c.BestOf != nil && *c.BestOf <= n {
		return invalid("best_of", "must be greater than n, which is %d", n)
	}
	return cmp.Or(
		atLeast("maximum_tokens", c.MaximumTokens, 0),
		atLeast("log_probs", c.LogProbs, 0),
		atLeast("top_k", c.TopK, 0),
		within("n", c.N, 1, maxCompletions),
		within("top_p", c.TopP, 0, 1),
		within("temperature", c.Temperature, 0, 1),
	)
}

// nucleus is top_p, where 0 and 1 alike keep all tokens.
func (s *sampling) nucleus() *float64 {
	if s.TopP != nil && *s.TopP == 0 {
		return new(1.0)
	}
	return s.TopP
}

// temperature is what no temperature means: the likeliest token, unless top_k or top_p
// ask for a random choice.
func (s *sampling) temperature() float64 {
	if or(s.TopK, 0) > 0 || or(s.TopP, 0) > 0 {
		return 1
	}
	return 0
}

// bias reads the token ids that JSON can have as strings only.
func (s *sampling) bias() (map[int]float64, error) {
	if s.LogitBias == nil {
		return nil, nil
	}
	bias := make(map[int]float64, len(s.LogitBias))
	for key, v := range s.LogitBias {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 || strconv.Itoa(id) != key {
			return nil, invalid("logit_bias", "%.40q is no token id", key)
		}
		bias[id] = v
	}
	return bias, nil
}

// request translates a request for embeddings.
func (e *embedRequest) request() (*llm.EmbedRequest, error) {
	prompt, err := readPrompt(e.Prompt)
	if err != nil {
		return nil, err
	}
	if err := wire.Refuse(Parameters(), e, "/embed ", ""); err != nil {
		return nil, err
	}
	switch {
	case isEmpty(prompt):
		return nil, invalid("prompt", "must not be empty")
	case len(e.Layers) == 0:
		return nil, invalid("layers", "at least one layer is needed")
	case e.Pooling != nil && len(e.Pooling) == 0:
		return nil, invalid("pooling", "must be null or have at least one operation")
	}
	layers, err := integers("layers", e.Layers)
	if err != nil {
		return nil, err
	}
	req := &llm.EmbedRequest{Prompts: []llm.Prompt{prompt}, Layers: layers}
	for i, name := range e.Pooling {
		switch p := llm.Pooling(name); p {
		case llm.PoolMean, llm.PoolMax, llm.PoolLast, llm.PoolAbsMax:
			if !slices.Contains(req.Pooling, p) {
				req.Pooling = append(req.Pooling, p)
			}
		default:
			return nil, invalid(fmt.Sprintf("pooling[%d]", i), "must be mean, max, last_token or abs_max, not %.40q", name)
		}
	}
	return req, nil
}

// request translates a request for an evaluation.
func (e *evaluateRequest) request() (*llm.ScoreRequest, error) {
	prompt, err := readPrompt(e.Prompt)
	switch {
	case err != nil:
		return nil, err
	case e.CompletionExpected == nil:
		return nil, invalid("completion_expected", "must be given")
	case *e.CompletionExpected == "":
		return nil, invalid("completion_expected", "must not be empty")
	}
	return &llm.ScoreRequest{Prompt: prompt, Continuation: *e.CompletionExpected}, nil
}

// check returns what is missing.
func (t *tokenizeRequest) check() error {
	switch {
	case t.Prompt == nil:
		return invalid("prompt", "must be given")
	case t.Tokens == nil:
		return invalid("tokens", "must be given: true to get the tokens' spellings")
	case t.TokenIDs == nil:
		return invalid("token_ids", "must be given: true to get the tokens' ids")
	}
	return nil
}

// ids returns the tokens that were sent.
func (d *detokenizeRequest) ids() ([]int, error) {
	if d.TokenIDs == nil {
		return nil, invalid("token_ids", "must be given")
	}
	return integers("token_ids", d.TokenIDs)
}

// check returns what is missing.
func (t *tokenRequest) check() error {
	switch {
	case t.Email == nil:
		return invalid("email", "must be given")
	case t.Password == nil:
		return invalid("password", "must be given")
	}
	return nil
}

// check refuses a model that is not hosted where the client wants it.
func (t *target) check(info *llm.ModelInfo) error {
	if t.Hosting == nil || *t.Hosting == cloud || slices.Contains(info.Hostings, *t.Hosting) {
		return nil
	}
	return invalid("hosting", "the model %q is not hosted at %.40q, see /models_available", info.Name, *t.Hosting)
}

// within refuses a value that was sent and is out of range.
func within[T int | float64](name string, v *T, low, high T) error {
	if v != nil && (*v < low || *v > high) {
		return invalid(name, "must be between %v and %v", low, high)
	}
	return nil
}

// oneOf refuses a word that was sent and is none of those known.
func oneOf(name string, sent *string, known []string) error {
	if sent != nil && !slices.Contains(known, *sent) {
		return invalid(name, "must be %s, not %.40q", strings.Join(known, " or "), *sent)
	}
	return nil
}

// atLeast refuses a value that was sent and is too small.
func atLeast(name string, v *int, low int) error {
	if v != nil && *v < low {
		return invalid(name, "must be at least %d", low)
	}
	return nil
}

// integers reads a list that is under a name and has no null in it.
func integers(name string, list []*int) ([]int, error) {
	out := make([]int, len(list))
	for i, v := range list {
		if v == nil {
			return nil, invalid(fmt.Sprintf("%s[%d]", name, i), "must be an integer, not null")
		}
		out[i] = *v
	}
	return out, nil
}

func invalid(param, format string, args ...any) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
