package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// version is the version of the file's format.
const version = 1

// document is the file as JSON.
type document struct {
	Version     int          `json:"version"`
	Credentials []Credential `json:"credentials"`
}

// read reads a file that only its owner can open.
func read(path string) (credentials, error) {
	b, err := ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	list, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// decode decodes a document; its errors contain no hashes.
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
	if _, err := d.Token(); err != io.EOF { //nolint:errorlint // io.EOF is returned unwrapped
		return nil, errors.New("unexpected data after the document")
	}
	if doc.Version != version {
		return nil, fmt.Errorf("version %d is not supported, only %d", doc.Version, version)
	}
	list := make(credentials, len(doc.Credentials))
	for i, c := range doc.Credentials {
		at := reference{c.Kind, c.ID}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("credential %d: %w", i+1, err)
		}
		if _, ok := list[at]; ok {
			return nil, fmt.Errorf("credential %d: duplicate kind and id", i+1)
		}
		list[at] = c
	}
	return list, nil
}

// decodeError describes invalid JSON without its values, because a file written by
// hand may have secrets in the wrong place.
func decodeError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s must be %s, not %s", e.Field, e.Type, e.Value)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("invalid JSON at byte %d", e.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end")
	}
	return err
}

// encode returns a list as a document.
func (list credentials) encode() ([]byte, error) {
	doc := document{Version: version, Credentials: slices.Concat(list.ofKind(User), list.ofKind(APIKey), list.ofKind(Token), list.ofKind(Team))}
	b, err := json.MarshalIndent(doc, "", "\t")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
