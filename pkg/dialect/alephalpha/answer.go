package alephalpha

import (
	"fmt"
	"math"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// newHead returns the head of the answer to the request with an id.
func newHead(id string, info *llm.ModelInfo) head {
	h := head{ID: id, ModelVersion: info.Name}
	if info.Version != "" {
		h.ModelVersion += "@" + info.Version
	}
	return h
}

// candidates returns the number of completions that are generated, of which the best may be
// returned.
func candidates(req *llm.Request) int { return max(req.N, valueOr(req.BestOf, 0)) }

// promptTokens counts the prompt for each candidate. An empty prompt is a start token.
func promptTokens(req *llm.Request, used llm.Usage) int { return candidates(req) * max(1, used.Input) }

// newCounts counts the tokens of the answer to req.
func newCounts(req *llm.Request, used llm.Usage) counts {
	c := counts{new(promptTokens(req, used)), &used.Output, used.Cost}
	if used.Partial && used.Input == 0 {
		c.PromptTokens, c.Cost = nil, llm.Cost{}
	}
	if used.Partial && used.Output == 0 {
		c.Generated, c.Cost = nil, llm.Cost{}
	}
	return c
}

// newComplete translates complete rows.
func newComplete(h head, req *llm.Request, rows []llm.Chunk, used llm.Usage) completeAnswer {
	answer := completeAnswer{head: h, Completions: make([]completion, len(rows)), counts: newCounts(req, used)}
	for i, row := range rows {
		why, message := finish(row.Finish)
		answer.Completions[i] = completion{
			LogProbs: logProbs(req, row), Completion: row.Text, Tokens: texts(req, row), FinishReason: why, Message: message,
		}
	}
	return answer
}

// events translates a chunk of a stream: its text, the end of its row, the end of all.
func events(h head, req *llm.Request, c llm.Chunk) (list []any) {
	if c.Text != "" || len(c.Tokens) > 0 {
		list = append(list, streamChunk{
			Type: "stream_chunk", Index: c.Row, LogProbs: logProbs(req, c), Completion: c.Text, Tokens: texts(req, c),
		})
	}
	if c.Finish != "" {
		why, message := finish(c.Finish)
		list = append(list, streamSummary{
			Type: "stream_summary", Index: c.Row, ModelVersion: h.ModelVersion, FinishReason: why, Message: message,
		})
	}
	if c.Usage != nil {
		list = append(list, completionSummary{"completion_summary", newCounts(req, *c.Usage)})
	}
	return list
}

// finish returns the protocol's finish reason of a row, and a message if the reason is not
// specific.
func finish(why llm.Finish) (word, message string) {
	const maximum, end = "maximum_tokens", "end_of_text"
	switch why {
	case llm.FinishStop:
		return "stop_sequence_reached", ""
	case llm.FinishLength:
		return maximum, ""
	case llm.FinishContext:
		return maximum, "the model's context is full"
	case llm.FinishDeadline, llm.FinishCancelled:
		return maximum, "the deadline passed"
	case llm.FinishFiltered:
		return end, "the model's provider filtered the rest"
	}
	return end, ""
}

// logProbs returns for each token its log-probability and those of the most likely
// alternatives; nil if they were not requested. Tokens that are not predicted have none.
func logProbs(req *llm.Request, c llm.Chunk) []object {
	if req.Logprobs == nil {
		return nil
	}
	list := make([]object, len(c.Tokens))
	for i, t := range c.Tokens {
		list[i] = object{}
		if math.IsNaN(t.Logprob) {
			continue
		}
		seen := map[string]bool{}
		add := func(t llm.Token) {
			if key := tokenText(t); !seen[key] {
				seen[key] = true
				list[i] = append(list[i], member{key, float(t.Logprob)})
			}
		}
		add(t)
		for _, top := range t.Top {
			add(top)
		}
	}
	return list
}

// texts lists the text of each token; nil if it was not requested.
func texts(req *llm.Request, c llm.Chunk) []string {
	if !valueOr(req.Tokens, false) {
		return nil
	}
	list := make([]string, len(c.Tokens))
	for i, t := range c.Tokens {
		list[i] = tokenText(t)
	}
	return list
}

// tokenText returns the text of a token. A token with incomplete characters is written as its bytes,
// "bytes:\xe2\x82", and a special token as in the vocabulary.
func tokenText(t llm.Token) string {
	switch {
	case t.Text == "":
		return t.Piece
	case utf8.ValidString(t.Text):
		return t.Text
	}
	spelt := []byte("bytes:")
	for i := range len(t.Text) {
		spelt = fmt.Appendf(spelt, `\x%02x`, t.Text[i])
	}
	return string(spelt)
}

// pieces lists tokens as the vocabulary spells them.
func pieces(tokens []llm.Token) []string {
	list := make([]string, len(tokens))
	for i, t := range tokens {
		list[i] = t.Piece
	}
	return list
}

// newEmbed translates the embedding for e, whose translation is req.
func (e *embedRequest) newEmbed(h head, req *llm.EmbedRequest, made *llm.Embedding, used llm.Usage) embedAnswer {
	answer := embedAnswer{head: h, Embeddings: embeddings{}, PromptTokens: used.Input, Cost: used.Cost}
	if valueOr(e.Tokens, false) {
		answer.Tokens = pieces(made.Tokens)
	}
	for _, layer := range made.Layers {
		vectors := make([]vector, len(layer.Vectors))
		for i, v := range layer.Vectors {
			if vectors[i] = v; valueOr(e.Normalize, false) {
				vectors[i] = llm.Unit(v)
			}
		}
		name := fmt.Sprintf("layer_%d", layer.Index)
		if len(req.Pooling) == 0 {
			(*object)(&answer.Embeddings).add(name, vectors)
			continue
		}
		pools := make(object, len(req.Pooling))
		for i, p := range req.Pooling {
			pools[i] = member{string(p), vectors[i]}
		}
		(*object)(&answer.Embeddings).add(name, pools)
	}
	return answer
}

// newEvaluate translates the score of the expected completion (documentation of /evaluate). The
// log-perplexity is the negated log-probability.
func newEvaluate(h head, expected string, s *llm.Score, used llm.Usage) evaluateAnswer {
	tokens, characters := len(s.Tokens), utf8.RuneCountInString(expected)
	perplexity := max(0, -s.Logprob) // avoids -0
	return evaluateAnswer{head: h, PromptTokens: used.Input, Cost: used.Cost, Result: metrics{
		LogProbability: float(s.Logprob), LogPerplexity: float(perplexity),
		PerToken: float(perplexity / float64(max(1, tokens))), PerCharacter: float(perplexity / float64(max(1, characters))),
		CorrectGreedy: s.Greedy, TokenCount: tokens, CharacterCount: characters, ArgmaxCompletion: s.Argmax,
	}}
}

// newTokenize translates tokens into the forms that t requests.
func (t *tokenizeRequest) newTokenize(tokens []llm.Token) (answer tokenizeAnswer) {
	if *t.Tokens {
		answer.Tokens = pieces(tokens)
	}
	if *t.TokenIDs {
		answer.TokenIDs = make([]int, len(tokens))
		for i, token := range tokens {
			answer.TokenIDs[i] = token.ID
		}
	}
	return answer
}

// newModel translates a model's description.
func newModel(info *llm.ModelInfo) modelObject {
	return modelObject{
		Name: info.Name, Description: info.Description, Hostings: hostings(info),
		ImageSupport: info.Images, MaxContextSize: info.Context, MaximumGenerated: info.Context,
	}
}

// hostings lists the hostings of a model: cloud and those of its record.
func hostings(info *llm.ModelInfo) []string {
	list := []string{cloud}
	for _, h := range info.Hostings {
		if h != cloud {
			list = append(list, h)
		}
	}
	return list
}
