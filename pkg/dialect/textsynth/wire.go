// Package textsynth speaks the TextSynth REST protocol: completions, translations,
// log-probabilities and tokens. It knows HTTP and llm, nothing of models or tokenizers.
//
// Source: TextSynth's documentation §1.3-1.6, and its clients' requirements: later additions (lists of
// prompts, seed, schema, grammar, finish_reason, num_tokens, token_content_type), and
// total_tokens, which an early client reads.
package textsynth

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/engines/{engine_id}/completions.
// [completionTable] describes its keys; the other requests have tables, too.
type completionRequest struct {
	Prompt            wire.Many[string]  `json:"prompt"`
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

// completionAnswer is an answer, or one of several answers of a stream.
type completionAnswer struct {
	Text       wire.Many[string] `json:"text" doc:"the text; a list if n is above 1 or prompt is a list"`
	ReachedEnd bool              `json:"reached_end" doc:"whether this is the last answer of a stream"`
	*completionEnd
}

// completionEnd holds the keys that only the last answer of a stream has.
type completionEnd struct {
	TruncatedPrompt bool               `json:"truncated_prompt,omitempty" doc:"whether the beginning of the prompt was cut to fit the context"`
	FinishReason    wire.Many[string]  `json:"finish_reason" doc:"stop or length; a list if text is one"`
	Guarantee       *wire.Many[string] `json:"guarantee,omitempty" doc:"enforced or validated, with a schema or a grammar; a list if text is one"`
	*counts
}

// counts are absent where a remote provider does not send all of them.
type counts struct {
	InputTokens  int      `json:"input_tokens" doc:"tokens of the prompts"`
	OutputTokens int      `json:"output_tokens" doc:"tokens of all texts"`
	TotalTokens  int      `json:"total_tokens" doc:"both together"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// logprobRequest is the body of POST /v1/engines/{engine_id}/logprob.
type logprobRequest struct {
	Context      *string `json:"context"`
	Continuation *string `json:"continuation"`
}

type logprobAnswer struct {
	Logprob     float64  `json:"logprob" doc:"the natural logarithm of the probability, at most 0"`
	IsGreedy    bool     `json:"is_greedy" doc:"whether greedy decoding gives this continuation"`
	InputTokens int      `json:"input_tokens" doc:"tokens of context and continuation"`
	NumTokens   int      `json:"num_tokens" doc:"tokens of the continuation"`
	Cost        llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// translateRequest is the body of POST /v1/engines/{engine_id}/translate.
type translateRequest struct {
	Text           []string `json:"text"`
	SourceLang     string   `json:"source_lang"`
	TargetLang     string   `json:"target_lang"`
	NumBeams       *int     `json:"num_beams"`
	SplitSentences *bool    `json:"split_sentences"`
}

type translateAnswer struct {
	Translations []translation `json:"translations" doc:"one for each text"`
	InputTokens  int           `json:"input_tokens" doc:"tokens of the texts"`
	OutputTokens int           `json:"output_tokens" doc:"tokens of all beams"`
	Cost         llm.Cost      `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type translation struct {
	DetectedSourceLang string `json:"detected_source_lang" doc:"the code from the request, or with auto the detected one"`
	Text               string `json:"text" doc:"the translated text"`
}

// tokenizeRequest is the body of POST /v1/engines/{engine_id}/tokenize.
type tokenizeRequest struct {
	Text             *string `json:"text"`
	TokenContentType string  `json:"token_content_type"`
}

type tokenizeAnswer struct {
	Tokens       []int    `json:"tokens" doc:"the ids of the tokens"`
	TokenContent [][]byte `json:"token_content,omitzero" doc:"the bytes of each token"`
}
