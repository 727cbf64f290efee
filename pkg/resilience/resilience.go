// Package resilience falls back to another model when one fails, and repeats answers that
// would be the same. A record names the fallbacks, and the time that answers are kept. The
// package refuses to know where records are and how models are opened.
//
// Each model, the requested one or a fallback, has its own kept answers. The fallbacks of a
// fallback are not used: there are no chains and no cycles.
//
// Every method that runs a model has fallbacks; see [intercept.Method] for the free ones,
// which describe the requested model. [ModelHeader] names the model that answered. Vectors
// and scores of two models are not comparable: those of one request come from one model,
// and a record of a model that makes vectors should name only models with the same weights.
//
// Start with [Models].
package resilience

import (
	"context"
	"time"

	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// A Policy holds the settings in the record of a model.
type Policy struct {
	Info      llm.ModelInfo // of the model; needed if it could not be opened
	Fallbacks []string      // names of the models to ask when it fails, in this order
	Keep      time.Duration // repeat answers for this long; 0: never
	Version   string        // changes when the same request may get another answer: with the record or the weights
	Seeded    bool          // the model obeys [llm.Request.Effective], including the seed, as the in-process engine does
}

// An Open opens a model by name. The policy is that of its record. It is returned even
// with an error if there is a record; the zero Policy has no effect.
type Open func(ctx context.Context, name string) (*llm.Model, Policy, error)

// A Layer wraps a model according to its policy.
type Layer func(*llm.Model, Policy) *llm.Model

// Models returns models that open opens, with the fallbacks of their policies. Each
// model, a requested one or a fallback, is wrapped by layers, the innermost first.
//
// A model with fallbacks opens even if open fails, unless all other models would fail for
// the same reason (see fallback.go): each of its calls then returns the answer of a
// fallback, or the error.
func Models(models llm.Models, open Open, layers ...Layer) llm.Models {
	return &resilient{models, open, layers}
}

type resilient struct {
	llm.Models
	open   Open
	layers []Layer
}

// Open implements [llm.Models].
func (r *resilient) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, p, err := r.open(ctx, name)
	if err != nil {
		if len(p.Fallbacks) == 0 || ctx.Err() != nil || !mayFallBack(err) {
			return nil, err
		}
		model = intercept.Broken(p.Info, err)
	}
	model = r.wrap(model, p)
	if len(p.Fallbacks) == 0 {
		return model, nil
	}
	return intercept.Wrap(model, &fallback{names: p.Fallbacks, open: r.openNext}), nil
}

// openNext opens a fallback.
func (r *resilient) openNext(ctx context.Context, name string) (*llm.Model, error) {
	model, p, err := r.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.wrap(model, p), nil
}

func (r *resilient) wrap(model *llm.Model, p Policy) *llm.Model {
	for _, layer := range r.layers {
		model = layer(model, p)
	}
	return model
}

// Keep returns the layer that repeats the answers in store, and stores new ones, for
// models whose policy has a time.
func Keep(store *Store) Layer {
	return func(model *llm.Model, p Policy) *llm.Model {
		if p.Keep <= 0 {
			return model
		}
		return intercept.Wrap(model, newCache(model, p, store))
	}
}
