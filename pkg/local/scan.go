package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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

// Scan implements [catalog.Loader]. It lists runs of Alpha and published models, the newest
// first. If a model is replaced meanwhile, it scans once more.
func (l *Loader) Scan(fsys fs.FS) (runs []catalog.Run, problems []error) {
	runs, problems = l.scan(fsys)
	if slices.ContainsFunc(problems, func(err error) bool { return errors.Is(err, bucket.ErrReplaced) }) {
		return l.scan(fsys)
	}
	return runs, problems
}

func (l *Loader) scan(fsys fs.FS) (runs []catalog.Run, problems []error) {
	var stale error
	if place, ok := fsys.(*s3Location); ok {
		files, err := l.locations.list(place)
		if files == nil {
			return nil, []error{err}
		}
		fsys, stale = files, err
	}
	found, problems := checkpoint.Scan(fsys)
	for i := range problems {
		problems[i] = clientError(problems[i])
	}
	if stale != nil {
		problems = append(problems, stale)
	}
	for _, r := range found {
		parameters := checkpoint.Elements(&r.Config.ModelConfig)
		run := catalog.Run{
			ID: r.ID, Checkpoint: r.Checkpoint, Step: r.Step, ModTime: r.ModTime, Size: r.Size,
			Parameters: parameters, Bytes: alphaPeak * 4 * parameters, Context: r.Config.ModelConfig.BlockSize,
			Info: runInfo(&r.Config, r.Step, r.LastLoss),
		}
		if info, err := fs.Stat(fsys, r.Checkpoint); err == nil {
			run.Files = versionOf(info)
		}
		runs = append(runs, run)
	}
	published, more := l.scanPublished(fsys, runs)
	runs = append(runs, published...)
	slices.SortStableFunc(runs, func(a, b catalog.Run) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.ID, b.ID))
	})
	return runs, append(problems, more...)
}

// concurrentDescriptions bounds how many models are described at the same time: S3 answers
// many requests in the time of one.
const concurrentDescriptions = 16

// scanPublished lists the models in directories that hold no run, and the packed models and
// GGUF files of the directory itself.
func (l *Loader) scanPublished(fsys fs.FS, runs []catalog.Run) (found []catalog.Run, problems []error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, nil // the scan for runs has returned it
	}
	taken := map[string]bool{}
	for _, r := range runs {
		taken[r.ID] = true
	}
	for _, d := range l.describeAll(fsys, entries, taken) {
		if d.err != nil {
			problems = append(problems, catalog.Unread{Model: d.entry, Err: clientError(d.err)})
		}
		for i := range d.models {
			m := &d.models[i]
			switch run, err := l.run(m, d.files); {
			case err != nil:
				problems = append(problems, catalog.Unread{Model: m.Name, Err: clientError(err)})
			case !taken[m.Name]:
				taken[m.Name] = true
				found = append(found, run)
			}
		}
	}
	isModel := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "config.json" })
	if isModel && len(runs)+len(found) == 0 {
		return nil, []error{errors.New("it is the directory of a model: name the directory that holds it")}
	}
	return found, problems
}

// run returns the row of a described model.
func (l *Loader) run(m *described, files string) (catalog.Run, error) {
	if m.err != nil {
		return catalog.Run{}, m.err
	}
	info := &m.info
	run := catalog.Run{
		ID: m.Name, Type: info.Name, Checkpoint: m.Path, ModTime: info.ModTime, Size: info.Size,
		Parameters: info.Parameters, Bytes: info.Bytes[transformer.Formats()[l.cfg.Quant]], Sizes: sizesByName(info.Bytes), Quant: l.cfg.Quant, Context: info.Context, Files: files,
		Images: info.Images, Reasons: m.reasons, Chat: m.chat, Mixture: info.Mixture, Paged: pagedByName(info.Paged),
	}
	if info.Shared != "" {
		run.Base, run.Weights, run.Added = info.Shared, m.weights, info.Added
		run.Bytes += info.Added
		for quant := range run.Sizes {
			run.Sizes[quant] += info.Added
		}
	}
	switch {
	case info.Ranks:
		run.Task, run.Labels = llm.TaskRerank, info.Labels
	case info.Labels != nil:
		run.Task, run.Labels = llm.TaskClassify, info.Labels
	case info.Embeds:
		run.Task, run.Embeds = llm.TaskEmbed, engine.EmbedKinds(info.Sentence)
	}
	if run.Task != llm.TaskGenerate {
		passes := engine.PassMemory(info.Spec, info.Context, engine.Config{Team: l.cfg.Team, MaxMemory: l.cfg.RequestMemory})
		run.Bytes += passes
		for quant := range run.Sizes {
			run.Sizes[quant] += passes
		}
	}
	if trained := info.Run; trained != nil {
		config, err := checkpoint.ParseRunConfig(trained.Config) // the description has checked it
		if err != nil {
			return catalog.Run{}, err
		}
		run.Step, run.Info = trained.Step, runInfo(&config, trained.Step, trained.LastLoss)
	}
	return run, nil
}

