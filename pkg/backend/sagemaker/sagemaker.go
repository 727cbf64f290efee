// Package sagemaker calls models on Amazon SageMaker endpoints by InvokeEndpoint and
// InvokeEndpointWithResponseStream. It knows their calls and errors, and that a stream
// is lines; what is in the bodies is the record's and pkg/backend/remote's. It makes no
// clients.
//
// Sources: Amazon SageMaker Runtime API Reference; seed 003 and its upstream for the
// headers.
package sagemaker

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemakerruntime"
	"github.com/aws/aws-sdk-go-v2/service/sagemakerruntime/types"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// A Target is where a model runs.
type Target struct {
	Endpoint           string
	InferenceComponent string // of those that share the endpoint; may be ""
}

// New returns the backend of the model at a target. The client's own retries are not
// used.
func New(client *sagemakerruntime.Client, t Target, m remote.Model) *remote.Backend {
	e := &endpoint{client: client, name: t.Endpoint}
	if t.InferenceComponent != "" {
		e.component = &t.InferenceComponent
	}
	return remote.New(e, m)
}

type endpoint struct {
	client    *sagemakerruntime.Client
	name      string
	component *string
}

const (
	json1  = "application/json"
	accept = "accept_eula=true" // of models that ask for it, Llama 2 for one
)

// options returns the options of one call over w. Streams of one client would share
// the protocol's buffer.
func options(w *remote.Wire) func(*sagemakerruntime.Options) {
	return func(o *sagemakerruntime.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = w.Over(o.HTTPClient)
		o.Protocol = restjson1.New(nil)
	}
}

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, body []byte) (remote.Payload, error) {
	var w remote.Wire
	out, err := e.client.InvokeEndpoint(ctx, &sagemakerruntime.InvokeEndpointInput{
		EndpointName: &e.name, InferenceComponentName: e.component, Body: body,
		ContentType: aws.String(json1), CustomAttributes: aws.String(accept),
	}, options(&w))
	if err != nil {
		return remote.Payload{}, fault("sagemaker InvokeEndpoint", err, &w, false)
	}
	return remote.Payload{Body: out.Body}, nil
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, body []byte) (iter.Seq2[remote.Payload, error], error) {
	const op = "sagemaker InvokeEndpointWithResponseStream"
	var w remote.Wire
	out, err := e.client.InvokeEndpointWithResponseStream(ctx, &sagemakerruntime.InvokeEndpointWithResponseStreamInput{
		EndpointName: &e.name, InferenceComponentName: e.component, Body: body,
		ContentType: aws.String(json1), CustomAttributes: aws.String(accept),
	}, options(&w))
	if err != nil {
		return nil, fault(op, err, &w, false)
	}
	parts := func(yield func([]byte, error) bool) {
		stream := out.GetStream()
		defer stream.Close()
		for event := range stream.Events() {
			part, ok := event.(*types.ResponseStreamMemberPayloadPart)
			if ok && !yield(part.Value.Bytes, nil) {
				return
			}
		}
		if err := w.End(stream.Err()); err != nil {
			yield(nil, fault(op, err, &w, true))
		}
	}
	return lines(parts), nil
}

// fault returns the fault that err is. SageMaker has no code of its own for endpoints
// and components that are not there; its sentence is the only sign.
func fault(op string, err error, w *remote.Wire, inside bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e // of the credentials
	}
	var c remote.Container
	if e, ok := errors.AsType[*types.ModelError](err); ok {
		c = remote.Container{Status: e.OriginalStatusCode, Message: e.OriginalMessage}
	}
	f := remote.NewFault(op, err, w, inside, c)
	if e, ok := errors.AsType[*types.ValidationError](err); ok && strings.Contains(e.ErrorMessage(), "not found") {
		f.Code = llm.NotFound
	}
	return f
}
