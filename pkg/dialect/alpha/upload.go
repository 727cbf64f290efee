package alpha

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A Publisher stores checkpoints and serves them as models. It checks names and checkpoints;
// its [llm.Invalid] errors become 400.
type Publisher interface {
	// Spool stores a body of at most most bytes until it is closed.
	Spool(ctx context.Context, body io.Reader, most int64) (Spool, error)
	// HoldTexts waits for memory for n bytes of JSON that are read next. release returns the
	// memory.
	HoldTexts(ctx context.Context, n int64) (release func(), err error)
	Publish(ctx context.Context, upload *Upload) error
	// Delete removes a model. A missing model is an [llm.NotFound] error.
	Delete(ctx context.Context, name string) error
	Parts
}

// A Spool is a body that has arrived.
type Spool interface {
	io.ReaderAt
	Size() int64
	Close() error
}

// An Upload is a checkpoint as a training machine sends it. The Publisher may use its bytes
// only during the call.
type Upload struct {
	Name         string
	Step         int
	Config       json.RawMessage // config.json: an object; nil for a self-describing file
	Checkpoint   io.ReaderAt     // either encoding of Alpha's checkpoint files, or such a file
	Size         int64           // of Checkpoint, bytes
	Metrics      string          // metrics.jsonl, "" if there is none
	TrainingData string          // training-data.txt, "" if there is none
}

// Limits of an upload except for its checkpoint.
const (
	maxTexts   = 64 << 20 // bytes of JSON
	maxMembers = 100
)

// A receivedBody is a stored request body with the memory reserved for its decoded parts.
type receivedBody struct {
	Spool
	ctx      context.Context
	p        Publisher
	releases []func()
}

// receive stores the body of a request, whatever its size.
func (cfg Config) receive(r *http.Request, most int64) (*receivedBody, error) {
	body, err := httpx.Body(r)
	if err != nil {
		return nil, err
	}
	if n := r.ContentLength; n >= 0 && (r.Header.Get("Content-Encoding") == "" || strings.EqualFold(r.Header.Get("Content-Encoding"), "identity")) {
		most = min(most, n)
	}
	spool, err := cfg.Publisher.Spool(r.Context(), body, most)
	if err != nil {
		return nil, drained(r, err)
	}
	return &receivedBody{Spool: spool, ctx: r.Context(), p: cfg.Publisher}, nil
}

// maxDrained limits how much of a rejected body is read, bytes.
const maxDrained = 256 << 20

// drained returns err after it has read the rest of the body. Many clients read the answer
// only after they have sent everything, and lose it if the connection is closed earlier.
func drained(r *http.Request, err error) error {
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // its error adds nothing
	return err
}

// release releases the body and its memory.
func (a *receivedBody) release() {
	for _, release := range a.releases {
		release()
	}
	_ = a.Close() // the end of the process removes it otherwise
}

// decode reads a body that is one JSON object into the struct that v points to.
func (a *receivedBody) decode(table *wire.Table, v any) error {
	return a.decodeParts(table, []span{{to: a.Size()}}, v)
}

// decodeParts reads pieces of the body, which together form a JSON object, into the struct
// that v points to.
func (a *receivedBody) decodeParts(table *wire.Table, parts []span, v any) error {
	n := int64(0)
	for _, p := range parts {
		n += int64(len(p.text)) + p.to - p.from
	}
	if n > maxTexts {
		return llm.Errorf(httpx.TooLarge, "more than %d bytes besides the checkpoint", maxTexts)
	}
	release, err := a.p.HoldTexts(a.ctx, n)
	if err != nil {
		return err
	}
	a.releases = append(a.releases, release)
	b := make([]byte, 0, n)
	for _, p := range parts {
		b = append(b, p.text...)
		at := len(b)
		b = b[:at+int(p.to-p.from)]
		if k, err := a.ReadAt(b[at:], p.from); k < len(b)-at {
			return err
		}
	}
	return table.Decode(b, v)
}

// A span is a piece of a body with a prefix that is not in the body.
type span struct {
	text     []byte
	from, to int64 // bytes
}

