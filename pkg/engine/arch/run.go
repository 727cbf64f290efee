package arch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// OpenAny opens a model like [Open], or else the last checkpoint of an Alpha run
// directory or one of its checkpoints, with their own bound of attention scores.
func OpenAny(fsys fs.FS, name string) (*Model, error) {
	file, run, err := alphaCheckpoint(fsys, name)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return Open(fsys, name)
	}
	m, err := OpenAlpha(fsys, file, "")
	if err == nil && run != nil {
		m.Run = &Run{Config: run.Config.Raw, Step: run.Step, LastLoss: run.LastLoss}
	}
	return m, err
}

// OpenPath opens the model at a path of the operating system like [OpenAny]: a Hugging Face
// or run directory, or a GGUF file, a packed model or a checkpoint.
func OpenPath(name string) (*Model, error) {
	full, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		return nil, err
	}
	return OpenAny(os.DirFS(filepath.Dir(full)), filepath.Base(full))
}

// alphaCheckpoint returns the path of the checkpoint of Alpha with that name, and its run
// if it is part of one; "" if the name is not one of Alpha.
func alphaCheckpoint(fsys fs.FS, name string) (string, *checkpoint.Run, error) {
	if strings.HasSuffix(name, ".json") {
		return name, nil, nil
	}
	runs, problems := checkpoint.Scan(singleDir{fsys, name})
	if len(runs) == 0 {
		return "", nil, errors.Join(problems...)
	}
	return runs[0].Checkpoint, &runs[0], nil
}

// singleDir is a file system that lists one directory of its root.
type singleDir struct {
	fs.FS
	dir string
}

func (o singleDir) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	if name != "." {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() != o.dir }), err
}
