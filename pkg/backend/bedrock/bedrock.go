// Package bedrock calls models on Amazon Bedrock by InvokeModel and
// InvokeModelWithResponseStream. It knows their calls and errors; what is in the
// bodies is the record's and pkg/backend/remote's. It makes no clients.
//
// Source: Amazon Bedrock API Reference, InvokeModel, InvokeModelWithResponseStream.
package bedrock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// New returns the backend of the model that id names: a model id, with or without a
// geography before it (us., eu., apac., global.), or the ARN of an inference profile.
// The client's own retries are not used.
func New(client *bedrockruntime.Client, id string, m remote.Model) *remote.Backend {
	return remote.New(&endpoint{client, id}, m)
}

type endpoint struct {
	client *bedrockruntime.Client
	id     string
}

const json1 = "application/json"

// options returns the options of one call over w. Streams of one client would share
// the protocol's buffer.
func options(w *remote.Wire) func(*bedrockruntime.Options) {
	return func(o *bedrockruntime.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = w.Over(o.HTTPClient)
		o.Protocol = restjson1.New(nil)
	}
}

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, body []byte) (remote.Payload, error) {
	var w remote.Wire
	out, err := e.client.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{
		ModelId: &e.id, Body: body, ContentType: aws.String(json1), Accept: aws.String(json1),
	}, options(&w))
	if err != nil {
		return remote.Payload{}, fault("bedrock InvokeModel", err, &w, false)
	}
	return remote.Payload{Body: out.Body, Usage: llm.Usage{
		Input: w.Count("X-Amzn-Bedrock-Input-Token-Count"), Output: w.Count("X-Amzn-Bedrock-Output-Token-Count"),
	}}, nil
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, body []byte) (iter.Seq2[remote.Payload, error], error) {
	const op = "bedrock InvokeModelWithResponseStream"
	var w remote.Wire
	out, err := e.client.InvokeModelWithResponseStream(ctx, &bedrockruntime.InvokeModelWithResponseStreamInput{
		ModelId: &e.id, Body: body, ContentType: aws.String(json1), Accept: aws.String(json1),
	}, options(&w))
	if err != nil {
		return nil, fault(op, err, &w, false)
	}
	return func(yield func(remote.Payload, error) bool) {
		stream := out.GetStream()
		defer stream.Close()
		for event := range stream.Events() {
			chunk, ok := event.(*types.ResponseStreamMemberChunk)
			if ok && !yield(remote.Payload{Body: chunk.Value.Bytes, Usage: metrics(chunk.Value.Bytes)}, nil) {
				return
			}
		}
		if err := w.End(stream.Err()); err != nil {
			yield(remote.Payload{}, fault(op, err, &w, true))
		}
	}, nil
}

// metrics reads the counts that Bedrock adds to the last event of a stream.
func metrics(event []byte) llm.Usage {
	var m struct {
		Metrics struct{ InputTokenCount, OutputTokenCount int } `json:"amazon-bedrock-invocationMetrics"`
	}
	if !bytes.Contains(event, []byte("amazon-bedrock-invocationMetrics")) || json.Unmarshal(event, &m) != nil {
		return llm.Usage{}
	}
	return llm.Usage{Input: max(0, m.Metrics.InputTokenCount), Output: max(0, m.Metrics.OutputTokenCount)}
}

// fault returns the fault that err is. Bedrock has no code of its own for ids that it
// does not know; its sentence is the only sign.
func fault(op string, err error, w *remote.Wire, inside bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e // of the credentials
	}
	var c remote.Container
	if e, ok := errors.AsType[*types.ModelErrorException](err); ok {
		c.Status = e.OriginalStatusCode
	}
	if e, ok := errors.AsType[*types.ModelStreamErrorException](err); ok {
		c.Status = e.OriginalStatusCode
	}
	f := remote.NewFault(op, err, w, inside, c)
	if e, ok := errors.AsType[*types.ValidationException](err); ok && strings.Contains(e.ErrorMessage(), "model identifier is invalid") {
		f.Code = llm.NotFound
	}
	return f
}
