package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// builder makes a view.
type builder struct {
	view
	memory int64             // of open models; 0: no bound
	drafts map[string]string // see [Config.Drafts]
	roots  []scan
	used   map[place]bool  // runs that records name
	fixed  map[string]bool // by family/name: the model is in a fixed root
	at     map[model]int   // indexes into entries, until they are sorted
}

func (b *builder) problem(what string, err error) {
	b.problems = append(b.problems, fmt.Errorf("%s: %w", what, err))
}

// addListing adds the models of records.
func (b *builder) addListing(l *listing, cfg Config) {
	b.problems = append(b.problems, l.problems...)
	for _, u := range l.unserved {
		b.refuse(u, nil)
	}
	for i := range l.records {
		b.addRecord(&l.records[i], cfg)
	}
}

// addRuns adds the runs of a root that no record names.
func (b *builder) addRuns(i int, root Root) {
	b.problems = append(b.problems, b.roots[i].problems...)
	for j := range b.roots[i].runs {
		if run := &b.roots[i].runs[j]; !b.used[place{i, run.ID}] {
			kind := cmp.Or(run.Type, alpha)
			b.add(&Record{Name: run.ID, Family: Local, Type: kind, Streaming: true, Checkpoint: run.ID}, run, root.Fixed)
		}
	}
}

// refuse marks a model as listed and not served. An error of [llm] is shown to clients.
func (b *builder) refuse(m model, err error) {
	why, _ := errors.AsType[*llm.Error](err)
	b.unserved[m.name], b.unserved[m.String()] = why, why
}

// addRecord adds the model of a record, if the model exists.
func (b *builder) addRecord(rec *Record, cfg Config) {
	what := "record " + rec.Family + "-" + rec.Name // local models have a record of their own
	if rec.Family != Local {
		what = "model " + rec.Family + "/" + rec.Name
	}
	if !cfg.serves(rec.Family) {
		b.refuse(model{rec.Family, rec.Name}, nil)
		b.problem(what, fmt.Errorf("models of the family %q are not served here", rec.Family))
		return
	}
	if rec.Family != Local {
		b.add(rec, nil, false)
		return
	}
	run, fixed, err := b.resolve(rec.Checkpoint, cfg)
	if err != nil {
		b.refuse(model{rec.Family, rec.Name}, err)
		b.problem(what, err)
		return
	}
	b.add(rec, run, fixed)
}

