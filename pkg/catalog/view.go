package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// view is what one look at records and runs has found. It does not change.
type view struct {
	at       time.Time
	entries  []Entry
	names    map[string]*Entry // every way to call a model
	problems []error
}

// scan is what one root holds.
type scan struct {
	runs     []Run
	problems []error
	done     bool
}

// view returns a view that is no older than the TTL.
func (c *Catalog) view(ctx context.Context) *view {
	fresh := func() *view {
		if v := c.now.Load(); v != nil && time.Since(v.at) < c.cfg.TTL {
			return v
		}
		return nil
	}
	if v := fresh(); v != nil {
		return v
	}
	c.load.Lock()
	defer c.load.Unlock()
	if v := fresh(); v != nil {
		return v
	}
	v := c.look(context.WithoutCancel(ctx)) // others wait for it too
	c.now.Store(v)
	c.forget(v)
	return v
}

// look reads records and roots.
func (c *Catalog) look(ctx context.Context) *view {
	b := &builder{
		view: view{at: time.Now(), names: map[string]*Entry{}}, scan: c.cfg.Scan,
		used: map[place]bool{}, fixed: map[string]bool{},
	}
	if c.cfg.Source != nil {
		records, problems, err := c.cfg.Source.Records(ctx)
		if err != nil {
			b.problem("records", err)
		} else {
			c.records = records
		}
		b.problems = append(b.problems, problems...)
	}
	for i, root := range c.cfg.Roots {
		b.roots = append(b.roots, c.scanRoot(i, root))
	}
	for i := range c.records {
		b.addRecord(&c.records[i], c.cfg)
	}
	for i, root := range c.cfg.Roots {
		b.problems = append(b.problems, b.roots[i].problems...)
		for j := range b.roots[i].runs {
			if run := &b.roots[i].runs[j]; !b.used[place{i, run.ID}] {
				kind := cmp.Or(run.Type, alpha)
				b.add(&Record{Name: run.ID, Family: Local, Type: kind, Streaming: true, Checkpoint: run.ID}, run, root.Fixed)
			}
		}
	}
	return b.done()
}

func (c *Catalog) scanRoot(i int, root Root) scan {
	if c.fixed[i].done {
		return c.fixed[i]
	}
	s := scanFS(c.cfg.Scan, root.FS, root.Name)
	if s.done = root.Fixed; s.done {
		c.fixed[i] = s
	}
	return s
}

func scanFS(scanner Scanner, fsys fs.FS, source string) (s scan) {
	runs, problems := scanner(fsys)
	for _, run := range runs {
		run.FS, run.Source = fsys, source
		s.runs = append(s.runs, run)
	}
	for _, err := range problems {
		s.problems = append(s.problems, fmt.Errorf("%s: %w", source, err))
	}
	return s
}

// place is where a run stands: the index of its root and its name.
type place struct {
	root int
	id   string
}

// builder makes a view.
type builder struct {
	view
	scan  Scanner
	roots []scan
	used  map[place]bool  // runs that records name
	fixed map[string]bool // by family/name: the model is of a fixed root
}

func (b *builder) problem(what string, err error) {
	b.problems = append(b.problems, fmt.Errorf("%s: %w", what, err))
}

// addRecord adds the model of a record, if it is there.
func (b *builder) addRecord(rec *Record, cfg Config) {
	what := "record " + rec.Family + "-" + rec.Name
	if cfg.Openers[rec.Family] == nil {
		b.problem(what, fmt.Errorf("models of the family %q are not served here", rec.Family))
		return
	}
	if rec.Family != Local {
		b.add(rec, nil, false)
		return
	}
	run, fixed, err := b.resolve(rec.Checkpoint, cfg.Roots)
	if err != nil {
		b.problem(what, err)
		return
	}
	b.add(rec, run, fixed)
}

