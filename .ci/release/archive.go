package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is an entry of an archive.
type file struct {
	content []byte
	mode    os.FileMode // permissions
}

// files are the entries of an archive by their slash-separated names.
type files map[string]file

// add adds a file of the disk.
func (f files) add(name, from string, mode os.FileMode) error {
	content, err := os.ReadFile(from)
	f[name] = file{content, mode}
	return err
}

// addDir adds the files of a directory on the disk below the directory name.
func (f files) addDir(name, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := f.add(path.Join(name, e.Name()), filepath.Join(from, e.Name()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files as NAME.zip, NAME.tar.gz or NAME.tar, below the directory top. The
// bytes depend on names, modes, contents and the time only.
func (f files) write(name, top string, when time.Time) error {
	var out bytes.Buffer
	var err error
	switch {
	case strings.HasSuffix(name, ".zip"):
		err = f.zip(&out, top, when)
	case strings.HasSuffix(name, ".tar"):
		err = f.tar(&out, top, when)
	default:
		z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
		if err = f.tar(z, top, when); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

func (f files) tar(out io.Writer, top string, when time.Time) error {
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entry := f[name]
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(top, name), Size: int64(len(entry.content)), Mode: int64(entry.mode), ModTime: when, Format: tar.FormatPAX,
		})
		if err == nil {
			_, err = w.Write(entry.content)
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func (f files) zip(out io.Writer, top string, when time.Time) error {
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entry := f[name]
		h := &zip.FileHeader{Name: path.Join(top, name), Method: zip.Deflate, Modified: when}
		h.SetMode(entry.mode)
		e, err := w.CreateHeader(h)
		if err == nil {
			_, err = e.Write(entry.content)
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}
