package alephalpha

import (
	"context"
	"encoding/json"
	"math"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Explanations: how much each part of a prompt contributes to a target. The service reduces
// the attention to a part; this server removes the part from the prompt. A score is the
// logarithm of the target's probability with the part, minus that without it: the difference
// of cross entropies, as in the service.

// explainRequest is the body of POST /explain.
type explainRequest struct {
	target
	Prompt             json.RawMessage `json:"prompt"`
	Target             *string         `json:"target"`
	PromptGranularity  json.RawMessage `json:"prompt_granularity"` // {"type": ...}, or only its type from older clients
	TargetGranularity  *string         `json:"target_granularity"`
	Postprocessing     *string         `json:"postprocessing"`
	Normalize          *bool           `json:"normalize"`
	ControlFactor      *float64        `json:"control_factor"`
	ControlOverlap     *string         `json:"control_token_overlap"`
	ControlLogAdditive *bool           `json:"control_log_additive"`
	ControlThreshold   json.RawMessage `json:"contextual_control_threshold"`
}

// granularity is how a prompt is split; the zero value gives about 30 parts.
type granularity struct {
	Type      string `json:"type"`
	Delimiter string `json:"delimiter"`
}

type explainAnswer struct {
	head
	Explanations []explanation `json:"explanations" doc:"one for each part of the target"`
}

// explanation explains the whole target or one of its tokens.
type explanation struct {
	Target string           `json:"target" doc:"the explained part of the target"`
	Items  []explainedItems `json:"items" doc:"for the prompt, then for the target before this part"`
}

type explainedItems struct {
	Type   string `json:"type" doc:"kind of the explained item" enum:"text,token_ids,target"`
	Scores []any  `json:"scores" doc:"objects with start, length (in characters) and score for texts and the target, numbers for token_ids"`
}

type textScore struct {
	Start  int   `json:"start"`
	Length int   `json:"length"`
	Score  float `json:"score"`
}

// An explainInput is a validated request.
type explainInput struct {
	*explainRequest
	prompt      llm.Prompt
	granularity granularity
}

// read validates the request.
func (e *explainRequest) read() (*explainInput, error) {
	out := &explainInput{explainRequest: e}
	var err error
	if out.prompt, err = readPrompt("prompt", e.Prompt, false); err != nil {
		return nil, err
	}
	switch {
	case isEmpty(out.prompt):
		return nil, wire.Invalid("prompt", "must not be empty")
	case len(*e.Target) > maxTargetSize:
		return nil, wire.Invalid("target", "at most %d bytes", maxTargetSize)
	case e.ControlFactor != nil && (*e.ControlFactor < 0 || *e.ControlFactor >= 1):
		return nil, wire.Invalid("control_factor", "must be at least 0 and less than 1: parts can only be suppressed")
	}
	out.granularity, err = readGranularity(e.PromptGranularity)
	return out, err
}

// readGranularity reads prompt_granularity.
func readGranularity(raw json.RawMessage) (g granularity, err error) {
	const path = "prompt_granularity"
	if len(raw) == 0 || string(raw) == "null" {
		return g, nil
	}
	if raw[0] == '"' {
		err = wire.UnmarshalAt(path, raw, &g.Type)
	} else {
		err = wire.UnmarshalAt(path, raw, &g)
	}
	if err == nil {
		err = granularityTable.Check(path, &g)
	}
	switch custom := g.Type == "custom"; {
	case err != nil:
		return g, err
	case !custom && g.Delimiter != "":
		return g, wire.Invalid(path+".delimiter", "is only accepted with type custom")
	case custom && g.Delimiter == "":
		return g, wire.Invalid(path+".delimiter", "is required and must not be empty")
	}
	return g, nil
}

// cuts returns the parts of the prompt.
func (e *explainInput) cuts(ctx context.Context, tokenizer llm.Tokenizer) ([]cut, error) {
	of := func(name string) splitter { return splitterOf(ctx, name, tokenizer) }
	switch e.granularity.Type {
	case "":
		return automatic(e.prompt, of)
	case "custom":
		return cuts(e.prompt, delimited(e.granularity.Delimiter))
	}
	return cuts(e.prompt, of(e.granularity.Type))
}

// explain returns the explanations: one of the target, or one of each of its tokens.
func (e *explainInput) explain(ctx context.Context, scorer llm.Scorer, list []cut) ([]explanation, error) {
	base, used, err := e.score(ctx, scorer, e.prompt, *e.Target)
	if err != nil {
		return nil, err
	}
	byToken := valueOr(e.TargetGranularity, "complete") == "token"
	spans := []span{{0, len(*e.Target)}}
	passes := len(list)
	if byToken {
		spans = rawSpans(*e.Target, base)
		passes += len(spans)
	}
	if passes*used.Input > maxExplained {
		return nil, wire.Invalid("prompt_granularity", "%d passes over %d tokens exceed the limit of %d tokens: choose larger parts", passes, used.Input, maxExplained)
	}
	out := make([]explanation, len(spans))
	for i, s := range spans {
		out[i].Target, out[i].Items = (*e.Target)[s.start:s.end], e.items()
	}
	for _, c := range list {
		tokens, _, err := e.score(ctx, scorer, c.without(e.prompt), *e.Target)
		if err != nil {
			return nil, err
		}
		for i, s := range spans {
			out[i].add(e.prompt, c, logprobIn(*e.Target, base, s)-logprobIn(*e.Target, tokens, s))
		}
	}
	if byToken {
		if err := e.explainTarget(ctx, scorer, base, spans, out); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].finish(valueOr(e.Postprocessing, "none"), valueOr(e.Normalize, false))
	}
	return out, nil
}

