package alpha

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Parts accepts uploads that are too large for one request, in parts that may arrive in any
// order and more than once. An unknown upload, or one of another sender, is an
// [llm.NotFound] error.
type Parts interface {
	Begin(ctx context.Context, file *Announced) (*Session, error)
	Session(ctx context.Context, id string) (*Session, error)
	// Sessions returns the uploads in progress of the sender of ctx.
	Sessions(ctx context.Context) ([]*Session, error)
	Part(ctx context.Context, id string, index int, body io.Reader) error
	// Complete publishes an upload. It may be called again.
	Complete(ctx context.Context, id string) (name string, step int, err error)
	Abort(ctx context.Context, id string) error

	// Chunk stores a part of an upload whose sender chose its id, Assemble publishes it.
	Chunk(ctx context.Context, id string, index, total int, body io.Reader) error
	Assemble(ctx context.Context, id string, total int, upload *Upload) error
}

// Announced is a file that will arrive in parts: a checkpoint, or a self-describing model
// file.
type Announced struct {
	Upload          // without the checkpoint
	Size     int64  // of the file, bytes
	PartSize int64  // 0: one part
	SHA256   string // hexadecimal; "" if it is not known
	Quant    string // "": the default
}

// A Session is an upload in parts.
type Session struct {
	ID, Name       string
	Step           int
	Size, PartSize int64
	Arrived        int64 // bytes
	Parts          []Part
	Done           bool // the model is published
	Expires        time.Time
}

// A Part is a piece of the file.
type Part struct {
	Index        int
	Offset, Size int64
	Arrived      bool
	URL          string // a URL for a PUT without a key; "": to the server
}

// Limits of bodies, bytes.
const (
	maxChunk = 64 << 20
	maxPart  = 5 << 30
)

// partRoutes are the routes of uploads in parts.
func (cfg Config) partRoutes() []httpx.Route {
	routes := []httpx.Route{
		{Method: "POST", Pattern: "/api/uploads", MaxBody: min(cfg.MaxUpload, maxTexts), Doc: beginDoc, Handle: cfg.begin},
		{Method: "GET", Pattern: "/api/uploads", Doc: sessionsDoc, Handle: cfg.sessions},
		{Method: "GET", Pattern: "/api/uploads/{id}", Doc: sessionDoc, Handle: cfg.session},
		{Method: "PUT", Pattern: "/api/uploads/{id}/parts/{part}", MaxBody: maxPart, Doc: partDoc, Handle: cfg.part},
		{Method: "POST", Pattern: "/api/uploads/{id}/complete", Doc: completeDoc, Handle: cfg.complete},
		{Method: "DELETE", Pattern: "/api/uploads/{id}", Doc: abortDoc, Handle: cfg.abort},
		{Method: "POST", Pattern: "/api/upload/chunk", MaxBody: maxChunk, Doc: chunkDoc, Handle: cfg.chunk},
		{Method: "POST", Pattern: "/api/upload/assemble", MaxBody: min(cfg.MaxUpload, maxTexts), Doc: assembleDoc, Handle: cfg.assemble},
	}
	for i := range routes {
		routes[i].Permission = httpx.Upload
		if cfg.Publisher == nil {
			routes[i].Handle = func(http.ResponseWriter, *http.Request) error { return noPublisher() }
		}
	}
	return routes
}

func (cfg Config) begin(w http.ResponseWriter, r *http.Request) error {
	body, err := cfg.receive(r, maxTexts)
	if err != nil {
		return err
	}
	defer body.release()
	var in beginRequest
	if err := body.decode(beginTable, &in); err != nil {
		return err
	}
	file, err := in.announced()
	if err != nil {
		return err
	}
	s, err := cfg.Publisher.Begin(r.Context(), file)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newSession(s))
}

// announced translates /api/uploads.
func (q *beginRequest) announced() (*Announced, error) {
	config, err := configOf(q.Config)
	if err != nil {
		return nil, err
	}
	u := Upload{Name: q.Name, Step: q.Step, Config: config, Metrics: q.Metrics, TrainingData: q.TrainingData}
	return &Announced{Upload: u, Size: q.Size, PartSize: q.PartSize, SHA256: q.SHA256, Quant: q.Quant}, nil
}

