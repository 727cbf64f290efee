package batches

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"glossa/pkg/batch"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// file is the description of a file.
type file struct {
	ID        string `json:"id" doc:"the id of the file"`
	Object    string `json:"object" doc:"always file" enum:"file"`
	Bytes     int64  `json:"bytes" doc:"its size in bytes"`
	CreatedAt int64  `json:"created_at" doc:"when it was uploaded, in seconds since 1970"`
	Filename  string `json:"filename" doc:"its name"`
	Purpose   string `json:"purpose" doc:"batch for requests, batch_output for answers"`
	Status    string `json:"status" doc:"always processed" enum:"processed"`
}

func newFile(f batch.File) file {
	return file{f.ID, "file", f.Bytes, f.Created.Unix(), f.Name, f.Purpose, "processed"}
}

// deletion confirms that a file was deleted.
type deletion struct {
	ID      string `json:"id" doc:"the id of the file"`
	Object  string `json:"object" doc:"always file" enum:"file"`
	Deleted bool   `json:"deleted" doc:"always true"`
}

// batchObject is the state of a batch.
type batchObject struct {
	ID               string             `json:"id" doc:"the id of the batch"`
	Object           string             `json:"object" doc:"always batch" enum:"batch"`
	Endpoint         string             `json:"endpoint" doc:"the path of its requests"`
	Errors           *problems          `json:"errors" doc:"why a batch failed; null unless it did"`
	InputFileID      string             `json:"input_file_id" doc:"the file of requests"`
	CompletionWindow string             `json:"completion_window" doc:"always 24h" enum:"24h"`
	Status           string             `json:"status" doc:"what becomes of it" enum:"validating,failed,in_progress,finalizing,completed,expired,cancelling,cancelled"`
	OutputFileID     *string            `json:"output_file_id" doc:"the file of answers; null without answers"`
	ErrorFileID      *string            `json:"error_file_id" doc:"the file of requests that failed; null if none did"`
	CreatedAt        int64              `json:"created_at" doc:"seconds since 1970, as all times here"`
	InProgressAt     *int64             `json:"in_progress_at" doc:"when its requests began to run; null if they have not"`
	ExpiresAt        int64              `json:"expires_at" doc:"when requests without an answer are given up"`
	FinalizingAt     *int64             `json:"finalizing_at" doc:"when the files of results were begun; null if they were not"`
	CompletedAt      *int64             `json:"completed_at" doc:"null unless it is completed"`
	FailedAt         *int64             `json:"failed_at" doc:"null unless it failed"`
	ExpiredAt        *int64             `json:"expired_at" doc:"null unless it expired"`
	CancellingAt     *int64             `json:"cancelling_at" doc:"when it was cancelled; null if it was not"`
	CancelledAt      *int64             `json:"cancelled_at" doc:"when its last request had ended; null unless it was cancelled"`
	RequestCounts    counts             `json:"request_counts" doc:"requests: all, answered and failed"`
	Metadata         *map[string]string `json:"metadata" doc:"as it was sent; null: none"`
}

// counts counts the requests of a batch.
type counts struct {
	Total     int `json:"total" doc:"all requests of the file"`
	Completed int `json:"completed" doc:"those with an answer"`
	Failed    int `json:"failed" doc:"those that failed"`
}

// problems lists why a batch failed.
type problems struct {
	Object string    `json:"object" doc:"always list" enum:"list"`
	Data   []problem `json:"data" doc:"the reasons"`
}

type problem struct {
	Code    string  `json:"code" doc:"a machine-readable code"`
	Message string  `json:"message" doc:"what is wrong"`
	Param   *string `json:"param" doc:"the key that is wrong; null: none"`
	Line    *int    `json:"line" doc:"the line of the file, from 1; null: the whole file"`
}

func newBatch(b batch.Batch) batchObject {
	at := func(is bool, t time.Time) *int64 {
		if !is || t.IsZero() {
			return nil
		}
		return new(t.Unix())
	}
	id := func(id string) *string {
		if id == "" {
			return nil
		}
		return &id
	}
	o := batchObject{
		ID: b.ID, Object: "batch", Endpoint: b.Endpoint, InputFileID: b.Input, CompletionWindow: "24h", Status: string(b.Status),
		OutputFileID: id(b.Output), ErrorFileID: id(b.Errors), CreatedAt: b.Created.Unix(), ExpiresAt: b.Expires.Unix(),
		InProgressAt: at(b.Status != batch.Validating && b.Status != batch.Failed, b.Created), FinalizingAt: at(b.Status == batch.Completed, b.Ended),
		CompletedAt: at(b.Status == batch.Completed, b.Ended), FailedAt: at(b.Status == batch.Failed, b.Ended), ExpiredAt: at(b.Status == batch.Expired, b.Ended),
		CancellingAt: at(true, b.Cancelled), CancelledAt: at(b.Status == batch.Cancelled, b.Ended),
		RequestCounts: counts(b.Counts),
	}
	if b.Metadata != nil {
		o.Metadata = &b.Metadata
	}
	if len(b.Problems) > 0 {
		o.Errors = &problems{Object: "list"}
		for _, p := range b.Problems {
			own := problem{Code: p.Code, Message: p.Message, Param: id(p.Param)}
			if p.Line > 0 {
				own.Line = &p.Line
			}
			o.Errors.Data = append(o.Errors.Data, own)
		}
	}
	return o
}

