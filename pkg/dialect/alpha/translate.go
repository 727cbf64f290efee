package alpha

import (
	"fmt"
	"strings"

	"glossa/pkg/llm"
)

// What is not sent, and what more is cut to. They are those of the server of seed
// 002's time; later ones take 20000 tokens.
const (
	defaultSteps = 200
	maxSteps     = 500

	defaultGenerate = 2048
	maxGenerate     = 2048
)

// defaults of a dialect whose models continue what they are given: of a prompt that
// is too long the last tokens are kept.
func defaults(tokens int, temperature float64) llm.Params {
	return llm.Params{MaxTokens: &tokens, Temperature: &temperature, TopK: new(40), Truncate: new(0)}
}

// inferenceNames, chatNames and generateNames are the names of parameters that the
// waist calls otherwise.
func inferenceNames() renamer {
	return renamer{"prompt": "query", "max_new_tokens": "steps", "temperature": "temp", "top_k": "topk"}
}

func chatNames() renamer {
	return renamer{"prompt": "messages", "max_new_tokens": "maxTokens", "top_k": "topk"}
}

func generateNames() renamer { return renamer{"max_new_tokens": "max_tokens"} }

// request translates /api/inference. Its first event is the prompt, so the rows
// begin with that; no steps are the prompt alone.
func (q *inferenceRequest) request() (*llm.Request, error) {
	steps, err := limit("steps", q.Steps, 0, maxSteps)
	if err != nil {
		return nil, err
	}
	req := &llm.Request{
		N: 1, Stream: true,
		Params:   llm.Params{MaxTokens: steps, Temperature: q.Temp, TopK: q.TopK, Echo: new(true)},
		Defaults: defaults(defaultSteps, 0.8),
	}
	if err := sane("temp", q.Temp, "topk", q.TopK); err != nil {
		return nil, err
	}
	return req, prompt(req, q.Query)
}

// request translates /api/chat.
func (c *chatRequest) request() (*llm.Request, error) {
	tokens, err := limit("maxTokens", c.MaxTokens, 1, maxSteps)
	if err != nil {
		return nil, err
	}
	if err := sane("temperature", c.Temperature, "topk", c.TopK); err != nil {
		return nil, err
	}
	var chat llm.Prompt
	empty := true
	for i, m := range c.Messages {
		path := fmt.Sprintf("messages[%d]", i)
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return nil, &llm.Error{Code: llm.Invalid, Param: path + ".role", Message: "must be system, user or assistant"}
		}
		text, err := m.text(path)
		if err != nil {
			return nil, err
		}
		empty = empty && text == ""
		chat.Messages = append(chat.Messages, llm.Message{Role: m.Role, Parts: []llm.Part{{Text: text}}})
	}
	if empty {
		return nil, bad(emptyPrompt)
	}
	return &llm.Request{
		Prompts: []llm.Prompt{chat}, N: 1, Stream: true,
		Params:   llm.Params{MaxTokens: tokens, Temperature: c.Temperature, TopK: c.TopK},
		Defaults: defaults(defaultSteps, 0.8),
	}, nil
}

// request translates /api/generate.
func (g *generateRequest) request() (*llm.Request, error) {
	tokens, err := limit("max_tokens", g.MaxTokens, 1, maxGenerate)
	if err != nil {
		return nil, err
	}
	if err := sane("temperature", g.Temperature, "", nil); err != nil {
		return nil, err
	}
	req := &llm.Request{
		N:        1,
		Params:   llm.Params{MaxTokens: tokens, Temperature: g.Temperature},
		Defaults: defaults(defaultGenerate, 0.7),
	}
	return req, prompt(req, g.Prompt)
}

func prompt(req *llm.Request, text string) error {
	if text == "" {
		return bad(emptyPrompt)
	}
	req.Prompts = []llm.Prompt{llm.Text(text)}
	return nil
}

// limit refuses fewer tokens than low and cuts more than high to that.
func limit(name string, sent *int, low, high int) (*int, error) {
	switch {
	case sent == nil:
		return nil, nil
	case *sent < low:
		return nil, &llm.Error{Code: llm.Invalid, Param: name, Message: fmt.Sprintf("must be at least %d", low)}
	}
	return new(min(*sent, high)), nil
}

// sane refuses a temperature and a top-k below 0; 0 is greedy, and no top-k.
func sane(temperatureName string, temperature *float64, topKName string, topK *int) error {
	name := ""
	switch {
	case temperature != nil && *temperature < 0:
		name = temperatureName
	case topK != nil && *topK < 0:
		name = topKName
	default:
		return nil
	}
	return &llm.Error{Code: llm.Invalid, Param: name, Message: "must not be negative"}
}

// newModel translates what is known of a model that Alpha trained.
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
