// Package batch runs files of requests: it checks each line, runs the lines in parts, and
// assembles the answers in files. Every step can be repeated by another process after the
// first was killed at any moment, and each line's answer is in the result once. The package
// knows neither HTTP serving nor the requests in the lines, and not where its objects lie.
//
// All state is objects that are written once and never changed (see [Store]):
//
//	open/OWNER/BATCH            the owner; deleted when the batch has ended
//	workers/SLOT/N              a process works until its lease ends; N-M: as of the claims below
//	uploads/OWNER/UPLOAD/...    a file that is sent in parts: its draft, its parts and how it ended
//	OWNER/files/FILE            the description of a file
//	OWNER/content/FILE          its bytes
//	OWNER/batches/BATCH         what the client asked for
//	OWNER/ended/BATCH           the final state
//
// and, deleted when the batch has ended, below work/OWNER/BATCH:
//
//	plan                        the parts of the input and its broken lines
//	cancel                      the client cancelled
//	seal                        the answers that count, fixed before they are assembled
//	parts/PART/claim/N          attempt N runs until its lease ends
//	parts/PART/claim/N-M        it has renewed its lease M times
//	parts/PART/answers/N-...    the answers of attempt N
//
// Source: the Batch API and the Files API of OpenAI's published reference.
package batch

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// Errors of this package, for errors.Is. A [Store] returns ErrNotFound and ErrExists itself.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrInvalid  = errors.New("invalid")
	ErrInUse    = errors.New("in use by a batch that has not ended")
	ErrFull     = errors.New("too many")
)

// A Status is the state of a batch, in OpenAI's words.
type Status string

// The states of a batch.
const (
	Validating Status = "validating"
	InProgress Status = "in_progress"
	Finalizing Status = "finalizing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelling Status = "cancelling"
	Cancelled  Status = "cancelled"
	Expired    Status = "expired"
)

// A File is the description of a file.
type File struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Purpose string    `json:"purpose"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
}

// An Order is what the client asked for.
type Order struct {
	Input    string            `json:"input"` // id of a file
	Endpoint string            `json:"endpoint"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Sender   string            `json:"sender,omitempty"` // for the [Runner]: who sent the order
}

// A Batch is the state of a batch.
type Batch struct {
	Order
	ID      string
	Created time.Time
	Expires time.Time
	Status  Status
	Counts  Counts
	Ended   time.Time
	// Cancelled is when the client cancelled; the zero value: it did not.
	Cancelled time.Time
	Output    string // id of the file of answers, "" if there is none
	Errors    string // id of the file of lines that failed, "" if there is none
	Problems  []Problem
}

// Counts counts the lines of a batch.
type Counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// A Problem is a reason why a batch, or one line of it, could not run.
type Problem struct {
	Line    int    `json:"line,omitempty"` // from 1; 0: the whole file
	ID      string `json:"id,omitempty"`   // the line's custom_id, if it was readable
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
}

// A Line is a request of a batch.
type Line struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

// An Answer is the answer to a line.
type Answer struct {
	Status     int
	RequestID  string
	Body       json.RawMessage
	RetryAfter time.Duration // of an answer that asks to try again later; 0: unknown
}

// A Runner runs one request. An error means that it could not run now: it is tried again, and
// [Batches.Step] returns the error.
type Runner interface {
	Run(ctx context.Context, sender string, line Line) (Answer, error)
}

// Config configures [Batches]. Zero values mean the defaults.
type Config struct {
	Store     Store
	Runner    Runner
	Endpoints []string      // that lines may name
	Window    time.Duration // in which a batch must complete; 24 hours
	Attempt   time.Duration // the longest time of one attempt at a part; 9 minutes
	Lease     time.Duration // after which an attempt counts as lost unless it renews its lease; 30 seconds
	PartLines int           // lines of a part; 32
	// Alone, unless zero, is the start of the only process that used the store then: attempts that
	// began before it have ended with the processes that made them.
	Alone    time.Time
	MaxLines int   // lines of a file; 50,000
	MaxBytes int64 // of a file; 200 MB
	MaxLine  int   // bytes of a line; 10 MiB
	MaxFiles int   // of one owner, beyond which only results of batches are stored; 1,000
	MaxOpen  int   // batches of one owner that have not ended; 100
	MaxEnded int   // batches of one owner that have ended; a new one removes the oldest beyond; 10,000
}

// Batches keeps files and batches of owners, and works on them.
type Batches struct {
	cfg Config

	mu     sync.Mutex
	plans  map[string]*plan  // by the ids of their batches
	owners map[string]string // the same
}

// New returns the batches of cfg.
func New(cfg Config) *Batches {
	def := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	def(&cfg.PartLines, 32)
	def(&cfg.MaxLines, 50_000)
	def(&cfg.MaxLine, 10<<20)
	def(&cfg.MaxFiles, 1000)
	def(&cfg.MaxOpen, 100)
	def(&cfg.MaxEnded, 10_000)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 200_000_000
	}
	if cfg.Window == 0 {
		cfg.Window = 24 * time.Hour
	}
	if cfg.Attempt == 0 {
		cfg.Attempt = 9 * time.Minute
	}
	if cfg.Lease == 0 {
		cfg.Lease = 30 * time.Second
	}
	return &Batches{cfg: cfg, plans: map[string]*plan{}, owners: map[string]string{}}
}
