package publish

import (
	"cmp"
	"context"
	"errors"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// Shares of the memory of uploads, in bytes, if [Store.Memory] is not set. An upload
// takes them in this order, each once, so that no two uploads wait for each other.
const (
	maxBodies  = 256 << 20 // bodies in memory, see [Store.Spool]
	maxTexts   = 128 << 20 // configurations, metrics and training data
	maxWeights = 1 << 30   // weights of Alpha checkpoints, with their tokenizers
)

// memory is the memory that all uploads of a process may take, by kind.
type memory struct{ bodies, texts, weights fair.Pool }

const (
	// patience is the longest time that an upload waits for memory.
	patience = 20 * time.Second
	// maxWaiting bounds the uploads that wait for one kind of memory.
	maxWaiting = 64
)

// take waits until the sender of ctx may take n bytes of a pool of total bytes. A sender
// gets at most half of them, unless a single upload needs more. The caller calls release.
func take(ctx context.Context, pool *fair.Pool, n, total int64) (release func(), err error) {
	limits := fair.Limits{Total: total, Share: total / 2, Wait: patience, Places: maxWaiting}
	c, err := pool.Take(ctx, llm.SenderOf(ctx), n, limits)
	if errors.Is(err, fair.ErrBusy) {
		return nil, &llm.Error{Code: llm.Overloaded, Message: "other uploads use the memory for uploads: try again later", RetryAfter: patience / 2}
	}
	if err != nil {
		return nil, err
	}
	return c.Release, nil
}

// textCopies is the number of copies of a text in memory: as sent, decoded, and packed.
const textCopies = 4

// share returns the memory of one kind for all uploads together: most if Memory is 3
// GiB or more, and proportionally less below.
func (s *Store) share(most int64) int64 {
	const ample = 3 << 30
	if s.Memory == 0 || s.Memory >= ample {
		return most
	}
	return int64(float64(most) / ample * float64(s.Memory))
}

// HoldTexts waits for the memory of n bytes of texts, which the caller reads next. The
// caller calls release once.
func (s *Store) HoldTexts(ctx context.Context, n int64) (release func(), err error) {
	release, err = take(ctx, &s.memory.texts, textCopies*n, s.share(maxTexts))
	if err != nil {
		return nil, internal(ctx, err)
	}
	return release, nil
}

// holdWeights waits for the memory for reading an Alpha checkpoint, and returns the part
// for weights.
func (s *Store) holdWeights(ctx context.Context, weights, file int64) (budget int64, release func(), err error) {
	budget = cmp.Or(s.Memory/2, maxBudget)
	if weights > budget {
		return 0, nil, invalid("checkpoint", nil, "its weights need %d bytes of memory, but at most %d are allowed", weights, budget)
	}
	budget = weights
	release, err = take(ctx, &s.memory.weights, weights+tokenizerCopies*min(file, maxTokenizer), s.share(maxWeights))
	return budget, release, err
}

const (
	maxBudget       = 4 << 30  // for the weights of one Alpha checkpoint if Memory is 0, in bytes
	maxTokenizer    = 16 << 20 // of a checkpoint's tokenizer in its file, in bytes
	tokenizerCopies = 12       // memory for each byte of a tokenizer: 8 were measured for words, and it is read before
)
