package ollama

import (
	"slices"

	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

const (
	maxStops  = 16
	maxInputs = 2048
	ofMachine = "the operator sets what runs how"
)

// chatTable describes the body of POST /api/chat.
var chatTable = wire.For[chatRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "messages", Absent: "nothing: the model is loaded", Canonical: "prompt", Remote: wire.ByRecord, Note: "the chat so far"},
		{Name: "messages.role", Required: true, OneOf: []string{"system", "user", "assistant", "tool"}, Note: "the author"},
		{Name: "messages.content", Note: "the text"},
		{Name: "messages.thinking", Note: "of an assistant: what it thought; models see it where their chat template writes it"},
		{Name: "messages.images", Remote: wire.ByRecord, Note: "images in base64, for models that read images"},
		{Name: "messages.tool_calls", Note: "of an assistant: its calls"},
		{Name: "messages.tool_calls.id", Note: "of the call"},
		{Name: "messages.tool_calls.type", OneOf: []string{"function"}, Note: "always function"},
		{Name: "messages.tool_calls.function", Required: true, Note: "what is called"},
		{Name: "messages.tool_calls.function.index", Disposition: wire.NoEffect, Note: "calls are in order"},
		{Name: "messages.tool_calls.function.name", Required: true, Note: "the function"},
		{Name: "messages.tool_calls.function.arguments", Schema: wire.AnyObject(), Absent: "{}", Note: "an object"},
		{Name: "messages.tool_name", Note: "of a tool: the function whose call it answers; else it answers the first call without a result"},
		{Name: "messages.tool_call_id", Note: "of a tool: the call that it answers"},
		{Name: "messages.name", Disposition: wire.NoEffect, Note: "no template writes it"},
		{Name: "tools", Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Remote: wire.ByRecord, Note: "the functions that the answer may call"},
		{Name: "tools.type", OneOf: []string{"function"}, Note: "always function"},
		{Name: "tools.function", Required: true, Note: "the function"},
		{Name: "tools.function.name", Required: true, Note: "1 to 64 letters, digits, _ and -"},
		{Name: "tools.function.description", Note: "tells the model what the function does"},
		{Name: "tools.function.parameters", Schema: wire.AnyObject(), Absent: "no arguments", Note: "a JSON Schema of the arguments"},
		{Name: "tools.function.strict", Disposition: wire.NoEffect, Note: "arguments always follow the schema"},
	},
	settingsRows(),
)...)

// generateTable describes the body of POST /api/generate.
var generateTable = wire.For[generateRequest](slices.Concat(
	[]wire.Parameter{
		{Name: "prompt", Absent: "nothing: the model is loaded", Remote: wire.ByRecord, Note: "a message of the user or, with raw, the prompt itself"},
		{Name: "system", Remote: wire.ByRecord, Note: "a system message before the prompt; not with raw"},
		{Name: "raw", Default: false, Note: "whether the prompt is read without the chat template"},
		{Name: "suffix", Disposition: wire.Refused, Note: "models do not fill gaps", Neutral: []string{`""`}},
		{Name: "template", Disposition: wire.Refused, Note: "templates are those of the model's files: use raw", Neutral: []string{`""`}},
		{Name: "context", Disposition: wire.Refused, Note: "use /api/chat with the earlier messages", Neutral: []string{`[]`}},
		{Name: "images", Remote: wire.ByRecord, Note: "images in base64, for models that read images"},
		{Name: "width", Disposition: wire.Refused, Note: "models make no images", Neutral: []string{`0`}},
		{Name: "height", Disposition: wire.Refused, Note: "models make no images", Neutral: []string{`0`}},
		{Name: "steps", Disposition: wire.Refused, Note: "models make no images", Neutral: []string{`0`}},
	},
	settingsRows(),
)...)

// modelRow describes model.
var modelRow = wire.Parameter{Name: "model", Required: true, Note: "a name, an alias or family/name; the tag latest may follow"}

// settingsRows describe the keys that chats and texts have in common.
func settingsRows() []wire.Parameter {
	return slices.Concat([]wire.Parameter{
		modelRow,
		{Name: "format", Schema: wire.AnyOf(wire.Types("string"), wire.AnyObject()), Absent: "text", Canonical: "schema", Remote: wire.Checked, Note: "json for any JSON object, or a JSON Schema; the answer is complete for every num_predict"},
		{Name: "stream", Default: true, Note: "whether to stream the answer as lines of JSON"},
		{Name: "think", Schema: wire.AnyOf(wire.Types("boolean"), wire.Types("string")), Absent: "as the model's chat template does", Canonical: "thinking", Remote: wire.ByRecord, Note: "whether the model thinks before its answer, or how much: low, medium, high"},
		keepAliveRow(),
		{Name: "logprobs", Default: false, Remote: wire.NotRemote, Note: "whether to return log-probabilities"},
		{Name: "top_logprobs", Bounds: wire.Between(0, 20), Absent: "none", Canonical: "logprobs", Remote: wire.NotRemote, Note: "returns this number of likeliest tokens at each position; only with logprobs"},
	}, optionRows())
}

func keepAliveRow() wire.Parameter {
	return wire.Parameter{
		Name: "keep_alive", Schema: wire.AnyOf(wire.Types("string"), wire.Types("number")), Absent: "as before: at first, until others need its memory", Remote: wire.Unused,
		Note: "how long the model stays in memory after its last use: seconds, or a duration such as 5m; 0 frees its memory at once, and without a prompt it is not loaded; below 0 it stays until others need its memory. With keys and users, only administrators set it",
	}
}

