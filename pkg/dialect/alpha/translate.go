package alpha

import (
	"fmt"
	"strings"

	"glossa/pkg/llm"
)

// Defaults and limits of numbers of tokens, as in Alpha's server. Greater numbers
// are reduced to the limit; later servers accept 20000 tokens.
const (
	defaultSteps = 200
	maxSteps     = 500

	defaultGenerate = 2048
	maxGenerate     = 2048
)

// defaults returns the defaults of a dialect whose models continue texts: a prompt that is
// too long keeps its last tokens.
func defaults(tokens int, temperature float64) llm.Params {
	return llm.Params{MaxTokens: &tokens, Temperature: &temperature, TopK: new(40), Truncate: new(0)}
}

// request translates /api/inference. Its first event is the prompt, so the rows begin with
// it; with 0 steps the answer is only the prompt.
func (q *inferenceRequest) request() (*llm.Request, error) {
	return &llm.Request{
		Prompts: []llm.Prompt{llm.Text(q.Query)}, N: 1, Stream: true,
		Params:   llm.Params{MaxTokens: atMost(q.Steps, maxSteps), Temperature: q.Temp, TopK: q.TopK, Echo: new(true)},
		Defaults: defaults(defaultSteps, 0.8),
	}, nil
}

// request translates /api/chat.
func (c *chatRequest) request() (*llm.Request, error) {
	var chat llm.Prompt
	empty := true
	for i, m := range c.Messages {
		text, err := m.text(fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		empty = empty && text == ""
		chat.Messages = append(chat.Messages, llm.Message{Role: m.Role, Parts: []llm.Part{{Text: text}}})
	}
	if empty {
		return nil, invalidBody(emptyPrompt)
	}
	return &llm.Request{
		Prompts: []llm.Prompt{chat}, N: 1, Stream: true,
		Params:   llm.Params{MaxTokens: atMost(c.MaxTokens, maxSteps), Temperature: c.Temperature, TopK: c.TopK},
		Defaults: defaults(defaultSteps, 0.8),
	}, nil
}

// request translates /api/generate.
func (g *generateRequest) request() (*llm.Request, error) {
	if g.Prompt == "" {
		return nil, invalidBody(emptyPrompt)
	}
	return &llm.Request{
		Prompts: []llm.Prompt{llm.Text(g.Prompt)}, N: 1,
		Params:   llm.Params{MaxTokens: atMost(g.MaxTokens, maxGenerate), Temperature: g.Temperature},
		Defaults: defaults(defaultGenerate, 0.7),
	}, nil
}

// atMost limits a number of tokens that was sent.
func atMost(sent *int, most int) *int {
	if sent == nil {
		return nil
	}
	return new(min(*sent, most))
}

// newModel translates the description of a model that Alpha trained.
func newModel(info llm.ModelInfo) modelObject {
	run := info.Run
	m := modelObject{
		ID: info.Name, RunID: run.ID, Name: info.Name, Step: run.Step, LastLoss: run.LastLoss,
		ModelConfig: run.ModelConfig, TrainConfig: run.TrainConfig, Domain: run.Domain,
	}
	if m.RunID == "" {
		m.RunID = m.ID
	}
	if !info.Created.IsZero() {
		m.Mtime = float64(info.Created.UnixNano()) / 1e6
	}
	return m
}

// newest sorts models as Alpha lists them: the newest checkpoint first.
func newest(a, b modelObject) int {
	switch {
	case a.Mtime > b.Mtime:
		return -1
	case a.Mtime < b.Mtime:
		return 1
	}
	return strings.Compare(a.ID, b.ID)
}
