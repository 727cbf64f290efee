// Package textsynth speaks the TextSynth REST protocol: log-probabilities and
// translations. It knows HTTP and llm, nothing of models or tokenizers.
//
// Source: seed 001 §1.4-1.5, and what its clients rely on.
package textsynth

// logprobRequest is the body of POST /v1/engines/{engine_id}/logprob. Each key has a
// row in [Parameters]; so it is with the other requests.
type logprobRequest struct {
	Context      *string `json:"context"`
	Continuation *string `json:"continuation"`
}

type logprobAnswer struct {
	Logprob     float64 `json:"logprob"` // natural logarithm, <= 0
	IsGreedy    bool    `json:"is_greedy"`
	InputTokens int     `json:"input_tokens"` // of context and continuation
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