// optionRows describe the options.
func optionRows() []wire.Parameter {
	rows := []wire.Parameter{
		{Name: "options", Note: "settings of the generation"},
		{Name: "options.num_predict", Bounds: wire.AtLeast(-2), Absent: "up to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens to generate, thinking included; -1 and -2 are up to the end of the context"},
		{Name: "options.temperature", Bounds: wire.AtLeast(0), Default: 0.8, Canonical: "temperature", Remote: wire.ByRecord, Note: "0 is greedy"},
		{Name: "options.top_k", Bounds: wire.AtLeast(0), Default: 40, Canonical: "top_k", Remote: wire.ByRecord, Note: "samples from this number of likeliest tokens; 0 is all"},
		{Name: "options.top_p", Bounds: wire.Between(0, 1), Default: 0.9, Canonical: "top_p", Remote: wire.ByRecord, Note: "samples from the likeliest tokens whose probabilities add up to this; 0 is greedy"},
		{Name: "options.typical_p", Bounds: wire.Between(0, 1), Default: 1, Canonical: "typical_p", Remote: wire.ByRecord, Note: "samples from typical tokens, instead of top_p"},
		{Name: "options.repeat_penalty", Bounds: wire.Above(0), Default: 1, Canonical: "repetition_penalty", Remote: wire.ByRecord, Note: "above 1 makes repetitions less likely"},
		{Name: "options.presence_penalty", Bounds: wire.Between(-2, 2), Default: 0, Canonical: "presence_penalty", Remote: wire.ByRecord, Note: "above 0 makes tokens that occurred less likely"},
		{Name: "options.frequency_penalty", Bounds: wire.Between(-2, 2), Default: 0, Canonical: "frequency_penalty", Remote: wire.ByRecord, Note: "above 0 makes frequent tokens less likely"},
		{Name: "options.seed", Absent: "random", Canonical: "seed", Remote: wire.ByRecord, Note: "the same seed gives the same answer"},
		{Name: "options.stop", Count: wire.AtMost(maxStops), Noun: "string", NotEmpty: true, Canonical: "stop", Remote: wire.ByRecord, Note: "texts that end the answer"},
		{Name: "options.num_ctx", Disposition: wire.NoEffect, Note: "the context is the model's"},
		{Name: "options.num_keep", Disposition: wire.NoEffect, Note: "prompts are not shifted"},
		{Name: "options.repeat_last_n", Disposition: wire.NoEffect, Note: "penalties count the whole answer"},
		{Name: "options.mirostat_tau", Disposition: wire.NoEffect, Note: "belongs to mirostat"},
		{Name: "options.mirostat_eta", Disposition: wire.NoEffect, Note: "belongs to mirostat"},
		{Name: "options.penalize_newline", Disposition: wire.NoEffect, Note: "penalties count every token"},
		{Name: "options.mirostat", Disposition: wire.Refused, Note: "there is no such sampler", Neutral: []string{`0`}},
		{Name: "options.min_p", Disposition: wire.Refused, Note: "there is no such sampler", Neutral: []string{`0`, `0.0`}},
		{Name: "options.tfs_z", Disposition: wire.Refused, Note: "there is no such sampler", Neutral: []string{`1`, `1.0`}},
		{Name: "options.logits_all", Disposition: wire.Refused, Note: "send logprobs", Neutral: []string{`false`}},
		{Name: "options.vocab_only", Disposition: wire.Refused, Note: "models are loaded whole", Neutral: []string{`false`}},
		{Name: "options.embedding_only", Disposition: wire.Refused, Note: "the model's files say what it does", Neutral: []string{`false`}},
	}
	for _, name := range []string{"num_batch", "num_gpu", "main_gpu", "num_thread", "numa", "low_vram", "f16_kv", "use_mmap", "use_mlock"} {
		rows = append(rows, wire.Parameter{Name: "options." + name, Disposition: wire.NoEffect, Note: ofMachine})
	}
	return rows
}

// embedTable describes the body of POST /api/embed.
var embedTable = wire.For[embedRequest](
	modelRow,
	wire.Parameter{Name: "input", Required: true, Count: wire.AtMost(maxInputs), Noun: "text", Canonical: "prompt", Note: "a text or several; an empty list has no vectors"},
	wire.Parameter{Name: "truncate", Absent: "true, where the model can", Remote: wire.ByRecord, Note: "whether to cut texts that are too long, instead of rejecting them"},
	wire.Parameter{Name: "dimensions", Bounds: wire.AtLeast(1), Absent: "all", Remote: wire.ByRecord, Note: "length of the vectors"},
	vectorOptions, keepAliveRow(),
)

// embeddingsTable describes the body of POST /api/embeddings.
var embeddingsTable = wire.For[embeddingsRequest](modelRow, wire.Parameter{Name: "prompt", Note: "a text; an empty one has an empty vector"}, vectorOptions, keepAliveRow())

var vectorOptions = wire.Parameter{Name: "options", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: "they do not change vectors"}

// showTable describes the body of POST /api/show.
var showTable = wire.For[showRequest](
	wire.Parameter{Name: "model", Note: modelRow.Note},
	wire.Parameter{Name: "name", Note: "the older name of model"},
	wire.Parameter{Name: "verbose", Disposition: wire.NoEffect, Note: "there is no more to tell"},
)

// Parameters describes the keys of POST /api/chat.
func Parameters() []wire.Parameter { return chatTable.Parameters("") }
