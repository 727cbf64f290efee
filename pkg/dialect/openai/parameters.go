package openai

import (
	"slices"

	"glossa/pkg/wire"
)

// Limits of requests.
const (
	maxTokens      = 2048 // of a chat with a model of seed 002: the default, and the largest limit
	defaultTokens  = 16   // of a completion, OpenAI's
	maxChoices     = 128  // OpenAI's
	maxStops       = 4    // OpenAI's, of a chat
	maxTextStops   = 32   // of a completion: OpenAI's 4 are too few for the tasks of lm-evaluation-harness
	maxTopLogprobs = 20   // OpenAI's for chats
	maxInputs      = 2048 // OpenAI's
	maxTools       = 128  // OpenAI's
	maxName        = 64   // bytes of a function's name, OpenAI's
)

const (
	noFunctions   = "OpenAI has deprecated it: tools are served"
	alwaysStrict  = "answers always follow the schema"
	modelNote     = "a name, an alias or family/name"
	defaultModel  = "the first model of the list"
	textsOnly     = "strings; token ids are refused"
	labelsCaller  = "labels the caller"
	ownTemplate   = "chats are written in the model's own form"
	promptsAsText = "prompts are text only"
)

// chatTable describes the body of POST /v1/chat/completions.
var chatTable = wire.For[chatRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: defaultModel, Note: modelNote},
		{Name: "hosting", Absent: "any", Note: "a hosting that /models_available lists for the model, or cloud; Aleph Alpha's clients send it"},
	},
	messageRows,
	[]wire.Parameter{
		{Name: "max_tokens", Bounds: wire.AtLeast(1), Absent: "to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the most tokens to generate; 2048 is the default and the maximum of models that Alpha trained"},
		{Name: "max_completion_tokens", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the newer name of max_tokens"},
		{Name: "maximum_tokens", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the name of max_tokens in Aleph Alpha's clients"},
	},
	samplingRows(0.7, maxStops),
	[]wire.Parameter{
		{Name: "top_k", Bounds: wire.AtLeast(0), Default: 0, Remote: wire.ByRecord, Note: "draw among so many of the likeliest tokens; 0 is off; the default is 40 for models that Alpha trained; Aleph Alpha's clients send it"},
		{Name: "logprobs", Default: false, Remote: wire.NotRemote, Note: "whether the answer has the log-probability of each token"},
		{Name: "top_logprobs", Bounds: wire.Between(0, maxTopLogprobs), Absent: "0", Remote: wire.NotRemote, Note: "how many of the likeliest tokens are listed at each position; with logprobs only"},
		{Name: "response_format", Absent: "text", Canonical: "schema", Remote: wire.Checked, Note: "the form of the answer, which holds wherever max_tokens ends it; fewer tokens than the shortest answer needs are refused"},
		{Name: "response_format.type", Required: true, OneOf: []string{"text", "json_object", "json_schema"}, Remote: wire.Checked, Note: "with json_object the answer is any JSON object"},
		{Name: "response_format.json_schema", Remote: wire.Checked, Note: "with the type json_schema only"},
		{Name: "response_format.json_schema.schema", Required: true, Schema: wire.AnyObject(), Remote: wire.Checked, Note: "a JSON Schema; members come in its order, and keywords that are not supported are refused"},
		{Name: "response_format.json_schema.name", Disposition: wire.NoEffect, Note: "labels the schema"},
		{Name: "response_format.json_schema.description", Disposition: wire.NoEffect, Note: "describes the schema; it does not reach the model"},
		{Name: "response_format.json_schema.strict", Disposition: wire.NoEffect, Note: alwaysStrict},
	},
	toolRows,
	[]wire.Parameter{
		{Name: "tool_choice", Schema: toolChoiceSchema(), Default: "auto", Canonical: "must_call", Remote: wire.ByRecord, Note: "whether functions are called, and which; without tools auto or none"},
		{Name: "parallel_tool_calls", Default: true, Canonical: "one_call", Remote: wire.ByRecord, Note: "whether the answer may have more than one call"},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "tags", Disposition: wire.NoEffect, Note: "labels the caller; Aleph Alpha's clients send it"},
		{Name: "safety_identifier", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "metadata", Disposition: wire.NoEffect, Note: "labels stored completions, and none is stored"},
		{Name: "prompt_cache_key", Disposition: wire.NoEffect, Note: "a cache changes no answer"},
		{Name: "prompt_cache_retention", Disposition: wire.NoEffect, Note: "a cache changes no answer"},
		{Name: "functions", Disposition: wire.Refused, Note: noFunctions, Neutral: []string{`[]`}},
		{Name: "function_call", Disposition: wire.Refused, Note: noFunctions, Neutral: []string{`"none"`, `"auto"`}},
		{Name: "modalities", Disposition: wire.Refused, Note: "answers are plain text", Neutral: []string{`["text"]`}},
		{Name: "audio", Disposition: wire.Refused, Note: "answers are plain text"},
		{Name: "prediction", Disposition: wire.Refused, Note: "predicted outputs are not served"},
		{Name: "web_search_options", Disposition: wire.Refused, Note: "there is no web search"},
		{Name: "reasoning_effort", Disposition: wire.Refused, Note: "these models do not reason apart from their answer", Neutral: []string{`"none"`}},
		{Name: "verbosity", Disposition: wire.Refused, Note: "these models have no verbosity"},
		{Name: "store", Disposition: wire.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "steering_concepts", Disposition: wire.Refused, Note: "there are no steering concepts", Neutral: []string{`[]`}},
		{Name: "service_tier", Disposition: wire.Refused, Note: "there are no tiers", Neutral: []string{`"auto"`, `"default"`}},
	},
)...)

