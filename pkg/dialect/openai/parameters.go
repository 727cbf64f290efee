package openai

import (
	"reflect"
	"strings"

	"glossa/pkg/wire"
)

// Limits of requests.
const (
	maxTokens      = 2048 // of a chat with a model of seed 002: the default, and what more is cut to
	defaultTokens  = 16   // of a completion, OpenAI's
	maxChoices     = 128  // OpenAI's
	maxStops       = 4    // OpenAI's, of a chat
	maxTextStops   = 32   // of a completion: OpenAI's 4 are too few for the tasks of lm-evaluation-harness
	maxTopLogprobs = 20   // OpenAI's for chats
	maxInputs      = 2048 // OpenAI's
	maxTools       = 128  // OpenAI's
	maxName        = 64   // bytes of a function's name, OpenAI's
)

// noFunctions is why the keys that tools took the place of are refused.
const noFunctions = "OpenAI has deprecated it: tools are served"

// What requests are held to.
var rows, completionRows = Parameters(), CompletionParameters()

// Parameters tells what becomes of each key of a chat request; keys inside of
// others are written with a dot. A key that is not here is refused.
func Parameters() []wire.Parameter {
	const (
		served   = wire.Honoured
		refused  = wire.Refused
		noEffect = wire.NoEffect
	)
	return remotely(append([]wire.Parameter{
		{Name: "model", Disposition: served, Note: "a name, an alias or family/name; default: the first model"},
		{Name: "hosting", Disposition: served, Note: "cloud or another that /models_available lists for the model: Aleph Alpha's clients send it; default: any"},
		{Name: "messages", Disposition: served, Note: "at least one"},
		{Name: "messages.role", Disposition: served, Note: "system, developer (as system), user, assistant or tool"},
		{Name: "messages.content", Disposition: served, Note: "a string or parts of type text"},
		{Name: "messages.tool_calls", Disposition: served, Note: "of the role assistant"},
		{Name: "messages.tool_calls.id", Disposition: served, Note: "not empty; of one message no two alike"},
		{Name: "messages.tool_calls.type", Disposition: served, Note: "function"},
		{Name: "messages.tool_calls.function", Disposition: served, Note: "what was called"},
		{Name: "messages.tool_calls.function.name", Disposition: served, Note: "not empty"},
		{Name: "messages.tool_calls.function.arguments", Disposition: served, Note: "a JSON object, as a string; empty: {}"},
		{Name: "messages.tool_calls.function.parsed_arguments", Disposition: noEffect, Note: "what SDKs read from arguments"},
		{Name: "messages.tool_calls.index", Disposition: noEffect, Note: "what streams count"},
		{Name: "messages.tool_call_id", Disposition: served, Note: "of the role tool: the id of a call before it"},
		{Name: "messages.name", Disposition: refused, Note: "no template writes the names of participants", Neutral: []string{`""`}},
		{Name: "messages.function_call", Disposition: refused, Note: noFunctions},
		{Name: "messages.refusal", Disposition: refused, Note: "no template writes refusals", Neutral: []string{`""`}},
		{Name: "messages.annotations", Disposition: refused, Note: "no template writes annotations", Neutral: []string{`[]`}},
		{Name: "messages.audio", Disposition: refused, Note: "messages are text only"},
		{Name: "messages.parsed", Disposition: noEffect, Note: "what SDKs read from content"},
		{Name: "max_tokens", Disposition: served, Note: "1 or more; default: to the end of the context. Of a model that Alpha trained the default is 2048, and what is more is cut to that"},
		{Name: "max_completion_tokens", Disposition: served, Note: "max_tokens under its newer name"},
		{Name: "maximum_tokens", Disposition: served, Note: "max_tokens under the name that Aleph Alpha's clients send to /chat/completions"},
		{Name: "temperature", Disposition: served, Note: "0 (greedy) to 2; default 0.7"},
		{Name: "top_p", Disposition: served, Note: "above 0, up to 1; default 1"},
		{Name: "top_k", Disposition: served, Note: "0 (off) or more: Aleph Alpha's clients send it; default 0, of a model that Alpha trained 40"},
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
		{Name: "tags", Disposition: noEffect, Note: "labels the caller: Aleph Alpha's clients send it"},
		{Name: "safety_identifier", Disposition: noEffect, Note: "labels the caller"},
		{Name: "metadata", Disposition: noEffect, Note: "labels stored completions, and none is stored"},
		{Name: "prompt_cache_key", Disposition: noEffect, Note: "a cache changes no answer"},
		{Name: "prompt_cache_retention", Disposition: noEffect, Note: "a cache changes no answer"},
		{Name: "functions", Disposition: refused, Note: noFunctions, Neutral: []string{`[]`}},
		{Name: "function_call", Disposition: refused, Note: noFunctions, Neutral: []string{`"none"`, `"auto"`}},
		{Name: "modalities", Disposition: refused, Note: "answers are plain text", Neutral: []string{`["text"]`}},
		{Name: "audio", Disposition: refused, Note: "answers are plain text"},
		{Name: "prediction", Disposition: refused, Note: "predicted outputs are not served"},
		{Name: "web_search_options", Disposition: refused, Note: "there is no web search"},
		{Name: "reasoning_effort", Disposition: refused, Note: "these models do not reason apart from their answer", Neutral: []string{`"none"`}},
		{Name: "verbosity", Disposition: refused, Note: "these models have no verbosity"},
		{Name: "store", Disposition: refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "steering_concepts", Disposition: refused, Note: "there are no steering concepts", Neutral: []string{`[]`}},
		{Name: "service_tier", Disposition: refused, Note: "there are no tiers", Neutral: []string{`"auto"`, `"default"`}},
	}, formParameters()...))
}

