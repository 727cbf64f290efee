package invoke

import (
	"encoding/json"
	"slices"

	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// requestTable describes the body of POST /invoke and /invoke_stream. A missing key has its
// own sentence, see [parse].
var requestTable = wire.For[request](
	wire.Parameter{Name: "model_family", Required: true, Note: "local, bedrock or sagemaker, as in /list_models"},
	wire.Parameter{Name: "model_name", Required: true, Note: "a name or an alias in that family"},
	wire.Parameter{Name: "body", Required: true, Schema: bodySchema(), Note: "an object of canonical keys; null is passed on to remote models and counts as absent for local ones"},
	wire.Parameter{Name: "ignore_unmapped", Absent: "the value in the model's record, then GLOSSA_IGNORE_UNMAPPED, then false", Note: "true drops keys of body that the model does not support, false rejects them unless their value is null, false or empty; the header X-Glossa-Ignored names the dropped keys"},
	wire.Parameter{Name: "empty_lines", Absent: "GLOSSA_EMPTY_LINES, then false", Note: "for /invoke_stream: true sends a line {} for each event of a remote model that yields no keys"},
)

// canonical documents the keys of body for a model in the process: those of [llm.Params],
// which [generation] reads, and those of the prompt.
type canonical struct {
	Prompt            *string            `json:"prompt"`
	Inputs            *string            `json:"inputs"`
	Messages          []message          `json:"messages"`
	System            *string            `json:"system"`
	Stream            *bool              `json:"stream"`
	MaxNewTokens      *int               `json:"max_new_tokens"`
	Stop              []string           `json:"stop"`
	Seed              *int64             `json:"seed"`
	BestOf            *int               `json:"best_of"`
	Truncate          *int               `json:"truncate"`
	ReturnFullText    *bool              `json:"return_full_text"`
	Tokens            *bool              `json:"tokens"`
	Logprobs          *int               `json:"logprobs"`
	Temperature       *float64           `json:"temperature"`
	TopK              *int               `json:"top_k"`
	TopP              *float64           `json:"top_p"`
	TypicalP          *float64           `json:"typical_p"`
	LogitBias         map[string]float64 `json:"logit_bias"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	PenalizePrompt    *bool              `json:"repetition_penalties_include_prompt"`
	MultiplyPresence  *bool              `json:"use_multiplicative_presence_penalty"`
	MultiplyFrequency *bool              `json:"use_multiplicative_frequency_penalty"`
	Schema            json.RawMessage    `json:"schema"`
	Grammar           *string            `json:"grammar"`
	Tools             []tool             `json:"tools"`
	MustCall          *bool              `json:"must_call"`
	OneCall           *bool              `json:"one_call"`
	Thinking          *bool              `json:"thinking"`
	ReasoningEffort   *string            `json:"reasoning_effort"`
	MaxThinkingTokens *int               `json:"max_thinking_tokens"`
	TemplateArgs      json.RawMessage    `json:"chat_template_kwargs"`
	Continue          *bool              `json:"continue_final_message"`
}

// canonicalTable describes these keys.
var canonicalTable = wire.For[canonical](
	byRecord("prompt", "a text to continue"),
	byRecord("inputs", "TGI's name of prompt"),
	wire.Parameter{Name: "messages", Schema: wire.ListOf(wire.AnyObject()), Remote: wire.ByRecord, Note: "a chat instead of a prompt: role (system, user, assistant or tool) and content, a string or parts of type text"},
	byRecord("system", "a system message placed before messages, or before prompt, which then becomes a user message"),
	byRecord("stream", "false in /invoke; /invoke_stream sets it if the record maps it"),
	wire.Parameter{Name: "max_new_tokens", Bounds: wire.AtLeast(0), Absent: "up to the end of the context", Remote: wire.ByRecord, Note: "the maximum number of generated tokens"},
	wire.Parameter{Name: "stop", NotEmpty: true, Remote: wire.ByRecord, Note: "a text ends before the first of these"},
	wire.Parameter{Name: "seed", Absent: "random", Remote: wire.ByRecord, Note: "a 64-bit integer"},
	wire.Parameter{Name: "best_of", Bounds: wire.AtLeast(1), Default: 1, Remote: wire.ByRecord, Note: "generates this number of texts and returns the likeliest"},
	wire.Parameter{Name: "truncate", Bounds: wire.AtLeast(0), Absent: "a prompt that does not fit is rejected", Remote: wire.ByRecord, Note: "keeps only this number of tokens at the end of the prompt; 0 keeps as many as fit"},
	wire.Parameter{Name: "return_full_text", Default: false, Remote: wire.ByRecord, Note: "whether the text begins with the prompt"},
	wire.Parameter{Name: "tokens", Default: false, Remote: wire.ByRecord, Note: "whether to return the tokens"},
	wire.Parameter{Name: "logprobs", Bounds: wire.AtLeast(0), Remote: wire.ByRecord, Note: "returns the tokens with their log-probabilities and this number of alternatives"},
	wire.Parameter{Name: "temperature", Bounds: wire.AtLeast(0), Absent: "0, or 1 with top_k, top_p or typical_p", Remote: wire.ByRecord, Note: "0 is greedy"},
	wire.Parameter{Name: "top_k", Bounds: wire.AtLeast(0), Default: 0, Remote: wire.ByRecord, Note: "0 is off"},
	wire.Parameter{Name: "top_p", Bounds: wire.Between(0, 1), Default: 1, Remote: wire.ByRecord, Note: "0 and 1 are off"},
	wire.Parameter{Name: "typical_p", Bounds: wire.Between(0, 1), Default: 1, Remote: wire.ByRecord, Note: "0 and 1 are off; another value replaces top_p"},
	wire.Parameter{Name: "logit_bias", TokenIDs: true, Remote: wire.ByRecord, Note: "token ids to biases"},
	wire.Parameter{Name: "repetition_penalty", Bounds: wire.AtLeast(0), Default: 1, Remote: wire.ByRecord, Note: "0 and 1 are off"},
	wire.Parameter{Name: "presence_penalty", Default: 0, Remote: wire.ByRecord, Note: "applies to tokens that occurred"},
	wire.Parameter{Name: "frequency_penalty", Default: 0, Remote: wire.ByRecord, Note: "applies to each occurrence of a token"},
	wire.Parameter{Name: "repetition_penalties_include_prompt", Default: false, Remote: wire.ByRecord, Note: "whether tokens of the prompt count as occurrences"},
	wire.Parameter{Name: "use_multiplicative_presence_penalty", Default: false, Remote: wire.ByRecord, Note: "whether the presence penalty multiplies"},
	wire.Parameter{Name: "use_multiplicative_frequency_penalty", Absent: "same as use_multiplicative_presence_penalty", Remote: wire.ByRecord, Note: "whether the frequency penalty multiplies"},
	wire.Parameter{Name: "schema", Schema: wire.AnyObject(), Remote: wire.ByRecord, Note: "a JSON Schema that the text follows"},
	byRecord("grammar", "a grammar in GBNF that the text follows; cannot be combined with schema"),
	wire.Parameter{Name: "tools", Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Schema: wire.ListOf(wire.AnyObject()), Remote: wire.ByRecord, Note: "functions that a chat may call, in OpenAI's form"},
	wire.Parameter{Name: "must_call", Default: false, Remote: wire.ByRecord, Note: "whether the answer must be a call"},
	wire.Parameter{Name: "one_call", Default: false, Remote: wire.ByRecord, Note: "whether the answer has at most one call"},
	wire.Parameter{Name: "thinking", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "whether a chat's answer begins with reasoning"},
	byRecord("reasoning_effort", "how much the model reasons, in the words of its chat template: low, medium, high"),
	wire.Parameter{Name: "max_thinking_tokens", Bounds: wire.AtLeast(0), Absent: "no limit", Remote: wire.ByRecord, Note: "after this number of tokens the reasoning is closed, and the answer follows"},
	wire.Parameter{Name: "chat_template_kwargs", Schema: wire.AnyObject(), Remote: wire.ByRecord, Note: "variables of the model's chat template"},
	wire.Parameter{Name: "continue_final_message", Default: false, Remote: wire.ByRecord, Note: "whether the answer continues the last message of a chat, an assistant's text"},
)

func byRecord(name, note string) wire.Parameter {
	return wire.Parameter{Name: name, Remote: wire.ByRecord, Note: note}
}

// bodySchema describes body. Records may define other keys.
func bodySchema() *wire.Schema {
	s := canonicalTable.Schema()
	s.AdditionalProperties = nil
	return s
}

// Parameters lists the rows of a request, those of body named "body.key", for documentation.
func Parameters() []wire.Parameter {
	return slices.Concat(requestTable.Parameters(""), canonicalTable.Parameters("body."))
}
