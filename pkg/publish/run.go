package publish

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"glossa/pkg/engine/checkpoint"
)

// ReadRun returns the last checkpoint of an Alpha run directory in fsys as an upload, under
// the directory's name. The caller closes the file after the upload.
func ReadRun(fsys fs.FS, dir string) (Upload, io.Closer, error) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return Upload{}, nil, err
	}
	run, err := checkpoint.ReadRun(sub)
	if err != nil {
		return Upload{}, nil, err
	}
	u := Upload{Name: path.Base(dir), Config: run.Config.Raw, Step: run.Step, Size: run.Size}
	for name, to := range map[string]*string{"metrics.jsonl": &u.Metrics, "training-data.txt": &u.TrainingData} {
		text, err := fs.ReadFile(sub, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Upload{}, nil, err
		}
		*to = string(text)
	}
	f, err := sub.Open(run.Checkpoint)
	if err != nil {
		return Upload{}, nil, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return Upload{}, nil, errors.Join(errors.New("the file system does not support random access"), f.Close())
	}
	u.Checkpoint = at
	return u, f, nil
}