// remotely tells what becomes of the keys where a remote model answers.
func remotely(rows []wire.Parameter) []wire.Parameter {
	wire.Remotely(rows, wire.ByRecord, "messages", "max_tokens", "max_completion_tokens", "maximum_tokens", "temperature", "top_p", "top_k",
		"stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias", "best_of", "tools", "tool_choice", "parallel_tool_calls")
	wire.Remotely(rows, wire.ByGlossa, "n", "echo")
	wire.Remotely(rows, wire.Checked, "response_format")
	wire.Remotely(rows, textsOnly, "prompt")
	return wire.Remotely(rows, wire.NotRemote, "messages.tool_calls", "messages.tool_call_id", "logprobs", "top_logprobs")
}

// textsOnly is what becomes of prompts where a remote model answers.
const textsOnly = "strings; token ids are refused"

// formParameters are the rows of the keys that hold an answer to a form.
func formParameters() []wire.Parameter {
	const (
		served   = wire.Honoured
		noEffect = wire.NoEffect
		held     = "answers are always held to the schema"
	)
	return []wire.Parameter{
		{Name: "response_format", Disposition: served, Note: "text (the default), json_object (any object) or json_schema. The answer parses and keeps the schema wherever max_tokens ends it; fewer than the shortest answer needs are refused"},
		{Name: "response_format.type", Disposition: served, Note: "text, json_object or json_schema"},
		{Name: "response_format.json_schema", Disposition: served, Note: "with type json_schema only"},
		{Name: "response_format.json_schema.schema", Disposition: served, Note: "a JSON Schema; members come in its order. What is not supported of it is refused"},
		{Name: "response_format.json_schema.name", Disposition: noEffect, Note: "labels the schema"},
		{Name: "response_format.json_schema.description", Disposition: noEffect, Note: "describes the schema: models are not told of it"},
		{Name: "response_format.json_schema.strict", Disposition: noEffect, Note: held},
		{Name: "tools", Disposition: served, Note: "up to 128"},
		{Name: "tools.type", Disposition: served, Note: "function"},
		{Name: "tools.custom", Disposition: wire.Refused, Note: "custom tools are not served"},
		{Name: "tools.function", Disposition: served, Note: "what may be called"},
		{Name: "tools.function.name", Disposition: served, Note: "1 to 64 letters, digits, _ and -; no two alike"},
		{Name: "tools.function.description", Disposition: served, Note: "goes to the model"},
		{Name: "tools.function.parameters", Disposition: served, Note: "a JSON Schema of the arguments; default: there are none"},
		{Name: "tools.function.strict", Disposition: noEffect, Note: held},
		{Name: "tool_choice", Disposition: served, Note: "auto (the default), none, required, a function, or allowed_tools; without tools auto or none"},
		{Name: "parallel_tool_calls", Disposition: served, Note: "default true; false: one call at most"},
	}
}

// CompletionParameters tells what becomes of each key of a completion.
func CompletionParameters() []wire.Parameter {
	own := []wire.Parameter{
		{Name: "model", Disposition: wire.Honoured, Note: "a name, an alias or family/name; not empty"},
		{Name: "prompt", Disposition: wire.Honoured, Note: "a string, token ids, or an array of either; default: the beginning of a text"},
		{Name: "max_tokens", Disposition: wire.Honoured, Note: "0 or more; default 16. 0 with echo describes the prompt"},
		{Name: "best_of", Disposition: wire.Honoured, Note: "n to 128: so many are made and the n likeliest given; default n. Above n not in streams"},
		{Name: "echo", Disposition: wire.Honoured, Note: "the text begins with the prompt; default false"},
		{Name: "logprobs", Disposition: wire.Honoured, Note: "0 to 20 likeliest tokens, and the one that is there"},
		{Name: "suffix", Disposition: wire.Refused, Note: "text is continued at its end only", Neutral: []string{`""`}},
		{Name: "store", Disposition: wire.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "user", Disposition: wire.NoEffect, Note: "labels the caller"},
		{Name: "metadata", Disposition: wire.NoEffect, Note: "labels stored completions, and none is stored"},
	}
	for _, p := range Parameters() {
		switch name, _, _ := strings.Cut(p.Name, "."); {
		case !wire.Keys(reflect.TypeFor[sampling]())[name]:
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
	return remotely(own)
}

// EmbeddingParameters tells what becomes of each key of a request for embeddings, which
// no remote model makes.
func EmbeddingParameters() []wire.Parameter {
	list := []wire.Parameter{
		{Name: "model", Disposition: wire.Honoured, Note: "a name, an alias or family/name; default: the first model"},
		{Name: "input", Disposition: wire.Honoured, Note: "a string, token ids, or an array of up to 2048 of either; none empty"},
		{Name: "encoding_format", Disposition: wire.Honoured, Note: "float, or base64 of float32, little-endian; default float"},
		{Name: "dimensions", Disposition: wire.Honoured, Note: "those of the model only; default these"},
		{Name: "user", Disposition: wire.NoEffect, Note: "labels the caller"},
	}
	return wire.Remotely(list, wire.NotRemote, "model", "input", "encoding_format", "dimensions")
}
