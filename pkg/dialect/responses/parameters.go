package responses

import (
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

const (
	maxTopLogprobs = 20 // OpenAI's
	labelsCaller   = "labels the caller"
	sameAnswer     = "caching does not change answers"
	onlyModels     = "only the model calls tools"
)

// efforts are the words for how much a model reasons.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// The values of include that can have an effect here. The others are about hosted tools.
const (
	includeLogprobs  = "message.output_text.logprobs"
	includeEncrypted = "reasoning.encrypted_content"
)

// createTable describes the body of POST /v1/responses.
var createTable = wire.For[createRequest](
	wire.Parameter{Name: "model", Absent: "the first model in the list", Note: "a name, an alias or family/name"},
	wire.Parameter{Name: "input", Required: true, Schema: inputSchema(), Canonical: "prompt", Remote: wire.ByRecord, Note: "a text of the user, or the items so far: messages, calls, their outputs, reasoning"},
	wire.Parameter{Name: "instructions", Remote: wire.ByRecord, Note: "a system message before the input"},
	wire.Parameter{Name: "max_output_tokens", Bounds: wire.AtLeast(1), Absent: "up to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens to generate, reasoning included"},
	wire.Parameter{Name: "temperature", Bounds: wire.Between(0, 2), Default: 1, Remote: wire.ByRecord, Note: "0 is greedy"},
	wire.Parameter{Name: "top_p", Bounds: wire.AboveUpTo(0, 1), Default: 1, Remote: wire.ByRecord, Note: "samples from the likeliest tokens whose probabilities add up to this"},
	wire.Parameter{Name: "top_logprobs", Bounds: wire.Between(0, maxTopLogprobs), Absent: "none", Canonical: "logprobs", Remote: wire.NotRemote, Note: "returns the log-probability of each token, and this number of likeliest tokens at its position"},
	wire.Parameter{Name: "stream", Default: false, Note: "whether to stream the answer as server-sent events"},
	wire.Parameter{Name: "stream_options", Note: "has no key with an effect"},
	wire.Parameter{Name: "stream_options.include_obfuscation", Disposition: wire.Refused, Note: "events are not padded", Neutral: []string{`false`}},
	wire.Parameter{Name: "tools", Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Schema: wire.ListOf(wire.AnyOf(toolTable.Schema(), namespaceTable.Schema())), Remote: wire.ByRecord, Note: "the functions and custom tools that the answer may call, also in namespaces; hosted tools, such as web_search, are rejected, or with tool_choice auto left out if the model's record has \"unsupported\": \"drop\""},
	wire.Parameter{Name: "tool_choice", Schema: choiceSchema(), Default: "auto", Canonical: "must_call", Remote: wire.ByRecord, Note: "whether tools are called, and which"},
	wire.Parameter{Name: "parallel_tool_calls", Default: true, Canonical: "one_call", Remote: wire.ByRecord, Note: "whether the answer may have more than one call"},
	wire.Parameter{Name: "text", Absent: "text", Canonical: "schema", Remote: wire.Checked, Note: "the format of the answer"},
	wire.Parameter{Name: "text.format", Remote: wire.Checked, Note: "the answer is complete for every max_output_tokens; a limit below the shortest possible answer is rejected"},
	wire.Parameter{Name: "text.format.type", Required: true, OneOf: []string{"text", "json_object", "json_schema"}, Remote: wire.Checked, Note: "with json_object the answer is any JSON object"},
	wire.Parameter{Name: "text.format.schema", Schema: wire.AnyObject(), Remote: wire.Checked, Note: "a JSON Schema; required with type json_schema, not allowed with others; members follow its order, and unsupported keywords are rejected"},
	wire.Parameter{Name: "text.format.name", Disposition: wire.NoEffect, Note: "labels the schema"},
	wire.Parameter{Name: "text.format.description", Disposition: wire.NoEffect, Note: "describes the schema; it does not reach the model"},
	wire.Parameter{Name: "text.format.strict", Disposition: wire.NoEffect, Note: "answers always follow the schema"},
	wire.Parameter{Name: "text.verbosity", Disposition: wire.Refused, Note: "these models have no verbosity setting", Neutral: []string{`"medium"`}},
	wire.Parameter{Name: "reasoning", Absent: "as the model's chat template does", Remote: wire.ByRecord, Note: "for models that reason"},
	wire.Parameter{Name: "reasoning.effort", OneOf: efforts, Canonical: "reasoning_effort", Remote: wire.ByRecord, Note: "how much the model thinks before its answer; none turns it off, and models whose template has no levels think as they do by default"},
	wire.Parameter{Name: "reasoning.summary", OneOf: []string{"auto", "concise", "detailed"}, Note: "the reasoning is sent as its summary, whole, for clients that read summaries only"},
	wire.Parameter{Name: "reasoning.generate_summary", OneOf: []string{"auto", "concise", "detailed"}, Note: "the older name for reasoning.summary"},
	wire.Parameter{Name: "reasoning.context", Disposition: wire.Refused, Note: "the chat template decides which reasoning models see again", Neutral: []string{`"auto"`}},
	wire.Parameter{Name: "reasoning.mode", Disposition: wire.Refused, Note: "models have one mode", Neutral: []string{`"standard"`}},
	wire.Parameter{Name: "truncation", OneOf: []string{"auto", "disabled"}, Default: "disabled", Canonical: "truncate", Remote: wire.ByRecord, Note: "auto drops items from the beginning of a conversation that does not fit the context: whole turns, then steps of the last one; of an item that is too long itself, its beginning"},
	wire.Parameter{Name: "include", OneOf: []string{includeEncrypted, includeLogprobs}, Note: includeLogprobs + " returns the log-probability of each token; " + includeEncrypted + " has no effect, because reasoning is sent in clear"},
	openaiapi.Metadata("returned with the answer"),
	wire.Parameter{Name: "store", Default: true, Note: "whether the response is stored for 30 days, for its owner; an answer that could not be stored says so, and so does a server that stores none"},
	wire.Parameter{Name: "previous_response_id", Note: "a stored response: its items, those before it and its output precede the input; its instructions do not"},
	wire.Parameter{Name: "max_tool_calls", Disposition: wire.NoEffect, Note: "limits calls of hosted tools, and there are none"},
	wire.Parameter{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
	wire.Parameter{Name: "safety_identifier", Disposition: wire.NoEffect, Note: labelsCaller},
	wire.Parameter{Name: "prompt_cache_key", Disposition: wire.NoEffect, Note: sameAnswer},
	wire.Parameter{Name: "prompt_cache_retention", Disposition: wire.NoEffect, Note: sameAnswer},
	wire.Parameter{Name: "prompt_cache_options", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
	wire.Parameter{Name: "client_metadata", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: labelsCaller + "; sent by Codex"},
	wire.Parameter{Name: "conversation", Disposition: wire.Refused, Note: "there are no stored conversations: send previous_response_id"},
	wire.Parameter{Name: "background", Disposition: wire.Refused, Note: "answers are made while the client waits", Neutral: []string{`false`}},
	wire.Parameter{Name: "prompt", Disposition: wire.Refused, Note: "there are no stored prompts"},
	wire.Parameter{Name: "context_management", Disposition: wire.Refused, Note: "input is not compacted", Neutral: []string{`[]`}},
	wire.Parameter{Name: "moderation", Disposition: wire.Refused, Note: "there is no moderation"},
	wire.Parameter{Name: "service_tier", Disposition: wire.Refused, Note: "there are no service tiers", Neutral: []string{`"auto"`, `"default"`}},
)

// itemTable describes an item of the input. Each type has its keys: see [itemKeys].
var itemTable = wire.For[inputItem](
	wire.Parameter{Name: "type", OneOf: itemTypes(), Default: typeMessage, Note: "the kind of item"},
	wire.Parameter{Name: "id", Note: "identifies the item; of an item_reference: the item of a stored response, which takes its place"},
	wire.Parameter{Name: "status", Disposition: wire.NoEffect, Note: "belongs to the earlier answer"},
	wire.Parameter{Name: "created_by", Disposition: wire.NoEffect, Note: "labels the item"},
	wire.Parameter{Name: "role", OneOf: []string{"system", "developer", "user", "assistant"}, Note: "the author of a message, where it is required; developer is the newer name for system"},
	wire.Parameter{Name: "phase", Disposition: wire.NoEffect, Note: "labels a message; no template writes it"},
	wire.Parameter{Name: "content", Schema: wire.AnyOf(wire.Types("string"), wire.ListOf(partTable.Schema())), Note: "of a message: the text, or parts; of reasoning: parts of type reasoning_text"},
	wire.Parameter{Name: "call_id", Note: "of a call: its id; of an output: the id of the earlier call that it answers; a function_call_output may have name instead"},
	wire.Parameter{Name: "name", Note: "of a call: the tool; of an output: the tool if there is no call_id, else no effect"},
	wire.Parameter{Name: "namespace", Note: "of the tool that name names"},
	wire.Parameter{Name: "caller", Disposition: wire.Refused, Note: onlyModels, Neutral: []string{`{"type":"direct"}`}},
	wire.Parameter{Name: "arguments", Note: "of a function_call: a JSON object, as a string; an empty string is {}"},
	wire.Parameter{Name: "parsed_arguments", Disposition: wire.NoEffect, Schema: &wire.Schema{}, Note: "SDKs parse it from arguments"},
	wire.Parameter{Name: "input", Note: "of a custom_tool_call: a text"},
	wire.Parameter{Name: "output", Schema: wire.AnyOf(wire.Types("string"), wire.ListOf(partTable.Schema())), Note: "of an output: a text, or parts of the types input_text and input_image"},
	wire.Parameter{Name: "summary", Schema: wire.ListOf(partTable.Schema()), Note: "of reasoning: parts of type summary_text; models see it if there is no content"},
	wire.Parameter{Name: "encrypted_content", Disposition: wire.Refused, Note: "the reasoning of other servers cannot be read", Neutral: []string{`""`}},
)

// partTable describes a part of an item.
var partTable = wire.For[inputPart](
	wire.Parameter{Name: "type", Required: true, OneOf: partTypes, Note: "the kind of part"},
	wire.Parameter{Name: "text", Note: "the text"},
	wire.Parameter{Name: "refusal", Note: "the text of a refusal"},
	wire.Parameter{Name: "image_url", Remote: wire.ByRecord, Note: "of input_image: the image itself, as data:image/png;base64,... (or jpeg, gif, webp), of at most 3,750,000 bytes; the server fetches nothing"},
	wire.Parameter{Name: "detail", Disposition: wire.NoEffect, Note: "the models choose their resolution"},
	wire.Parameter{Name: "file_id", Disposition: wire.Refused, Note: "stored files are those of batches: send image_url"},
	wire.Parameter{Name: "annotations", Disposition: wire.Refused, Note: "no template writes annotations", Neutral: []string{`[]`}},
	wire.Parameter{Name: "prompt_cache_breakpoint", Disposition: wire.NoEffect, Schema: wire.AnyObject(), Note: sameAnswer},
	wire.Parameter{Name: "logprobs", Disposition: wire.NoEffect, Schema: &wire.Schema{}, Note: "belongs to the earlier answer"},
	wire.Parameter{Name: "parsed", Disposition: wire.NoEffect, Schema: &wire.Schema{}, Note: "SDKs parse it from text"},
)

// toolTable describes a tool. Hosted tools are refused before their other keys are checked.
var toolTable = wire.For[tool](
	wire.Parameter{Name: "type", Required: true, OneOf: toolTypes, Note: "the kind of tool"},
	wire.Parameter{Name: "name", Required: true, Schema: openaiapi.NameSchema(), Note: "1 to 64 letters, digits, _ and -; unique"},
	wire.Parameter{Name: "description", Note: "tells the model what the tool does"},
	wire.Parameter{Name: "parameters", Schema: wire.AnyObject(), Absent: "no arguments", Note: "of a function: a JSON Schema of the arguments"},
	wire.Parameter{Name: "strict", Disposition: wire.NoEffect, Note: "arguments always follow the schema"},
	wire.Parameter{Name: "format", Note: "of a custom tool: the format of its input"},
	wire.Parameter{Name: "format.type", Required: true, OneOf: []string{"text", "grammar"}, Note: "text: the input is any text"},
	wire.Parameter{Name: "format.syntax", OneOf: []string{"regex", "lark"}, Note: "of a grammar, where it is required: regex; lark is not supported"},
	wire.Parameter{Name: "format.definition", Note: "of a grammar, where it is required: the regular expression that the whole input matches"},
	wire.Parameter{Name: "defer_loading", Disposition: wire.Refused, Note: "there is no search for tools", Neutral: []string{`false`}},
	wire.Parameter{Name: "output_schema", Disposition: wire.Refused, Note: "outputs are not checked"},
	wire.Parameter{Name: "allowed_callers", Disposition: wire.Refused, Note: onlyModels, Neutral: []string{`["direct"]`}},
)

// namespaceTable describes a namespace of tools.
var namespaceTable = wire.For[namespace](
	wire.Parameter{Name: "type", Required: true, OneOf: []string{typeNamespace}, Note: "the kind of tool"},
	wire.Parameter{Name: "name", Required: true, Schema: openaiapi.NameSchema(), Note: "models know a tool as NAMESPACE__NAME, of at most 64 characters"},
	wire.Parameter{Name: "description", Note: "tells the model what the tools are for"},
	wire.Parameter{Name: "tools", Required: true, Count: wire.AtMost(openaiapi.MaxTools), Noun: "tool", Schema: wire.ListOf(toolTable.Schema()), Note: "functions and custom tools"},
)

// choiceTable describes a tool_choice that is an object.
var choiceTable = wire.For[toolChoice](
	wire.Parameter{Name: "type", Required: true, OneOf: []string{"function", "custom", "allowed_tools"}, Note: "the kind of choice"},
	wire.Parameter{Name: "name", Note: "the name of one of tools; required with type function and custom, not allowed with others"},
	wire.Parameter{Name: "mode", OneOf: []string{"auto", "required"}, Note: "whether one of them must be called; required with type allowed_tools, not allowed with others"},
	wire.Parameter{Name: "tools", Note: "some of tools; required with type allowed_tools, not allowed with others"},
	wire.Parameter{Name: "tools.type", Required: true, OneOf: toolTypes, Note: "the kind of tool"},
	wire.Parameter{Name: "tools.name", Required: true, Note: "the name of one of tools"},
)

// retrieveTable describes the query string of GET /v1/responses/{response_id}.
var retrieveTable = wire.For[retrieveQuery](
	wire.Parameter{Name: "include[]", Disposition: wire.NoEffect, Note: "the response is as it was sent"},
	wire.Parameter{Name: "stream", OneOf: []string{"false"}, Note: "stored responses are not streamed"},
)

// itemsTable describes the query string of GET /v1/responses/{response_id}/input_items.
var itemsTable = wire.For[itemsQuery](
	wire.Parameter{Name: "limit", Bounds: wire.Between(1, 100), Default: defaultItems, Note: "the number of items of a page"},
	wire.Parameter{Name: "order", OneOf: []string{"asc", "desc"}, Default: "desc", Note: "desc begins with the last item"},
	wire.Parameter{Name: "after", Note: "the id of the last item of the page before"},
	wire.Parameter{Name: "include[]", Disposition: wire.NoEffect, Note: "items are as they were sent"},
)

// inputSchema describes the key input.
func inputSchema() *wire.Schema {
	items := wire.ListOf(itemTable.Schema())
	items.MinItems = new(1)
	return wire.AnyOf(wire.Types("string"), items)
}

// choiceSchema describes the key tool_choice.
func choiceSchema() *wire.Schema {
	word := wire.Types("string")
	word.Enum = []any{"none", "auto", "required"}
	return wire.AnyOf(word, choiceTable.Schema())
}

// Parameters describes the keys of POST /v1/responses.
func Parameters() []wire.Parameter { return createTable.Parameters("") }
