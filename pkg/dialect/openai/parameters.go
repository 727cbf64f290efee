package openai

import (
	"maps"
	"slices"

	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// Limits of requests.
const (
	maxTokens      = 2048 // of a chat with a model of Alpha: the default, and the largest limit
	defaultTokens  = 16   // of a completion, OpenAI's
	maxChoices     = 128  // OpenAI's
	maxStops       = 4    // OpenAI's, of a chat
	maxTextStops   = 32   // of a completion: OpenAI's 4 are too few for the tasks of lm-evaluation-harness
	maxTopLogprobs = 20   // OpenAI's for chats
	maxInputs      = 2048 // OpenAI's
)

const (
	noFunctions   = "deprecated by OpenAI: use tools"
	alwaysStrict  = "answers always follow the schema"
	modelNote     = "a name, an alias or family/name"
	defaultModel  = "the first model in the list"
	textsOnly     = "strings only; token ids are rejected"
	labelsCaller  = "labels the caller"
	sameAnswer    = "caching does not change answers"
	ofMessage     = "SDKs copy it from the message"
	noRefusals    = "no template writes refusals"
	noAnnotations = "no template writes annotations"
	ownTemplate   = "chats use the model's own template"
	ownImages     = "models read images as their files say"
)

// chatTable describes the body of POST /v1/chat/completions.
var chatTable = wire.For[chatRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: defaultModel, Note: modelNote},
		{Name: "hosting", Absent: "any", Note: "a hosting that /models_available lists for the model, or cloud; sent by Aleph Alpha's clients"},
	},
	messageRows,
	[]wire.Parameter{
		{Name: "max_tokens", Bounds: wire.AtLeast(1), Absent: "up to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens to generate; for models that Alpha trained, 2048 is the default and the maximum"},
		{Name: "max_completion_tokens", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the newer name for max_tokens"},
		{Name: "maximum_tokens", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the name of max_tokens in Aleph Alpha's clients"},
	},
	samplingRows(0.7, maxStops),
	[]wire.Parameter{
		{Name: "top_k", Bounds: wire.AtLeast(0), Default: 0, Remote: wire.ByRecord, Note: "samples from this number of the likeliest tokens; 0 is off; the default is 40 for models that Alpha trained; sent by Aleph Alpha's clients"},
		{Name: "logprobs", Default: false, Remote: wire.NotRemote, Note: "whether to return the log-probability of each token"},
		{Name: "top_logprobs", Bounds: wire.Between(0, maxTopLogprobs), Absent: "0", Remote: wire.NotRemote, Note: "the number of likeliest tokens to list at each position; only with logprobs"},
		{Name: "response_format", Absent: "text", Canonical: "schema", Remote: wire.Checked, Note: "the format of the answer, which is complete for every max_tokens; a limit below the shortest possible answer is rejected"},
		{Name: "response_format.type", Required: true, OneOf: []string{"text", "json_object", "json_schema"}, Remote: wire.Checked, Note: "with json_object the answer is any JSON object"},
		{Name: "response_format.json_schema", Remote: wire.Checked, Note: "only with type json_schema"},
		{Name: "response_format.json_schema.schema", Required: true, Schema: wire.AnyObject(), Remote: wire.Checked, Note: "a JSON Schema; members follow its order, and unsupported keywords are rejected"},
		{Name: "response_format.json_schema.name", Disposition: wire.NoEffect, Note: "labels the schema"},
		{Name: "response_format.json_schema.description", Disposition: wire.NoEffect, Note: "describes the schema; it does not reach the model"},
		{Name: "response_format.json_schema.strict", Disposition: wire.NoEffect, Note: alwaysStrict},
	},
	predictionRows,
	toolRows,
	reasoningRows,
	[]wire.Parameter{
		{Name: "tool_choice", Schema: toolChoiceSchema(), Default: "auto", Canonical: "must_call", Remote: wire.ByRecord, Note: "whether functions are called, and which; without tools, only auto or none"},
		{Name: "parallel_tool_calls", Default: true, Canonical: "one_call", Remote: wire.ByRecord, Note: "whether the answer may have more than one call"},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "tags", Disposition: wire.NoEffect, Note: "labels the caller; sent by Aleph Alpha's clients"},
		{Name: "safety_identifier", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "metadata", Disposition: wire.NoEffect, Note: "labels stored completions, and none are stored"},
		{Name: "prompt_cache_key", Disposition: wire.NoEffect, Note: sameAnswer},
		{Name: "prompt_cache_retention", Disposition: wire.NoEffect, Note: sameAnswer},
		{Name: "prompt_cache_options", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
		{Name: "functions", Disposition: wire.Refused, Note: noFunctions, Neutral: []string{`[]`}},
		{Name: "function_call", Disposition: wire.Refused, Note: noFunctions, Neutral: []string{`"none"`, `"auto"`}},
		{Name: "modalities", Disposition: wire.Refused, Note: "answers are plain text", Neutral: []string{`["text"]`}},
		{Name: "audio", Disposition: wire.Refused, Note: "answers are plain text"},
		{Name: "web_search_options", Disposition: wire.Refused, Note: "web search is not supported"},
		{Name: "verbosity", Disposition: wire.Refused, Note: "these models have no verbosity setting", Neutral: []string{`"medium"`}},
		{Name: "moderation", Disposition: wire.Refused, Note: "there is no moderation"},
		{Name: "store", Disposition: wire.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "steering_concepts", Disposition: wire.Refused, Note: "steering concepts are not supported", Neutral: []string{`[]`}},
		{Name: "service_tier", Disposition: wire.Refused, Note: "there are no service tiers", Neutral: []string{`"auto"`, `"default"`}},
	},
)...)

