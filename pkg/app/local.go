package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/chat"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// alphaPeak is how many times its weights an Alpha model takes while it is opened:
// the file is read as a whole, then packed.
const alphaPeak = 2

// A scanner lists models. It remembers what the published ones are, since their
// headers are long and are looked at every few seconds.
type scanner struct {
	quant   string // of weights in memory, if a record does not say
	shelves *shelves

	mu   sync.Mutex
	seen map[string]arch.Info // by the names, sizes and times of a directory's files
}

// scan lists the models of a directory, runs of Alpha and published models, the newest
// first. One that is replaced meanwhile is looked at again: it is there.
func (s *scanner) scan(fsys fs.FS) (runs []catalog.Run, problems []error) {
	runs, problems = s.scanOnce(fsys)
	if slices.ContainsFunc(problems, func(err error) bool { return errors.Is(err, bucket.ErrReplaced) }) {
		return s.scanOnce(fsys)
	}
	return runs, problems
}

func (s *scanner) scanOnce(fsys fs.FS) (runs []catalog.Run, problems []error) {
	var stale error
	if place, ok := fsys.(*shelf); ok {
		now, err := s.shelves.look(place)
		if now == nil {
			return nil, []error{err}
		}
		fsys, stale = now, err
	}
	found, problems := checkpoint.Scan(fsys)
	for i := range problems {
		problems[i] = unreadable(problems[i])
	}
	if stale != nil {
		problems = append(problems, stale)
	}
	for _, r := range found {
		parameters := checkpoint.Elements(&r.Config.ModelConfig)
		runs = append(runs, catalog.Run{
			ID: r.ID, Checkpoint: r.Checkpoint, Step: r.Step, ModTime: r.ModTime, Size: r.Size,
			Parameters: parameters, Bytes: alphaPeak * 4 * parameters, Context: r.Config.ModelConfig.BlockSize,
			Files: fileVersion(fsys, r.Checkpoint),
			Info:  training(&r.Config, r.Step, r.LastLoss),
		})
	}
	published, more := s.scanPublished(fsys, runs)
	runs = append(runs, published...)
	slices.SortStableFunc(runs, func(a, b catalog.Run) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.ID, b.ID))
	})
	return runs, append(problems, more...)
}

// describedAtOnce is how many models are looked at beside each other: of a store each takes
// as long to answer as all of them.
const describedAtOnce = 16

// scanPublished lists the directories that hold a published model and no run, and the
// packed models beside them.
func (s *scanner) scanPublished(fsys fs.FS, runs []catalog.Run) (found []catalog.Run, problems []error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, nil // the scan for runs has told
	}
	taken := map[string]bool{}
	for _, r := range runs {
		taken[r.ID] = true
	}
	list := make([]entry, len(entries))
	var group sync.WaitGroup
	free := make(chan struct{}, describedAtOnce)
	for i, e := range entries {
		id, isPack := strings.CutSuffix(e.Name(), checkpoint.PackSuffix)
		if strings.HasPrefix(id, ".") || !e.IsDir() && !isPack || taken[id] {
			continue
		}
		list[i].id = id
		free <- struct{}{}
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					list[i].err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
				<-free
			}()
			list[i].info, list[i].files, list[i].err = s.describe(fsys, e.Name())
		})
	}
	group.Wait()
	for i, e := range entries {
		d := &list[i]
		switch info := &d.info; {
		case d.err != nil:
			problems = append(problems, catalog.Unread{Model: d.id, Err: fmt.Errorf("model %s: %w", e.Name(), unreadable(d.err))})
		case info.Type != "" && !taken[d.id]:
			taken[d.id] = true
			run := catalog.Run{
				ID: d.id, Type: info.Name, Checkpoint: e.Name(), ModTime: info.ModTime, Size: info.Size,
				Parameters: info.Parameters, Bytes: info.Bytes[transformer.Formats()[s.quant]], Sizes: sizes(info.Bytes), Context: info.Context, Files: d.files,
			}
			if trained := info.Run; trained != nil {
				config, err := checkpoint.ParseRunConfig(trained.Config) // which was checked
				if err != nil {
					problems = append(problems, fmt.Errorf("model %s: %w", e.Name(), err))
					continue
				}
				run.Step, run.Info = trained.Step, training(&config, trained.Step, trained.LastLoss)
			}
			found = append(found, run)
		}
	}
	return found, problems
}