// explainTarget adds the contributions of each target token to the tokens after it.
func (e *explainInput) explainTarget(ctx context.Context, scorer llm.Scorer, base []llm.Token, spans []span, out []explanation) error {
	for j, gone := range spans[:len(spans)-1] {
		before := llm.Prompt{Parts: append(e.prompt.Parts[:len(e.prompt.Parts):len(e.prompt.Parts)], llm.Part{Text: (*e.Target)[:gone.start]})}
		rest := (*e.Target)[gone.end:]
		tokens, _, err := e.score(ctx, scorer, before, rest)
		if err != nil {
			return err
		}
		shown := trimmed(*e.Target, gone)
		for i := j + 1; i < len(spans); i++ {
			s := span{spans[i].start - gone.end, spans[i].end - gone.end}
			items := out[i].Items
			items[len(items)-1].Scores = append(items[len(items)-1].Scores,
				newTextScore(*e.Target, shown, logprobIn(*e.Target, base, spans[i])-logprobIn(rest, tokens, s)))
		}
	}
	return nil
}

// score returns the tokens of a continuation, with their log-probabilities.
func (e *explainInput) score(ctx context.Context, scorer llm.Scorer, prompt llm.Prompt, continuation string) ([]llm.Token, llm.Usage, error) {
	score, used, err := scorer.Score(ctx, &llm.ScoreRequest{Prompt: prompt, Continuation: continuation})
	if err != nil {
		return nil, used, err
	}
	return score.Tokens, used, nil
}

// offsets returns the start of each token in a text. It counts from the text's end, because
// the tokens may begin with spaces of the prompt.
func offsets(text string, tokens []llm.Token) []int {
	out := make([]int, len(tokens)+1)
	at := len(text)
	out[len(tokens)] = at
	for i := len(tokens) - 1; i >= 0; i-- {
		at -= len(tokens[i].Text)
		out[i] = max(0, at)
	}
	return out
}

// rawSpans returns the spans of a text's tokens. Tokens that begin within a character are
// joined with the one before.
func rawSpans(text string, tokens []llm.Token) (list []span) {
	at := offsets(text, tokens)
	from := 0
	for i := range tokens {
		if to := at[i+1]; to > from && (to == len(text) || runeStart(text[to])) {
			list = append(list, span{from, to})
			from = to
		}
	}
	if len(list) == 0 {
		return []span{{0, len(text)}}
	}
	return list
}

func runeStart(b byte) bool { return b&0xc0 != 0x80 }

// logprobIn sums the log-probabilities of the tokens of a text that begin in a part of it.
func logprobIn(text string, tokens []llm.Token, s span) (sum float64) {
	at := offsets(text, tokens)
	for i, t := range tokens {
		if at[i] >= s.start && at[i] < s.end {
			sum += max(t.Logprob, -math.MaxFloat32)
		}
	}
	return sum
}

// items returns an item for each prompt item, and one for the target.
func (e *explainInput) items() []explainedItems {
	list := make([]explainedItems, 0, len(e.prompt.Parts)+1)
	for _, part := range e.prompt.Parts {
		kind := "text"
		if part.Tokens != nil {
			kind = "token_ids"
		}
		list = append(list, explainedItems{kind, []any{}})
	}
	return append(list, explainedItems{"target", []any{}})
}

// add adds the score of a part of the prompt.
func (x *explanation) add(prompt llm.Prompt, c cut, score float64) {
	item := &x.Items[c.item]
	if prompt.Parts[c.item].Tokens != nil {
		item.Scores = append(item.Scores, float(score))
		return
	}
	item.Scores = append(item.Scores, newTextScore(prompt.Parts[c.item].Text, c.span, score))
}

func newTextScore(text string, s span, score float64) textScore {
	start := characters(text, s.start)
	return textScore{Start: start, Length: characters(text, s.end) - start, Score: float(score)}
}

// finish applies the postprocessing, then the normalisation: the smallest score of an
// explanation becomes 0 and the largest 1.
func (x *explanation) finish(postprocessing string, normalize bool) {
	low, high := math.Inf(1), math.Inf(-1)
	x.mapScores(func(score float64) float64 {
		switch postprocessing {
		case "absolute":
			score = math.Abs(score)
		case "square":
			score *= score
		}
		low, high = min(low, score), max(high, score)
		return score
	})
	if !normalize {
		return
	}
	x.mapScores(func(score float64) float64 {
		if high == low {
			return 0
		}
		return (score - low) / (high - low)
	})
}

// mapScores replaces each score by its change.
func (x *explanation) mapScores(change func(float64) float64) {
	for _, item := range x.Items {
		for i, score := range item.Scores {
			switch s := score.(type) {
			case float:
				item.Scores[i] = float(change(float64(s)))
			case textScore:
				s.Score = float(change(float64(s.Score)))
				item.Scores[i] = s
			}
		}
	}
}

// An explainer has the capabilities that explanations need.
type explainer struct {
	scorer    llm.Scorer
	tokenizer llm.Tokenizer
}

// openExplainer opens a model with both capabilities.
func (cfg Config) openExplainer(r *http.Request, in *explainRequest) (o opened[explainer], err error) {
	scorer, err := find[llm.Scorer](r, cfg, &in.target)
	if err != nil {
		return o, err
	}
	tokenizer, err := find[llm.Tokenizer](r, cfg, &in.target)
	return opened[explainer]{model: explainer{scorer.model, tokenizer.model}, head: scorer.head}, err
}

func explain(w http.ResponseWriter, r *http.Request, call httpx.Call[explainRequest, *explainInput, opened[explainer]]) error {
	list, err := call.Req.cuts(r.Context(), call.Model.model.tokenizer)
	if err != nil {
		return err
	}
	answer := explainAnswer{head: call.Model.head}
	if answer.Explanations, err = call.Req.explain(r.Context(), call.Model.model.scorer, list); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}