// predictionRows describe a prediction.
var predictionRows = []wire.Parameter{
	{Name: "prediction", Remote: wire.Unused, Note: "text that the answer probably has, such as the one to edit: the same answer comes sooner where it does"},
	{Name: "prediction.type", Required: true, OneOf: []string{"content"}, Remote: wire.Unused, Note: "the kind of prediction"},
	{Name: "prediction.content", Required: true, Schema: contentSchema(), Remote: wire.Unused, Note: "the text, or parts of the type text"},
}

// messageRows describe the messages of a chat.
var messageRows = []wire.Parameter{
	{Name: "messages", Required: true, Count: wire.AtLeast(1), Noun: "message", Canonical: "prompt", Remote: wire.ByRecord, Note: "the chat so far"},
	{Name: "messages.role", Required: true, OneOf: []string{"system", "developer", "user", "assistant", "tool"}, Remote: wire.ByRecord, Note: "the author; developer is the newer name for system"},
	{Name: "messages.content", Schema: contentSchema(), Remote: wire.ByRecord, Note: "the text, or parts of the types text and image_url, whose texts are joined by a line feed; required unless there are tool_calls"},
	{Name: "messages.reasoning_content", Remote: wire.ByGlossa, Note: "what the assistant thought before its content; only for the role assistant; models see it where their chat template writes it"},
	{Name: "messages.reasoning", Remote: wire.ByGlossa, Note: "the same as reasoning_content"},
	{Name: "messages.thinking", Remote: wire.ByGlossa, Note: "the same as reasoning_content"},
	{Name: "messages.tool_calls", Remote: wire.ByRecord, Note: "the calls that the assistant made; only for the role assistant"},
	{Name: "messages.tool_calls.id", Required: true, NotEmpty: true, Remote: wire.ByRecord, Note: "unique within its message"},
	{Name: "messages.tool_calls.type", Required: true, OneOf: []string{"function"}, Remote: wire.ByRecord, Note: "the kind of call"},
	{Name: "messages.tool_calls.function", Required: true, Remote: wire.ByRecord, Note: "the function that was called"},
	{Name: "messages.tool_calls.function.name", Required: true, NotEmpty: true, Remote: wire.ByRecord, Note: "the name of the function"},
	{Name: "messages.tool_calls.function.arguments", Remote: wire.ByRecord, Note: "a JSON object, as a string; an empty string is {}"},
	{Name: "messages.tool_calls.function.parsed_arguments", Disposition: wire.NoEffect, Note: "SDKs parse it from arguments"},
	{Name: "messages.tool_calls.index", Disposition: wire.NoEffect, Note: "streams number calls with it"},
	{Name: "messages.tool_call_id", Remote: wire.ByRecord, Note: "the id of the earlier call that the message answers; required for the role tool, not allowed for others"},
	{Name: "messages.name", Note: "if users have different names, their texts begin with a line such as Ann said:; a result has the name of its call's function"},
	{Name: "messages.function_call", Disposition: wire.Refused, Note: noFunctions},
	{Name: "messages.refusal", Disposition: wire.Refused, Note: noRefusals, Neutral: []string{`""`}},
	{Name: "messages.annotations", Disposition: wire.Refused, Note: noAnnotations, Neutral: []string{`[]`}},
	{Name: "messages.audio", Disposition: wire.Refused, Note: "no model hears: messages are text and images"},
	{Name: "messages.parsed", Disposition: wire.NoEffect, Note: "SDKs parse it from content"},
	{Name: "messages.provider_specific_fields", Disposition: wire.NoEffect, Note: "LiteLLM copies keys of answers into it"},
}