// configOf returns a config.json, nil if it is missing.
func configOf(raw json.RawMessage) (json.RawMessage, error) {
	switch raw = bytes.TrimSpace(raw); {
	case missing(raw):
		return nil, nil
	case raw[0] != '{':
		return nil, &llm.Error{Code: llm.Invalid, Param: "config", Message: "must be an object"}
	}
	return raw, nil
}

// newSession returns the wire form of an upload.
func newSession(s *Session) session {
	out := session{
		ID: s.ID, Name: s.Name, Step: s.Step, Size: s.Size, PartSize: s.PartSize, Done: s.Done,
		Expires: s.Expires.UTC().Format(time.RFC3339), Parts: []part{},
	}
	for _, p := range s.Parts {
		out.Parts = append(out.Parts, part(p))
	}
	return out
}

func (cfg Config) session(w http.ResponseWriter, r *http.Request) error {
	s, err := cfg.Publisher.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newSession(s))
}

// sessions lists the sender's uploads in progress, without their parts.
func (cfg Config) sessions(w http.ResponseWriter, r *http.Request) error {
	list, err := cfg.Publisher.Sessions(r.Context())
	if err != nil {
		return err
	}
	out := sessions{Uploads: []listed{}}
	for _, s := range list {
		out.Uploads = append(out.Uploads, listed{
			ID: s.ID, Name: s.Name, Step: s.Step, Size: s.Size, Arrived: s.Arrived, Expires: s.Expires.UTC().Format(time.RFC3339),
		})
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (cfg Config) part(w http.ResponseWriter, r *http.Request) error {
	index, err := strconv.Atoi(r.PathValue("part"))
	if err != nil {
		return &llm.Error{Code: llm.NotFound, Param: "part", Message: "must be the number of a part"}
	}
	body, err := httpx.Body(r)
	if err != nil {
		return err
	}
	if err := cfg.Publisher.Part(r.Context(), r.PathValue("id"), index, body); err != nil {
		return drained(r, err)
	}
	return httpx.JSON(w, http.StatusOK, partTaken{OK: true, Part: index})
}

func (cfg Config) complete(w http.ResponseWriter, r *http.Request) error {
	name, step, err := cfg.Publisher.Complete(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, uploaded{OK: true, Name: name, Step: step})
}

func (cfg Config) abort(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := cfg.Publisher.Abort(r.Context(), id); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, deleted{OK: true, Deleted: id})
}

func (cfg Config) chunk(w http.ResponseWriter, r *http.Request) error {
	id := r.Header.Get("X-Upload-Id")
	index, bad1 := strconv.Atoi(r.Header.Get("X-Chunk-Index"))
	total, bad2 := strconv.Atoi(r.Header.Get("X-Total-Chunks"))
	if id == "" || bad1 != nil || bad2 != nil {
		return invalidBody(missingChunk)
	}
	body, err := httpx.Body(r)
	if err != nil {
		return err
	}
	first := make([]byte, 1)
	switch _, err := io.ReadFull(body, first); {
	case errors.Is(err, io.EOF):
		return invalidBody("the body is empty: a chunk is expected")
	case err != nil:
		return err
	}
	if err := cfg.Publisher.Chunk(r.Context(), id, index, total, io.MultiReader(bytes.NewReader(first), body)); err != nil {
		return drained(r, err)
	}
	return httpx.JSON(w, http.StatusOK, chunkTaken{OK: true, Chunk: index, Total: total})
}

func (cfg Config) assemble(w http.ResponseWriter, r *http.Request) error {
	body, err := cfg.receive(r, maxTexts)
	if err != nil {
		return err
	}
	defer body.release()
	var in assembleRequest
	if err := body.decode(assembleTable, &in); err != nil {
		return err
	}
	u := &Upload{Name: in.Name, Step: *in.Step, Config: bytes.TrimSpace(in.Config), Metrics: in.Metrics, TrainingData: in.TrainingData}
	if err := u.check(); err != nil {
		return err
	}
	if err := cfg.Publisher.Assemble(r.Context(), in.UploadID, in.TotalChunks, u); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, uploaded{OK: true, Name: u.Name, Step: u.Step})
}
