package alephalpha

import (
	"slices"

	"glossa/pkg/wire"
)

// Values of Disposition, for short rows.
const (
	declined = wire.Refused
	noEffect = wire.NoEffect
)

// targetRows describe the keys that all requests to a model have.
func targetRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "model", Required: true, Note: "a name, an alias or family/name"},
		{Name: "hosting", Absent: "any", Note: "a hosting that /models_available lists for the model, or cloud"},
		{Name: "tags", Disposition: noEffect, Note: "labels the caller"},
	}
}

// attentionRows describe the keys about attention controls of prompt items.
func attentionRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "contextual_control_threshold", Disposition: noEffect, Note: "there are no controls"},
		{Name: "control_log_additive", Disposition: noEffect, Note: "there are no controls"},
	}
}

// itemTable describes an item of a prompt.
var itemTable = wire.For[item](
	wire.Parameter{Name: "type", Required: true, OneOf: []string{"text", "token_ids", "image"}, Note: "the kind of item; an image is for completions of models that read images"},
	wire.Parameter{Name: "data", Required: true, Schema: wire.AnyOf(wire.Types("string"), wire.ListOf(wire.Types("integer"))), Note: "a string, token ids, or an image in base64: JPEG or PNG, of at most 3,750,000 bytes; at most 20 of them"},
	wire.Parameter{Name: "x", Disposition: declined, Note: "images are not cropped: send the part itself"},
	wire.Parameter{Name: "y", Disposition: declined, Note: "images are not cropped: send the part itself"},
	wire.Parameter{Name: "size", Disposition: declined, Note: "images are not cropped: send the part itself"},
	wire.Parameter{Name: "controls", Disposition: declined, Note: "attention cannot be manipulated", Neutral: []string{`[]`}},
)

// promptSchema describes prompts, which [readPrompt] reads.
func promptSchema() *wire.Schema {
	return wire.AnyOf(wire.Types("string"), wire.ListOf(itemTable.Schema()))
}

// completeTable describes the body of POST /complete.
var completeTable = wire.For[completeRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Schema: promptSchema(), Canonical: "prompt", Remote: "text, and images if the model's record maps them; token_ids are rejected", Note: "a string, which may be empty, or a list of items; a prompt that exceeds the context is rejected"},
	{Name: "maximum_tokens", Bounds: wire.AtLeast(0), Absent: "up to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens of a completion"},
	{Name: "n", Bounds: wire.Between(1, 256), Default: 1, Canonical: "n", Remote: wire.ByGlossa, Note: "the number of completions to return"},
	{Name: "best_of", Remote: wire.ByRecord, Note: "generates this number of completions, which must be greater than n, and returns the n with the highest mean log-probability"},
	{Name: "stop_sequences", NotEmpty: true, Noun: "string", Canonical: "stop", Remote: wire.ByRecord, Note: "a completion ends before the first of these"},
	{Name: "log_probs", Bounds: wire.AtLeast(0), Absent: "none", Canonical: "logprobs", Remote: wire.NotRemote, Note: "0 returns the log-probability of each token, N also those of the N likeliest alternatives, all before bias, penalties and temperature"},
	{Name: "tokens", Default: false, Remote: wire.NotRemote, Note: "whether to return the tokens"},
	{Name: "echo", Default: false, Canonical: "return_full_text", Remote: wire.ByGlossa, Note: "whether completions begin with the prompt"},
	{Name: "stream", Default: false, Note: "whether to stream the answer as events"},
	{Name: "disable_optimizations", Disposition: noEffect, Note: "prompts and completions are never changed"},
}, samplingRows(), attentionRows(), refusedRows())...)

func samplingRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "temperature", Bounds: wire.Between(0, 1), Absent: "0, or 1 with top_k or top_p", Remote: wire.ByRecord, Note: "0 is greedy, regardless of top_k and top_p"},
		{Name: "top_k", Bounds: wire.AtLeast(0), Default: 0, Remote: wire.ByRecord, Note: "0 is off"},
		{Name: "top_p", Bounds: wire.Between(0, 1), Default: 0, Remote: wire.ByRecord, Note: "0 is off"},
		{Name: "logit_bias", TokenIDs: true, Remote: wire.ByRecord, Note: "token ids to biases"},
		{Name: "presence_penalty", Default: 0, Remote: wire.ByRecord, Note: "applies to tokens that occurred"},
		{Name: "frequency_penalty", Default: 0, Remote: wire.ByRecord, Note: "applies to each occurrence of a token"},
		{Name: "repetition_penalties_include_prompt", Default: false, Remote: wire.ByRecord, Note: "whether tokens of the prompt count as occurrences"},
		{Name: "use_multiplicative_presence_penalty", Default: false, Remote: wire.ByRecord, Note: "whether the presence penalty multiplies, and the frequency penalty too if use_multiplicative_frequency_penalty is absent"},
		{Name: "use_multiplicative_frequency_penalty", Absent: "same as use_multiplicative_presence_penalty", Remote: wire.ByRecord, Note: "whether the frequency penalty multiplies"},
		{Name: "sequence_penalty_min_length", Disposition: noEffect, Note: "there is no sequence penalty"},
		{Name: "use_multiplicative_sequence_penalty", Disposition: noEffect, Note: "there is no sequence penalty"},
		{Name: "completion_bias_inclusion_first_token_only", Disposition: noEffect, Note: "there is no completion bias"},
		{Name: "completion_bias_exclusion_first_token_only", Disposition: noEffect, Note: "there is no completion bias"},
	}
}

func refusedRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "minimum_tokens", Disposition: declined, Note: "a minimum length is not supported", Neutral: []string{`0`}},
		{Name: "sequence_penalty", Disposition: declined, Note: "sequences are not penalised", Neutral: []string{`0`, `0.0`}},
		{Name: "penalty_bias", Disposition: declined, Note: "only the prompt and the completion are penalised", Neutral: []string{`""`}},
		{Name: "penalty_exceptions", Disposition: declined, Note: "penalties have no exceptions", Neutral: []string{`[]`}},
		{Name: "penalty_exceptions_include_stop_sequences", Disposition: declined, Note: "penalties have no exceptions", Neutral: []string{`false`}},
		{Name: "repetition_penalties_include_completion", Disposition: declined, Note: "the completion is always penalised", Neutral: []string{`true`}},
		{Name: "completion_bias_inclusion", Disposition: declined, Note: "texts cannot be biased; bias tokens with logit_bias", Neutral: []string{`[]`}},
		{Name: "completion_bias_exclusion", Disposition: declined, Note: "texts cannot be biased; bias tokens with logit_bias", Neutral: []string{`[]`}},
		{Name: "steering_concepts", Disposition: declined, Note: "steering concepts are not supported", Neutral: []string{`[]`}},
		{Name: "raw_completion", Disposition: declined, Note: "completions are never changed", Neutral: []string{`false`}},
	}
}

// embedTable describes the body of POST /embed.
var embedTable = wire.For[embedRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Schema: promptSchema(), Canonical: "prompt", Remote: wire.NotRemote, Note: "as in /complete, but not empty"},
	{Name: "layers", Required: true, Count: wire.AtLeast(1), Noun: "layer", Remote: wire.NotRemote, Note: "0 is the embedding layer, i the output of layer i, -1 the output of the last layer"},
	{Name: "pooling", Count: wire.AtLeast(1), Noun: "operation", OneOf: []string{"mean", "max", "last_token", "abs_max"}, Absent: "one vector per token", Remote: wire.NotRemote, Note: "how to combine the token vectors into one"},
	{Name: "tokens", Default: false, Remote: wire.NotRemote, Note: "whether to return the tokens"},
	{Name: "normalize", Default: false, Remote: wire.NotRemote, Note: "whether to scale vectors to length 1"},
	{Name: "type", Disposition: declined, Note: "each layer has one embedding"},
}, attentionRows())...)

// evaluateTable describes the body of POST /evaluate.
var evaluateTable = wire.For[evaluateRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Schema: promptSchema(), Canonical: "prompt", Remote: wire.NotRemote, Note: "as in /complete"},
	{Name: "completion_expected", Required: true, NotEmpty: true, Canonical: "continuation", Remote: wire.NotRemote, Note: "the text to score"},
}, attentionRows())...)

