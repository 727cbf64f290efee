// Package batches is OpenAI's Files and Batches API: files of requests are uploaded, run in the
// background, and their answers downloaded. It knows the wire format; pkg/batch keeps the files
// and runs their lines. It refuses to know what the requests are and who may send them.
//
// Source: OpenAI API Reference, "Files", "Batch".
package batches

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"glossa/pkg/batch"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Endpoints are the paths that the lines of a batch may name.
func Endpoints() []string {
	return []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"}
}

// MaxUpload is the size of the largest file that one request uploads, in bytes.
const MaxUpload = 64 << 20

// Config configures the dialect.
type Config struct {
	Batches *batch.Batches
	// Owner returns the name of the owner of what a request makes and sees.
	Owner func(context.Context) string
	// Sender returns on whose behalf the lines of a batch are run that a request orders.
	Sender func(context.Context) string
	// Created is called by the request that made a new batch to work on; it may be nil.
	Created func(context.Context)
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	const file, upload, one = "/v1/files/{file_id}", "/v1/uploads/{upload_id}", "/v1/batches/{batch_id}"
	routes := []httpx.Route{
		{Method: "POST", Pattern: "/v1/files", MaxBody: MaxUpload, Doc: uploadDoc, Handle: cfg.upload},
		{Method: "GET", Pattern: "/v1/files", Doc: listFilesDoc, Handle: cfg.files},
		{Method: "GET", Pattern: file, Doc: retrieveFileDoc, Handle: cfg.file},
		{Method: "DELETE", Pattern: file, Doc: deleteFileDoc, Handle: cfg.deleteFile},
		{Method: "GET", Pattern: file + "/content", Doc: contentDoc, Handle: cfg.content},
		{Method: "POST", Pattern: "/v1/uploads", Doc: beginUploadDoc, Handle: cfg.beginUpload},
		{Method: "POST", Pattern: upload + "/parts", MaxBody: MaxUpload, Doc: addPartDoc, Handle: cfg.addPart},
		{Method: "POST", Pattern: upload + "/complete", Doc: completeUploadDoc, Handle: cfg.completeUpload},
		{Method: "POST", Pattern: upload + "/cancel", Doc: cancelUploadDoc, Handle: cfg.cancelUpload},
		{Method: "POST", Pattern: "/v1/batches", Doc: createDoc, Handle: cfg.create},
		{Method: "GET", Pattern: "/v1/batches", Doc: listDoc, Handle: cfg.list},
		{Method: "GET", Pattern: one, Doc: retrieveDoc, Handle: cfg.retrieve},
		{Method: "POST", Pattern: one + "/cancel", Doc: cancelDoc, Handle: cfg.cancel},
	}
	for i := range routes {
		routes[i].Permission, routes[i].Errors = httpx.Inference, Errors
	}
	return routes
}

func (cfg Config) upload(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r, "file")
	if err != nil {
		return err
	}
	f, err := cfg.Batches.Upload(r.Context(), cfg.Owner(r.Context()), form.name, form.purpose, form.content)
	if err != nil {
		return failed(err, "file")
	}
	return httpx.JSON(w, http.StatusOK, newFile(f))
}

func (cfg Config) files(w http.ResponseWriter, r *http.Request) error {
	in := filesQuery{Limit: new(maxFiles), Order: "desc"}
	if err := httpx.DecodeQuery(r, filesTable, &in); err != nil {
		return err
	}
	owner := cfg.Owner(r.Context())
	ids, err := cfg.Batches.FileIDs(r.Context(), owner)
	if err != nil {
		return failed(err, "")
	}
	return answerPage(w, page{in.Limit, in.After, in.Order}, ids, func(id string) (v file, ok bool, err error) {
		f, err := cfg.Batches.File(r.Context(), owner, id)
		return newFile(f), in.Purpose == "" || f.Purpose == in.Purpose, err
	})
}

func (cfg Config) file(w http.ResponseWriter, r *http.Request) error {
	f, err := cfg.Batches.File(r.Context(), cfg.Owner(r.Context()), r.PathValue("file_id"))
	if err != nil {
		return failed(err, "file")
	}
	return httpx.JSON(w, http.StatusOK, newFile(f))
}

func (cfg Config) deleteFile(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("file_id")
	if err := cfg.Batches.DeleteFile(r.Context(), cfg.Owner(r.Context()), id); err != nil {
		return failed(err, "file")
	}
	return httpx.JSON(w, http.StatusOK, deletion{id, "file", true})
}

func (cfg Config) content(w http.ResponseWriter, r *http.Request) error {
	f, body, err := cfg.Batches.Content(r.Context(), cfg.Owner(r.Context()), r.PathValue("file_id"))
	if err != nil {
		return failed(err, "file")
	}
	defer body.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(f.Bytes, 10))
	w.Header().Set("Cache-Control", "no-store")
	_, err = io.Copy(w, stored{body})
	if _, known := errors.AsType[*llm.Error](err); err != nil && !known {
		return &llm.Error{Code: httpx.Gone, Message: "the file could not be sent", Err: err}
	}
	return err
}

// stored reads a file. Its errors are those of the store, unlike those of the client that reads.
type stored struct{ io.Reader }

// Read implements [io.Reader].
func (s stored) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed(err, "file")
	}
	return n, err
}

func (cfg Config) create(w http.ResponseWriter, r *http.Request) error {
	var in createRequest
	if err := httpx.Decode(r, createTable, &in); err != nil {
		return err
	}
	order := batch.Order{Input: in.InputFileID, Endpoint: in.Endpoint, Metadata: in.Metadata, Sender: cfg.Sender(r.Context())}
	b, err := cfg.Batches.Create(r.Context(), cfg.Owner(r.Context()), order)
	if err != nil {
		return failed(err, "input_file_id")
	}
	if cfg.Created != nil {
		cfg.Created(r.Context())
	}
	return httpx.JSON(w, http.StatusOK, newBatch(b))
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	in := page{Limit: new(defaultBatches), Order: "desc"}
	if err := httpx.DecodeQuery(r, listTable, &in); err != nil {
		return err
	}
	owner := cfg.Owner(r.Context())
	ids, err := cfg.Batches.IDs(r.Context(), owner)
	if err != nil {
		return failed(err, "")
	}
	return answerPage(w, in, ids, func(id string) (v batchObject, ok bool, err error) {
		b, err := cfg.Batches.Batch(r.Context(), owner, id)
		return newBatch(b), true, err
	})
}

func (cfg Config) retrieve(w http.ResponseWriter, r *http.Request) error {
	b, err := cfg.Batches.Batch(r.Context(), cfg.Owner(r.Context()), r.PathValue("batch_id"))
	if err != nil {
		return failed(err, "batch")
	}
	return httpx.JSON(w, http.StatusOK, newBatch(b))
}

func (cfg Config) cancel(w http.ResponseWriter, r *http.Request) error {
	b, err := cfg.Batches.Cancel(r.Context(), cfg.Owner(r.Context()), r.PathValue("batch_id"))
	if err != nil {
		return failed(err, "batch")
	}
	return httpx.JSON(w, http.StatusOK, newBatch(b))
}
