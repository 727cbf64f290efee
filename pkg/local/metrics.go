package local

import (
	"path"

	"glossa/pkg/catalog"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
)

// Metrics returns the training metrics of a model, from an offset in bytes of its metrics
// file. It reads no weights.
func (l *Loader) Metrics(run *catalog.Run, from int64) (m checkpoint.Metrics, err error) {
	defer func() { err = clientError(err) }()
	fsys, err := snapshot(run.FS)
	switch {
	case err != nil:
		return m, err
	case run.Type == "":
		return checkpoint.ReadMetrics(fsys, path.Dir(run.Checkpoint), from)
	}
	text, err := arch.RunFileOf(fsys, run.Checkpoint, checkpoint.MetricsFile) // a packed run holds it
	return checkpoint.MetricsOf(text, from), err
}
