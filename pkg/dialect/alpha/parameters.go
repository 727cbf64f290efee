package alpha

import (
	"cmp"

	"glossa/pkg/wire"
)

// Parameters tells what becomes of each key of each request, named "route key".
// A key that is not here is refused.
func Parameters() []wire.Parameter {
	list := []wire.Parameter{
		{Name: "/api/inference query", Note: "the prompt, not empty; the answer begins with it"},
		{Name: "/api/inference model", Note: "a name, an alias or family/name; default: the first model"},
		{Name: "/api/inference steps", Note: "0 or more; default 200, and what is more than 500 is cut to that"},
		{Name: "/api/inference temp", Note: "0 (greedy) or more; default 0.8"},
		{Name: "/api/inference topk", Note: "0 (off) or more; default 40"},
		{Name: "/api/chat messages", Note: "role (system, user or assistant), and content, a string, or parts of type text, as the AI SDK has them beside id and metadata, which are without effect; not all empty"},
		{Name: "/api/chat model", Note: "as above"},
		{Name: "/api/chat maxTokens", Note: "1 or more; default 200, and what is more than 500 is cut to that"},
		{Name: "/api/chat temperature", Note: "0 (greedy) or more; default 0.8"},
		{Name: "/api/chat topk", Note: "0 (off) or more; default 40"},
		{Name: "/api/chat id", Disposition: wire.NoEffect, Note: "the AI SDK names the chat"},
		{Name: "/api/chat trigger", Disposition: wire.NoEffect, Note: "the AI SDK tells whether an answer is asked for anew: messages end before it"},
		{Name: "/api/chat messageId", Disposition: wire.NoEffect, Note: "the AI SDK names that answer"},
		{Name: "/api/generate prompt", Note: "not empty"},
		{Name: "/api/generate model", Note: "as above"},
		{Name: "/api/generate max_tokens", Note: "1 or more; default 2048, and what is more is cut to that"},
		{Name: "/api/generate temperature", Note: "0 (greedy) or more; default 0.7"},
		{Name: "/api/models/{name}/metrics from", Note: "a byte of metrics.jsonl, the next of the last answer; default 0"},
		{Name: "/api/upload name", Note: "the name of the model; or X-Checkpoint-Name"},
		{Name: "/api/upload config", Note: "config.json, an object; or X-Checkpoint-Config, base64"},
		{Name: "/api/upload checkpoint", Note: "a checkpoint as JSON; or the body, in either encoding"},
		{Name: "/api/upload step", Note: "0 or more; or X-Checkpoint-Step"},
		{Name: "/api/upload metrics", Note: "metrics.jsonl; or X-Checkpoint-Metrics, base64"},
		{Name: "/api/upload trainingData", Note: "training-data.txt; or X-Checkpoint-TrainingData, base64"},
		{Name: "/api/uploads name", Note: "the name of the model"},
		{Name: "/api/uploads size", Note: "of the file in bytes"},
		{Name: "/api/uploads partSize", Note: "of all parts but the last, in bytes; default: all in one; at most 200 parts of 5 GiB"},
		{Name: "/api/uploads sha256", Note: "of the file, hexadecimal; what comes is held to it"},
		{Name: "/api/uploads quant", Note: "f32, bf16, q8_0 or q4_0; default f32 of checkpoints, q8_0 of GGUF; a packed model has its own"},
		{Name: "/api/uploads step", Note: "of checkpoints: 0 or more"},
		{Name: "/api/uploads config", Note: "of checkpoints: config.json, an object"},
		{Name: "/api/uploads metrics", Note: "of checkpoints: metrics.jsonl"},
		{Name: "/api/uploads trainingData", Note: "of checkpoints: training-data.txt"},
		{Name: "/api/upload/assemble uploadId", Note: "X-Upload-Id of its chunks"},
		{Name: "/api/upload/assemble totalChunks", Note: "X-Total-Chunks; all must have come, in any order"},
		{Name: "/api/upload/assemble name", Note: "the name of the model"},
		{Name: "/api/upload/assemble step", Note: "0 or more"},
		{Name: "/api/upload/assemble config", Note: "config.json, an object"},
		{Name: "/api/upload/assemble metrics", Note: "metrics.jsonl"},
		{Name: "/api/upload/assemble trainingData", Note: "training-data.txt"},
	}
	for i := range list {
		list[i].Disposition = cmp.Or(list[i].Disposition, wire.Honoured)
	}
	return wire.Remotely(list, wire.ByRecord, "/api/inference steps", "/api/inference temp", "/api/inference topk",
		"/api/chat messages", "/api/chat maxTokens", "/api/chat temperature", "/api/chat topk", "/api/generate max_tokens", "/api/generate temperature")
}
