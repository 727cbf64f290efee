package alpha

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Config configures the dialect.
type Config struct {
	Models    llm.Models
	Publisher Publisher // nil: uploads and deletions are rejected
	Curves    Curves    // nil: no model has metrics
	MaxUpload int64     // bytes of an upload after decompression; 0: 256 MiB
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	if cfg.MaxUpload == 0 {
		cfg.MaxUpload = 256 << 20
	}
	const get, post = http.MethodGet, http.MethodPost
	infer := httpx.Handle(httpx.DecodeQuery, inferenceTable, (*inferenceRequest).request, cfg.openInference, inference)
	chat := httpx.Post(chatTable, (*chatRequest).request, cfg.openChat, chat)
	routes := append(cfg.partRoutes(), []httpx.Route{
		{Method: get, Pattern: "/api/models", Permission: httpx.Listing, Doc: listDoc, Handle: cfg.list},
		{Method: get, Pattern: "/api/models/{name...}/metrics", Permission: httpx.Listing, Doc: metricsDoc, Handle: cfg.metrics},
		{Method: http.MethodDelete, Pattern: "/api/models", Permission: httpx.Upload, Doc: removeDoc, Handle: cfg.remove},
		{Method: get, Pattern: "/api/inference", Permission: httpx.Inference, Streams: true, Doc: inferenceDoc, Handle: infer},
		{Method: get, Pattern: "/inference", Permission: httpx.Inference, Streams: true, Doc: oldInferenceDoc, Handle: infer},
		{Method: post, Pattern: "/api/chat", Permission: httpx.Inference, Streams: true, Doc: chatDoc, Handle: chat, Errors: textShape{}},
		{Method: get, Pattern: "/api/generate", Permission: httpx.Inference, Doc: getGenerateDoc, Handle: cfg.generate(httpx.DecodeQuery)},
		{Method: post, Pattern: "/api/generate", Permission: httpx.Inference, Doc: generateDoc, Handle: cfg.generate(decodeBoth)},
		{Method: post, Pattern: "/api/upload", Permission: httpx.Upload, MaxBody: cfg.MaxUpload, Doc: uploadDoc, Handle: cfg.upload},
	}...)
	for i := range routes {
		if routes[i].Errors == nil {
			routes[i].Errors = Errors
		}
	}
	return routes
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
	var in removeRequest
	if err := httpx.DecodeQuery(r, removeTable, &in); err != nil {
		return err
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
	body, err := cfg.receive(r, cfg.MaxUpload)
	if err != nil {
		return err
	}
	defer body.release()
	upload, err := body.readUpload(r.Header)
	if err != nil {
		return err
	}
	if err := cfg.Publisher.Publish(r.Context(), upload); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, uploaded{OK: true, Name: upload.Name, Step: upload.Step})
}

// notFound sets the sentence of the error of a missing model.
func notFound(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		return &llm.Error{Code: llm.NotFound, Message: modelNotFound, Err: err}
	}
	return err
}

func noPublisher() error {
	return llm.Errorf(llm.Unsupported, "this server stores no checkpoints")
}

// open opens a model. A missing model is 400 in this dialect.
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

func (cfg Config) openInference(r *http.Request, in *inferenceRequest) (*llm.Model, error) {
	return cfg.open(r.Context(), in.Model)
}

func (cfg Config) openChat(r *http.Request, in *chatRequest) (*llm.Model, error) {
	return cfg.open(r.Context(), in.Model)
}

func (cfg Config) openGenerate(r *http.Request, in *generateRequest) (*llm.Model, error) {
	return cfg.open(r.Context(), in.Model)
}

func inference(w http.ResponseWriter, r *http.Request, call httpx.Call[inferenceRequest, *llm.Request, *llm.Model]) error {
	out := httpx.NewStream(r.Context(), w, httpx.SSE)
	if err := stream(out.Await(call.Model.Generate(r.Context(), call.Req)), func(text string) error { return out.Send(token{text}) }); err != nil {
		return notFoundAsInvalid(err)
	}
	return out.Text("[DONE]")
}

func chat(w http.ResponseWriter, r *http.Request, call httpx.Call[chatRequest, *llm.Request, *llm.Model]) error {
	out := httpx.NewStream(r.Context(), w, httpx.Plain)
	if err := stream(call.Model.Generate(r.Context(), call.Req), out.Text); err != nil {
		return notFoundAsInvalid(err)
	}
	return out.Text("") // starts the answer even if it is empty
}

// stream sends the texts of the only row as they arrive.
func stream(chunks iter.Seq2[llm.Chunk, error], send func(string) error) error {
	for chunk, err := range chunks {
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

// generate returns the handler of requests, which decode reads.
func (cfg Config) generate(decode func(*http.Request, *wire.Table, any) error) httpx.Handler {
	return httpx.Handle(decode, generateTable, (*generateRequest).request, cfg.openGenerate, generateWhole)
}

func generateWhole(w http.ResponseWriter, r *http.Request, call httpx.Call[generateRequest, *llm.Request, *llm.Model]) error {
	rows, used, err := httpx.Collect(r, call.Model, call.Req)
	if err != nil {
		return notFoundAsInvalid(err)
	}
	answer := generated{Text: rows[0].Text, Model: call.Model.Name}
	if !used.Partial {
		answer.Usage = &usage{PromptTokens: used.Input, CompletionTokens: used.Output, Cost: used.Cost}
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// decodeBoth reads an optional body, and then the query string.
func decodeBoth(r *http.Request, table *wire.Table, in any) error {
	b, err := httpx.ReadBody(r)
	if err == nil && len(b) > 0 {
		err = wire.Unmarshal(b, in)
	}
	if err != nil {
		return err
	}
	return httpx.DecodeQuery(r, table, in)
}