// messageRows describe the messages of a chat.
var messageRows = []wire.Parameter{
	{Name: "messages", Required: true, Count: wire.AtLeast(1), Noun: "message", Canonical: "prompt", Remote: wire.ByRecord, Note: "the chat so far"},
	{Name: "messages.role", Required: true, OneOf: []string{"system", "developer", "user", "assistant", "tool"}, Remote: wire.ByRecord, Note: "who speaks; developer is the newer name of system"},
	{Name: "messages.content", Schema: contentSchema(), Remote: wire.ByRecord, Note: "the text, or parts of type text; required unless there are tool_calls"},
	{Name: "messages.tool_calls", Remote: wire.NotRemote, Note: "the calls that the assistant made; for the role assistant only"},
	{Name: "messages.tool_calls.id", Required: true, NotEmpty: true, Remote: wire.NotRemote, Note: "unique in its message"},
	{Name: "messages.tool_calls.type", Required: true, OneOf: []string{"function"}, Remote: wire.NotRemote, Note: "the kind of call"},
	{Name: "messages.tool_calls.function", Required: true, Remote: wire.NotRemote, Note: "the function that was called"},
	{Name: "messages.tool_calls.function.name", Required: true, NotEmpty: true, Remote: wire.NotRemote, Note: "the name of the function"},
	{Name: "messages.tool_calls.function.arguments", Remote: wire.NotRemote, Note: "a JSON object, as a string; an empty string is {}"},
	{Name: "messages.tool_calls.function.parsed_arguments", Disposition: wire.NoEffect, Note: "SDKs parse it from arguments"},
	{Name: "messages.tool_calls.index", Disposition: wire.NoEffect, Note: "streams number calls with it"},
	{Name: "messages.tool_call_id", Remote: wire.NotRemote, Note: "the id of an earlier call that the message answers; for the role tool only, and required there"},
	{Name: "messages.name", Disposition: wire.Refused, Note: "no template writes the names of participants", Neutral: []string{`""`}},
	{Name: "messages.function_call", Disposition: wire.Refused, Note: noFunctions},
	{Name: "messages.refusal", Disposition: wire.Refused, Note: "no template writes refusals", Neutral: []string{`""`}},
	{Name: "messages.annotations", Disposition: wire.Refused, Note: "no template writes annotations", Neutral: []string{`[]`}},
	{Name: "messages.audio", Disposition: wire.Refused, Note: "messages are text only"},
	{Name: "messages.parsed", Disposition: wire.NoEffect, Note: "SDKs parse it from content"},
}