// readUpload reads an upload in either form: one JSON object, or a checkpoint with headers.
func (a *receivedBody) readUpload(h http.Header) (*Upload, error) {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && kind == "application/octet-stream" {
		return a.binaryUpload(h)
	}
	return a.jsonUpload()
}

// jsonUpload reads the form that is one JSON object.
func (a *receivedBody) jsonUpload() (*Upload, error) {
	rest, checkpoint, plausible, err := a.splitCheckpoint()
	if err != nil {
		return nil, err
	}
	var in uploadRequest
	if err := a.decodeParts(uploadTable, rest, &in); err != nil {
		return nil, err
	}
	switch {
	case checkpoint == nil:
		return nil, invalidBody(missingFields)
	case !plausible:
		return nil, invalidBody(invalidCheckpoint)
	}
	size := checkpoint.to - checkpoint.from
	u := &Upload{
		Name: in.Name, Step: *in.Step, Config: in.Config, Metrics: in.Metrics, TrainingData: in.TrainingData,
		Checkpoint: io.NewSectionReader(a, checkpoint.from, size), Size: size,
	}
	return u, u.check()
}

// splitCheckpoint finds the checkpoint in the object, which may be a hundred megabytes of numbers, and
// the other members. plausible reports whether the checkpoint has the keys that Alpha's
// server requires; the publisher checks their values.
func (a *receivedBody) splitCheckpoint() (rest []span, checkpoint *span, plausible bool, err error) {
	s := newScanner(io.NewSectionReader(a, 0, a.Size()))
	if s.space() != '{' {
		return nil, nil, false, a.malformed(nil)
	}
	rest = []span{{text: []byte("{")}}
	config, params := false, false
	err = s.object(func(key string) error {
		from := s.offset()
		if len(rest) > maxMembers {
			return &llm.Error{Code: llm.Invalid, Message: fmt.Sprintf("the body has more than %d members", maxMembers)}
		}
		if key != "checkpoint" {
			err := s.value(1)
			rest = append(rest, member(key, len(rest) > 1, from, s.offset()))
			return err
		}
		if checkpoint != nil {
			return &llm.Error{Code: llm.Invalid, Param: key, Message: "appears twice"}
		}
		switch s.peek() {
		case 'n':
			return s.value(1) // as if it were absent
		case '{':
			err := s.object(func(key string) error {
				config = config || key == "modelConfig" && s.peek() != 'n'
				params = params || key == "params" && s.peek() != 'n'
				return s.value(2)
			})
			checkpoint = &span{from: from, to: s.offset()}
			return err
		}
		err := s.value(1)
		checkpoint = &span{from: from, to: s.offset()}
		return err
	})
	if err == nil {
		err = s.ends()
	}
	if err != nil {
		return nil, nil, false, a.malformed(err)
	}
	return append(rest, span{text: []byte("}")}), checkpoint, config && params, nil
}

// member returns the encoded member of an object in a body.
func member(key string, more bool, from, to int64) span {
	name, _ := json.Marshal(key) // strings cannot fail
	name = append(name, ':')
	if more {
		name = append([]byte(","), name...)
	}
	return span{name, from, to}
}

// malformed returns the error of a body that is not a JSON object. For short bodies
// [wire.Unmarshal] gives a more precise error.
func (a *receivedBody) malformed(err error) error {
	const short = 1 << 20
	if _, ok := err.(*llm.Error); ok { //nolint:errorlint // the scanner does not wrap it
		return err
	}
	if a.Size() <= short {
		if told := a.decode(uploadTable, new(uploadRequest)); told != nil {
			return told
		}
	}
	if err == nil {
		return invalidBody("the body must be a JSON object")
	}
	return &llm.Error{Code: llm.Invalid, Message: "the body is not valid JSON: " + err.Error(), Err: err}
}

// missing reports whether a key is absent or null.
func missing(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// check validates the fields of both forms.
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
func (a *receivedBody) binaryUpload(h http.Header) (*Upload, error) {
	u := &Upload{Name: h.Get("X-Checkpoint-Name"), Checkpoint: a, Size: a.Size()}
	step := h.Get("X-Checkpoint-Step")
	if u.Name == "" || step == "" {
		return nil, invalidBody(missingHeaders)
	}
	if a.Size() == 0 {
		return nil, invalidBody("the body is empty: a checkpoint is expected")
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
