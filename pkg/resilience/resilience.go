// Package resilience has models answer when one of them fails, and repeats answers
// that would be the same. A record names the models to fall back on, and for how long
// answers are kept. It refuses to know where records are, how models are opened and
// what is in an answer: it passes them on.
//
// A model is asked through its own kept answers, and a model that is fallen back on
// through its own too, never through its own fallbacks: there are no chains and no cycles.
//
// Every capability that runs a model has both (see [intercept.Method.Free] for the others,
// which tell of the model that was asked for). A fallback answers as itself: its vectors and
// its scores are not comparable with those of another model, and [ModelHeader] names it. A
// record of a model that makes vectors should name only models of the same weights.
package resilience

import (
	"context"
	"time"

	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// A Policy is what the record of a model says.
type Policy struct {
	Info      llm.ModelInfo // of the model; needed where it could not be opened
	Fallbacks []string      // names of the models that are asked when it fails, in this order
	Keep      time.Duration // for how long answers are repeated; 0: they are not
	Version   string        // another one when the same request may get another answer: record, weights
	Seeded    bool          // it obeys [llm.Request.Effective], its seed too, as the in-process engine does
}

// An Open opens a model by name. The policy is that of its record, also beside an
// error if there is a record; the zero Policy has no effect.
type Open func(ctx context.Context, name string) (*llm.Model, Policy, error)

// A Layer wraps a model as its policy says.
type Layer func(*llm.Model, Policy) *llm.Model

// Models returns models with what open has opened, with the fallbacks of its policy. Each
// model that is asked, the one that was opened or a fallback, is wrapped by layers, the
// innermost first.
//
// A model that cannot be opened, for a reason that another does not have (see
// fallback.go), and that has fallbacks, opens all the same: each call of it is the error,
// or the answer of a fallback.
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
		if len(p.Fallbacks) == 0 || ctx.Err() != nil || !another(err) {
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

// openNext opens a model that is fallen back on.
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

// Keep returns the layer that repeats the answers of store, and keeps new ones there, for
// models whose policy says for how long.
func Keep(store *Store) Layer {
	return func(model *llm.Model, p Policy) *llm.Model {
		if p.Keep <= 0 {
			return model
		}
		return intercept.Wrap(model, newCache(model, p, store))
	}
}
