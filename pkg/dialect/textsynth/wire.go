// Package textsynth speaks the TextSynth REST protocol: completions, translations,
// log-probabilities and tokens. It knows HTTP and llm, nothing of models or tokenizers.
//
// Source: seed 001 §1.3-1.6, and what its clients rely on: the additions of later
// years (lists of prompts, seed, schema, grammar, finish_reason, num_tokens,
// token_content_type), and total_tokens, which an early one reads.
package textsynth

import (
	"encoding/json"

	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/engines/{engine_id}/completions. Each key
// has a row in [Parameters]; so it is with the other requests.
type completionRequest struct {
	Prompt            wire.Many[*string] `json:"prompt"`
	MaxTokens         *int               `json:"max_tokens"`
	Stream            bool               `json:"stream"`
	Stop              wire.Many[string]  `json:"stop"`
	N                 *int               `json:"n"`
	Temperature       *float64           `json:"temperature"`
	TopK              *int               `json:"top_k"`
	TopP              *float64           `json:"top_p"`
	TypicalP          *float64           `json:"typical_p"`
	LogitBias         map[string]float64 `json:"logit_bias"` // by token id
	PresencePenalty   *float64           `json:"presence_penalty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
	Seed              *int64             `json:"seed"`
	Schema            json.RawMessage    `json:"schema"`  // JSON Schema, an object
	Grammar           *string            `json:"grammar"` // GBNF
}

// completionAnswer is an answer; of a stream, one of several.
type completionAnswer struct {
	Text       any  `json:"text"` // a string, or one for each completion
	ReachedEnd bool `json:"reached_end"`
	*completionEnd
}

// completionEnd is what the last answer tells.
type completionEnd struct {
	TruncatedPrompt bool `json:"truncated_prompt,omitempty"`
	FinishReason    any  `json:"finish_reason"`       // as Text is
	Guarantee       any  `json:"guarantee,omitempty"` // as Text is; ours, with a schema or a grammar: how far the text keeps it
	*counts
}

// counts are absent where a remote provider does not tell all of them.
type counts struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"` // of all completions
	TotalTokens  int `json:"total_tokens"`
}

// logprobRequest is the body of POST /v1/engines/{engine_id}/logprob.
type logprobRequest struct {
	Context      *string `json:"context"`
	Continuation *string `json:"continuation"`
}

type logprobAnswer struct {
	Logprob     float64 `json:"logprob"` // natural logarithm, <= 0
	IsGreedy    bool    `json:"is_greedy"`
	InputTokens int     `json:"input_tokens"` // of context and continuation
	NumTokens   int     `json:"num_tokens"`   // of the continuation
}

// translateRequest is the body of POST /v1/engines/{engine_id}/translate.
type translateRequest struct {
	Text           []*string `json:"text"` // nil for null, which is none
	SourceLang     *string   `json:"source_lang"`
	TargetLang     *string   `json:"target_lang"`
	NumBeams       *int      `json:"num_beams"`
	SplitSentences *bool     `json:"split_sentences"`
}

type translateAnswer struct {
	Translations []translation `json:"translations"`
	InputTokens  int           `json:"input_tokens"`
	OutputTokens int           `json:"output_tokens"` // of all beams
}

type translation struct {
	DetectedSourceLang string `json:"detected_source_lang"`
	Text               string `json:"text"`
}

// tokenizeRequest is the body of POST /v1/engines/{engine_id}/tokenize.
type tokenizeRequest struct {
	Text             *string `json:"text"`
	TokenContentType *string `json:"token_content_type"` // none or base64
}

type tokenizeAnswer struct {
	Tokens       []int    `json:"tokens"`
	TokenContent [][]byte `json:"token_content,omitzero"` // base64 in JSON
}