// reasoningRows describe the keys of [reasoningKeys].
var reasoningRows = []wire.Parameter{
	{Name: "reasoning_effort", OneOf: efforts, Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "how much the model thinks before its answer; none turns it off, and models whose template has no levels think as they do by default; for models that reason"},
	{Name: "reasoning", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "sent by OpenRouter's clients"},
	{Name: "reasoning.effort", OneOf: efforts, Remote: wire.ByRecord, Note: "the same as reasoning_effort"},
	{Name: "reasoning.max_tokens", Bounds: wire.AtLeast(0), Remote: wire.ByRecord, Note: "the same as thinking_budget"},
	{Name: "reasoning.enabled", Remote: wire.ByRecord, Note: "the same as enable_thinking"},
	{Name: "reasoning.exclude", Default: false, Note: "whether to leave the reasoning out of the answer"},
	{Name: "thinking", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "sent by DeepSeek's and Z.ai's clients"},
	{Name: "thinking.type", Required: true, OneOf: []string{"enabled", "disabled", "adaptive"}, Remote: wire.ByRecord, Note: "the same as enable_thinking; adaptive leaves the choice to the model"},
	{Name: "thinking.budget_tokens", Bounds: wire.AtLeast(0), Remote: wire.ByRecord, Note: "the same as thinking_budget"},
	{Name: "enable_thinking", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "whether the model thinks before its answer; true is rejected by models that do not"},
	{Name: "thinking_budget", Bounds: wire.AtLeast(0), Absent: "no limit", Canonical: "max_thinking_tokens", Remote: wire.ByRecord, Note: "after this number of tokens the reasoning is closed, and the answer follows; the tokens count towards max_tokens"},
	{Name: "include_reasoning", Default: true, Note: "whether the answer has reasoning_content and reasoning"},
	{Name: "chat_template_kwargs", Schema: wire.AnyObject(), Remote: wire.ByRecord, Note: "variables of the model's chat template, such as enable_thinking; those that it does not read are rejected"},
	{Name: "chat_template", Disposition: wire.Refused, Note: ownTemplate},
}

// toolRows describe the tools of a chat. Custom tools are refused before their other keys
// are checked.
var toolRows = []wire.Parameter{
	{Name: "tools", Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Remote: wire.ByRecord, Note: "the functions that the answer may call"},
	{Name: "tools.custom", Disposition: wire.Refused, Note: "custom tools are not supported"},
	{Name: "tools.type", Required: true, OneOf: []string{"function"}, Remote: wire.ByRecord, Note: "the kind of tool"},
	{Name: "tools.function", Required: true, Remote: wire.ByRecord, Note: "the function"},
	{Name: "tools.function.name", Required: true, Schema: openaiapi.NameSchema(), Remote: wire.ByRecord, Note: "1 to 64 letters, digits, _ and -; unique"},
	{Name: "tools.function.description", Remote: wire.ByRecord, Note: "tells the model what the function does"},
	{Name: "tools.function.parameters", Schema: wire.AnyObject(), Absent: "no arguments", Remote: wire.ByRecord, Note: "a JSON Schema of the arguments"},
	{Name: "tools.function.strict", Disposition: wire.NoEffect, Note: alwaysStrict},
}

