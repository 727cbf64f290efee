package app

import (
	"context"
	"io/fs"

	"glossa/pkg/catalog"
	"glossa/pkg/chat"
	"glossa/pkg/engine"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
)

// scan lists the runs of a directory as the catalog has them.
func scan(fsys fs.FS) (runs []catalog.Run, problems []error) {
	found, problems := checkpoint.Scan(fsys)
	for _, r := range found {
		runs = append(runs, catalog.Run{
			ID: r.ID, Checkpoint: r.Checkpoint, Step: r.Step, ModTime: r.ModTime, Size: r.Size,
			Parameters: parameters(&r.Config.ModelConfig), Context: r.Config.ModelConfig.BlockSize,
			Info: llm.Run{
				ID: r.Config.RunID, Domain: r.Config.Domain, Step: r.Step, LastLoss: r.LastLoss,
				ModelConfig: r.Config.ModelConfigRaw, TrainConfig: r.Config.TrainConfig,
			},
		})
	}
	return runs, problems
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

// openLocal reads a run's checkpoint into an engine.
func (a *App) openLocal(_ context.Context, rec *catalog.Record, run *catalog.Run) (llm.Backend, error) {
	ck, err := checkpoint.ReadAlphaFile(run.FS, run.Checkpoint, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	e, err := engine.New(ck, engine.Config{
		Name: rec.Name, Kernels: a.kernels, Queue: a.queue, Template: chat.Template(rec.ChatTemplate), Cap: rec.Cap,
	})
	if err != nil {
		return nil, err // and no nil engine in an interface
	}
	return e, nil
}
