package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/chat"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/version"
)

// openTries bounds how often opening starts again because the model was replaced meanwhile.
const openTries = 4

// muchFreed is the memory that is worth a collection of garbage before weights are read, bytes.
const muchFreed = 64 << 20

// Prefetch implements [catalog.Loader].
func (l *Loader) Prefetch(name string) { l.locations.prefetcher.request(name) }

// Open implements [catalog.Loader]: it reads the weights of a run or a published model into
// an engine.
func (l *Loader) Open(_ context.Context, run *catalog.Run, o catalog.Options) (llm.Backend, error) {
	l.releaseBallast()
	if l.cfg.Prefixes.Shrink() >= muchFreed { // the catalog counts this model as open
		debug.FreeOSMemory() // before its weights are read
	}
	m, fsys, err := l.read(run, o)
	for try := 1; try < openTries && errors.Is(err, bucket.ErrReplaced); try++ {
		if place, ok := run.FS.(*s3Location); ok {
			_ = place.list() // without a new listing the old version would be opened again
		}
		m, fsys, err = l.read(run, o)
	}
	if err != nil {
		return nil, clientError(err)
	}
	template, err := recordTemplate(run, o.ChatTemplate, m)
	if err != nil {
		return nil, errors.Join(clientError(err), m.Close())
	}
	draft, ok := o.Draft.(*engine.Engine)
	if o.Draft != nil && !ok {
		return nil, errors.Join(fmt.Errorf("its draft model %q does not continue texts", o.DraftName), m.Close())
	}
	cfg := engine.Config{
		Name: o.Name, Kernels: l.cfg.Kernels, Team: l.cfg.Team, Queue: l.cfg.Queue, Turns: l.cfg.Turns,
		Format: transformer.Formats()[cmp.Or(o.Quant, l.cfg.Quant)], KV: transformer.KVFormats()[o.KV], Template: template,
		ParseSpecial: o.ParseSpecial, Languages: o.Languages, Context: o.Context, MaxMemory: l.cfg.RequestMemory,
		Prefixes: l.cfg.Prefixes, PublicPrefixes: o.Public, NoDrafts: o.NoDrafts, Draft: draft, TokenizerJSON: l.tokenizerJSON(run, o),
		Archive: l.cfg.Archive, Fingerprint: fingerprint(run, o),
	}
	if cfg.Weights, err = l.weights(fsys, run, m, cfg); err != nil {
		return nil, errors.Join(clientError(err), m.Close())
	}
	if cfg.Weights != nil {
		defer cfg.Weights.Release() // the engine uses them
	}
	return engine.Open(m, cfg)
}

// fingerprint identifies what computes the texts of a run: its files, the options that change
// results, and this build.
func fingerprint(run *catalog.Run, o catalog.Options) string {
	build := version.Read()
	return fmt.Sprintf("%s %d %d %q %q %s %s", run.Checkpoint, run.Size, run.ModTime.UnixNano(), run.Files, o.Cap, build.Version, build.Revision)
}

// recordTemplate returns the chat template that a record names: one of package chat, a text, or
// a file beside the model's files. It is nil if the record names none.
func recordTemplate(run *catalog.Run, text string, m *arch.Model) (*chat.Template, error) {
	if text == "" {
		return nil, nil
	}
	if !catalog.IsTemplateFile(text) {
		return chat.Parse(text, m.Chat.Tokens)
	}
	name := path.Join(directoryOf(run), text)
	info, err := fs.Stat(run.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("chat_template: there is no file %s", name)
	case err != nil:
		return nil, fmt.Errorf("chat_template: %w", err)
	case info.Size() > maxTemplate:
		return nil, fmt.Errorf("chat_template: %s has %d bytes, at most %d", name, info.Size(), maxTemplate)
	}
	raw, err := fs.ReadFile(run.FS, name)
	if err != nil {
		return nil, fmt.Errorf("chat_template: %w", err)
	}
	template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: string(raw)}, Tokens: m.Chat.Tokens})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return template, nil
}

// maxTemplate bounds the file of a chat template, in bytes.
const maxTemplate = 1 << 20

// directoryOf returns the directory of a run's files.
func directoryOf(run *catalog.Run) string {
	if info, err := fs.Stat(run.FS, run.Checkpoint); err == nil && info.IsDir() {
		return run.Checkpoint
	}
	return path.Dir(run.Checkpoint)
}

// read reads the model of a run, and returns where.
func (l *Loader) read(run *catalog.Run, o catalog.Options) (*arch.Model, fs.FS, error) {
	fsys, err := snapshot(run.FS)
	if err != nil {
		return nil, nil, err
	}
	m, err := l.readFrom(fsys, run, o)
	return m, fsys, err
}

func (l *Loader) readFrom(fsys fs.FS, run *catalog.Run, o catalog.Options) (*arch.Model, error) {
	if run.Type != "" {
		model := path.Clean(run.Checkpoint)
		m, err := l.openModel(fsys, model, o)
		if err == nil && run.Info != nil {
			err = m.SetCap(o.Cap)
		}
		return m, err
	}
	return arch.OpenAlpha(fsys, run.Checkpoint, o.Cap)
}

// openModel opens a published model.
func (l *Loader) openModel(fsys fs.FS, model string, o catalog.Options) (*arch.Model, error) {
	if o.ExpertMemory > 0 {
		return arch.OpenPaged(fsys, model, o.ExpertMemory)
	}
	return arch.Open(l.locations.prefetcher.take(fsys, o.Name, model), model)
}
