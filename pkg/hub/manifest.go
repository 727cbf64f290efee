package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// File names in the directory of a model.
const (
	stateDir     = ".pull"
	manifestFile = stateDir + "/manifest.json"
	newManifest  = stateDir + "/manifest.json.new"
	lockName     = stateDir + "/lock"
	partsDir     = stateDir + "/parts" // PATH.part
)

func partName(path string) string { return partsDir + "/" + path + ".part" }

// maxManifest is the largest size of a manifest, in bytes.
const maxManifest = 64 << 20

var errLocked = errors.New("another pull is writing into it, or its files are being deleted: wait until that ends")

// manifest lists the files fetched into a directory.
type manifest struct {
	Repo     string            `json:"repo"`
	Revision string            `json:"revision"`
	Commit   string            `json:"commit"` // of all Files
	Files    map[string]record `json:"files"`  // by path: complete, checked and in place
	Parts    map[string]record `json:"parts"`  // by path: incomplete
}

// record is the state of a file on disk.
type record struct {
	Size     int64     `json:"size"`              // when complete, in bytes
	Sum      string    `json:"sum"`               // as [File.sum]
	Modified time.Time `json:"modified,omitzero"` // of the file when its sum was checked; zero: unchecked
	Source   string    `json:"source,omitempty"`  // as [File.Source]
	ETag     string    `json:"etag,omitempty"`    // strong, of the server that sent the part
}

// checked reports whether the sum of the file was checked and the file has not changed since.
func (r record) checked(info fs.FileInfo) bool {
	return !r.Modified.IsZero() && r.Modified.Equal(info.ModTime()) && r.Size == info.Size()
}

// readManifest returns the manifest of a directory, an empty one if there is none.
func readManifest(root *os.Root) (*manifest, error) {
	m := &manifest{}
	f, err := root.Open(manifestFile)
	if err == nil {
		defer f.Close()
		var b []byte
		b, err = io.ReadAll(io.LimitReader(f, maxManifest))
		if err == nil && len(b) > 0 { // it is empty after a power failure
			err = json.Unmarshal(b, m)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: remove it to check all files anew", manifestFile, err)
	}
	if m.Files == nil {
		m.Files = map[string]record{}
	}
	if m.Parts == nil {
		m.Parts = map[string]record{}
	}
	return m, nil
}

// write replaces the manifest. A write that only records parts need not survive a
// power failure.
func (m *manifest) write(root *os.Root, durable bool) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := root.Create(newManifest)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(newManifest, manifestFile)
}
