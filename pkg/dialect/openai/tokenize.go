package openai

import (
	"encoding/json"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// What vLLM has beside OpenAI's protocol: the tokens of a prompt or a chat, and back.
// Source: vllm/entrypoints/serve/tokenize/protocol.py, and what lm_eval's RemoteTokenizer
// sends and reads.

// tokenizeRequest is the body of POST /tokenize. Each key has a row in
// [TokenizeParameters].
type tokenizeRequest struct {
	Model               string    `json:"model"`
	Prompt              *string   `json:"prompt"`
	Messages            []message `json:"messages"`
	Tools               []tool    `json:"tools"`
	AddSpecialTokens    *bool     `json:"add_special_tokens"`
	AddGenerationPrompt *bool     `json:"add_generation_prompt"`
	ReturnTokenStrs     *bool     `json:"return_token_strs"`

	ContinueFinalMessage json.RawMessage `json:"continue_final_message"`
	ChatTemplate         json.RawMessage `json:"chat_template"`
	ChatTemplateKwargs   json.RawMessage `json:"chat_template_kwargs"`
	MediaIOKwargs        json.RawMessage `json:"media_io_kwargs"`
	MMProcessorKwargs    json.RawMessage `json:"mm_processor_kwargs"`
}

type tokenizeAnswer struct {
	Count       int      `json:"count"`
	MaxModelLen int      `json:"max_model_len"`
	Tokens      []int    `json:"tokens"`
	TokenStrs   []string `json:"token_strs"` // as the vocabulary spells them; null if not asked for
}

// detokenizeRequest is the body of POST /detokenize.
type detokenizeRequest struct {
	Model  string `json:"model"`
	Tokens []*int `json:"tokens"`
}

type detokenizeAnswer struct {
	Prompt string `json:"prompt"`
}

// tokenizerInfo tells of a tokenizer what tokenizer_config.json does.
type tokenizerInfo struct {
	Class     string  `json:"tokenizer_class"`
	Model     string  `json:"model"`     // ours: whose it is
	StartText *string `json:"bos_token"` // null: there is none
	EndText   *string `json:"eos_token"`
	Pad       *string `json:"pad_token"` // always null
	MaxLength int     `json:"model_max_length,omitempty"`
}

// TokenizeParameters tells what becomes of each key of a request to tokenize, which no
// remote model serves.
func TokenizeParameters() []wire.Parameter {
	const own = "chats are written in the model's own form"
	list := []wire.Parameter{
		{Name: "model", Disposition: wire.Honoured, Note: "a name, an alias or family/name; default: the first model"},
		{Name: "prompt", Disposition: wire.Honoured, Note: "a string, in which special tokens are read as such; or messages"},
		{Name: "messages", Disposition: wire.Honoured, Note: "as in /v1/chat/completions"},
		{Name: "tools", Disposition: wire.Honoured, Note: "as in /v1/chat/completions, with messages only"},
		{Name: "add_special_tokens", Disposition: wire.Honoured, Note: "whether the tokens that the model begins prompts with come first; default: as for a generation"},
		{Name: "add_generation_prompt", Disposition: wire.Honoured, Note: "whether the beginning of the answer to messages follows; default true"},
		{Name: "return_token_strs", Disposition: wire.Honoured, Note: "token_strs has the tokens as the vocabulary spells them; default false"},
		{Name: "continue_final_message", Disposition: wire.Refused, Note: "answers begin anew", Neutral: []string{`false`}},
		{Name: "chat_template", Disposition: wire.Refused, Note: own},
		{Name: "chat_template_kwargs", Disposition: wire.Refused, Note: own, Neutral: []string{`{}`}},
		{Name: "media_io_kwargs", Disposition: wire.Refused, Note: "prompts are text only", Neutral: []string{`{}`}},
		{Name: "mm_processor_kwargs", Disposition: wire.Refused, Note: "prompts are text only", Neutral: []string{`{}`}},
	}
	return wire.Remotely(list, wire.NotRemote, "model", "prompt", "messages", "tools", "add_special_tokens", "add_generation_prompt", "return_token_strs")
}

var tokenizeRows = TokenizeParameters()

// check returns what is wrong with the keys that need no translation.
func (t *tokenizeRequest) check() error {
	switch chat := t.Messages != nil; {
	case t.Prompt == nil && !chat:
		return invalid("prompt", "must be given, or messages")
	case t.Prompt != nil && chat:
		return invalid("prompt", "cannot be sent with messages")
	case t.Tools != nil && !chat:
		return invalid("tools", "can be sent with messages only")
	case t.AddGenerationPrompt != nil && !chat:
		return invalid("add_generation_prompt", "can be sent with messages only")
	}
	return wire.Refuse(tokenizeRows, t, "", "")
}

// parts returns what is tokenised, and whether the tokens that the model begins prompts with
// come before it.
func (t *tokenizeRequest) parts(model *llm.Model) (parts []llm.Part, start bool, err error) {
	if t.Messages == nil {
		parts, start = []llm.Part{{Text: *t.Prompt, Special: true}}, true
	} else if parts, start, err = t.chat(model); err != nil {
		return nil, false, err
	}
	if t.AddSpecialTokens != nil {
		start = *t.AddSpecialTokens
	}
	return parts, start, nil
}

func (t *tokenizeRequest) chat(model *llm.Model) (parts []llm.Part, start bool, err error) {
	chat, err := (&chatRequest{Messages: t.Messages}).chat()
	if err != nil {
		return nil, false, err
	}
	tools, err := (&forms{Tools: t.Tools}).tools()
	if err != nil {
		return nil, false, err
	}
	renderer, err := llm.As[llm.Renderer](model)
	if err != nil {
		return nil, false, &llm.Error{Code: llm.Unsupported, Param: "messages", Message: "this model takes no chats here", Err: err}
	}
	return renderer.Render(chat.Messages, tools, t.AddGenerationPrompt == nil || *t.AddGenerationPrompt)
}

// runs joins texts that follow each other and are read alike: they are tokenised as one.
func runs(parts []llm.Part) (out []llm.Part) {
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].Tokens == nil && p.Tokens == nil && out[n-1].Special == p.Special {
			out[n-1].Text += p.Text
			continue
		}
		out = append(out, p)
	}
	return out
}