// resolve finds the run that a record names.
func (b *builder) resolve(checkpoint string, cfg Config) (run *Run, fixed bool, err error) {
	switch {
	case strings.HasPrefix(checkpoint, "s3:") || filepath.IsAbs(checkpoint):
		run, err := b.locate(checkpoint, cfg.Loader)
		return run, false, err
	case checkpoint == "." || strings.ContainsAny(checkpoint, `/\`):
		return nil, false, fmt.Errorf("checkpoint %q: neither the name of a run nor an absolute directory", checkpoint)
	}
	var looked []string
	for i, root := range cfg.Roots {
		j := slices.IndexFunc(b.roots[i].runs, func(r Run) bool { return r.ID == checkpoint })
		if j >= 0 {
			b.used[place{i, checkpoint}] = true
			return &b.roots[i].runs[j], root.Fixed, nil
		}
		looked = append(looked, root.Name)
	}
	return nil, false, fmt.Errorf("checkpoint %q: no such run in %s", checkpoint, cmp.Or(strings.Join(looked, ", "), "any root, as there is none"))
}

// locate finds the model at an absolute path or a URL of S3.
func (b *builder) locate(checkpoint string, loader Loader) (*Run, error) {
	if filepath.IsAbs(checkpoint) {
		checkpoint = filepath.Clean(checkpoint)
	}
	fsys, err := loader.Locate(checkpoint)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %q: %w", checkpoint, err)
	}
	parent := filepath.Dir(checkpoint)
	if !filepath.IsAbs(checkpoint) {
		checkpoint = strings.TrimSuffix(checkpoint, "/")
		parent = checkpoint[:strings.LastIndexByte(checkpoint, '/')]
	}
	s := scanFS(loader, fsys, parent)
	if len(s.runs) == 0 {
		return nil, fmt.Errorf("checkpoint %q: %w", checkpoint, cmp.Or(errors.Join(s.problems...), errors.New("there is no run")))
	}
	b.problems = append(b.problems, s.problems...)
	return &s.runs[0], nil
}

// add adds a model; a name that is taken is a problem.
func (b *builder) add(rec *Record, run *Run, fixed bool) {
	m := model{rec.Family, rec.Name}
	if i, taken := b.at[m]; taken {
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
	if run != nil && run.Chat != nil && rec.ChatTemplate == "" {
		b.problems = append(b.problems, Unread{Model: rec.Name, Err: run.Chat})
		return
	}
	e := rec.entry(run)
	// Other models are refused when they are opened, so that their fallbacks can answer.
	if need := e.bytes(); e.Task != llm.TaskGenerate && b.memory > 0 && need > b.memory {
		b.problems = append(b.problems, Unread{Model: rec.Name, Err: tooLarge(need, b.memory)})
		return
	}
	b.fixed[m.String()], b.at[m] = fixed, len(b.entries)
	b.entries = append(b.entries, *e)
}

// tooLarge returns the error of a model that needs more memory than all models may use.
func tooLarge(need, limit int64) error {
	return fmt.Errorf("it needs %s of memory, for its weights and the longest batch, and models may use %s here", size(need), size(limit))
}

// entry returns the entry of a record; run is nil unless its family is [Local].
func (rec *Record) entry(run *Run) *Entry {
	info := llm.ModelInfo{
		Name: rec.Name, Family: rec.Family, InProcess: run != nil, Type: rec.Type, Description: rec.Description, Hostings: rec.Hostings,
		Streaming: rec.Streaming, Created: rec.Created, Context: rec.Context, IgnoreUnmapped: rec.IgnoreUnmapped, Drops: rec.Drop, Aliases: rec.Aliases, Prices: rec.Prices,
	}
	info.Task, info.Images = rec.Schema.Task(), rec.Images
	if run != nil {
		info.Run, info.Task, info.Embeds, info.Labels, info.Images = run.Info, run.Task, run.Embeds, run.Labels, run.Images
		if info.Reasons = run.Reasons; rec.Reasons != nil {
			info.Reasons = *rec.Reasons
		}
		info.Size, info.Parameters = run.Size, run.Parameters
		if info.Context == 0 || run.Context > 0 && run.Context < info.Context {
			info.Context = run.Context // a record can only lower it
		}
		if info.Created.IsZero() {
			info.Created = run.ModTime
		}
	}
	info.Streaming = info.Streaming && info.Task == llm.TaskGenerate // vectors and scores come whole
	return &Entry{ModelInfo: info, Run: run, Item: rec.Key, rec: rec}
}

// done sorts the models and indexes their names.
func (b *builder) done() *view {
	group := func(e Entry) int {
		g := 2 * rank(e.Family)
		if b.fixed[e.Family+"/"+e.Name] {
			g++
		}
		if e.Task != llm.TaskGenerate { // never the default model, if there is another
			g += 100
		}
		return g
	}
	slices.SortStableFunc(b.entries, func(x, y Entry) int {
		if g := cmp.Compare(group(x), group(y)); g != 0 || x.Run == nil || b.fixed[x.Family+"/"+x.Name] {
			return g
		}
		return y.Run.ModTime.Compare(x.Run.ModTime)
	})
	for b.index(); b.refuseDrafts(); {
		b.index()
	}
	b.checkDrafts()
	b.checkFallbacks()
	return new(b.view)
}

// index indexes the names of models: names before aliases, aliases before the names that runs have
// in their configuration.
func (b *builder) index() {
	clear(b.names)
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
}

// checkFallbacks warns of fallbacks that do not exist, and of models whose fallbacks lead
// back to them. A record of a group may name a model of the group.
func (b *builder) checkFallbacks() {
	next := make(map[*Entry][]*Entry, len(b.entries))
	for i := range b.entries {
		e := &b.entries[i]
		for _, name := range e.rec.Fallbacks {
			switch f := b.names[name]; {
			case f == nil && b.unlisted(name) != nil:
			case f == nil:
				b.warn(e, fmt.Errorf("the fallback model %q does not exist", short(name)))
			case f == e && e.rec.Key != e.Family+"-"+e.Name:
			default:
				next[e] = append(next[e], f)
			}
		}
	}
	for i := range b.entries {
		if e := &b.entries[i]; leads(next, e, e, map[*Entry]bool{}) {
			b.warn(e, errors.New("its fallbacks lead back to itself"))
		}
	}
}

func (b *builder) warn(e *Entry, err error) {
	b.problems = append(b.problems, Warning{fmt.Errorf("model %s/%s: %w", e.Family, e.Name, err)})
}

// leads reports whether the fallbacks of from lead to a model.
func leads(next map[*Entry][]*Entry, from, to *Entry, seen map[*Entry]bool) bool {
	for _, f := range next[from] {
		if f == to {
			return true
		}
		if !seen[f] {
			seen[f] = true
			if leads(next, f, to, seen) {
				return true
			}
		}
	}
	return false
}
