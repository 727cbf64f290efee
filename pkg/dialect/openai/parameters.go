package openai

import (
	"reflect"
	"strings"

	"glossa/pkg/httpx"
)

// Limits of requests.
const (
	maxTokens      = 2048 // of a chat, seed 002: the default, and what more is cut to
	defaultTokens  = 16   // of a completion, OpenAI's
	maxChoices     = 128  // OpenAI's
	maxStops       = 4    // OpenAI's, of a chat
	maxTextStops   = 32   // of a completion: OpenAI's 4 are too few for the tasks of lm-evaluation-harness
	maxTopLogprobs = 20   // OpenAI's for chats
	maxInputs      = 2048 // OpenAI's
)

// Parameters tells what becomes of each key of a chat request; keys inside of
// others are written with a dot. A key that is not here is refused.
func Parameters() []httpx.Parameter {
	const (
		served   = httpx.Honoured
		refused  = httpx.Refused
		noEffect = httpx.NoEffect
	)
	return []httpx.Parameter{
		{Name: "model", Disposition: served, Note: "a name, an alias or family/name; default: the first model"},
		{Name: "messages", Disposition: served, Note: "at least one"},
		{Name: "messages.role", Disposition: served, Note: "system, developer (as system), user, assistant or tool"},
		{Name: "messages.content", Disposition: served, Note: "a string or parts of type text"},
		{Name: "messages.tool_call_id", Disposition: served, Note: "of the role tool"},
		{Name: "messages.name", Disposition: refused, Note: "no template writes the names of participants", Neutral: []string{`""`}},
		{Name: "messages.tool_calls", Disposition: refused, Note: "tools are not served", Neutral: []string{`[]`}},
		{Name: "messages.function_call", Disposition: refused, Note: "functions are not served"},
		{Name: "messages.refusal", Disposition: refused, Note: "no template writes refusals", Neutral: []string{`""`}},
		{Name: "messages.annotations", Disposition: refused, Note: "no template writes annotations", Neutral: []string{`[]`}},
		{Name: "messages.audio", Disposition: refused, Note: "messages are text only"},
		{Name: "max_tokens", Disposition: served, Note: "1 or more; default 2048, and what is more is cut to that"},
		{Name: "max_completion_tokens", Disposition: served, Note: "max_tokens under its newer name"},
		{Name: "maximum_tokens", Disposition: served, Note: "max_tokens under the name that Aleph Alpha's clients send to /chat/completions"},
		{Name: "temperature", Disposition: served, Note: "0 (greedy) to 2; default 0.7"},
		{Name: "top_p", Disposition: served, Note: "above 0, up to 1; default 1. The 40 likeliest tokens are kept before it"},
		{Name: "n", Disposition: served, Note: "1 to 128; default 1"},
		{Name: "stream", Disposition: served, Note: "default false"},
		{Name: "stream_options", Disposition: served, Note: "with stream only"},
		{Name: "stream_options.include_usage", Disposition: served, Note: "usage in a last chunk without choices; default false: usage on the last chunk with choices"},
		{Name: "stream_options.include_obfuscation", Disposition: refused, Note: "chunks are not padded", Neutral: []string{`false`}},
		{Name: "stop", Disposition: served, Note: "a string or up to 4, none empty"},
		{Name: "seed", Disposition: served, Note: "a 64-bit integer; default random"},
		{Name: "presence_penalty", Disposition: served, Note: "-2 to 2; default 0"},
		{Name: "frequency_penalty", Disposition: served, Note: "-2 to 2; default 0"},
		{Name: "logit_bias", Disposition: served, Note: "token ids to biases of -100 to 100"},
		{Name: "logprobs", Disposition: served, Note: "default false"},
		{Name: "top_logprobs", Disposition: served, Note: "0 to 20, with logprobs only"},
		{Name: "user", Disposition: noEffect, Note: "labels the caller"},
		{Name: "safety_identifier", Disposition: noEffect, Note: "labels the caller"},
		{Name: "metadata", Disposition: noEffect, Note: "labels stored completions, and none is stored"},
		{Name: "prompt_cache_key", Disposition: noEffect, Note: "a cache changes no answer"},
		{Name: "prompt_cache_retention", Disposition: noEffect, Note: "a cache changes no answer"},
		{Name: "parallel_tool_calls", Disposition: noEffect, Note: "without tools there are no calls"},
		{Name: "tools", Disposition: refused, Note: "tools are not served", Neutral: []string{`[]`}},
		{Name: "tool_choice", Disposition: refused, Note: "tools are not served", Neutral: []string{`"none"`, `"auto"`}},
		{Name: "functions", Disposition: refused, Note: "functions are not served", Neutral: []string{`[]`}},
		{Name: "function_call", Disposition: refused, Note: "functions are not served", Neutral: []string{`"none"`, `"auto"`}},
		{Name: "response_format", Disposition: refused, Note: "answers are plain text", Neutral: []string{`{"type":"text"}`}},
		{Name: "modalities", Disposition: refused, Note: "answers are plain text", Neutral: []string{`["text"]`}},
		{Name: "audio", Disposition: refused, Note: "answers are plain text"},
		{Name: "prediction", Disposition: refused, Note: "predicted outputs are not served"},
		{Name: "web_search_options", Disposition: refused, Note: "there is no web search"},
		{Name: "reasoning_effort", Disposition: refused, Note: "these models do not reason apart from their answer", Neutral: []string{`"none"`}},
		{Name: "verbosity", Disposition: refused, Note: "these models have no verbosity"},
		{Name: "store", Disposition: refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "service_tier", Disposition: refused, Note: "there are no tiers", Neutral: []string{`"auto"`, `"default"`}},
	}
}

