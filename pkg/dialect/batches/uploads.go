package batches

import (
	"net/http"

	"glossa/pkg/batch"
	"glossa/pkg/httpx"
	"glossa/pkg/wire"
)

// uploadRequest is the body of POST /v1/uploads.
type uploadRequest struct {
	Bytes    int64  `json:"bytes"`
	Filename string `json:"filename"`
	MimeType string `json:"mime_type"`
	Purpose  string `json:"purpose"`
}

var uploadTable = wire.For[uploadRequest](
	wire.Parameter{Name: "bytes", Required: true, Note: "the size of the whole file"},
	wire.Parameter{Name: "filename", Required: true, MaxText: maxField, Note: "the name of the file"},
	wire.Parameter{Name: "mime_type", Required: true, MaxText: maxField, Note: "its media type, such as application/jsonl"},
	wire.Parameter{Name: "purpose", Required: true, OneOf: []string{"batch"}, Note: "files serve batches here"},
)

// completeRequest is the body that completes an upload.
type completeRequest struct {
	PartIDs []string `json:"part_ids"`
	MD5     string   `json:"md5"`
}

var completeTable = wire.For[completeRequest](
	wire.Parameter{Name: "part_ids", Required: true, Note: "the ids of all parts, in the order of the file"},
	wire.Parameter{Name: "md5", Note: "of the file, in hexadecimal; it is checked if it is sent"},
)

// uploadObject is the state of an upload.
type uploadObject struct {
	ID        string `json:"id" doc:"the id of the upload"`
	Object    string `json:"object" doc:"always upload" enum:"upload"`
	Bytes     int64  `json:"bytes" doc:"the size of the whole file"`
	CreatedAt int64  `json:"created_at" doc:"seconds since 1970, as all times here"`
	ExpiresAt int64  `json:"expires_at" doc:"when it must be completed"`
	Filename  string `json:"filename" doc:"the name of the file"`
	Purpose   string `json:"purpose" doc:"always batch" enum:"batch"`
	Status    string `json:"status" doc:"what becomes of it" enum:"pending,completed,cancelled,expired"`
	File      *file  `json:"file" doc:"the file, once the upload is completed; null before"`
}

func newUpload(u batch.Upload) uploadObject {
	o := uploadObject{
		ID: u.ID, Object: "upload", Bytes: u.Bytes, CreatedAt: u.Created.Unix(), ExpiresAt: u.Expires().Unix(),
		Filename: u.Name, Purpose: u.Purpose, Status: string(u.Status),
	}
	if u.File != nil {
		o.File = new(newFile(*u.File))
	}
	return o
}

// partObject confirms a part of an upload.
type partObject struct {
	ID        string `json:"id" doc:"the id of the part"`
	Object    string `json:"object" doc:"always upload.part" enum:"upload.part"`
	CreatedAt int64  `json:"created_at" doc:"when it was stored"`
	UploadID  string `json:"upload_id" doc:"the id of its upload"`
}

func (cfg Config) beginUpload(w http.ResponseWriter, r *http.Request) error {
	var in uploadRequest
	if err := httpx.Decode(r, uploadTable, &in); err != nil {
		return err
	}
	u, err := cfg.Batches.BeginUpload(r.Context(), cfg.Owner(r.Context()), batch.Upload{Name: in.Filename, Purpose: in.Purpose, Type: in.MimeType, Bytes: in.Bytes})
	return answerUpload(w, u, err, "bytes")
}

func (cfg Config) addPart(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r, "data")
	if err != nil {
		return err
	}
	id := r.PathValue("upload_id")
	part, err := cfg.Batches.AddPart(r.Context(), cfg.Owner(r.Context()), id, form.content)
	if err != nil {
		return failed(err, "upload")
	}
	return httpx.JSON(w, http.StatusOK, partObject{part, "upload.part", batch.PartTime(part).Unix(), id})
}

func (cfg Config) completeUpload(w http.ResponseWriter, r *http.Request) error {
	var in completeRequest
	if err := httpx.Decode(r, completeTable, &in); err != nil {
		return err
	}
	u, err := cfg.Batches.CompleteUpload(r.Context(), cfg.Owner(r.Context()), r.PathValue("upload_id"), in.PartIDs, in.MD5)
	return answerUpload(w, u, err, "upload")
}

func (cfg Config) cancelUpload(w http.ResponseWriter, r *http.Request) error {
	u, err := cfg.Batches.CancelUpload(r.Context(), cfg.Owner(r.Context()), r.PathValue("upload_id"))
	return answerUpload(w, u, err, "upload")
}

func answerUpload(w http.ResponseWriter, u batch.Upload, err error, what string) error {
	if err != nil {
		return failed(err, what)
	}
	return httpx.JSON(w, http.StatusOK, newUpload(u))
}