// tokenizeTable describes the body of POST /tokenize.
var tokenizeTable = wire.For[tokenizeRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Canonical: "prompt", Remote: wire.NotRemote, Note: "the text to split into tokens"},
	{Name: "tokens", Required: true, Remote: wire.NotRemote, Note: "whether to return the tokens as spelled in the vocabulary"},
	{Name: "token_ids", Required: true, Remote: wire.NotRemote, Note: "whether to return token ids"},
})...)

// detokenizeTable describes the body of POST /detokenize.
var detokenizeTable = wire.For[detokenizeRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "token_ids", Required: true, Canonical: "prompt", Remote: wire.NotRemote, Note: "a list, which may be empty"},
})...)

// granularityTable describes prompt_granularity as an object.
var granularityTable = wire.For[granularity](
	wire.Parameter{Name: "type", Required: true, OneOf: append(slices.Clone(granularities), "custom"), Note: "the parts to explain"},
	wire.Parameter{Name: "delimiter", Note: "the string between parts; only with type custom"},
)

// explainTable describes the body of POST /explain.
var explainTable = wire.For[explainRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Schema: promptSchema(), Canonical: "prompt", Remote: wire.NotRemote, Note: "as in /complete, but not empty"},
	{Name: "target", Required: true, NotEmpty: true, Canonical: "continuation", Remote: wire.NotRemote, Note: "the text to explain"},
	{Name: "prompt_granularity", Schema: wire.AnyOf(wire.Types("string"), granularityTable.Schema()), Absent: "the granularity that gives about 30 parts", Remote: wire.NotRemote, Note: "an object with the type token, word, sentence, paragraph, or custom with a delimiter; at most 256 parts; token ids are explained one by one"},
	{Name: "target_granularity", OneOf: []string{"complete", "token"}, Default: "complete", Remote: wire.NotRemote, Note: "token explains each token of the target"},
	{Name: "postprocessing", OneOf: []string{"none", "absolute", "square"}, Default: "none", Remote: wire.NotRemote, Note: "applied to each score"},
	{Name: "normalize", Default: false, Remote: wire.NotRemote, Note: "whether to scale scores to the range 0 to 1"},
	{Name: "control_factor", Disposition: noEffect, Note: "at least 0 and less than 1; the part is removed from the prompt whatever the factor"},
	{Name: "control_token_overlap", OneOf: []string{"partial", "complete"}, Disposition: noEffect, Note: "parts are removed from the text, not from its tokens"},
	{Name: "control_log_additive", Disposition: noEffect, Note: "attention is not manipulated"},
	{Name: "contextual_control_threshold", Disposition: declined, Note: "only the part itself is removed, not similar text"},
})...)

// translateTable describes the body of POST /translate.
var translateTable = wire.For[translateRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "source", Required: true, Canonical: "text", Remote: wire.NotRemote, Note: "a text; its language is detected"},
	{Name: "target_language", Required: true, Canonical: "target_lang", Remote: wire.NotRemote, Note: "the ISO 639 code of a language that the model supports"},
})...)

// tokenTable describes the body of POST /users/me/token and /get_token.
var tokenTable = wire.For[tokenRequest](
	wire.Parameter{Name: "email", Required: true, Note: "the name of the user"},
	wire.Parameter{Name: "password", Required: true, Note: "the password of the user"},
)

// queueRequest is the query string of the routes that run a model.
type queueRequest struct {
	Nice string `json:"nice"`
}

var queueTable = wire.For[queueRequest](
	wire.Parameter{Name: "nice", Disposition: noEffect, Note: "requests are served first in, first out"},
)

// Parameters lists the rows of all requests, named "route key", for documentation; the keys
// of prompt items are named "prompt.key".
func Parameters() []wire.Parameter {
	return slices.Concat(
		itemTable.Parameters("prompt."),
		completeTable.Parameters("/complete "), embedTable.Parameters("/embed "),
		semanticTable.Parameters("/semantic_embed "), batchTable.Parameters("/batch_semantic_embed "), evaluateTable.Parameters("/evaluate "),
		tokenizeTable.Parameters("/tokenize "), detokenizeTable.Parameters("/detokenize "),
		explainTable.Parameters("/explain "), translateTable.Parameters("/translate "),
		tokenTable.Parameters("/users/me/token, /get_token "), queueTable.Parameters("/* ?"),
	)
}
