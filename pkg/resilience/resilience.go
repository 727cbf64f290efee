// Package resilience has models answer when one of them fails, and repeats answers
// that would be the same. A record names the models to fall back on, and for how long
// answers are kept. It refuses to know where records are, how models are opened and
// what is in an answer: it passes them on.
//
// An open model is wrapped in this order, the outermost first:
//
//	fallback -> kept answers -> the model
//
// so that a kept answer is that of the model whose name it has, and a model that fails
// still gives the answers that are kept. A model that is fallen back on is wrapped with
// its own kept answers, never with its own fallbacks: there are no chains and no
// cycles.
//
// [llm.Backend] and [llm.Invoker] have both. The other capabilities are those of the
// model that was asked for, as they were: tokens, probabilities and vectors of another
// model mean something else, and nobody would notice.
package resilience

import (
	"context"
	"time"

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

// Models returns models with what open has opened, each wrapped as its policy says.
// Answers are kept in store.
//
// A model that cannot be opened, for a reason that another does not have (see
// fallback.go), and that has fallbacks, opens all the same: its capabilities are the
// error, its generations those of its fallbacks.
func Models(models llm.Models, open Open, store *Store) llm.Models {
	return &resilient{models, open, store}
}

type resilient struct {
	llm.Models
	open  Open
	store *Store
}

// Open implements [llm.Models].
func (r *resilient) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, p, err := r.open(ctx, name)
	if err != nil {
		if len(p.Fallbacks) == 0 || ctx.Err() != nil || !another(err) {
			return nil, err
		}
		model = &llm.Model{ModelInfo: p.Info, Backend: broken{err}}
	}
	model = r.kept(model, p)
	if len(p.Fallbacks) == 0 {
		return model, nil
	}
	return &llm.Model{ModelInfo: model.ModelInfo, Backend: newFallback(model, p.Fallbacks, r.openNext)}, nil
}

// openNext opens a model that is fallen back on.
func (r *resilient) openNext(ctx context.Context, name string) (*llm.Model, error) {
	model, p, err := r.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.kept(model, p), nil
}

// kept wraps a model so that its answers are kept, if they shall be.
func (r *resilient) kept(model *llm.Model, p Policy) *llm.Model {
	if p.Keep <= 0 {
		return model
	}
	return &llm.Model{ModelInfo: model.ModelInfo, Backend: newCache(model, p, r.store)}
}
