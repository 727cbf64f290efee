package openai

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Config is what the dialect is given.
type Config struct {
	Models llm.Models
	Now    func() time.Time // nil: time.Now
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return append(cfg.tokenRoutes(), []httpx.Route{
		{Method: "GET", Pattern: "/v1/models", Permission: httpx.Listing, Handle: cfg.list, Errors: Errors},
		{Method: "GET", Pattern: "/v1/models/{id...}", Permission: httpx.Listing, Handle: cfg.model, Errors: Errors},
		{Method: "POST", Pattern: "/v1/chat/completions", Permission: httpx.Inference, Streams: true, Handle: cfg.chat, Errors: Errors},
		{Method: "POST", Pattern: "/chat/completions", Permission: httpx.Inference, Streams: true, Handle: cfg.chat, Errors: Errors},
		{Method: "POST", Pattern: "/v1/completions", Permission: httpx.Inference, Streams: true, Handle: cfg.complete, Errors: Errors},
		{Method: "POST", Pattern: "/v1/embeddings", Permission: httpx.Inference, Handle: cfg.embed, Errors: Errors},
	}...)
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	list := modelList{Object: "list", Data: make([]modelObject, len(infos))}
	for i, info := range infos {
		list.Data[i] = newModel(info)
	}
	return httpx.JSON(w, http.StatusOK, list)
}

// model looks into the list first: opening a model may load it, and only aliases
// need that.
func (cfg Config) model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	for _, info := range infos {
		if name == info.Name || name == info.Family+"/"+info.Name {
			return httpx.JSON(w, http.StatusOK, newModel(info))
		}
	}
	if name == "" {
		return noModel(name, nil) // to open "" is to ask for the default
	}
	model, err := cfg.open(r.Context(), name)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newModel(model.ModelInfo))
}

func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := cfg.Models.Open(ctx, name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		return nil, noModel(name, err)
	}
	return model, err
}

func noModel(name string, cause error) error {
	e := llm.Errorf(llm.NotFound, "The model '%.200s' does not exist", name)
	e.Param, e.Err = "model", cause
	return e
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
	answer := chatAnswer{ID: newID("chatcmpl-"), Object: "chat.completion", Created: cfg.Now().Unix(), Model: model.Name}
	if err := in.hosted(&model.ModelInfo); err != nil {
		return err
	}
	if model.Run != nil {
		alphaLimits(req)
	}
	if in.Stream {
		return in.rename(in.stream(w, r, model, req, answer))
	}
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return in.rename(err)
	}
	for _, row := range rows {
		answer.Choices = append(answer.Choices, in.choice(row, req, model))
	}
	httpx.Guarantee(w, rows)
	answer.Usage = newUsage(used)
	return httpx.JSON(w, http.StatusOK, answer)
}

// stream sends the events of a chat as its chunks come.
func (c *chatRequest) stream(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request, answer chatAnswer) error {
	s := chatStream{
		model:        model,
		head:         chatChunk{ID: answer.ID, Object: "chat.completion.chunk", Created: answer.Created, Model: answer.Model},
		withLogprobs: c.Logprobs,
		withUsage:    c.withUsage(),
		bare:         alephAlpha(r.Header),
		begun:        make([]bool, req.Rows()),
		called:       make([]bool, req.Rows()),
	}
	out := httpx.NewStream(w, httpx.SSE)
	for chunk, err := range model.Generate(r.Context(), req) {
		if err != nil {
			return err
		}
		for _, event := range s.events(chunk) {
			if err := out.Send(event); err != nil {
				return err
			}
		}
	}
	return out.Text("[DONE]")
}

// alephAlpha tells whether Aleph Alpha's own client asks. It reads nothing else of a
// chunk that has usage: with seed 002's usage on a row's last chunk it would lose the
// reason of the row's end, and the calls, which it gives with that reason. Its chunks are
// typed to have a text, where OpenAI's first one before a call has null. The path does
// not tell: its base is the root of one server and /v1 of another, and seed 002 has
// clients on both.
func alephAlpha(header http.Header) bool {
	return strings.HasPrefix(header.Get("User-Agent"), "Aleph-Alpha-Python-Client-")
}

// newID returns the id of an answer, as seed 002 has it, or of a call.
func newID(kind string) string {
	var b [12]byte
	rand.Read(b[:])
	return kind + hex.EncodeToString(b[:])
}
