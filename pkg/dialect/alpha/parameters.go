package alpha

import (
	"slices"

	"glossa/pkg/wire"
)

// Values that several rows share.
const (
	modelNote = "a name, an alias or family/name"
	firstOne  = "the first model"
	cutSteps  = "values above 500 are reduced to 500"
)

// inferenceTable describes the query string of GET /api/inference.
var inferenceTable = wire.For[inferenceRequest](
	wire.Parameter{Name: "query", Required: true, Missing: emptyPrompt, Canonical: "prompt", Note: "the prompt; the answer begins with it"},
	wire.Parameter{Name: "model", Absent: firstOne, Note: modelNote},
	wire.Parameter{Name: "steps", Bounds: wire.AtLeast(0), Default: defaultSteps, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: cutSteps},
	wire.Parameter{Name: "temp", Bounds: wire.AtLeast(0), Default: 0.8, Canonical: "temperature", Remote: wire.ByRecord, Note: "0 is greedy"},
	wire.Parameter{Name: "topk", Bounds: wire.AtLeast(0), Default: 40, Canonical: "top_k", Remote: wire.ByRecord, Note: "0 is off"},
)

// chatTable describes the body of POST /api/chat.
var chatTable = wire.For[chatRequest](
	wire.Parameter{Name: "messages", Canonical: "prompt", Remote: wire.ByRecord, Note: "the chat; at least one text must not be empty"},
	wire.Parameter{Name: "messages.role", Required: true, OneOf: []string{"system", "user", "assistant"}, Remote: wire.ByRecord},
	wire.Parameter{Name: "messages.content", Remote: wire.ByRecord, Note: "the text, unless there are parts"},
	wire.Parameter{Name: "messages.parts", Schema: wire.ListOf(wire.AnyObject()), Remote: wire.ByRecord, Note: "parts of type text, as the AI SDK sends them instead of content"},
	wire.Parameter{Name: "messages.id", Disposition: wire.NoEffect, Note: "the AI SDK's id of the message"},
	wire.Parameter{Name: "messages.metadata", Disposition: wire.NoEffect, Note: "the AI SDK's metadata of the message"},
	wire.Parameter{Name: "model", Absent: firstOne, Note: modelNote},
	wire.Parameter{Name: "maxTokens", Bounds: wire.AtLeast(1), Default: defaultSteps, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: cutSteps},
	wire.Parameter{Name: "temperature", Bounds: wire.AtLeast(0), Default: 0.8, Remote: wire.ByRecord, Note: "0 is greedy"},
	wire.Parameter{Name: "topk", Bounds: wire.AtLeast(0), Default: 40, Canonical: "top_k", Remote: wire.ByRecord, Note: "0 is off"},
	wire.Parameter{Name: "id", Disposition: wire.NoEffect, Note: "the AI SDK's id of the chat"},
	wire.Parameter{Name: "trigger", Disposition: wire.NoEffect, Note: "whether the AI SDK regenerates an answer; the messages already end before it"},
	wire.Parameter{Name: "messageId", Disposition: wire.NoEffect, Note: "the AI SDK's id of that answer"},
)

// generateTable describes the query string of /api/generate and the body of its POST.
var generateTable = wire.For[generateRequest](
	wire.Parameter{Name: "prompt", Note: "not empty"},
	wire.Parameter{Name: "model", Absent: firstOne, Note: modelNote},
	wire.Parameter{Name: "max_tokens", Bounds: wire.AtLeast(1), Default: defaultGenerate, Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "higher values are reduced to the default"},
	wire.Parameter{Name: "temperature", Bounds: wire.AtLeast(0), Default: 0.7, Remote: wire.ByRecord, Note: "0 is greedy"},
)

// metricsTable describes the query string of GET /api/models/{name}/metrics.
var metricsTable = wire.For[metricsRequest](
	wire.Parameter{Name: "from", Bounds: wire.AtLeast(0), Default: 0, Note: "an offset in metrics.jsonl: the field next of the previous answer"},
)

// removeTable describes the query string of DELETE /api/models.
var removeTable = wire.For[removeRequest](
	wire.Parameter{Name: "name", Required: true, Missing: missingName, Note: "the name of the model"},
)