// resolve finds the run that a record names.
func (b *builder) resolve(checkpoint string, roots []Root) (run *Run, fixed bool, err error) {
	switch {
	case strings.HasPrefix(checkpoint, "s3:"):
		return nil, false, fmt.Errorf("checkpoint %q: checkpoints in S3 cannot be read here: name a directory", checkpoint)
	case filepath.IsAbs(checkpoint):
		checkpoint = filepath.Clean(checkpoint)
		s := scanFS(b.scan, only{os.DirFS(filepath.Dir(checkpoint)), filepath.Base(checkpoint)}, filepath.Dir(checkpoint))
		if len(s.runs) == 0 {
			return nil, false, fmt.Errorf("checkpoint %q: %w", checkpoint, cmp.Or(errors.Join(s.problems...), errors.New("there is no run")))
		}
		return &s.runs[0], false, nil
	case checkpoint == "." || strings.ContainsAny(checkpoint, `/\`):
		return nil, false, fmt.Errorf("checkpoint %q: neither the name of a run nor an absolute directory", checkpoint)
	}
	var looked []string
	for i, root := range roots {
		j := slices.IndexFunc(b.roots[i].runs, func(r Run) bool { return r.ID == checkpoint })
		if j >= 0 {
			b.used[place{i, checkpoint}] = true
			return &b.roots[i].runs[j], root.Fixed, nil
		}
		looked = append(looked, root.Name)
	}
	return nil, false, fmt.Errorf("checkpoint %q: no such run in %s", checkpoint, cmp.Or(strings.Join(looked, ", "), "any root, as there is none"))
}

// add adds a model; one whose name is taken is a problem.
func (b *builder) add(rec *Record, run *Run, fixed bool) {
	i := slices.IndexFunc(b.entries, func(e Entry) bool { return e.Family == rec.Family && e.Name == rec.Name })
	if i >= 0 {
		from, by := "its record", "another record"
		if run != nil {
			from = run.Source
		}
		if r := b.entries[i].Run; r != nil {
			by = "the run " + r.ID + " of " + r.Source
		}
		b.problem(fmt.Sprintf("model %s of %s", rec.Name, from), fmt.Errorf("not served: its name is taken by %s", by))
		return
	}
	info := llm.ModelInfo{
		Name: rec.Name, Family: rec.Family, Type: rec.Type, Description: rec.Description, Hostings: rec.Hostings,
		Streaming: rec.Streaming, Created: rec.Created, Context: rec.Context,
	}
	if run != nil {
		info.Run = run.Info
		if info.Context == 0 || run.Context > 0 && run.Context < info.Context {
			info.Context = run.Context // a record can lower it
		}
		if info.Created.IsZero() {
			info.Created = run.ModTime
		}
	}
	b.fixed[rec.Family+"/"+rec.Name] = fixed
	b.entries = append(b.entries, Entry{ModelInfo: info, Aliases: rec.Aliases, Run: run, rec: rec})
}

// done sorts the models and indexes their names: names before aliases, aliases
// before the names that runs have in their configuration.
func (b *builder) done() *view {
	group := func(e Entry) int {
		if b.fixed[e.Family+"/"+e.Name] {
			return 2*rank(e.Family) + 1
		}
		return 2 * rank(e.Family)
	}
	slices.SortStableFunc(b.entries, func(x, y Entry) int {
		if g := cmp.Compare(group(x), group(y)); g != 0 || x.Run == nil || b.fixed[x.Family+"/"+x.Name] {
			return g
		}
		return y.Run.ModTime.Compare(x.Run.ModTime)
	})
	put := func(e *Entry, name string) {
		for _, key := range []string{name, e.Family + "/" + name} {
			if name != "" && b.names[key] == nil {
				b.names[key] = e
			}
		}
	}
	for i := range b.entries {
		put(&b.entries[i], b.entries[i].Name)
	}
	for i := range b.entries {
		for _, alias := range b.entries[i].Aliases {
			put(&b.entries[i], alias)
		}
	}
	for i := range b.entries {
		if run := b.entries[i].Run; run != nil && run.Info != nil {
			put(&b.entries[i], run.Info.ID)
		}
	}
	return new(b.view)
}

// only is the directory FS of which one entry alone is seen.
type only struct {
	fs.FS
	name string
}

// ReadDir implements [fs.ReadDirFS].
func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return fs.ReadDir(o.FS, name)
	}
	info, err := fs.Stat(o.FS, o.name)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}
