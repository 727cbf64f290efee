package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// Shares of the memory of uploads, in bytes, if [Store.Memory] is not set. An upload
// takes them in this order, each once, so that no two uploads wait for each other.
const (
	maxBodies  = 256 << 20 // bodies in memory, see [Store.Spool]
	maxTexts   = 128 << 20 // configurations, metrics and training data
	maxWeights = 1 << 30   // weights of Alpha checkpoints, with their tokenizers, and headers of other models
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
// gets at most half of them, unless a single upload needs more. The caller releases the claim.
func take(ctx context.Context, pool *fair.Pool, n, total int64) (*fair.Claim, error) {
	limits := fair.Limits{Total: total, Share: total / 2, Wait: patience, Places: maxWaiting}
	c, err := pool.Take(ctx, llm.SenderOf(ctx), n, limits)
	if errors.Is(err, fair.ErrBusy) {
		return nil, &llm.Error{Code: llm.Overloaded, Message: "other uploads use the memory for uploads: try again later", RetryAfter: patience / 2}
	}
	return c, err
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
	c, err := take(ctx, &s.memory.texts, textCopies*n, s.share(maxTexts))
	if err != nil {
		return nil, internal(ctx, err)
	}
	return c.Release, nil
}

// budget is the memory that the weights of one upload, or its header, may take.
func (s *Store) budget() int64 { return cmp.Or(s.Memory/2, maxBudget) }

// holdWeights waits for n bytes of memory for the named part of a checkpoint, and for more.
func (s *Store) holdWeights(ctx context.Context, part string, n, more int64) (*fair.Claim, error) {
	if n > s.budget() {
		return nil, invalid("checkpoint", nil, "its %s would take %d bytes of memory, but at most %d are allowed", part, n, s.budget())
	}
	return take(ctx, &s.memory.weights, n+more, s.share(maxWeights))
}

// holdGGUF waits for the memory for reading the header of a GGUF file. The size of the header
// is not known before: the result bounds it, and the caller shrinks the claim.
func (s *Store) holdGGUF(in *source, size int64) (*header, *fair.Claim, error) {
	h := &header{ReaderAt: in, most: min(maxHeader, s.budget()/ggufCopies)}
	c, err := take(in.ctx, &s.memory.weights, ggufCopies*min(size, h.most), s.share(maxWeights))
	return h, c, err
}

// A header reads at most a number of bytes until the model is open.
type header struct {
	io.ReaderAt
	most   int64
	read   atomic.Int64
	opened atomic.Bool
}

// ReadAt implements [io.ReaderAt].
func (h *header) ReadAt(p []byte, at int64) (int, error) {
	if !h.opened.Load() && h.read.Add(int64(len(p))) > h.most {
		return 0, invalid("checkpoint", nil, "its header has more than %d bytes, the maximum here", h.most)
	}
	return h.ReaderAt.ReadAt(p, at)
}

const (
	maxBudget       = 4 << 30  // for the weights or the header of one checkpoint if Memory is 0, in bytes
	maxTokenizer    = 16 << 20 // of a checkpoint's tokenizer in its file, in bytes
	tokenizerCopies = 12       // memory for each byte of a tokenizer: 8 were measured for words, and it is read before
	maxHeader       = 32 << 20 // of a GGUF file, in bytes: those of 260,000 tokens have 6 MB, with as many merges 12
	ggufCopies      = 20       // memory for each byte of such a header: 12 were measured for tokens, 19 for texts that become JSON
	packCopies      = 8        // of a packed model's: 7 were measured for tokens and for texts
)