// uploadTable describes the body of POST /api/upload as JSON.
var uploadTable = wire.For[uploadRequest](
	wire.Parameter{Name: "name", Required: true, Missing: missingFields, Note: "the name of the model; or X-Checkpoint-Name"},
	wire.Parameter{Name: "config", Required: true, Missing: missingFields, Schema: wire.AnyObject(), Note: "config.json; or X-Checkpoint-Config, in base64"},
	wire.Parameter{Name: "checkpoint", Schema: wire.AnyObject(), Note: "a checkpoint as JSON; or the body, in either encoding"},
	wire.Parameter{Name: "step", Required: true, Missing: missingFields, Bounds: wire.AtLeast(0), Note: "the training step; or X-Checkpoint-Step"},
	wire.Parameter{Name: "metrics", Note: "metrics.jsonl; or X-Checkpoint-Metrics, in base64"},
	wire.Parameter{Name: "trainingData", Note: "training-data.txt; or X-Checkpoint-TrainingData, in base64"},
)

// uploadHeaders describe the headers of POST /api/upload with a file as its body.
var uploadHeaders = []wire.Parameter{
	{Name: "X-Checkpoint-Name", Note: "the name of the model"},
	{Name: "X-Checkpoint-Step", Schema: wire.Types("integer"), Note: "the training step"},
	{Name: "X-Checkpoint-Config", Note: "config.json in base64"},
	{Name: "X-Checkpoint-Metrics", Note: "metrics.jsonl in base64"},
	{Name: "X-Checkpoint-TrainingData", Note: "training-data.txt in base64"},
}

// beginTable describes the body of POST /api/uploads.
var beginTable = wire.For[beginRequest](
	wire.Parameter{Name: "name", Required: true, Note: "the name of the model"},
	wire.Parameter{Name: "size", Note: "bytes of the file"},
	wire.Parameter{Name: "partSize", Bounds: wire.AtLeast(0), Absent: "one part", Note: "bytes of every part except the last; at most 200 parts of 5 GiB"},
	wire.Parameter{Name: "sha256", Note: "SHA-256 of the file in hexadecimal, which the file must match"},
	wire.Parameter{Name: "quant", Absent: "f32 for checkpoints, stored for quantised GGUF, q8_0 for other GGUF", Note: "f32, bf16, q8_0, q8_128, q6_k, q4_k, q4_0 or stored; a packed model has its own format"},
	wire.Parameter{Name: "step", Note: "for checkpoints: the training step"},
	wire.Parameter{Name: "config", Schema: wire.AnyObject(), Note: "for checkpoints: config.json"},
	wire.Parameter{Name: "metrics", Note: "for checkpoints: metrics.jsonl"},
	wire.Parameter{Name: "trainingData", Note: "for checkpoints: training-data.txt"},
)

// chunkHeaders describe the headers of POST /api/upload/chunk.
var chunkHeaders = []wire.Parameter{
	{Name: "X-Upload-Id", Required: true, Note: "chosen by the client"},
	{Name: "X-Chunk-Index", Required: true, Schema: wire.Types("integer"), Note: "from 0"},
	{Name: "X-Total-Chunks", Required: true, Schema: wire.Types("integer"), Note: "of all chunks"},
}

// assembleTable describes the body of POST /api/upload/assemble.
var assembleTable = wire.For[assembleRequest](
	wire.Parameter{Name: "uploadId", Required: true, Missing: missingAssembly, Note: "X-Upload-Id of the chunks"},
	wire.Parameter{Name: "totalChunks", Required: true, Missing: missingAssembly, Note: "X-Total-Chunks; all must have arrived, in any order"},
	wire.Parameter{Name: "name", Required: true, Missing: missingAssembly, Note: "the name of the model"},
	wire.Parameter{Name: "step", Required: true, Missing: missingAssembly, Bounds: wire.AtLeast(0), Note: "the training step"},
	wire.Parameter{Name: "config", Required: true, Missing: missingAssembly, Schema: wire.AnyObject(), Note: "config.json"},
	wire.Parameter{Name: "metrics", Note: "metrics.jsonl"},
	wire.Parameter{Name: "trainingData", Note: "training-data.txt"},
)

// Parameters lists the rows of all requests, named "route key", for documentation.
func Parameters() []wire.Parameter {
	return slices.Concat(
		inferenceTable.Parameters("/api/inference "), chatTable.Parameters("/api/chat "), generateTable.Parameters("/api/generate "),
		metricsTable.Parameters("/api/models/{name}/metrics "), removeTable.Parameters("DELETE /api/models "), uploadTable.Parameters("/api/upload "),
		beginTable.Parameters("/api/uploads "), assembleTable.Parameters("/api/upload/assemble "),
	)
}
