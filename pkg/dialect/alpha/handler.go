package alpha

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Config is what the dialect is given.
type Config struct {
	Models    llm.Models
	Publisher Publisher // nil: uploads and deletions are refused
	Curves    Curves    // nil: no model has metrics
	MaxUpload int64     // bytes of an upload after decompression; 0: 256 MiB
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	if cfg.MaxUpload == 0 {
		cfg.MaxUpload = 256 << 20
	}
	return append(cfg.partRoutes(), []httpx.Route{
		{Method: "GET", Pattern: "/api/models", Permission: httpx.Listing, Handle: cfg.list, Errors: Errors},
		{Method: "GET", Pattern: "/api/models/{name...}/metrics", Permission: httpx.Listing, Handle: cfg.metrics, Errors: Errors},
		{Method: "DELETE", Pattern: "/api/models", Permission: httpx.Upload, Handle: cfg.remove, Errors: Errors},
		{Method: "GET", Pattern: "/api/inference", Permission: httpx.Inference, Streams: true, Handle: cfg.inference, Errors: Errors},
		{Method: "GET", Pattern: "/inference", Permission: httpx.Inference, Streams: true, Handle: cfg.inference, Errors: Errors},
		{Method: "POST", Pattern: "/api/chat", Permission: httpx.Inference, Streams: true, Handle: cfg.chat, Errors: textShape{}},
		{Method: "GET", Pattern: "/api/generate", Permission: httpx.Inference, Handle: cfg.generate, Errors: Errors},
		{Method: "POST", Pattern: "/api/generate", Permission: httpx.Inference, Handle: cfg.generate, Errors: Errors},
		{Method: "POST", Pattern: "/api/upload", Permission: httpx.Upload, MaxBody: cfg.MaxUpload, Handle: cfg.upload, Errors: Errors},
	}...)
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	list := []modelObject{}
	for _, info := range infos {
		if info.Run != nil {
			list = append(list, newModel(info))
		}
	}
	slices.SortFunc(list, newest)
	return httpx.JSON(w, http.StatusOK, list)
}

func (cfg Config) remove(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Name string `query:"name"`
	}
	if err := readQuery(r.URL.RawQuery, &in); err != nil {
		return err
	}
	if in.Name == "" {
		return bad(missingName)
	}
	if cfg.Publisher == nil {
		return noPublisher()
	}
	if err := cfg.Publisher.Delete(r.Context(), in.Name); err != nil {
		return notFound(err)
	}
	return httpx.JSON(w, http.StatusOK, deleted{OK: true, Deleted: in.Name})
}

func (cfg Config) upload(w http.ResponseWriter, r *http.Request) error {
	if cfg.Publisher == nil {
		return noPublisher()
	}
	body, err := cfg.arrive(r, cfg.MaxUpload)
	if err != nil {
		return err
	}
	defer body.end()
	upload, err := body.readUpload(r.Header)
	if err != nil {
		return err
	}
	if err := cfg.Publisher.Publish(r.Context(), upload); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, uploaded{OK: true, Name: upload.Name, Step: upload.Step})
}

// notFound gives the error of a model that is not there its sentence.
func notFound(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		return &llm.Error{Code: llm.NotFound, Message: modelNotFound, Err: err}
	}
	return err
}

func noPublisher() error {
	return llm.Errorf(llm.Unsupported, "this server keeps no checkpoints")
}

// open finds a model; one that is not there is 400 here.
func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := cfg.Models.Open(ctx, name)
	if err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
			return nil, &llm.Error{Code: llm.Invalid, Message: unknownModel, Err: err}
		}
		return nil, err
	}
	return model, nil
}

func (cfg Config) inference(w http.ResponseWriter, r *http.Request) error {
	var in inferenceRequest
	if err := readQuery(r.URL.RawQuery, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := cfg.open(r.Context(), in.Model)
	if err != nil {
		return err
	}
	out := httpx.NewStream(w, httpx.SSE)
	err = stream(r.Context(), model, req, func(text string) error { return out.Send(token{text}) })
	if err != nil {
		return inferenceNames().rename(err)
	}
	return out.Text("[DONE]")
}

func (cfg Config) chat(w http.ResponseWriter, r *http.Request) error {
	var in chatRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := cfg.open(r.Context(), in.Model)
	if err != nil {
		return err
	}
	out := httpx.NewStream(w, httpx.Plain)
	if err := stream(r.Context(), model, req, out.Text); err != nil {
		return chatNames().rename(err)
	}
	return out.Text("") // begins an answer that is empty
}

// stream sends the texts of the only row as they come.
func stream(ctx context.Context, model *llm.Model, req *llm.Request, send func(string) error) error {
	for chunk, err := range model.Generate(ctx, req) {
		if err != nil {
			return err
		}
		if chunk.Text == "" {
			continue
		}
		if err := send(chunk.Text); err != nil {
			return err
		}
	}
	return nil
}

func (cfg Config) generate(w http.ResponseWriter, r *http.Request) error {
	var in generateRequest
	if r.Method == http.MethodPost {
		if err := decodeOptional(r, &in); err != nil {
			return err
		}
	}
	if err := readQuery(r.URL.RawQuery, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := cfg.open(r.Context(), in.Model)
	if err != nil {
		return err
	}
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return generateNames().rename(err)
	}
	answer := generated{Text: rows[0].Text, Model: model.Name}
	if !used.Partial {
		answer.Usage = &usage{PromptTokens: used.Input, CompletionTokens: used.Output}
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// decodeOptional reads a body that may be left out, since everything can be in the
// query string.
func decodeOptional(r *http.Request, v any) error {
	b, err := httpx.ReadBody(r)
	if err != nil || len(b) == 0 {
		return err
	}
	return wire.Unmarshal(b, v)
}
