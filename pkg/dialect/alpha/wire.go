// Package alpha speaks the API of Alpha's own web dashboard and training machines:
// models, inference, chat, generate and upload. It knows HTTP and llm. A [Publisher] stores
// checkpoints and knows their format.
//
// Source: seed 002, "Internal endpoints", and the server that it describes.
package alpha

import "encoding/json"

// modelObject is an element of GET /api/models.
type modelObject struct {
	ID          string          `json:"id"`
	RunID       string          `json:"runId"`
	Name        string          `json:"name"`
	Step        int             `json:"step"`
	Mtime       float64         `json:"mtime" doc:"milliseconds since 1970"`
	LastLoss    *float64        `json:"lastLoss"`
	ModelConfig json.RawMessage `json:"modelConfig"`
	TrainConfig json.RawMessage `json:"trainConfig"`
	Domain      string          `json:"domain"`
}

// metricsRequest is the query string of GET /api/models/{name}/metrics.
type metricsRequest struct {
	From *int `json:"from"`
}

// metricsObject is the answer to a metricsRequest. Offsets are bytes of metrics.jsonl.
type metricsObject struct {
	Name    string            `json:"name"`
	From    int64             `json:"from"`
	Next    int64             `json:"next"`
	More    bool              `json:"more"`
	Metrics []json.RawMessage `json:"metrics"`
}

// removeRequest is the query string of DELETE /api/models.
type removeRequest struct {
	Name string `json:"name"`
}

// deleted is the answer to DELETE /api/models.
type deleted struct {
	OK      bool   `json:"ok"`
	Deleted string `json:"deleted"`
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
	Token string `json:"token"`
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
	Text  string `json:"text"`
	Model string `json:"model"`
	Usage *usage `json:"usage,omitempty" doc:"absent if a remote provider omits part of it"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
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
	OK   bool   `json:"ok"`
	Name string `json:"name"`
	Step int    `json:"step"`
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
	ID       string `json:"id"`
	Name     string `json:"name"`
	Step     int    `json:"step"`
	Size     int64  `json:"size"`
	PartSize int64  `json:"partSize"`
	Done     bool   `json:"done"`
	Expires  string `json:"expires" doc:"RFC 3339"`
	Parts    []part `json:"parts"`
}

// sessions is the answer to GET /api/uploads.
type sessions struct {
	Uploads []listed `json:"uploads"`
}

// listed is an upload in progress.
type listed struct {
	ID      string `json:"id"`
	Name    string `json:"name" doc:"empty if the upload is in chunks"`
	Step    int    `json:"step"`
	Size    int64  `json:"size" doc:"bytes"`
	Arrived int64  `json:"arrived" doc:"bytes"`
	Expires string `json:"expires" doc:"RFC 3339"`
}

type part struct {
	Index   int    `json:"index"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
	Arrived bool   `json:"arrived"`
	URL     string `json:"url,omitempty" doc:"a URL for a PUT without a key"`
}

// partTaken is the answer to PUT /api/uploads/{id}/parts/{part}.
type partTaken struct {
	OK   bool `json:"ok"`
	Part int  `json:"part"`
}

// chunkTaken is the answer to POST /api/upload/chunk.
type chunkTaken struct {
	OK    bool `json:"ok"`
	Chunk int  `json:"chunk"`
	Total int  `json:"total"`
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
