// Package alpha speaks the API of Alpha's own web dashboard and training machines:
// models, inference, chat, generate and upload. It knows HTTP and llm. A [Publisher] stores
// checkpoints and knows their format.
//
// Source: Alpha's documentation, "Internal endpoints", and the server that it describes.
package alpha

import (
	"encoding/json"

	"glossa/pkg/llm"
)

// modelObject is an element of GET /api/models.
type modelObject struct {
	ID          string          `json:"id" doc:"name for requests"`
	RunID       string          `json:"runId" doc:"id of the training run"`
	Name        string          `json:"name" doc:"name of the model"`
	Step        int             `json:"step" doc:"training steps"`
	Mtime       float64         `json:"mtime" doc:"milliseconds since 1970"`
	LastLoss    *float64        `json:"lastLoss" doc:"loss of the last step, nats per token"`
	ModelConfig json.RawMessage `json:"modelConfig" doc:"shape of the model"`
	TrainConfig json.RawMessage `json:"trainConfig" doc:"settings of the training"`
	Domain      string          `json:"domain" doc:"what the model was trained on"`
}

// metricsRequest is the query string of GET /api/models/{name}/metrics.
type metricsRequest struct {
	From *int `json:"from"`
}

// metricsObject is the answer to a metricsRequest. Offsets are bytes of metrics.jsonl.
type metricsObject struct {
	Name    string            `json:"name" doc:"name of the model"`
	From    int64             `json:"from" doc:"byte of the log at which metrics begin"`
	Next    int64             `json:"next" doc:"value of from for the next request"`
	More    bool              `json:"more" doc:"whether more metrics are stored already"`
	Metrics []json.RawMessage `json:"metrics" doc:"the measurements, oldest first"`
}

// removeRequest is the query string of DELETE /api/models.
type removeRequest struct {
	Name string `json:"name"`
}

// deleted is the answer to DELETE /api/models.
type deleted struct {
	OK      bool   `json:"ok" doc:"always true"`
	Deleted string `json:"deleted" doc:"name of the deleted model"`
}

// inferenceRequest is the query string of GET /api/inference.
type inferenceRequest struct {
	Query string   `json:"query"`
	Model string   `json:"model"`
	Steps *int     `json:"steps"`
	Temp  *float64 `json:"temp"`
	TopK  *int     `json:"topk"`
}

// token is an event of /api/inference.
type token struct {
	Token string `json:"token" doc:"the text of the token"`
}

// chatRequest is the body of POST /api/chat. The keys after TopK are the AI SDK's.
type chatRequest struct {
	Messages    []message `json:"messages"`
	Model       string    `json:"model"`
	MaxTokens   *int      `json:"maxTokens"`
	Temperature *float64  `json:"temperature"`
	TopK        *int      `json:"topk"`
	ID          string    `json:"id"`
	Trigger     string    `json:"trigger"`
	MessageID   string    `json:"messageId"`
}

// message is a turn. The keys after Content are the AI SDK's.
type message struct {
	Role     string            `json:"role"`
	Content  *string           `json:"content"`
	Parts    []json.RawMessage `json:"parts"`
	ID       string            `json:"id"`
	Metadata json.RawMessage   `json:"metadata"`
}

// generateRequest is the query string of /api/generate and its body. The query string
// overrides the body.
type generateRequest struct {
	Prompt      string   `json:"prompt"`
	MaxTokens   *int     `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Model       string   `json:"model"`
}

// generated is the answer of /api/generate.
type generated struct {
	Text  string `json:"text" doc:"the generated text"`
	Model string `json:"model" doc:"name of the model"`
	Usage *usage `json:"usage,omitempty" doc:"absent if a remote provider omits part of it"`
}

type usage struct {
	PromptTokens     int      `json:"prompt_tokens" doc:"tokens of the prompt"`
	CompletionTokens int      `json:"completion_tokens" doc:"generated tokens"`
	Cost             llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// uploadRequest is the body of POST /api/upload. Its checkpoint is removed before decoding.
type uploadRequest struct {
	Name         string          `json:"name"`
	Checkpoint   json.RawMessage `json:"checkpoint"`
	Config       json.RawMessage `json:"config"`
	Step         *int            `json:"step"`
	Metrics      string          `json:"metrics"`
	TrainingData string          `json:"trainingData"`
}

// uploaded is the answer to POST /api/upload, and to the completion of an upload in parts.
type uploaded struct {
	OK   bool   `json:"ok" doc:"always true"`
	Name string `json:"name" doc:"name of the model"`
	Step int    `json:"step" doc:"training steps"`
}

// beginRequest is the body of POST /api/uploads.
type beginRequest struct {
	Name         string          `json:"name"`
	Step         int             `json:"step"`
	Size         int64           `json:"size"`
	PartSize     int64           `json:"partSize"`
	SHA256       string          `json:"sha256"`
	Quant        string          `json:"quant"`
	Config       json.RawMessage `json:"config"`
	Metrics      string          `json:"metrics"`
	TrainingData string          `json:"trainingData"`
}

// session is an upload in parts.
type session struct {
	ID       string `json:"id" doc:"id of the upload"`
	Name     string `json:"name" doc:"name of the model"`
	Step     int    `json:"step" doc:"training steps"`
	Size     int64  `json:"size" doc:"bytes of the whole upload"`
	PartSize int64  `json:"partSize" doc:"bytes of a part; the last may be shorter"`
	Done     bool   `json:"done" doc:"whether the model is stored"`
	Expires  string `json:"expires" doc:"RFC 3339"`
	Parts    []part `json:"parts" doc:"the parts, in order"`
}

// sessions is the answer to GET /api/uploads.
type sessions struct {
	Uploads []listed `json:"uploads" doc:"the unfinished uploads"`
}

// listed is an upload in progress.
type listed struct {
	ID      string `json:"id" doc:"name for requests"`
	Name    string `json:"name" doc:"empty if the upload is in chunks"`
	Step    int    `json:"step" doc:"training steps"`
	Size    int64  `json:"size" doc:"bytes"`
	Arrived int64  `json:"arrived" doc:"bytes"`
	Expires string `json:"expires" doc:"RFC 3339"`
}

type part struct {
	Index   int    `json:"index" doc:"number of the part, from 0"`
	Offset  int64  `json:"offset" doc:"first byte of the part"`
	Size    int64  `json:"size" doc:"bytes"`
	Arrived bool   `json:"arrived" doc:"whether it is stored"`
	URL     string `json:"url,omitempty" doc:"a URL for a PUT without a key"`
}

// partTaken is the answer to PUT /api/uploads/{id}/parts/{part}.
type partTaken struct {
	OK   bool `json:"ok" doc:"always true"`
	Part int  `json:"part" doc:"number of the part"`
}

// chunkTaken is the answer to POST /api/upload/chunk.
type chunkTaken struct {
	OK    bool `json:"ok" doc:"always true"`
	Chunk int  `json:"chunk" doc:"number of the chunk"`
	Total int  `json:"total" doc:"number of all chunks"`
}

// assembleRequest is the body of POST /api/upload/assemble.
type assembleRequest struct {
	UploadID     string          `json:"uploadId"`
	TotalChunks  int             `json:"totalChunks"`
	Name         string          `json:"name"`
	Step         *int            `json:"step"`
	Config       json.RawMessage `json:"config"`
	Metrics      string          `json:"metrics"`
	TrainingData string          `json:"trainingData"`
}
