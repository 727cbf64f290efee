// Package sagemaker calls models on Amazon SageMaker endpoints by InvokeEndpoint and
// InvokeEndpointWithResponseStream. It knows their calls and errors, and that a stream
// consists of lines; records and pkg/backend/remote define the bodies. It makes no
// clients.
//
// Sources: Amazon SageMaker Runtime API Reference; API layer and its handlers for the
// headers.
package sagemaker

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// A Target is the location of a model.
type Target struct {
	Endpoint           string
	InferenceComponent string // one of the components that share the endpoint; may be ""
}

// New returns the backend of the model at t.
func New(client *awsrest.Client, t Target, m remote.Model) *remote.Backend {
	header := http.Header{"X-Amzn-Sagemaker-Custom-Attributes": {"accept_eula=true"}} // for models that require it, such as Llama 2
	if t.InferenceComponent != "" {
		header["X-Amzn-Sagemaker-Inference-Component"] = []string{t.InferenceComponent}
	}
	m.Schema = m.Schema.For(t.Endpoint)
	return remote.New(&endpoint{
		whole:  client.Operation(header, "endpoints", t.Endpoint, "invocations"),
		stream: client.Operation(header, "endpoints", t.Endpoint, "invocations-response-stream"),
	}, m)
}

type endpoint struct{ whole, stream *awsrest.Operation }

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, _ remote.API, body []byte) (remote.Payload, error) {
	const op = "sagemaker InvokeEndpoint"
	a, err := e.whole.Post(ctx, body)
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	answer, err := a.Whole()
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	return remote.Payload{Body: answer}, nil
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, _ remote.API, body []byte) (iter.Seq2[remote.Payload, error], error) {
	const op = "sagemaker InvokeEndpointWithResponseStream"
	a, err := e.stream.Post(ctx, body)
	if err != nil {
		return nil, fault(op, err)
	}
	return lines(func(yield func([]byte, error) bool) {
		for event, err := range a.Events() {
			if err != nil {
				yield(nil, fault(op, err))
				return
			}
			if event.Type == "PayloadPart" && !yield(event.Payload, nil) {
				return
			}
		}
	}), nil
}

// fault returns err as a fault. SageMaker has no error code for missing endpoints and
// components; only its message shows them.
func fault(op string, err error) error {
	err = remote.NewFault(op, err)
	if f, ok := errors.AsType[*remote.Fault](err); ok && strings.EqualFold(f.Name, "ValidationError") && f.MessageContains("not found") {
		f.Code = llm.NotFound
	}
	return err
}
