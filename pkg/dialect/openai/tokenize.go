package openai

import (
	"context"
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// vLLM's additions to OpenAI's protocol: the tokens of a prompt or a chat, and back.
// Source: vllm/entrypoints/serve/tokenize/protocol.py, and what lm_eval's RemoteTokenizer
// sends and reads.

// tokenizeRequest is the body of POST /tokenize.
type tokenizeRequest struct {
	modelKey
	conversation
	Prompt              *string `json:"prompt"`
	AddSpecialTokens    *bool   `json:"add_special_tokens"`
	AddGenerationPrompt *bool   `json:"add_generation_prompt"`
	ReturnTokenStrs     *bool   `json:"return_token_strs"`

	ContinueFinalMessage json.RawMessage `json:"continue_final_message"`
	ChatTemplate         json.RawMessage `json:"chat_template"`
	ChatTemplateKwargs   json.RawMessage `json:"chat_template_kwargs"`
	MediaIOKwargs        json.RawMessage `json:"media_io_kwargs"`
	MMProcessorKwargs    json.RawMessage `json:"mm_processor_kwargs"`
}

type tokenizeAnswer struct {
	Count       int      `json:"count" doc:"number of the tokens"`
	MaxModelLen int      `json:"max_model_len" doc:"the model's context, in tokens"`
	Tokens      []int    `json:"tokens" doc:"their ids"`
	TokenStrs   []string `json:"token_strs" null:"yes" doc:"the tokens as spelled in the vocabulary; null without return_token_strs"`
}

// detokenizeRequest is the body of POST /detokenize.
type detokenizeRequest struct {
	modelKey
	Tokens []int `json:"tokens"`
}

type detokenizeAnswer struct {
	Prompt string `json:"prompt" doc:"the text"`
}

// tokenizerInfo describes a tokenizer as tokenizer_config.json does.
type tokenizerInfo struct {
	Class     string  `json:"tokenizer_class" doc:"class of the tokenizer in the transformers library"`
	Model     string  `json:"model" doc:"the model's own name"`
	StartText *string `json:"bos_token" doc:"null if there is none"`
	EndText   *string `json:"eos_token" doc:"null if there is none"`
	Pad       *string `json:"pad_token" doc:"always null"`
	MaxLength int     `json:"model_max_length,omitempty" doc:"the model's context, in tokens"`
}

// input is what is tokenized: a text, or a chat if there are messages.
type input struct {
	text     string
	messages []llm.Message
	params   llm.Params
}

// input translates the prompt or the chat; every error names the key at fault.
func (t *tokenizeRequest) input() (*input, error) {
	switch chat := t.Messages != nil; {
	case t.Prompt == nil && !chat:
		return nil, wire.Invalid("prompt", "is required unless messages is sent")
	case t.Prompt != nil && chat:
		return nil, wire.Invalid("prompt", "cannot be combined with messages")
	case t.Tools != nil && !chat:
		return nil, wire.Invalid("tools", "is only accepted with messages")
	case t.AddGenerationPrompt != nil && !chat:
		return nil, wire.Invalid("add_generation_prompt", "is only accepted with messages")
	case len(t.ChatTemplateKwargs) > 0 && string(t.ChatTemplateKwargs) != "{}" && string(t.ChatTemplateKwargs) != "null" && !chat:
		return nil, wire.Invalid("chat_template_kwargs", "is only accepted with messages")
	case !chat:
		return &input{text: *t.Prompt}, nil
	}
	chat, err := t.Messages.prompt()
	if err != nil {
		return nil, err
	}
	in := &input{messages: chat.Messages}
	keys := reasoningKeys{ChatTemplateKwargs: t.ChatTemplateKwargs}
	if err := keys.reason(&in.params); err != nil {
		return nil, err
	}
	in.params.Tools, err = t.Tools.translate()
	return in, err
}

// parts returns what is tokenized, and whether the tokens that begin the model's prompts
// come before it.
func (t *tokenizeRequest) parts(ctx context.Context, in *input, model *llm.Model) (parts []llm.Part, start bool, err error) {
	parts, start = []llm.Part{{Text: in.text, Special: true}}, true
	if in.messages != nil {
		renderer, err := llm.As[llm.Renderer](model)
		if err != nil {
			return nil, false, &llm.Error{Code: llm.Unsupported, Param: "messages", Message: "this server cannot tokenize chats for the model", Err: err}
		}
		open := t.AddGenerationPrompt == nil || *t.AddGenerationPrompt
		if parts, start, err = renderer.Render(ctx, llm.Prompt{Messages: in.messages}, &in.params, open); err != nil {
			return nil, false, err
		}
	}
	if t.AddSpecialTokens != nil {
		start = *t.AddSpecialTokens
	}
	return parts, start, nil
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
func (d *detokenizeRequest) ids() ([]int, error) { return d.Tokens, nil }

// newTokenizerInfo translates the description of a model.
func newTokenizerInfo(info *llm.ModelInfo) tokenizerInfo {
	orNull := func(token string) *string {
		if token == "" {
			return nil
		}
		return &token
	}
	return tokenizerInfo{
		Class: "PreTrainedTokenizerFast", Model: info.Name, StartText: orNull(info.StartToken), EndText: orNull(info.EndToken), MaxLength: info.Context,
	}
}
