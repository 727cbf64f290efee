package textsynth

import (
	"slices"

	"glossa/pkg/wire"
)

// Limits of TextSynth's documentation §1.3-1.4 and of later additions. It does not limit the
// number of prompts; the limit is that of texts to translate.
const (
	maxTexts     = 64
	defaultBeams = 4
)

// completionTable describes the body of POST /v1/engines/{engine_id}/completions.
var completionTable = wire.For[completionRequest](
	wire.Parameter{Name: "prompt", Required: true, Count: wire.Between(1, maxTexts), Noun: "string", Canonical: "prompt", Note: "the text to continue; a list returns a list"},
	wire.Parameter{Name: "max_tokens", Bounds: wire.AtLeast(0), Default: 100, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "a text also ends at the end of the context"},
	wire.Parameter{Name: "stream", Default: false, Note: "whether to stream the answer"},
	wire.Parameter{Name: "stop", Count: wire.AtMost(5), Noun: "string", NotEmpty: true, Remote: wire.ByRecord, Note: "a text ends before the first of these"},
	wire.Parameter{Name: "n", Bounds: wire.Between(1, 16), Default: 1, Remote: wire.ByGlossa, Note: "the number of texts for each prompt"},
	wire.Parameter{Name: "temperature", Bounds: wire.AtLeast(0), Default: 1, Remote: wire.ByRecord, Note: "0 is greedy"},
	wire.Parameter{Name: "top_k", Bounds: wire.Between(1, 1000), Default: 40, Remote: wire.ByRecord, Note: "sample from this number of the likeliest tokens"},
	wire.Parameter{Name: "top_p", Bounds: wire.Between(0, 1), Default: 0.9, Remote: wire.ByRecord, Note: "0 keeps only the likeliest token, 1 is off"},
	wire.Parameter{Name: "typical_p", Bounds: wire.Between(0, 1), Default: 1, Remote: wire.ByRecord, Note: "1 is off; below 1 it replaces top_p"},
	wire.Parameter{Name: "logit_bias", Bounds: wire.Between(-100, 100), TokenIDs: true, Remote: wire.ByRecord, Note: "token ids to biases"},
	wire.Parameter{Name: "presence_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted from the logits of tokens that occurred"},
	wire.Parameter{Name: "frequency_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted for each occurrence of a token"},
	wire.Parameter{Name: "repetition_penalty", Bounds: wire.Above(0), Default: 1, Remote: wire.ByRecord, Note: "divides the logits of tokens that occurred; 1 is off"},
	wire.Parameter{Name: "seed", Bounds: wire.Between(0, 1<<31-1), Default: 0, Remote: wire.ByRecord, Note: "0 chooses a random seed"},
	wire.Parameter{Name: "schema", Schema: wire.AnyObject(), Remote: wire.Checked, Note: "a JSON Schema that the text follows for every max_tokens; a limit below the shortest possible text is rejected"},
	wire.Parameter{Name: "grammar", NotEmpty: true, Remote: wire.Checked, Note: "a grammar in GBNF that the text follows; cannot be combined with schema"},
)

// logprobTable describes the body of POST /v1/engines/{engine_id}/logprob.
var logprobTable = wire.For[logprobRequest](
	wire.Parameter{Name: "context", Required: true, Canonical: "prompt", Remote: wire.NotRemote, Note: "the text before the continuation; if empty, the model's end-of-text token"},
	wire.Parameter{Name: "continuation", Required: true, NotEmpty: true, Remote: wire.NotRemote, Note: "the text to score"},
)

// translateTable describes the body of POST /v1/engines/{engine_id}/translate.
var translateTable = wire.For[translateRequest](
	wire.Parameter{Name: "text", Required: true, Count: wire.Between(1, maxTexts), Noun: "string", Canonical: "prompt", Remote: wire.NotRemote, Note: "the texts to translate"},
	wire.Parameter{Name: "source_lang", Required: true, Schema: codes(append(Languages(), auto)), Remote: wire.NotRemote, Note: "one of the 99 language codes, or auto"},
	wire.Parameter{Name: "target_lang", Required: true, Schema: codes(Languages()), Remote: wire.NotRemote, Note: "one of the 99 language codes"},
	wire.Parameter{Name: "num_beams", Bounds: wire.Between(1, 5), Default: defaultBeams, Remote: wire.NotRemote, Note: "the width of the beam search"},
	wire.Parameter{Name: "split_sentences", Default: true, Remote: wire.NotRemote, Note: "whether to translate one sentence at a time"},
)

// tokenizeTable describes the body of POST /v1/engines/{engine_id}/tokenize.
var tokenizeTable = wire.For[tokenizeRequest](
	wire.Parameter{Name: "text", Required: true, Canonical: "prompt", Remote: wire.NotRemote, Note: "the text to split into tokens"},
	wire.Parameter{Name: "token_content_type", OneOf: []string{"none", "base64"}, Default: "none", Remote: wire.NotRemote, Note: "base64 adds the bytes of each token"},
)

// codes returns the schema of language codes.
func codes(list []string) *wire.Schema {
	s := wire.Types("string")
	for _, code := range list {
		s.Enum = append(s.Enum, code)
	}
	return s
}

// Parameters lists the rows of all requests, named "route key", for documentation.
func Parameters() []wire.Parameter {
	return slices.Concat(
		completionTable.Parameters("completions "), logprobTable.Parameters("logprob "),
		translateTable.Parameters("translate "), tokenizeTable.Parameters("tokenize "),
	)
}
