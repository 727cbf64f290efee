// Package openaiapi holds what OpenAI's two protocols for answers, chat completions and
// responses, have in common: errors, ids, tools, images, metadata and log-probabilities. It does not
// know either protocol's requests or answers.
//
// Source: OpenAI's published API reference, and what its SDKs rely on.
package openaiapi

import (
	"context"
	"errors"
	"fmt"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Open opens a model by its name, with OpenAI's error for an unknown one.
func Open(ctx context.Context, models llm.Models, name string) (*llm.Model, error) {
	model, err := models.Open(ctx, name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		return nil, noModel(name, httpx.NearestModel(ctx, models, name), err)
	}
	return model, err
}

// Metadata returns the row of metadata that is kept, with OpenAI's limits.
func Metadata(note string) wire.Parameter {
	return wire.Parameter{Name: "metadata", Count: wire.AtMost(16), Noun: "pair", MaxKey: 64, MaxText: 512, Note: note}
}

// NoModel returns OpenAI's error for an unknown model.
func NoModel(name string, cause error) error { return noModel(name, "", cause) }

// noModel returns OpenAI's error with the name that was probably meant, if there is one.
func noModel(name, nearest string, cause error) error {
	e := llm.Errorf(llm.NotFound, "The model '%.200s' does not exist", name)
	if nearest != "" {
		e.Message += fmt.Sprintf("; did you mean '%s'?", nearest)
	}
	e.Param, e.Err = "model", cause
	return e
}