// CompletionParameters tells what becomes of each key of a completion.
func CompletionParameters() []httpx.Parameter {
	own := []httpx.Parameter{
		{Name: "model", Disposition: httpx.Honoured, Note: "a name, an alias or family/name; not empty"},
		{Name: "prompt", Disposition: httpx.Honoured, Note: "a string, token ids, or an array of either; default: the beginning of a text"},
		{Name: "max_tokens", Disposition: httpx.Honoured, Note: "0 or more; default 16. 0 with echo describes the prompt"},
		{Name: "best_of", Disposition: httpx.Honoured, Note: "n to 128: so many are made and the n likeliest given; default n. Above n not in streams"},
		{Name: "echo", Disposition: httpx.Honoured, Note: "the text begins with the prompt; default false"},
		{Name: "logprobs", Disposition: httpx.Honoured, Note: "0 to 20 likeliest tokens, and the one that is there"},
		{Name: "suffix", Disposition: httpx.Refused, Note: "text is continued at its end only", Neutral: []string{`""`}},
		{Name: "store", Disposition: httpx.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "user", Disposition: httpx.NoEffect, Note: "labels the caller"},
		{Name: "metadata", Disposition: httpx.NoEffect, Note: "labels stored completions, and none is stored"},
	}
	for _, p := range Parameters() {
		switch name, _, _ := strings.Cut(p.Name, "."); {
		case !httpx.Keys(reflect.TypeFor[sampling]())[name]:
			continue
		case name == "temperature":
			p.Note = "0 (greedy) to 2; default 1"
		case name == "top_p":
			p.Note = "above 0, up to 1; default 1"
		case name == "stop":
			p.Note = "a string or up to 32, none empty"
		}
		own = append(own, p)
	}
	return own
}

// EmbeddingParameters tells what becomes of each key of a request for embeddings.
func EmbeddingParameters() []httpx.Parameter {
	return []httpx.Parameter{
		{Name: "model", Disposition: httpx.Honoured, Note: "a name, an alias or family/name; default: the first model"},
		{Name: "input", Disposition: httpx.Honoured, Note: "a string, token ids, or an array of up to 2048 of either; none empty"},
		{Name: "encoding_format", Disposition: httpx.Honoured, Note: "float, or base64 of float32, little-endian; default float"},
		{Name: "dimensions", Disposition: httpx.Honoured, Note: "those of the model only; default these"},
		{Name: "user", Disposition: httpx.NoEffect, Note: "labels the caller"},
	}
}