// training is what listings show of a run.
func training(c *checkpoint.RunConfig, step int, lastLoss *float64) *llm.Run {
	return &llm.Run{ID: c.RunID, Domain: c.Domain, Step: step, LastLoss: lastLoss, ModelConfig: c.ModelConfigRaw, TrainConfig: c.TrainConfig}
}

// entry is what there is to say of an entry of a directory.
type entry struct {
	id    string
	info  arch.Info
	files string
	err   error
}

// maxSeen bounds what a scanner remembers, models.
const maxSeen = 1000

// describe is [arch.Describe] of a directory that may have changed; its Type is ""
// if there is no model. key is what the directory's files are called, and their sizes
// and times.
func (s *scanner) describe(fsys fs.FS, dir string) (info arch.Info, key string, err error) {
	if key, err = filesKey(fsys, dir); err != nil {
		return info, "", err
	}
	s.mu.Lock()
	info, ok := s.seen[key]
	s.mu.Unlock()
	if ok {
		return info, key, nil
	}
	is, err := arch.Detect(fsys, dir)
	if err != nil {
		return info, key, err // it may well be one
	}
	if is {
		if info, err = arch.Describe(fsys, dir); err != nil {
			return info, key, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= maxSeen {
		s.seen = map[string]arch.Info{}
	}
	s.seen[key] = info
	return info, key, nil
}

// filesKey is what the files of a directory, or the one file, are called, with their
// sizes and times.
func filesKey(fsys fs.FS, dir string) (key string, err error) {
	names := []string{dir}
	if entries, err := fs.ReadDir(fsys, dir); err == nil {
		for _, e := range entries {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	for _, name := range names {
		info, err := fs.Stat(fsys, name) // follows links
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			key += fmt.Sprintf("\x00%s\x00%d\x00%d\x00%s", name, info.Size(), info.ModTime().UnixNano(), version(info))
		}
	}
	return dir + key, nil
}

// sizes has the sizes of formats by their names.
func sizes(bytes map[transformer.Format]int64) map[string]int64 {
	out := map[string]int64{}
	for name, f := range transformer.Formats() {
		out[name] = bytes[f]
	}
	return out
}

// openTries bounds how often a model is opened that is replaced meanwhile.
const openTries = 4

// openLocal reads the weights of a run or a published model into an engine.
func (a *App) openLocal(_ context.Context, rec *catalog.Record, run *catalog.Run) (llm.Backend, error) {
	a.growCloser()
	m, err := a.describe(rec, run)
	for try := 1; try < openTries && errors.Is(err, bucket.ErrReplaced); try++ {
		if place, ok := run.FS.(*shelf); ok {
			_ = place.look() // or what was there before is tried again
		}
		m, err = a.describe(rec, run)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return engine.Open(m, engine.Config{
		Name: rec.Name, Kernels: a.kernels, Team: a.team, Queue: a.queue, Turns: a.turns,
		Format: transformer.Formats()[cmp.Or(rec.Quant, a.quant)], Template: chat.Template(rec.ChatTemplate),
		ParseSpecial: rec.ParseSpecial, Languages: rec.Languages, Context: rec.Context, MaxMemory: a.cfg.RequestMemory,
		TokenizerJSON: a.tokenizerJSON(rec, run),
	})
}

func (a *App) describe(rec *catalog.Record, run *catalog.Run) (*arch.Model, error) {
	fsys, err := steady(run)
	if err != nil {
		return nil, err
	}
	if run.Type != "" {
		model := path.Clean(run.Checkpoint)
		m, err := arch.Open(a.shelves.ahead.take(fsys, rec.Name, model), model)
		if err == nil && run.Info != nil {
			err = m.SetCap(rec.Cap)
		}
		return m, err
	}
	ck, err := checkpoint.ReadAlphaFile(fsys, run.Checkpoint, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	return arch.FromAlpha(ck, rec.Cap)
}
