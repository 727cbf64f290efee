// Package alephalpha speaks the Aleph Alpha protocol: completions, embeddings,
// evaluations, explanations, translations and tokens. It knows HTTP and llm, nothing of
// models, tokenizers or accounts.
//
// Source: Aleph Alpha's documentation, and the requests and answers of the Python
// client's versions 1.0.0 and 11.5.1.
package alephalpha

import (
	"encoding/json"

	"glossa/pkg/llm"
)

// target holds the keys of all requests that choose the model.
type target struct {
	Model   string   `json:"model"`
	Hosting *string  `json:"hosting"`
	Tags    []string `json:"tags"`
}

// completeRequest is the body of POST /complete. [completeTable] describes its keys; the
// other requests have tables, too.
type completeRequest struct {
	target
	Prompt        json.RawMessage `json:"prompt"` // a string or items
	MaximumTokens *int            `json:"maximum_tokens"`
	N             *int            `json:"n"`
	BestOf        *int            `json:"best_of"`
	StopSequences []string        `json:"stop_sequences"`
	LogProbs      *int            `json:"log_probs"`
	Tokens        *bool           `json:"tokens"`
	Echo          *bool           `json:"echo"`
	Stream        *bool           `json:"stream"`
	sampling
	ineffective
	refused
}

// sampling holds the keys that control how tokens are chosen.
type sampling struct {
	Temperature       *float64           `json:"temperature"`
	TopK              *int               `json:"top_k"`
	TopP              *float64           `json:"top_p"`
	LogitBias         map[string]float64 `json:"logit_bias"` // by token id
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	PenalizePrompt    *bool              `json:"repetition_penalties_include_prompt"`
	MultiplyPresence  *bool              `json:"use_multiplicative_presence_penalty"`
	MultiplyFrequency *bool              `json:"use_multiplicative_frequency_penalty"`
}

// attention holds the keys about attention controls of prompt items, which are not
// supported.
type attention struct {
	ContextualControlThreshold *float64 `json:"contextual_control_threshold"`
	ControlLogAdditive         *bool    `json:"control_log_additive"`
}

// ineffective holds the keys without effect on a completion.
type ineffective struct {
	attention
	DisableOptimizations *bool `json:"disable_optimizations"`
	SequenceMinLength    *int  `json:"sequence_penalty_min_length"`
	MultiplySequence     *bool `json:"use_multiplicative_sequence_penalty"`
	InclusionFirstOnly   *bool `json:"completion_bias_inclusion_first_token_only"`
	ExclusionFirstOnly   *bool `json:"completion_bias_exclusion_first_token_only"`
}

// refused holds the keys that accept only neutral values.
type refused struct {
	MinimumTokens       json.RawMessage `json:"minimum_tokens"`
	SequencePenalty     json.RawMessage `json:"sequence_penalty"`
	PenaltyBias         json.RawMessage `json:"penalty_bias"`
	PenaltyExceptions   json.RawMessage `json:"penalty_exceptions"`
	ExceptStopSequences json.RawMessage `json:"penalty_exceptions_include_stop_sequences"`
	PenalizeCompletion  json.RawMessage `json:"repetition_penalties_include_completion"`
	BiasInclusion       json.RawMessage `json:"completion_bias_inclusion"`
	BiasExclusion       json.RawMessage `json:"completion_bias_exclusion"`
	SteeringConcepts    json.RawMessage `json:"steering_concepts"`
	RawCompletion       json.RawMessage `json:"raw_completion"`
}

// item is a part of a prompt. X, Y and Size are of images.
type item struct {
	Type     string          `json:"type"` // text, token_ids or image
	Data     json.RawMessage `json:"data"`
	X        json.RawMessage `json:"x"`
	Y        json.RawMessage `json:"y"`
	Size     json.RawMessage `json:"size"`
	Controls json.RawMessage `json:"controls"`
}

// embedRequest is the body of POST /embed.
type embedRequest struct {
	target
	Prompt    json.RawMessage `json:"prompt"`
	Layers    []int           `json:"layers"`
	Pooling   []string        `json:"pooling"`
	Tokens    *bool           `json:"tokens"`
	Normalize *bool           `json:"normalize"`
	attention
	Type json.RawMessage `json:"type"`
}

// evaluateRequest is the body of POST /evaluate.
type evaluateRequest struct {
	target
	Prompt             json.RawMessage `json:"prompt"`
	CompletionExpected *string         `json:"completion_expected"`
	attention
}

// tokenizeRequest is the body of POST /tokenize.
type tokenizeRequest struct {
	target
	Prompt   *string `json:"prompt"`
	Tokens   *bool   `json:"tokens"`
	TokenIDs *bool   `json:"token_ids"`
}

// detokenizeRequest is the body of POST /detokenize.
type detokenizeRequest struct {
	target
	TokenIDs []int `json:"token_ids"`
}

// tokenRequest is the body of POST /users/me/token and /get_token.
type tokenRequest struct {
	Email    *string `json:"email"`
	Password *string `json:"password"`
}