// toolRows describe the tools of a chat. Custom tools are refused before their other keys
// are checked.
var toolRows = []wire.Parameter{
	{Name: "tools", Count: wire.AtMost(maxTools), Noun: "tool", Remote: wire.ByRecord, Note: "the functions that the answer may call"},
	{Name: "tools.custom", Disposition: wire.Refused, Note: "custom tools are not served"},
	{Name: "tools.type", Required: true, OneOf: []string{"function"}, Remote: wire.ByRecord, Note: "the kind of tool"},
	{Name: "tools.function", Required: true, Remote: wire.ByRecord, Note: "the function"},
	{Name: "tools.function.name", Required: true, Schema: nameSchema(), Remote: wire.ByRecord, Note: "1 to 64 letters, digits, _ and -; no two alike"},
	{Name: "tools.function.description", Remote: wire.ByRecord, Note: "tells the model what the function does"},
	{Name: "tools.function.parameters", Schema: wire.AnyObject(), Absent: "no arguments", Remote: wire.ByRecord, Note: "a JSON Schema of the arguments"},
	{Name: "tools.function.strict", Disposition: wire.NoEffect, Note: alwaysStrict},
}

// samplingRows describe the keys of [sampling].
func samplingRows(temperature float64, stops int) []wire.Parameter {
	return []wire.Parameter{
		{Name: "temperature", Bounds: wire.Between(0, 2), Default: temperature, Remote: wire.ByRecord, Note: "0 is greedy"},
		{Name: "top_p", Bounds: wire.AboveUpTo(0, 1), Default: 1, Remote: wire.ByRecord, Note: "draw among the likeliest tokens whose probabilities add up to this"},
		{Name: "n", Bounds: wire.Between(1, maxChoices), Default: 1, Remote: wire.ByGlossa, Note: "the number of choices"},
		{Name: "stream", Default: false, Note: "whether the answer comes as server-sent events"},
		{Name: "stream_options", Note: "with stream only"},
		{Name: "stream_options.include_usage", Default: false, Note: "whether usage comes in a last chunk without choices, rather than in the last one with choices"},
		{Name: "stream_options.include_obfuscation", Disposition: wire.Refused, Note: "chunks are not padded", Neutral: []string{`false`}},
		{Name: "stop", Count: wire.AtMost(float64(stops)), Noun: "string", NotEmpty: true, Remote: wire.ByRecord, Note: "a text ends before the first of these"},
		{Name: "seed", Absent: "random", Remote: wire.ByRecord, Note: "the same seed gives the same text"},
		{Name: "presence_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted from the logits of tokens that occurred"},
		{Name: "frequency_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted for each time that a token occurred"},
		{Name: "logit_bias", Bounds: wire.Between(-100, 100), TokenIDs: true, Remote: wire.ByRecord, Note: "token ids to biases"},
	}
}

// completionTable describes the body of POST /v1/completions.
var completionTable = wire.For[completionRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Required: true, NotEmpty: true, Note: modelNote},
		{Name: "prompt", Schema: promptSchema(0), Absent: "the beginning of a text", Canonical: "prompt", Remote: textsOnly, Note: "a text or token ids, or a list of either"},
		{Name: "max_tokens", Bounds: wire.AtLeast(0), Default: defaultTokens, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the most tokens to generate; 0 with echo describes the prompt"},
		{Name: "best_of", Bounds: wire.Between(1, maxChoices), Absent: "n", Remote: wire.ByRecord, Note: "so many texts are generated, and the n likeliest are the answer; not below n, and in streams not above it"},
		{Name: "echo", Default: false, Canonical: "return_full_text", Remote: wire.ByGlossa, Note: "whether the text begins with the prompt"},
		{Name: "logprobs", Bounds: wire.Between(0, maxTopLogprobs), Absent: "none", Remote: wire.NotRemote, Note: "how many of the likeliest tokens are listed at each position, with the token of the text"},
		{Name: "suffix", Disposition: wire.Refused, Note: "text is continued at its end only", Neutral: []string{`""`}},
		{Name: "store", Disposition: wire.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "metadata", Disposition: wire.NoEffect, Note: "labels stored completions, and none is stored"},
	},
	samplingRows(1, maxTextStops),
)...)

