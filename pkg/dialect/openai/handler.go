package openai

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
	Now    func() time.Time // nil: time.Now
}

// Routes returns the routes of the dialect: those of [GenerationRoutes] and of
// [EmbeddingRoutes].
func Routes(cfg Config) []httpx.Route {
	return append(GenerationRoutes(cfg), EmbeddingRoutes(cfg)...)
}

// GenerationRoutes returns the routes that continue texts, list models and count tokens.
func GenerationRoutes(cfg Config) []httpx.Route {
	cfg = cfg.defaults()
	chat := httpx.Post(chatTable, (*chatRequest).request, open[chatRequest](cfg), cfg.answerChat)
	template := httpx.Post(chatTable, (*chatRequest).request, open[chatRequest](cfg), answerPrompt)
	return withErrors(append(cfg.tokenRoutes(), []httpx.Route{
		{Method: "GET", Pattern: "/v1/models", Permission: httpx.Listing, Doc: listDoc, Handle: cfg.list},
		{Method: "GET", Pattern: "/v1/models/{id...}", Permission: httpx.Listing, Doc: modelDoc, Handle: cfg.model},
		{Method: "POST", Pattern: "/v1/chat/completions", Permission: httpx.Inference, Streams: true, Doc: chatDoc, Handle: chat},
		{Method: "POST", Pattern: "/chat/completions", Permission: httpx.Inference, Streams: true, Doc: chatAliasDoc, Handle: chat},
		{Method: "POST", Pattern: "/apply-template", Permission: httpx.Inference, Doc: templateDoc, Handle: template},
		{Method: "POST", Pattern: "/v1/completions", Permission: httpx.Inference, Streams: true, Doc: completionDoc, Handle: cfg.completions()},
	}...))
}

// EmbeddingRoutes returns the routes that embed, rank and classify texts. They do not stream, and
// their models are usually encoders, so a deployment can serve them apart.
func EmbeddingRoutes(cfg Config) []httpx.Route {
	cfg = cfg.defaults()
	embed := httpx.Post(embeddingTable, (*embeddingRequest).request, open[embeddingRequest](cfg), answerEmbedding)
	pool := httpx.Post(poolingTable, (*poolingRequest).request, openEmbedder[poolingRequest](cfg, llm.EmbedDense), cfg.answerPooling)
	return append(slices.Concat(cfg.rerankRoutes(), cfg.embedRoutes(), cfg.classifyRoutes()),
		httpx.Route{Method: "POST", Pattern: "/v1/embeddings", Permission: httpx.Inference, Doc: embeddingDoc, Errors: embeddingErrors, Handle: embed},
		httpx.Route{Method: "POST", Pattern: "/pooling", Permission: httpx.Inference, Doc: poolingDoc, Errors: Errors, Handle: pool})
}

// defaults returns cfg with the clock of the system if it has none.
func (cfg Config) defaults() Config {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

// withErrors returns routes with the dialect's shape of errors.
func withErrors(routes []httpx.Route) []httpx.Route {
	for i := range routes {
		routes[i].Errors = Errors
	}
	return routes
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

// model looks into the list first: opening a model may load it, and only aliases need
// that.
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
		return openaiapi.NoModel(name, nil) // to open "" is to ask for the default
	}
	model, err := cfg.open(r.Context(), name)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newModel(model.ModelInfo))
}

// open returns how the model of a request is found.
func open[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (*llm.Model, error) {
	return func(r *http.Request, in *In) (*llm.Model, error) {
		return cfg.openNamed(r, Request(in).modelName())
	}
}

// openNamed opens the model that the path names, or else the one that was sent.
func (cfg Config) openNamed(r *http.Request, sent string) (*llm.Model, error) {
	name := r.PathValue("id")
	if name == "" {
		return cfg.open(r.Context(), sent)
	}
	model, err := cfg.open(r.Context(), name)
	if err == nil && sent != "" && sent != name && sent != model.Name {
		return nil, wire.Invalid("model", "differs from the model in the path, %.200s", name)
	}
	return model, err
}

func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	return openaiapi.Open(ctx, cfg.Models, name)
}

func (cfg Config) answerChat(w http.ResponseWriter, r *http.Request, call httpx.Call[chatRequest, *llm.Request, *llm.Model]) error {
	in, req, model := call.In, call.Req, call.Model
	answer := chatAnswer{ID: openaiapi.NewID("chatcmpl-"), Object: "chat.completion", Created: cfg.Now().Unix(), Model: model.Name}
	if err := in.hosted(&model.ModelInfo); err != nil {
		return err
	}
	if err := openaiapi.CheckImages("messages", &model.ModelInfo, req); err != nil {
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

// rename puts the client's keys into an error of a model.
func (c *chatRequest) rename(err error) error { return c.renameThinking(c.renameTool(err)) }

// stream sends the events of a chat as its chunks come.
func (c *chatRequest) stream(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request, answer chatAnswer) error {
	s := chatStream{
		model:        model,
		head:         chatChunk{ID: answer.ID, Object: "chat.completion.chunk", Created: answer.Created, Model: answer.Model},
		withLogprobs: c.Logprobs,
		withUsage:    c.withUsage(),
		answersOnly:  c.hidden(),
		toAlephAlpha: isAlephAlpha(r.Header),
		begun:        make([]bool, req.Rows()),
		called:       make([]bool, req.Rows()),
	}
	framing := httpx.SSE
	if s.toAlephAlpha {
		framing = framing.KeptAliveBy(httpx.BlankLine)
	}
	out := httpx.NewStream(r.Context(), w, framing)
	for chunk, err := range out.Await(model.Generate(r.Context(), req)) {
		if err != nil {
			return err
		}
		for _, event := range s.events(chunk) {
			if err := out.Send(event); err != nil {
				return err
			}
		}
	}
	return out.Text(done)
}

// isAlephAlpha reports whether Aleph Alpha's own client sends the request. It ignores the
// rest of a chunk that has usage: with Alpha's usage in the last chunk of a choice it
// would lose the reason of the end, and the calls, which it returns with that reason. It
// requires a text in the first chunk, where OpenAI's has null if a call follows. The path
// cannot distinguish clients: Alpha has clients on both paths.
func isAlephAlpha(header http.Header) bool {
	return strings.HasPrefix(header.Get("User-Agent"), "Aleph-Alpha-Python-Client-")
}
