// Package starter embeds three trained models, so that a fresh machine has
// something to serve. It knows nothing of how they are read or run. Their texts
// come from package corpus; `make train` makes them again, and this package's
// tests measure them.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed runs
var embedded embed.FS

// Runs returns the run directories novels, abc and chords, each with config.json,
// metrics.jsonl and one checkpoint (seed 002).
func Runs() fs.FS {
	runs, err := fs.Sub(embedded, "runs")
	if err != nil {
		panic(err) // the name is a constant
	}
	return runs
}
