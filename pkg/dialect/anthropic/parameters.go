package anthropic

import (
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

const (
	maxMessages  = 100_000 // Anthropic's
	maxSequences = 64
	labelsCaller = "labels the caller"
	sameAnswer   = "caching does not change answers"
)

// messageTable describes the body of POST /v1/messages.
var messageTable = wire.For[messageRequest](append([]wire.Parameter{
	{Name: "max_tokens", Required: true, Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens to generate, thinking included"},
	{Name: "stop_sequences", Count: wire.AtMost(maxSequences), Noun: "sequence", NotEmpty: true, Canonical: "stop", Remote: wire.ByRecord, Note: "texts that end the answer; stop_sequence tells which did"},
	{Name: "stream", Default: false, Note: "whether to stream the answer as server-sent events"},
	{Name: "temperature", Bounds: wire.Between(0, 1), Default: 1, Remote: wire.ByRecord, Note: "0 is greedy"},
	{Name: "top_p", Bounds: wire.Between(0, 1), Default: 1, Remote: wire.ByRecord, Note: "samples from the likeliest tokens whose probabilities add up to this; 0 is greedy"},
	{Name: "top_k", Bounds: wire.AtLeast(0), Absent: "all", Remote: wire.ByRecord, Note: "samples from this number of likeliest tokens; 0 is all"},
	{Name: "metadata", Note: "has no key with an effect"},
	{Name: "metadata.user_id", Disposition: wire.NoEffect, Note: labelsCaller},
	{Name: "service_tier", OneOf: []string{"auto", "standard_only"}, Disposition: wire.NoEffect, Note: "there is one tier"},
}, promptedRows()...)...)

// countTable describes the body of POST /v1/messages/count_tokens.
var countTable = wire.For[prompted](promptedRows()...)

// The number of models in a page. Anthropic's default of 20 would hide models from clients that
// read one page.
const defaultModels, maxModels = 1000, 1000

// listTable describes the query string of GET /v1/models.
var listTable = wire.For[listRequest](
	wire.Parameter{Name: "limit", Bounds: wire.Between(1, maxModels), Default: defaultModels, Note: "the number of models in a page"},
	wire.Parameter{Name: "after_id", Note: "returns the models that follow this one"},
	wire.Parameter{Name: "before_id", Note: "returns the models that come before this one; cannot be combined with after_id"},
)

// promptedRows describe the keys that both requests have.
func promptedRows() []wire.Parameter {
	return []wire.Parameter{
		{Name: "model", Absent: "the first model in the list", Note: "a name, an alias or family/name"},
		{Name: "messages", Required: true, Count: wire.Between(1, maxMessages), Noun: "message", Remote: wire.ByRecord, Note: "the turns so far; those of the same role that follow each other are one, and an answer continues a last message of the assistant"},
		{Name: "messages.role", Required: true, OneOf: []string{"user", "assistant", "system"}, Note: "the author"},
		{Name: "messages.content", Required: true, Schema: contentSchema(), Note: "the text, or blocks; texts of one message are joined by a line feed"},
		{Name: "system", Schema: contentSchema(), Remote: wire.ByRecord, Note: "a system message before the others: a text, or blocks of type text"},
		{Name: "tools", Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Schema: wire.ListOf(toolTable.Schema()), Remote: wire.ByRecord, Note: "the tools that the answer may call; those that run at Anthropic, such as web_search, and those without a schema are rejected"},
		{Name: "tool_choice", Canonical: "must_call", Remote: wire.ByRecord, Note: "whether tools are called, and which"},
		{Name: "tool_choice.type", Required: true, OneOf: []string{"auto", "any", "tool", "none"}, Note: "with any, one of the tools must be called, with tool the one that name says"},
		{Name: "tool_choice.name", Note: "required with type tool, not allowed with others"},
		{Name: "tool_choice.disable_parallel_tool_use", Default: false, Canonical: "one_call", Remote: wire.ByRecord, Note: "whether the answer has at most one call"},
		{Name: "thinking", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "for models that reason"},
		{Name: "thinking.type", Required: true, OneOf: []string{"enabled", "disabled", "adaptive"}, Canonical: "thinking", Remote: wire.ByRecord, Note: "whether the model thinks before its answer; adaptive leaves it to the model"},
		{Name: "thinking.budget_tokens", Bounds: wire.AtLeast(1), Canonical: "max_thinking_tokens", Remote: wire.ByRecord, Note: "thinking ends after this number of tokens; required with type enabled, not allowed with others, less than max_tokens; Anthropic's minimum of 1024 does not apply"},
		{Name: "thinking.display", OneOf: []string{"summarized", "omitted"}, Default: "summarized", Note: "summarized returns the thinking, whole; omitted leaves its text empty"},
		{Name: "output_config", Note: "the effort and the format"},
		{Name: "output_config.effort", OneOf: []string{"low", "medium", "high", "xhigh", "max"}, Canonical: "reasoning_effort", Remote: wire.ByRecord, Note: "how much a model thinks, where its template has levels; left out, and named in X-Glossa-Ignored, for local models that do not think"},
		{Name: "output_config.format", Remote: wire.Checked, Note: "the answer is complete for every max_tokens; a limit below the shortest possible answer is rejected"},
		{Name: "output_config.format.type", Required: true, OneOf: []string{"json_schema"}, Remote: wire.Checked, Note: "the kind of format"},
		{Name: "output_config.format.schema", Required: true, Schema: wire.AnyObject(), Canonical: "schema", Remote: wire.Checked, Note: "a JSON Schema; members follow its order, and unsupported keywords are rejected"},
		{Name: "output_format", Remote: wire.Checked, Note: "the older name for output_config.format"},
		{Name: "output_format.type", Required: true, OneOf: []string{"json_schema"}, Remote: wire.Checked, Note: "the kind of format"},
		{Name: "output_format.schema", Required: true, Schema: wire.AnyObject(), Remote: wire.Checked, Note: "a JSON Schema"},
		{Name: "cache_control", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
		{Name: "container", Disposition: wire.Refused, Note: "nothing runs at the server"},
		{Name: "context_management", Disposition: wire.Refused, Note: "messages are not edited", Neutral: []string{`{}`, `{"edits":[]}`, `{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`}},
		{Name: "diagnostics", Disposition: wire.Refused, Note: "there are no diagnostics"},
		{Name: "inference_geo", Disposition: wire.Refused, Note: "the operator chooses where models run"},
		{Name: "mcp_servers", Disposition: wire.Refused, Note: "the server calls no tools", Neutral: []string{`[]`}},
		{Name: "speed", Disposition: wire.Refused, Note: "there is one speed", Neutral: []string{`"standard"`}},
		{Name: threadKey, Disposition: wire.Refused, Note: "messages are not stored: send all of them"},
		{Name: "user_profile_id", Disposition: wire.Refused, Note: "keys name their owner"},
		{Name: "workspace_id", Disposition: wire.Refused, Note: "keys name their owner"},
	}
}

// toolTable describes a tool. Tools that run at Anthropic, or that it defines, are refused before
// their other keys are checked.
var toolTable = wire.For[tool](
	wire.Parameter{Name: "type", OneOf: []string{custom}, Default: custom, Note: "the kind of tool"},
	wire.Parameter{Name: "name", Required: true, Schema: nameSchema(), Note: "1 to 128 letters, digits, _ and -; unique"},
	wire.Parameter{Name: "description", Note: "tells the model what the tool does"},
	wire.Parameter{Name: "input_schema", Required: true, Schema: wire.AnyObject(), Note: "a JSON Schema of the arguments"},
	wire.Parameter{Name: "strict", Disposition: wire.NoEffect, Note: "arguments always follow the schema"},
	wire.Parameter{Name: "cache_control", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
	wire.Parameter{Name: "input_examples", Disposition: wire.Refused, Note: "no chat template writes examples: put them into the description", Neutral: []string{`[]`}},
	wire.Parameter{Name: "eager_input_streaming", Disposition: wire.NoEffect, Note: "arguments are always streamed as they come"},
	wire.Parameter{Name: "defer_loading", Disposition: wire.Refused, Note: "there is no search for tools", Neutral: []string{`false`}},
	wire.Parameter{Name: "allowed_callers", Disposition: wire.Refused, Note: "only the model calls tools", Neutral: []string{`["direct"]`}},
)

// blockTable describes a block. Each type has its keys: see [blockKeys].
var blockTable = wire.For[inputBlock](
	wire.Parameter{Name: "type", Required: true, OneOf: blockTypes(), Note: "the kind of block"},
	wire.Parameter{Name: "text", Note: "of text"},
	wire.Parameter{Name: "citations", Disposition: wire.Refused, Note: "no template writes citations", Neutral: []string{`[]`, `{"enabled":false}`}},
	wire.Parameter{Name: "source", Remote: wire.ByRecord, Note: "of image: the image itself; the server fetches nothing"},
	wire.Parameter{Name: "source.type", Required: true, OneOf: []string{"base64"}, Note: "how the image is written"},
	wire.Parameter{Name: "source.media_type", Required: true, Note: "image/jpeg, image/png, image/gif or image/webp"},
	wire.Parameter{Name: "source.data", Required: true, Note: "the image, of at most 3,750,000 bytes"},
	wire.Parameter{Name: "source.url", Disposition: wire.Refused, Note: "the server fetches nothing: send the image in base64"},
	wire.Parameter{Name: "source.file_id", Disposition: wire.Refused, Note: "there are no files of images: send the image in base64"},
	wire.Parameter{Name: "id", Note: "of tool_use: the id of the call"},
	wire.Parameter{Name: "name", Note: "of tool_use: the tool"},
	wire.Parameter{Name: "input", Schema: wire.AnyObject(), Note: "of tool_use: the arguments"},
	wire.Parameter{Name: "caller", Disposition: wire.Refused, Note: "only the model calls tools", Neutral: []string{`{"type":"direct"}`}},
	wire.Parameter{Name: "toolset_name", Disposition: wire.Refused, Note: "there are no toolsets"},
	wire.Parameter{Name: "tool_use_id", Note: "of tool_result: the id of the earlier call that it answers"},
	wire.Parameter{Name: "content", Schema: contentSchema(), Absent: "an empty text", Note: "of tool_result: a text, or blocks of type text"},
	wire.Parameter{Name: "is_error", Default: false, Note: "of tool_result: whether the call failed"},
	wire.Parameter{Name: "thinking", Note: "of thinking: the text; models see it where their chat template writes it"},
	wire.Parameter{Name: "signature", Disposition: wire.NoEffect, Note: "of thinking: nothing is signed"},
	wire.Parameter{Name: "data", Disposition: wire.NoEffect, Note: "of redacted_thinking: only the provider that encrypted it can read it"},
	wire.Parameter{Name: "cache_control", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
)

// contentSchema describes the content of a message or a result.
func contentSchema() *wire.Schema {
	return wire.AnyOf(wire.Types("string"), wire.ListOf(wire.AnyObject()))
}

// Parameters describes the keys of POST /v1/messages.
func Parameters() []wire.Parameter { return messageTable.Parameters("") }
