package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// maxFile is the largest file that is read, in bytes: some ten thousands of
// credentials.
const maxFile = 16 << 20

// version is that of the file's format.
const version = 1

// document is the file as JSON.
type document struct {
	Version     int          `json:"version"`
	Credentials []Credential `json:"credentials"`
}

// read reads a file that only its owner can.
func read(path string) (credentials, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	list, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// private refuses files that others may read or write: who can write may let
// anybody in. Windows keeps such rights elsewhere.
func private(info fs.FileInfo) error {
	const others = 0o077
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return errors.New("it is no regular file")
	case runtime.GOOS != "windows" && mode.Perm()&others != 0:
		return fmt.Errorf("others may open it (its mode is %#o): chmod 600 it", mode.Perm())
	}
	return nil
}

// decode reads a document; its errors show no hashes.
func decode(b []byte) (credentials, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	var doc document
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, decodeError(err)
	}
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // io.EOF as it is
		return nil, errors.New("there is something behind the document")
	}
	if doc.Version != version {
		return nil, fmt.Errorf("its version is %d, this program knows %d", doc.Version, version)
	}
	list := make(credentials, len(doc.Credentials))
	for i, c := range doc.Credentials {
		at := reference{c.Kind, c.ID}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("credential %d: %w", i+1, err)
		}
		if _, ok := list[at]; ok {
			return nil, fmt.Errorf("credential %d: there is another of its kind and id", i+1)
		}
		list[at] = c
	}
	return list, nil
}

// decodeError says what is wrong with JSON without its values, which a file that
// was written by hand may have in the wrong place.
func decodeError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s must be %s, not %s", e.Field, e.Type, e.Value)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no valid JSON at byte %d", e.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// write replaces the file as a whole.
func (list credentials) write(path string) error {
	doc := document{Version: version, Credentials: slices.Concat(list.of(User), list.of(APIKey), list.of(Token))}
	b, err := json.MarshalIndent(doc, "", "\t")
	if err != nil {
		return err
	}
	if len(b) >= maxFile {
		return fmt.Errorf("%s: there is no room for more", path)
	}
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	if err := writeNew(temp, append(b, '\n'), path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// writeNew makes a file that lasts, of the owner of another one if there is that.
func writeNew(path string, b []byte, other string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := own(file, other); err != nil {
		return err
	}
	if _, err := file.Write(b); err != nil {
		return err
	}
	return file.Sync()
}
