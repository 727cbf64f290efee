package arch

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
)

// OpenAny is [Open], or opens a run directory of Alpha, whose last checkpoint counts, or
// one of its checkpoints, with the bound of attention scores that it says itself.
func OpenAny(fsys fs.FS, name string) (*Model, error) {
	file, run, err := alphaCheckpoint(fsys, name)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return Open(fsys, name)
	}
	ck, err := checkpoint.ReadAlphaFile(fsys, file, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	m, err := FromAlpha(ck, "")
	if err == nil && run != nil {
		m.Run = &Run{Config: run.Config.Raw, Step: run.Step, LastLoss: run.LastLoss}
	}
	return m, err
}

// alphaCheckpoint is the checkpoint of Alpha that a name stands for, and its run if it is
// in one; "" if it is the name of something else.
func alphaCheckpoint(fsys fs.FS, name string) (string, *checkpoint.Run, error) {
	if strings.HasSuffix(name, ".json") {
		return name, nil, nil
	}
	runs, problems := checkpoint.Scan(only{fsys, name})
	if len(runs) == 0 {
		return "", nil, errors.Join(problems...)
	}
	return runs[0].Checkpoint, &runs[0], nil
}

// only is a file system that lists one directory of its root.
type only struct {
	fs.FS
	dir string
}

func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	if name != "." {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() != o.dir }), err
}
