// Package catalog finds and opens models by name. Models come from records, in files or
// in a DynamoDB table, and from the training runs of the roots. Both are read again every
// few seconds, so that a model is added, replaced or deleted without a restart. The last
// answer stays in force while a source fails. Models stay open while they fit the memory;
// the least recently used is closed first. The package refuses to know how weights are
// read, how runs look and how backends work: a [Loader] finds and opens the models that run
// in this process, and an [Opener] those of a remote family.
//
// Start with [New]; a [Config] needs a [Source] of records or a [Root] of models, and what opens
// them. A fixed list of models is an [llm.Fixed].
//
// Source: API layer's documentation (records, DynamoDB table) and Alpha's (scanning for runs).
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/llm"
)

// DefaultTTL is the time between two reads of records and runs.
const DefaultTTL = 5 * time.Second

// Config configures a [Catalog]. The zero value has no models.
type Config struct {
	Source Source // nil: no records
	Local  Source // more records of the family local, except those whose names Source has; nil: none
	// Standard are records of groups that lend their schemas to records of Source that lack one
	// and whose own group Source lacks, too.
	Standard []Item
	Roots    []Root            // directories of runs; if several have a name, the first one serves it
	Loader   Loader            // of the family local; nil: models of that family are problems
	Drafts   map[string]string // draft models, by the names of local models whose records name none
	Openers  map[string]Opener // by remote family; models of other families are problems
	// ListedOnly refuses models that are not listed. Without it a remote one is served when
	// it is asked for, if a record describes it: its own or that of its group.
	ListedOnly bool
	TTL        time.Duration // 0 is [DefaultTTL]
	Memory     int64         // bytes for the weights of open models; 0: no bound
	Log        *slog.Logger  // problems, when they change; nil: nothing is logged
}

// serves reports whether models of a family can be opened.
func (cfg *Config) serves(family string) bool {
	if family == Local {
		return cfg.Loader != nil
	}
	return cfg.Openers[family] != nil
}

// A Root is a directory of runs.
type Root struct {
	Name  string // for listings and problems: "starters"
	FS    fs.FS
	Fixed bool // its content never changes, and is listed after what can
}

// An Opener opens a model of a remote family.
type Opener func(ctx context.Context, rec *Record) (llm.Backend, error)

// A Catalog implements [llm.Models].
type Catalog struct {
	cfg   Config
	fixed []scan // of the fixed roots, by index; under load

	load   sync.Mutex
	source feed            // under load, as all fields up to the blank line
	local  feed            // of cfg.Local
	logged map[string]bool // problems that the log has
	fails  bool            // the log has that the source fails

	flights sync.Mutex
	flight  *flight // the read under way; under flights
	now     atomic.Pointer[view]

	mu   sync.Mutex
	open map[string]*opened // by family/name
	gone []*opened          // closed for new requests, and still in use

	released chan struct{} // closed when a context releases a model; nil: no request waits
}

var _ llm.Models = (*Catalog)(nil)

// New returns a catalog. It reads nothing before the first call of a method.
func New(cfg Config) *Catalog {
	cfg.TTL = cmp.Or(cfg.TTL, DefaultTTL)
	standard := sync.OnceValue(func() itemSet {
		var r reader
		all, _ := r.index(cfg.Standard, nil) // the embedded ones, which a test checks
		return all
	})
	return &Catalog{
		cfg: cfg, fixed: make([]scan, len(cfg.Roots)), open: map[string]*opened{},
		source: feed{source: cfg.Source, standard: standard, ttl: cfg.TTL}, local: feed{source: cfg.Local, standard: standard, ttl: cfg.TTL},
	}
}

// An Entry describes a model for the operator.
type Entry struct {
	llm.ModelInfo
	Run  *Run   // of a local model
	Item string // the sort key of the item that describes it, see [Keys]; "": none

	rec   *Record
	draft *Entry // of its draft model; nil: there is none
}

// Record returns the record of the model, which the caller must not change. A run without
// a record has one with its name only.
func (e *Entry) Record() *Record { return e.rec }

