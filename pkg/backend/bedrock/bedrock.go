// Package bedrock calls models on Amazon Bedrock by InvokeModel and
// InvokeModelWithResponseStream. It knows their calls and errors; records and
// pkg/backend/remote define the bodies. It makes no clients.
//
// Source: Amazon Bedrock API Reference, InvokeModel, InvokeModelWithResponseStream.
package bedrock

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// New returns the backend of a model. The id is a model id, with or without a
// geography prefix (us., eu., apac., global.), or the ARN of an inference profile.
func New(client *awsrest.Client, id string, m remote.Model) *remote.Backend {
	accept := []string{"application/json"}
	return remote.New(&endpoint{
		whole:  client.Operation(http.Header{"Accept": accept}, "model", id, "invoke"),
		stream: client.Operation(http.Header{"X-Amzn-Bedrock-Accept": accept}, "model", id, "invoke-with-response-stream"),
	}, m)
}

type endpoint struct{ whole, stream *awsrest.Operation }

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, body []byte) (remote.Payload, error) {
	const op = "bedrock InvokeModel"
	a, err := e.whole.Post(ctx, body)
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	answer, err := a.Whole()
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	return remote.Payload{Body: answer, Usage: llm.Usage{
		Input: tokens(a.Header, "X-Amzn-Bedrock-Input-Token-Count"), Output: tokens(a.Header, "X-Amzn-Bedrock-Output-Token-Count"),
	}}, nil
}

// tokens returns the number in a header, 0 if there is none.
func tokens(h http.Header, name string) int {
	n, err := strconv.Atoi(h.Get(name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, body []byte) (iter.Seq2[remote.Payload, error], error) {
	const op = "bedrock InvokeModelWithResponseStream"
	a, err := e.stream.Post(ctx, body)
	if err != nil {
		return nil, fault(op, err)
	}
	return func(yield func(remote.Payload, error) bool) {
		var room []byte
		for event, err := range a.Events() {
			if err == nil && event.Type != "chunk" {
				continue
			}
			if err == nil {
				room, err = chunk(room, event.Payload)
			}
			if err != nil {
				yield(remote.Payload{}, fault(op, err))
				return
			}
			if !yield(remote.Payload{Body: room, Usage: metrics(room)}, nil) {
				return
			}
		}
	}, nil
}

var errChunk = errors.New("an event of the stream is not a chunk")

// chunk decodes the base64 bytes in an event, into the memory of room. An event also
// has padding that hides their number from eavesdroppers.
func chunk(room, event []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(event, []byte(`{"bytes":"`))
	if ok {
		// Base64 has neither quotes nor escapes other than \/.
		text, _, ok = bytes.Cut(text, []byte(`"`))
		ok = ok && bytes.IndexByte(text, '\\') < 0
	}
	if !ok {
		var e struct{ Bytes *string }
		if json.Unmarshal(event, &e) != nil || e.Bytes == nil {
			return nil, &awsrest.Error{MidStream: true, Status: http.StatusOK, Err: errChunk}
		}
		text = []byte(*e.Bytes)
	}
	out, err := base64.StdEncoding.AppendDecode(room[:0], text)
	if err != nil {
		return nil, &awsrest.Error{MidStream: true, Status: http.StatusOK, Err: errChunk}
	}
	return out, nil
}

// metrics returns the counts that Bedrock adds to the last event of a stream.
func metrics(event []byte) llm.Usage {
	var m struct {
		Metrics struct{ InputTokenCount, OutputTokenCount int } `json:"amazon-bedrock-invocationMetrics"`
	}
	if !bytes.Contains(event, []byte("amazon-bedrock-invocationMetrics")) || json.Unmarshal(event, &m) != nil {
		return llm.Usage{}
	}
	return llm.Usage{Input: max(0, m.Metrics.InputTokenCount), Output: max(0, m.Metrics.OutputTokenCount)}
}

// fault returns err as a fault. Bedrock has no error code for unknown ids; only its
// message shows them.
func fault(op string, err error) error {
	err = remote.NewFault(op, err)
	if f, ok := errors.AsType[*remote.Fault](err); ok && strings.EqualFold(f.Name, "ValidationException") && f.MessageContains("model identifier is invalid") {
		f.Code = llm.NotFound
	}
	return err
}
