package alpha

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"unicode/utf8"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A Publisher keeps checkpoints and serves them as models. It checks names and
// checkpoints; an [llm.Invalid] error of it is the client's 400.
type Publisher interface {
	Publish(ctx context.Context, upload *Upload) error
	// Delete removes a model; one that is not there is an [llm.NotFound] error.
	Delete(ctx context.Context, name string) error
	Parts
}

// An Upload is a checkpoint as a training machine sends it. Its bytes belong to the
// Publisher for the time of the call.
type Upload struct {
	Name         string
	Step         int
	Config       json.RawMessage // config.json: an object; nil of a file that says itself what it is
	Checkpoint   []byte          // either encoding of Alpha's checkpoint files, or such a file
	Metrics      string          // metrics.jsonl, "" if there is none
	TrainingData string          // training-data.txt, "" if there is none
}

// readUpload reads either form of an upload: everything in one JSON object, or a
// checkpoint with the rest in headers.
func readUpload(r *http.Request) (*Upload, error) {
	b, err := httpx.ReadBody(r)
	if err != nil {
		return nil, err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "application/octet-stream" {
		return binaryUpload(r.Header, b)
	}
	return jsonUpload(b)
}

// jsonUpload reads the form that is one JSON object.
func jsonUpload(b []byte) (*Upload, error) {
	if !utf8.Valid(b) {
		return nil, bad("the body is not valid UTF-8")
	}
	b = bytes.TrimSpace(b)
	if !json.Valid(b) || b[0] != '{' {
		return nil, httpx.Unmarshal(b, new(uploadRequest)) // says what is wrong
	}
	rest, checkpoint, err := cut(b)
	if err != nil {
		return nil, err
	}
	var in uploadRequest
	if err := httpx.Unmarshal(rest, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Name == "" || missing(in.Config) || missing(checkpoint) || in.Step == nil:
		return nil, bad(missingFields)
	case !plausible(checkpoint):
		return nil, bad(invalidCheckpoint)
	}
	u := &Upload{
		Name: in.Name, Step: *in.Step, Config: in.Config, Checkpoint: checkpoint, Metrics: in.Metrics, TrainingData: in.TrainingData,
	}
	return u, u.check()
}

// cut takes the checkpoint out of the object b without decoding or copying it: it
// may be a hundred megabytes of numbers.
func cut(b []byte) (rest, checkpoint []byte, err error) {
	rest = []byte{'{'}
	for key, value := range members(b) {
		switch {
		case key != "checkpoint":
			name, err := json.Marshal(key)
			if err != nil {
				return nil, nil, err
			}
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(append(append(rest, name...), ':'), value...)
		case checkpoint != nil:
			return nil, nil, &llm.Error{Code: llm.Invalid, Param: key, Message: "given twice"}
		default:
			checkpoint = value
		}
	}
	return append(rest, '}'), checkpoint, nil
}

// plausible tells whether a checkpoint has the keys that Alpha's server asks for;
// what is in them is the publisher's to check.
func plausible(checkpoint []byte) bool {
	if checkpoint[0] != '{' {
		return false
	}
	found := map[string]bool{}
	for key, value := range members(checkpoint) {
		if key == "modelConfig" || key == "params" {
			found[key] = !missing(value)
		}
	}
	return found["modelConfig"] && found["params"]
}

// missing tells whether a key was not given, or given as nothing.
func missing(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// check holds what both forms have in common.
func (u *Upload) check() error {
	switch {
	case u.Step < 0:
		return &llm.Error{Code: llm.Invalid, Param: "step", Message: "must not be negative"}
	case u.Config != nil && u.Config[0] != '{':
		return &llm.Error{Code: llm.Invalid, Param: "config", Message: "must be an object"}
	}
	return nil
}

// binaryUpload reads the form whose body is the checkpoint file.
func binaryUpload(h http.Header, b []byte) (*Upload, error) {
	u := &Upload{Name: h.Get("X-Checkpoint-Name"), Checkpoint: b}
	step := h.Get("X-Checkpoint-Step")
	if u.Name == "" || step == "" {
		return nil, bad(missingHeaders)
	}
	if len(b) == 0 {
		return nil, bad("the body is empty: a checkpoint is expected")
	}
	if !utf8.ValidString(u.Name) {
		return nil, &llm.Error{Code: llm.Invalid, Param: "X-Checkpoint-Name", Message: "not valid UTF-8"}
	}
	var err error
	if u.Step, err = strconv.Atoi(step); err != nil {
		return nil, &llm.Error{Code: llm.Invalid, Param: "X-Checkpoint-Step", Message: "must be an integer"}
	}
	for name, set := range map[string]func([]byte){
		"X-Checkpoint-Config":       func(b []byte) { u.Config = bytes.TrimSpace(b) },
		"X-Checkpoint-Metrics":      func(b []byte) { u.Metrics = string(b) },
		"X-Checkpoint-Trainingdata": func(b []byte) { u.TrainingData = string(b) },
	} {
		if h.Get(name) == "" {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(h.Get(name))
		if err != nil || !utf8.Valid(text) {
			return nil, &llm.Error{Code: llm.Invalid, Param: name, Message: "must be UTF-8 text in base64"}
		}
		set(text)
	}
	if u.Config != nil && !json.Valid(u.Config) {
		return nil, &llm.Error{Code: llm.Invalid, Param: "X-Checkpoint-Config", Message: "must be JSON in base64"}
	}
	return u, u.check()
}
