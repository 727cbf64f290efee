package app

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

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

// scan lists the models of a directory, runs of Alpha and published models, the
// newest first.
func (s *scanner) scan(fsys fs.FS) (runs []catalog.Run, problems []error) {
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
		parameters := parameters(&r.Config.ModelConfig)
		runs = append(runs, catalog.Run{
			ID: r.ID, Checkpoint: r.Checkpoint, Step: r.Step, ModTime: r.ModTime, Size: r.Size,
			Parameters: parameters, Bytes: alphaPeak * 4 * parameters, Context: r.Config.ModelConfig.BlockSize,
			Files: fileVersion(fsys, r.Checkpoint),
			Info: &llm.Run{
				ID: r.Config.RunID, Domain: r.Config.Domain, Step: r.Step, LastLoss: r.LastLoss,
				ModelConfig: r.Config.ModelConfigRaw, TrainConfig: r.Config.TrainConfig,
			},
		})
	}
	published, more := s.scanPublished(fsys, runs)
	runs = append(runs, published...)
	slices.SortStableFunc(runs, func(a, b catalog.Run) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.ID, b.ID))
	})
	return runs, append(problems, more...)
}

// scanPublished lists the directories that hold a published model and no run, and the
// packed models beside them.
func (s *scanner) scanPublished(fsys fs.FS, runs []catalog.Run) (found []catalog.Run, problems []error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, nil // the scan for runs has told
	}
	for _, e := range entries {
		dir := e.Name()
		id, isPack := strings.CutSuffix(dir, checkpoint.PackSuffix)
		if strings.HasPrefix(dir, ".") || !e.IsDir() && !isPack || slices.ContainsFunc(slices.Concat(runs, found), func(r catalog.Run) bool { return r.ID == id }) {
			continue
		}
		info, files, err := s.describe(fsys, dir)
		if err == nil && info.Type == "" {
			continue
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("model %s: %w", dir, unreadable(err)))
			continue
		}
		found = append(found, catalog.Run{
			ID: id, Type: info.Name, Checkpoint: dir, ModTime: info.ModTime, Size: info.Size,
			Parameters: info.Parameters, Bytes: info.Bytes[transformer.Formats()[s.quant]], Sizes: sizes(info.Bytes), Context: info.Context, Files: files,
		})
	}
	return found, problems
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
	defer s.mu.Unlock()
	info, ok := s.seen[key]
	if ok {
		return info, key, nil
	}
	if arch.Detect(fsys, dir) {
		if info, err = arch.Describe(fsys, dir); err != nil {
			return info, key, err
		}
	}
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

// parameters counts the weights of a model.
func parameters(c *checkpoint.ModelConfig) (n int64) {
	for _, p := range checkpoint.Params(c, false) {
		size := int64(1)
		for _, d := range p.Shape {
			size *= int64(d)
		}
		n += size
	}
	return n
}

// openLocal reads the weights of a run or a published model into an engine.
func (a *App) openLocal(_ context.Context, rec *catalog.Record, run *catalog.Run) (llm.Backend, error) {
	a.growCloser()
	m, err := a.describe(rec, run)
	if err != nil {
		return nil, unreadable(err)
	}
	return engine.Open(m, engine.Config{
		Name: rec.Name, Kernels: a.kernels, Team: a.team, Queue: a.queue,
		Format: transformer.Formats()[cmp.Or(rec.Quant, a.quant)], Template: chat.Template(rec.ChatTemplate),
		ParseSpecial: rec.ParseSpecial, Languages: rec.Languages, Context: rec.Context, MaxMemory: a.cfg.RequestMemory,
	})
}

func (a *App) describe(rec *catalog.Record, run *catalog.Run) (*arch.Model, error) {
	fsys, err := steady(run)
	if err != nil {
		return nil, err
	}
	if run.Info == nil {
		return arch.Open(fsys, path.Clean(run.Checkpoint))
	}
	ck, err := checkpoint.ReadAlphaFile(fsys, run.Checkpoint, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	return arch.FromAlpha(ck, rec.Cap)
}
