package local

import (
	"cmp"
	"context"
	"errors"
	"path"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/chat"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// openTries bounds how often opening starts again because the model was replaced meanwhile.
const openTries = 4

// Prefetch implements [catalog.Loader].
func (l *Loader) Prefetch(name string) { l.locations.prefetcher.request(name) }

// Open implements [catalog.Loader]: it reads the weights of a run or a published model into
// an engine.
func (l *Loader) Open(_ context.Context, run *catalog.Run, o catalog.Options) (llm.Backend, error) {
	l.releaseBallast()
	m, err := l.read(run, o)
	for try := 1; try < openTries && errors.Is(err, bucket.ErrReplaced); try++ {
		if place, ok := run.FS.(*s3Location); ok {
			_ = place.list() // without a new listing the old version would be opened again
		}
		m, err = l.read(run, o)
	}
	if err != nil {
		return nil, clientError(err)
	}
	var template *chat.Template
	if o.ChatTemplate != "" {
		if template, err = chat.Parse(o.ChatTemplate, m.Chat.Tokens); err != nil {
			return nil, errors.Join(clientError(err), m.Close())
		}
	}
	return engine.Open(m, engine.Config{
		Name: o.Name, Kernels: l.cfg.Kernels, Team: l.cfg.Team, Queue: l.cfg.Queue, Turns: l.cfg.Turns,
		Format: transformer.Formats()[cmp.Or(o.Quant, l.cfg.Quant)], Template: template,
		ParseSpecial: o.ParseSpecial, Languages: o.Languages, Context: o.Context, MaxMemory: l.cfg.RequestMemory,
		TokenizerJSON: l.tokenizerJSON(run, o),
	})
}

// read reads the model of a run.
func (l *Loader) read(run *catalog.Run, o catalog.Options) (*arch.Model, error) {
	fsys, err := snapshot(run.FS)
	if err != nil {
		return nil, err
	}
	if run.Type != "" {
		model := path.Clean(run.Checkpoint)
		m, err := arch.Open(l.locations.prefetcher.take(fsys, o.Name, model), model)
		if err == nil && run.Info != nil {
			err = m.SetCap(o.Cap)
		}
		return m, err
	}
	ck, err := checkpoint.ReadAlphaFile(fsys, run.Checkpoint, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	return arch.FromAlpha(ck, o.Cap)
}