// samplingRows describe the keys of [sampling].
func samplingRows(temperature float64, stops int) []wire.Parameter {
	return []wire.Parameter{
		{Name: "temperature", Bounds: wire.Between(0, 2), Default: temperature, Remote: wire.ByRecord, Note: "0 is greedy"},
		{Name: "top_p", Bounds: wire.AboveUpTo(0, 1), Default: 1, Remote: wire.ByRecord, Note: "samples from the likeliest tokens whose probabilities add up to this"},
		{Name: "n", Bounds: wire.Between(1, maxChoices), Default: 1, Remote: wire.ByGlossa, Note: "the number of choices"},
		{Name: "stream", Default: false, Note: "whether to stream the answer as server-sent events"},
		{Name: "stream_options", Note: "only with stream"},
		{Name: "stream_options.include_usage", Default: false, Note: "whether to send usage in an extra last chunk without choices, instead of in the last chunk with choices"},
		{Name: "stream_options.include_obfuscation", Disposition: wire.Refused, Note: "chunks are not padded", Neutral: []string{`false`}},
		{Name: "stop", Count: wire.AtMost(float64(stops)), Noun: "string", NotEmpty: true, Remote: wire.ByRecord, Note: "a text ends before the first of these"},
		{Name: "seed", Absent: "random", Remote: wire.ByRecord, Note: "the same seed gives the same text"},
		{Name: "presence_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted from the logits of tokens that occurred"},
		{Name: "frequency_penalty", Bounds: wire.Between(-2, 2), Default: 0, Remote: wire.ByRecord, Note: "subtracted for each occurrence of a token"},
		{Name: "logit_bias", Bounds: wire.Between(-100, 100), TokenIDs: true, Remote: wire.ByRecord, Note: "token ids to biases"},
	}
}

// completionTable describes the body of POST /v1/completions.
var completionTable = wire.For[completionRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Required: true, NotEmpty: true, Note: modelNote},
		{Name: "prompt", Schema: promptSchema(0), Absent: "the start of a text", Canonical: "prompt", Remote: textsOnly, Note: "a text or token ids, or a list of either"},
		{Name: "max_tokens", Bounds: wire.AtLeast(0), Default: defaultTokens, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens to generate; 0 with echo scores the prompt"},
		{Name: "best_of", Bounds: wire.Between(1, maxChoices), Absent: "n", Remote: wire.ByRecord, Note: "generates this number of texts and returns the n likeliest; at least n, and exactly n in streams"},
		{Name: "echo", Default: false, Canonical: "return_full_text", Remote: wire.ByGlossa, Note: "whether the text begins with the prompt"},
		{Name: "logprobs", Bounds: wire.Between(0, maxTopLogprobs), Absent: "none", Remote: wire.NotRemote, Note: "the number of likeliest tokens to list at each position, besides the token of the text"},
		{Name: "suffix", Disposition: wire.Refused, Note: "text is only continued at its end", Neutral: []string{`""`}},
		{Name: "store", Disposition: wire.Refused, Note: "completions are not stored", Neutral: []string{`false`}},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
		{Name: "metadata", Disposition: wire.NoEffect, Note: "labels stored completions, and none are stored"},
	},
	samplingRows(1, maxTextStops),
)...)

// embeddingTable describes the body of POST /v1/embeddings, which no remote model answers.
var embeddingTable = wire.For[embeddingRequest](slices.Concat(embeddingRows(), embeddingNameRows())...)