// createRequest is the body of POST /v1/batches.
type createRequest struct {
	InputFileID      string            `json:"input_file_id"`
	Endpoint         string            `json:"endpoint"`
	CompletionWindow string            `json:"completion_window"`
	Metadata         map[string]string `json:"metadata"`
}

var createTable = wire.For[createRequest](
	wire.Parameter{Name: "input_file_id", Required: true, Note: "a file with the purpose batch, of one request a line: custom_id, method, url and body"},
	wire.Parameter{Name: "endpoint", Required: true, OneOf: Endpoints(), Note: "the url of every line"},
	wire.Parameter{Name: "completion_window", Required: true, OneOf: []string{"24h"}, Note: "after it, requests without an answer are given up"},
	openaiapi.Metadata("kept with the batch"),
)

// Bounds of pages.
const (
	maxFiles       = 10_000
	defaultBatches = 20
	maxBatches     = 100
)

// page is the part of a list that a request asks for.
type page struct {
	Limit *int   `json:"limit"`
	After string `json:"after"`
	Order string `json:"-"`
}

// filesQuery is the query string of GET /v1/files.
type filesQuery struct {
	Limit   *int   `json:"limit"`
	After   string `json:"after"`
	Order   string `json:"order"`
	Purpose string `json:"purpose"`
}

var filesTable = wire.For[filesQuery](
	wire.Parameter{Name: "limit", Bounds: wire.Between(1, maxFiles), Default: maxFiles, Note: "the number of files of a page"},
	wire.Parameter{Name: "after", Note: "the id of the last file of the page before"},
	wire.Parameter{Name: "order", OneOf: []string{"asc", "desc"}, Default: "desc", Note: "desc begins with the newest"},
	wire.Parameter{Name: "purpose", Note: "only files with this purpose"},
)

var listTable = wire.For[page](
	wire.Parameter{Name: "limit", Bounds: wire.Between(1, maxBatches), Default: defaultBatches, Note: "the number of batches of a page"},
	wire.Parameter{Name: "after", Note: "the id of the last batch of the page before"},
)

// listing is a page of a list.
type listing[T any] struct {
	Object  string  `json:"object" doc:"always list" enum:"list"`
	Data    []T     `json:"data" doc:"the newest first"`
	FirstID *string `json:"first_id" doc:"the id of the first; null: the page is empty"`
	LastID  *string `json:"last_id" doc:"the id of the last; null: the page is empty"`
	HasMore bool    `json:"has_more" doc:"whether older ones follow"`
}

// The pages that there are, for the document.
type (
	fileList  listing[file]
	batchList listing[batchObject]
)

// rest returns the ids that a page begins with, of a list that begins with the newest.
func (p page) rest(ids []string) ([]string, error) {
	if p.Order == "asc" {
		slices.Reverse(ids)
	}
	if p.After == "" {
		return ids, nil
	}
	i := slices.Index(ids, p.After)
	if i < 0 {
		return nil, &llm.Error{Code: llm.Invalid, Param: "after", Message: fmt.Sprintf("%.80q is not in the list", p.After)}
	}
	return ids[i+1:], nil
}

// answerPage answers with the page of a list, whose ids begin with the newest. get reads an element, and reports
// whether it is in the list. One more than the page has is read, for has_more.
func answerPage[T any](w http.ResponseWriter, p page, ids []string, get func(id string) (v T, ok bool, err error)) error {
	ids, err := p.rest(ids)
	if err != nil {
		return err
	}
	list := listing[T]{Object: "list", Data: []T{}}
	for _, id := range ids {
		v, ok, err := get(id)
		switch {
		case errors.Is(err, batch.ErrNotFound): // deleted meanwhile
			continue
		case err != nil:
			return failed(err, "")
		case !ok:
			continue
		}
		if list.HasMore = len(list.Data) == *p.Limit; list.HasMore {
			break
		}
		if list.FirstID == nil {
			list.FirstID = &id
		}
		list.Data, list.LastID = append(list.Data, v), &id
	}
	return httpx.JSON(w, http.StatusOK, list)
}
