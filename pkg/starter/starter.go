// Package starter embeds seven trained models, so that a fresh machine has something to
// serve. It does not know how they are read or run. Their texts come from package corpus
// and from the command .ci/phrases; `make train` and `make train-tools`, `-phrases` and
// `-sentences` train them again. The tests of both packages measure the models.
//
// Start with [Runs]: OpenAny in package arch opens its directories.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed runs
var embedded embed.FS

// Names lists the models. The first is the default model.
func Names() []string {
	return []string{"novels", "abc", "chords", "forms", "phrases", "tools", "sentences"}
}

// Runs returns the run directories novels, abc, chords and forms, each with config.json,
// metrics.jsonl and one checkpoint, as Alpha's trainer writes them, and tools, which calls
// functions, phrases, a translator, and sentences, which embeds, in the layout of published models.
func Runs() fs.FS {
	runs, err := fs.Sub(embedded, "runs")
	if err != nil {
		panic(err) // the name is a constant
	}
	return runs
}