// embeddingRows describe the keys without those of Jina and Voyage.
func embeddingRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "model", Absent: defaultModel, Note: modelNote},
		{Name: "input", Required: true, Schema: promptSchema(maxInputs), Canonical: "prompt", Remote: "texts; token ids are unsupported", Note: "a text or token ids, or a list of up to 2048 of either; none may be empty"},
		{Name: "encoding_format", OneOf: []string{"float", "base64"}, Default: "float", Note: "base64 encodes little-endian float32 values, of all vectors; weights of type sparse are always numbers"},
		{Name: "dimensions", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Canonical: "dimensions", Remote: wire.ByRecord, Note: firstValues},
		{Name: "truncate", Schema: wire.AnyOf(wire.Types("boolean"), wire.Types("string")), Absent: "false", Canonical: "truncate", Remote: wire.ByRecord, Note: "whether to cut the end of a text that is longer than the model's limit, instead of rejecting it; END is true, NONE is false"},
		{Name: "prompt_name", Canonical: "prompt_name", Absent: "the model's default", Remote: wire.ByRecord, Note: "the model's prompt, by name, to put before each text"},
		{Name: "input_type", OneOf: taskWords(), Canonical: "task", Remote: byRecordOrAll, Note: "what the vectors are for; chooses the model's prompt"},
		{Name: "task", OneOf: taskWords(), Canonical: "task", Remote: byRecordOrAll, Note: "the same as input_type"},
		{Name: "type", OneOf: embeddingTypes, Default: embeddingTypes[0], Canonical: "type", Remote: "dense; others are unsupported", Note: "the kind of embeddings, which the model must have: see embedding_types in /v1/models"},
		{Name: "return_tokens", Default: false, Remote: wire.NotRemote, Note: "whether to return tokens, the token of each weight or vector; only with type sparse or multi_vector"},
		{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
	}
}

// tokenizeTable describes the body of POST /tokenize, which no remote model answers.
var tokenizeTable = wire.For[tokenizeRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "model", Absent: defaultModel, Remote: wire.NotRemote, Note: modelNote},
		{Name: "prompt", Canonical: "prompt", Remote: wire.NotRemote, Note: "a text, in which special tokens are recognised; either prompt or messages is required"},
	},
	conversationRows(),
	[]wire.Parameter{
		{Name: "add_special_tokens", Absent: "as for generation", Remote: wire.NotRemote, Note: "whether to add the tokens that begin the model's prompts"},
		{Name: "add_generation_prompt", Default: true, Remote: wire.NotRemote, Note: "whether to add the tokens that begin an answer; only with messages"},
		{Name: "return_token_strs", Default: false, Remote: wire.NotRemote, Note: "whether to return token_strs, the tokens as spelled in the vocabulary"},
		{Name: "continue_final_message", Disposition: wire.Refused, Note: "an answer is always a new message", Neutral: []string{`false`}},
		{Name: "chat_template", Disposition: wire.Refused, Note: ownTemplate},
		{Name: "chat_template_kwargs", Schema: wire.AnyObject(), Remote: wire.NotRemote, Note: "as in /v1/chat/completions; only with messages"},
		{Name: "media_io_kwargs", Disposition: wire.Refused, Note: ownImages, Neutral: []string{`{}`}},
		{Name: "mm_processor_kwargs", Disposition: wire.Refused, Note: ownImages, Neutral: []string{`{}`}},
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
			p.Note = "as in /v1/chat/completions; only with messages"
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
	wire.Parameter{Name: "model", Remote: wire.NotRemote, Note: "a name, an alias or family/name; required if the server has several models and the path names none"},
)

// Parameters describes the keys of a chat; those inside of others are written with a dot.
func Parameters() []wire.Parameter { return chatTable.Parameters("") }

// CompletionParameters describes the keys of a completion.
func CompletionParameters() []wire.Parameter { return completionTable.Parameters("") }

// EmbeddingParameters describes the keys of a request for embeddings.
func EmbeddingParameters() []wire.Parameter { return embeddingTable.Parameters("") }

// taskWords lists the words for what vectors are for.
func taskWords() []string { return slices.Sorted(maps.Keys(tasks)) }