// A description is the result of describing an entry of a directory.
type description struct {
	entry  string
	models []described
	files  string // see [filesKey]
	err    error  // of the whole entry
}

// A described model, or the reason why it cannot be described.
type described struct {
	arch.Place
	info    arch.Info
	weights string // [filesKey] of the weights that it shares
	reasons bool   // its chat template has it reason
	chat    error  // of that template
	err     error
}

// describeAll describes the entries whose names are not taken, many at the same time.
func (l *Loader) describeAll(fsys fs.FS, entries []fs.DirEntry, taken map[string]bool) []description {
	list := make([]description, len(entries))
	var group sync.WaitGroup
	free := make(chan struct{}, concurrentDescriptions)
	for i, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || taken[e.Name()] {
			continue
		}
		d := &list[i]
		d.entry = e.Name()
		free <- struct{}{}
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					cause := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
					d.err = &llm.Error{Code: llm.Internal, Message: fmt.Sprintf("the files of %s could not be read", d.entry), Err: cause}
				}
				<-free
			}()
			d.models, d.files, d.err = l.describe(fsys, d.entry)
		})
	}
	group.Wait()
	return list
}

// runInfo returns what listings show of a training run.
func runInfo(c *checkpoint.RunConfig, step int, lastLoss *float64) *llm.Run {
	return &llm.Run{ID: c.RunID, Domain: c.Domain, Step: step, LastLoss: lastLoss, ModelConfig: c.ModelConfigRaw, TrainConfig: c.TrainConfig}
}

// maxDescribed bounds the models whose description a loader keeps: headers are long, and a
// catalog scans every few seconds.
const maxDescribed = 1000

// describe describes the models in an entry of a directory, which may have changed. key is
// the entry's [filesKey].
func (l *Loader) describe(fsys fs.FS, entry string) (models []described, key string, err error) {
	if key, err = filesKey(fsys, entry); err != nil {
		return nil, "", err
	}
	l.mu.Lock()
	models, ok := l.described[key]
	l.mu.Unlock()
	if ok {
		return models, key, nil
	}
	places, err := arch.Places(fsys, entry)
	if err != nil {
		return nil, key, err
	}
	for _, place := range places {
		m := described{Place: place}
		if m.info, m.err = arch.Describe(fsys, place.Path); m.err == nil {
			m.err = m.info.Tokens
		}
		if m.err == nil && m.info.Shared != "" {
			m.weights, m.err = filesKey(fsys, m.info.Shared)
		}
		if m.err == nil && !m.info.Chat.Empty() {
			if template, err := chat.Compile(m.info.Chat); err != nil {
				m.chat = fmt.Errorf("%s: %w; a record may name another chat_template", place.Path, err)
			} else {
				m.reasons = template.Reasoning() != nil
			}
		}
		if m.err != nil {
			err = m.err
		}
		models = append(models, m)
	}
	if err != nil { // perhaps for a moment only
		return models, key, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.described == nil || len(l.described) >= maxDescribed {
		l.described = map[string][]described{}
	}
	l.described[key] = models
	return models, key, nil
}

// filesKey joins the names, sizes, times and versions of the files that the models of an entry
// are read from.
func filesKey(fsys fs.FS, entry string) (key string, err error) {
	names, err := arch.Files(fsys, entry)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		info, err := fs.Stat(fsys, name) // follows links
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			key += fmt.Sprintf("\x00%s\x00%d\x00%d\x00%s", name, info.Size(), info.ModTime().UnixNano(), versionOf(info))
		}
	}
	return entry + key, nil
}

// sizesByName returns the sizes of formats by their names.
func sizesByName(bytes map[transformer.Format]int64) map[string]int64 {
	out := map[string]int64{}
	for name, f := range transformer.Formats() {
		out[name] = bytes[f]
	}
	return out
}

// pagedByName returns the experts that can stay in their file by the names of formats.
func pagedByName(paged map[transformer.Format]arch.Paged) map[string]catalog.Paged {
	out := map[string]catalog.Paged{}
	for name, f := range transformer.Formats() {
		if p, ok := paged[f]; ok {
			out[name] = catalog.Paged(p)
		}
	}
	return out
}
