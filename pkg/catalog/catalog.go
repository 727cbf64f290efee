// Package catalog finds and opens models by name. Models come from records and
// from the training runs that stand in the roots; both are looked at again every
// few seconds, so that a model is added, replaced or deleted without a restart.
// It keeps open what it opened while that fits the memory it may use, and lets go of
// what was not used for the longest time. It refuses to know how weights are read, how
// runs look and how backends work: the scanner and an opener for each family are given.
//
// Source: seed 003 (records, DynamoDB table) and seed 002 (scanning for runs).
package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/llm"
)

// DefaultTTL is for how long records and runs are believed.
const DefaultTTL = 5 * time.Second

// Config of a [Catalog]. The zero value has no models.
type Config struct {
	Source  Source // nil: no records
	Roots   []Root // where runs stand; a name that several have is the first one's
	Scan    Scanner
	Openers map[string]Opener // by family; models of other families are problems
	TTL     time.Duration     // 0 is [DefaultTTL]
	Memory  int64             // bytes for the weights of open models; 0: no bound
}

// A Root is a directory of runs.
type Root struct {
	Name  string // for listings and problems: "starters"
	FS    fs.FS
	Fixed bool // its content never changes, and is listed after what can
}

// A Scanner lists the runs in a directory, with what is wrong with the others.
type Scanner func(fs.FS) ([]Run, []error)

// A Run is the directory of a model: a training run with its newest checkpoint, or a
// published model.
type Run struct {
	ID         string // the directory's name
	Type       string // the architecture; "": Alpha
	Checkpoint string // path in FS
	Step       int
	ModTime    time.Time        // of the checkpoint
	Size       int64            // of the checkpoint, bytes
	Parameters int64            // 0: not known
	Bytes      int64            // of memory that its weights take when it is open
	Sizes      map[string]int64 // the same by quantisation, for records that name one
	Context    int              // tokens
	Files      string           // names, sizes and times of a published model's files, in any form
	Info       *llm.Run         // of a training run

	FS     fs.FS  // where Checkpoint is; set by the catalog
	Source string // the root's name or the directory; set by the catalog
}

// An Opener opens a model; run is nil unless its family is [Local].
type Opener func(ctx context.Context, rec *Record, run *Run) (llm.Backend, error)

// A Catalog implements [llm.Models].
type Catalog struct {
	cfg   Config
	fixed []scan // of the fixed roots, by index; under load

	load    sync.Mutex
	records []Record // the last that could be read; under load
	now     atomic.Pointer[view]

	mu   sync.Mutex
	open map[string]*opened // by family/name
	gone []*opened          // no longer in open, and still in use

	released chan struct{} // closed, and made anew, when a context lets go of a model
}

var _ llm.Models = (*Catalog)(nil)

// New returns a catalog; nothing is read before the first question.
func New(cfg Config) *Catalog {
	cfg.TTL = cmp.Or(cfg.TTL, DefaultTTL)
	return &Catalog{cfg: cfg, fixed: make([]scan, len(cfg.Roots)), open: map[string]*opened{}, released: make(chan struct{})}
}

// An Entry is what the operator sees of a model.
type Entry struct {
	llm.ModelInfo
	Aliases []string
	Run     *Run // of a local model

	rec *Record
}

// Record returns the record of the model, which is not to be changed; a run without one
// has one with its name alone.
func (e *Entry) Record() *Record { return e.rec }

// Version returns another text when anything changes that the model's answers depend
// on: its record or its weights.
func (e *Entry) Version() (string, error) {
	rec, err := json.Marshal(e.rec)
	if err != nil {
		return "", fmt.Errorf("record %s-%s: %w", e.Family, e.Name, err)
	}
	return fmt.Sprintf("%s %+v", rec, e.identity()), nil
}

// List implements [llm.Models]: first the runs that can change, newest first, then
// the fixed ones, then remote models, both in the order of their records.
func (c *Catalog) List(ctx context.Context) ([]llm.ModelInfo, error) {
	v := c.view(ctx)
	list := make([]llm.ModelInfo, len(v.entries))
	for i, e := range v.entries {
		list[i] = e.ModelInfo
	}
	return list, nil
}

// Entries is [Catalog.List] for the operator, with what is wrong with the rest.
func (c *Catalog) Entries(ctx context.Context) ([]Entry, []error) {
	v := c.view(ctx)
	return slices.Clone(v.entries), slices.Clone(v.problems)
}

// Has tells whether name is that of a model, as [llm.ModelInfo] spells it.
func (c *Catalog) Has(ctx context.Context, name string) bool {
	e := c.view(ctx).names[name]
	return e != nil && e.Name == name
}

// Refresh makes the next question look at records and runs again.
func (c *Catalog) Refresh() {
	c.load.Lock() // a look that has begun may be too early
	defer c.load.Unlock()
	c.now.Store(nil)
}

// Open implements [llm.Models]. The model is in use, and its memory is not given to
// another, until ctx ends.
func (c *Catalog) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, _, err := c.OpenEntry(ctx, name)
	return model, err
}

// OpenEntry is [Catalog.Open] for those who want to know more of the model. The entry
// is that of the model that was opened, or could not be; nil: there is none.
func (c *Catalog) OpenEntry(ctx context.Context, name string) (*llm.Model, *Entry, error) {
	for again := false; ; again = true {
		e, err := c.view(ctx).find(name)
		if err != nil {
			return nil, nil, err
		}
		backend, err := c.backend(ctx, e)
		switch {
		case err == nil:
			info := e.ModelInfo
			if b, ok := backend.(interface{ Info() llm.ModelInfo }); ok {
				fill(&info, b.Info())
			}
			return &llm.Model{ModelInfo: info, Backend: backend}, e, nil
		case errors.Is(err, fs.ErrNotExist) && !again:
			c.Refresh() // the run was replaced after the look
		default:
			return nil, e, err
		}
	}
}

// find resolves a name, "" to the default model.
func (v *view) find(name string) (*Entry, error) {
	switch e := v.names[name]; {
	case e != nil:
		return e, nil
	case name != "":
		return nil, &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("there is no model %q", short(name))}
	case len(v.entries) == 0:
		return nil, &llm.Error{Code: llm.NotFound, Param: "model", Message: "there are no models"}
	}
	return &v.entries[0], nil
}

// short cuts a name for a message; clients can send megabytes.
func short(name string) string {
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

// fill puts what an open model knows of itself where info has nothing.
func fill(info *llm.ModelInfo, more llm.ModelInfo) {
	info.Type = cmp.Or(info.Type, more.Type)
	info.Version = cmp.Or(info.Version, more.Version)
	info.Description = cmp.Or(info.Description, more.Description)
	info.Context = cmp.Or(info.Context, more.Context)
	info.EndToken = cmp.Or(info.EndToken, more.EndToken)
}