type tokenAnswer struct {
	Token string `json:"token" doc:"the token to send as an API key"`
	Role  string `json:"role" doc:"role of the user"`
}

// head holds the first keys of the answers about one model.
type head struct {
	ID           string `json:"id" doc:"the id of the request, as in the header X-Request-Id and in the log"`
	ModelVersion string `json:"model_version" doc:"the model's name and version"`
}

type completeAnswer struct {
	head
	Completions []completion `json:"completions" doc:"one for each requested completion"`
	counts
}

// counts are the tokens of all candidates. They are null if a remote provider does not send
// them, because clients require the keys.
type counts struct {
	PromptTokens *int     `json:"num_tokens_prompt_total" doc:"tokens of the prompt for each candidate; null if a remote provider omits them"`
	Generated    *int     `json:"num_tokens_generated" doc:"tokens of all candidates; null if a remote provider omits them"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type completion struct {
	LogProbs     []object `json:"log_probs,omitzero" doc:"for each token, log-probabilities by token; with log_probs"`
	Completion   string   `json:"completion" doc:"the text"`
	Tokens       []string `json:"completion_tokens,omitzero" doc:"present if tokens is true"`
	FinishReason string   `json:"finish_reason" doc:"why the text ends" enum:"end_of_text,maximum_tokens,stop_sequence_reached"`
	Message      string   `json:"message,omitempty" doc:"more about the reason"`
}

// The events of a stream: chunks, a summary of each completion, one of all.
type (
	streamChunk struct {
		Type       string   `json:"type" doc:"always stream_chunk" enum:"stream_chunk"`
		Index      int      `json:"index" doc:"the index of the completion, from 0"`
		LogProbs   []object `json:"log_probs,omitzero" doc:"log-probabilities of the tokens of this piece, if requested"`
		Completion string   `json:"completion" doc:"the next piece of the text"`
		Tokens     []string `json:"completion_tokens,omitzero" doc:"the tokens of this piece, if requested"`
	}
	streamSummary struct {
		Type         string `json:"type" doc:"always stream_summary" enum:"stream_summary"`
		Index        int    `json:"index" doc:"position of the completion"`
		ModelVersion string `json:"model_version" doc:"version of the model"`
		FinishReason string `json:"finish_reason" doc:"why the text ends"`
		Message      string `json:"message,omitempty" doc:"an explanation of finish_reason, if there is one"`
	}
	completionSummary struct {
		Type string `json:"type" doc:"always completion_summary" enum:"completion_summary"`
		counts
	}
)

type embedAnswer struct {
	head
	Message      *string    `json:"message" doc:"always null"`
	Embeddings   embeddings `json:"embeddings" doc:"for each layer, vectors, or an object of vectors by pooling"`
	Tokens       []string   `json:"tokens" null:"yes" doc:"null without tokens"`
	PromptTokens int        `json:"num_tokens_prompt_total" doc:"tokens of all prompts"`
	Cost         llm.Cost   `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type evaluateAnswer struct {
	head
	Message      *string  `json:"message" doc:"always null"`
	Result       metrics  `json:"result"`
	PromptTokens int      `json:"num_tokens_prompt_total" doc:"tokens of the prompt and the expected completion"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// metrics are natural logarithms and their normalisations.
type metrics struct {
	LogProbability   float  `json:"log_probability" doc:"of the expected completion, natural logarithm"`
	LogPerplexity    float  `json:"log_perplexity" doc:"the negative log_probability"`
	PerToken         float  `json:"log_perplexity_per_token" doc:"log_perplexity divided by token_count"`
	PerCharacter     float  `json:"log_perplexity_per_character" doc:"log_perplexity divided by character_count"`
	CorrectGreedy    bool   `json:"correct_greedy" doc:"whether greedy decoding generates the expected completion"`
	TokenCount       int    `json:"token_count" doc:"tokens of the expected completion"`
	CharacterCount   int    `json:"character_count" doc:"characters of the expected completion"`
	ArgmaxCompletion string `json:"completion" doc:"the likeliest token at each position"`
}

type tokenizeAnswer struct {
	Tokens   []string `json:"tokens,omitzero" doc:"present if tokens is true"`
	TokenIDs []int    `json:"token_ids,omitzero" doc:"present if token_ids is true"`
}

type detokenizeAnswer struct {
	Result string `json:"result" doc:"the text of the tokens"`
}

// modelObject describes a model. The keys after Hostings belong to the current API.
type modelObject struct {
	Name             string   `json:"name" doc:"name for requests"`
	Description      string   `json:"description" doc:"what the model is"`
	Hostings         []string `json:"hostings" doc:"where the model runs"`
	ImageSupport     bool     `json:"image_support" doc:"whether prompts may have images, as far as the model's record knows"`
	MaxContextSize   int      `json:"max_context_size,omitempty" doc:"tokens; absent if it is not known"`
	MaximumGenerated int      `json:"maximum_completion_tokens,omitempty" doc:"tokens"`
}