// answer translates the tokens of a model with that context.
func (t *tokenizeRequest) answer(tokens []llm.Token, context int) tokenizeAnswer {
	out := tokenizeAnswer{Count: len(tokens), MaxModelLen: context, Tokens: make([]int, len(tokens))}
	if t.ReturnTokenStrs != nil && *t.ReturnTokenStrs {
		out.TokenStrs = make([]string, len(tokens))
	}
	for i, token := range tokens {
		out.Tokens[i] = token.ID
		if out.TokenStrs != nil {
			out.TokenStrs[i] = token.Piece
		}
	}
	return out
}

// ids returns the tokens that were sent.
func (d *detokenizeRequest) ids() ([]int, error) {
	if d.Tokens == nil {
		return nil, invalid("tokens", "must be given")
	}
	ids := make([]int, len(d.Tokens))
	for i, id := range d.Tokens {
		if id == nil {
			return nil, invalid(fmt.Sprintf("tokens[%d]", i), "must be an integer, not null")
		}
		ids[i] = *id
	}
	return ids, nil
}

// newTokenizerInfo translates what is known of a model.
func newTokenizerInfo(info *llm.ModelInfo) tokenizerInfo {
	spelt := func(token string) *string {
		if token == "" {
			return nil
		}
		return &token
	}
	return tokenizerInfo{
		Class: "PreTrainedTokenizerFast", Model: info.Name, StartText: spelt(info.StartToken), EndText: spelt(info.EndToken), MaxLength: info.Context,
	}
}