// Version returns a text that changes with the model's record and its weights, on which its
// answers depend.
func (e *Entry) Version() string { return fmt.Sprintf("%+v", e.identity()) }

// List implements [llm.Models]: first the runs that can change, newest first, then
// the fixed ones, then remote models, both in the order of their records.
func (c *Catalog) List(ctx context.Context) ([]llm.ModelInfo, error) {
	v, err := c.view(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(v.entries) == 0 && !v.good:
		return nil, v.unknown()
	}
	list := make([]llm.ModelInfo, len(v.entries))
	for i, e := range v.entries {
		list[i] = e.ModelInfo
	}
	return list, nil
}

// Entries is [Catalog.List] for the operator. It also returns the problems: of models that
// are not served, or of these entries, which are each a [Warning].
func (c *Catalog) Entries(ctx context.Context) ([]Entry, []error) {
	v, err := c.view(ctx)
	if err != nil {
		return nil, []error{err}
	}
	return slices.Clone(v.entries), v.all()
}

// Entry returns the model that [Catalog.Open] would open.
func (c *Catalog) Entry(ctx context.Context, name string) (Entry, error) {
	v, err := c.view(ctx)
	if err != nil {
		return Entry{}, err
	}
	e, err := v.find(name)
	if err != nil {
		return Entry{}, err
	}
	return *e, nil
}

// Has reports whether name is the name of a model, as [llm.ModelInfo] spells it.
func (c *Catalog) Has(ctx context.Context, name string) bool {
	v, err := c.view(ctx)
	if err != nil {
		return false
	}
	e := v.names[name]
	return e != nil && e.Name == name
}

// Open implements [llm.Models]. The model is in use, and keeps its memory, until ctx ends.
func (c *Catalog) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, _, err := c.OpenEntry(ctx, name)
	return model, err
}

// OpenEntry is [Catalog.Open] that also returns the entry of the model, even if it could
// not be opened. The entry is nil if there is no such model.
func (c *Catalog) OpenEntry(ctx context.Context, name string) (*llm.Model, *Entry, error) {
	if c.cfg.Loader != nil && c.now.Load() == nil {
		c.cfg.Loader.Prefetch(strings.TrimPrefix(name, Local+"/"))
	}
	for again := false; ; again = true {
		v, err := c.view(ctx)
		if err != nil {
			return nil, nil, err
		}
		e, err := v.find(name)
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
			c.Refresh() // the run was replaced after the view was read
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
	case name == "" && len(v.entries) > 0:
		return &v.entries[0], nil
	}
	if e := v.unlisted(name); e != nil {
		return e, nil
	}
	return nil, v.missing(name)
}

// unlisted returns a remote model that is not listed but that a record describes; nil:
// there is no such model.
func (v *view) unlisted(name string) *Entry {
	families := []string{Bedrock, SageMaker}
	if _, refused := v.unserved[name]; refused || len(name) > len(SageMaker+"/")+maxName { // before it is taken apart
		return nil
	}
	if family, rest, ok := strings.Cut(name, "/"); ok && slices.Contains(families, family) {
		families, name = []string{family}, rest
	}
	for _, family := range families {
		m := model{family, name}
		if _, refused := v.unserved[m.String()]; refused || !v.serves[family] {
			continue
		}
		if it := v.records.covers(m); it != nil {
			rec := it.record(it.row(m))
			return rec.entry(nil)
		}
	}
	return nil
}

// short truncates a name for a message: clients can send megabytes.
func short(name string) string {
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

// fill completes info with the metadata of an open model, which knows best whether it reasons.
func fill(info *llm.ModelInfo, more llm.ModelInfo) {
	info.Type = cmp.Or(info.Type, more.Type)
	info.Version = cmp.Or(info.Version, more.Version)
	info.Description = cmp.Or(info.Description, more.Description)
	info.Context = cmp.Or(info.Context, more.Context)
	info.Reasons = more.Reasons
	info.StartToken = cmp.Or(info.StartToken, more.StartToken)
	info.EndToken = cmp.Or(info.EndToken, more.EndToken)
}
