package batches

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// maxField is the longest value of a field that is not the file: in bytes of a form, in characters of JSON.
const maxField = 256

// A form is the body of POST /v1/files or of a part of an upload.
type form struct {
	field         string // of the content: file or data
	purpose, name string
	content       *bytes.Reader
}

// readForm reads a form with the field file and its purpose, or with the field data.
func readForm(r *http.Request, field string) (*form, error) {
	f := &form{field: field}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, llm.Errorf(llm.Invalid, "the body must be a form: multipart/form-data with %s", f.fields())
	}
	body, err := httpx.ReadBody(r)
	if err != nil {
		return nil, err
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f, f.check()
		}
		if err != nil {
			return nil, llm.Errorf(llm.Invalid, "the form cannot be read: %v", err)
		}
		if err := f.add(part); err != nil {
			return nil, err
		}
	}
}

// add reads a field.
func (f *form) add(part *multipart.Part) error {
	switch name := part.FormName(); {
	case name == f.field && f.content == nil:
		content, err := io.ReadAll(part)
		if err != nil {
			return llm.Errorf(llm.Invalid, "the file cannot be read: %v", err)
		}
		if f.name = part.FileName(); len(f.name) > maxField {
			return &llm.Error{Code: llm.Invalid, Param: name, Message: "the name of the file is too long"}
		}
		f.content = bytes.NewReader(content)
	case name == "purpose" && f.field == "file" && f.purpose == "":
		value, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return llm.Errorf(llm.Invalid, "the purpose cannot be read: %v", err)
		}
		f.purpose = string(value)
	case name == f.field || name == "purpose" && f.field == "file":
		return &llm.Error{Code: llm.Invalid, Param: name, Message: "is sent twice"}
	default:
		return &llm.Error{Code: llm.Unsupported, Param: name[:min(len(name), maxField)], Message: "the form has " + f.fields()}
	}
	return nil
}

// fields names what the form has.
func (f *form) fields() string {
	if f.field == "data" {
		return "the field data"
	}
	return "the fields file and purpose"
}

func (f *form) check() error {
	switch {
	case f.content == nil:
		return &llm.Error{Code: llm.Invalid, Param: f.field, Message: "is required"}
	case f.field == "data":
		return nil
	case f.purpose == "":
		return &llm.Error{Code: llm.Invalid, Param: "purpose", Message: "is required"}
	case f.purpose != "batch":
		return &llm.Error{Code: llm.Unsupported, Param: "purpose", Message: "files serve batches here: it must be batch"}
	}
	return nil
}