// embeddingTable describes the body of POST /v1/embeddings, which no remote model answers.
var embeddingTable = wire.For[embeddingRequest](
	wire.Parameter{Name: "model", Absent: defaultModel, Remote: wire.NotRemote, Note: modelNote},
	wire.Parameter{Name: "input", Required: true, Schema: promptSchema(maxInputs), Canonical: "prompt", Remote: wire.NotRemote, Note: "a text or token ids, or a list of up to 2048 of either; none empty"},
	wire.Parameter{Name: "encoding_format", OneOf: []string{"float", "base64"}, Default: "float", Remote: wire.NotRemote, Note: "base64 is of the bytes of float32, little-endian"},
	wire.Parameter{Name: "dimensions", Bounds: wire.AtLeast(1), Absent: "those of the model", Remote: wire.NotRemote, Note: "only those of the model are accepted"},
	wire.Parameter{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
)

// tokenizeTable describes the body of POST /tokenize, which no remote model answers.
var tokenizeTable = wire.For[tokenizeRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: defaultModel, Remote: wire.NotRemote, Note: modelNote},
		{Name: "prompt", Canonical: "prompt", Remote: wire.NotRemote, Note: "a text, in which special tokens are recognised; either prompt or messages is required"},
	},
	conversationRows(),
	[]wire.Parameter{
		{Name: "add_special_tokens", Absent: "as for a generation", Remote: wire.NotRemote, Note: "whether the tokens that begin the model's prompts come first"},
		{Name: "add_generation_prompt", Default: true, Remote: wire.NotRemote, Note: "whether the beginning of the answer follows; with messages only"},
		{Name: "return_token_strs", Default: false, Remote: wire.NotRemote, Note: "whether token_strs has the tokens as the vocabulary spells them"},
		{Name: "continue_final_message", Disposition: wire.Refused, Note: "answers begin anew", Neutral: []string{`false`}},
		{Name: "chat_template", Disposition: wire.Refused, Note: ownTemplate},
		{Name: "chat_template_kwargs", Disposition: wire.Refused, Note: ownTemplate, Neutral: []string{`{}`}},
		{Name: "media_io_kwargs", Disposition: wire.Refused, Note: promptsAsText, Neutral: []string{`{}`}},
		{Name: "mm_processor_kwargs", Disposition: wire.Refused, Note: promptsAsText, Neutral: []string{`{}`}},
	},
)...)

// conversationRows describe the keys of [conversation] in a request to tokenize.
func conversationRows() []wire.Parameter {
	rows := slices.Concat(messageRows, toolRows)
	for i := range rows {
		p := &rows[i]
		if p.Remote != "" {
			p.Remote = wire.NotRemote
		}
		switch p.Name {
		case "messages":
			p.Required, p.Note = false, "as in /v1/chat/completions; either prompt or messages is required"
		case "tools":
			p.Note = "as in /v1/chat/completions; with messages only"
		}
	}
	return rows
}

// detokenizeTable describes the body of POST /detokenize.
var detokenizeTable = wire.For[detokenizeRequest](
	wire.Parameter{Name: "model", Absent: defaultModel, Remote: wire.NotRemote, Note: modelNote},
	wire.Parameter{Name: "tokens", Required: true, Canonical: "prompt", Remote: wire.NotRemote, Note: "token ids"},
)

// tokenizerInfoTable describes the query string of GET /tokenizer_info.
var tokenizerInfoTable = wire.For[modelKey](
	wire.Parameter{Name: "model", Remote: wire.NotRemote, Note: "a name, an alias or family/name; required if several models are served and the path has none"},
)

// Parameters describes the keys of a chat; those inside of others are written with a dot.
func Parameters() []wire.Parameter { return chatTable.Parameters("") }

// CompletionParameters describes the keys of a completion.
func CompletionParameters() []wire.Parameter { return completionTable.Parameters("") }

// EmbeddingParameters describes the keys of a request for embeddings.
func EmbeddingParameters() []wire.Parameter { return embeddingTable.Parameters("") }

// TokenizeParameters describes the keys of a request to tokenize.
func TokenizeParameters() []wire.Parameter { return tokenizeTable.Parameters("") }
