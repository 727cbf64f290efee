package responses

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
	Now    func() time.Time // nil: time.Now

	Store Store         // of responses; nil: they are not stored
	Keep  time.Duration // how long they are stored; 0: [DefaultKeep]
	// Shared reports whether other processes use Store too: one may get the request to cancel what
	// another one computes.
	Shared bool
	// Owner returns the name of the owner of a request's responses; nil: all requests have
	// the same owner.
	Owner func(context.Context) string
	// Failed is called with the error if an answer could not be stored; it may be nil.
	Failed func(error)

	running *running
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Keep == 0 {
		cfg.Keep = DefaultKeep
	}
	cfg.running = &running{}
	const one = "/v1/responses/{response_id}"
	routes := []httpx.Route{
		{Method: "POST", Pattern: "/v1/responses", Streams: true, Doc: createDoc, Handle: httpx.Handle(cfg.decode, createTable, (*createRequest).request, cfg.open, cfg.create)},
		{Method: "POST", Pattern: "/v1/responses/input_tokens", Doc: countDoc, Handle: httpx.Handle(cfg.decode, createTable, (*createRequest).request, cfg.open, count)},
		{Method: "GET", Pattern: one, Doc: retrieveDoc, Handle: cfg.retrieve},
		{Method: "DELETE", Pattern: one, Doc: deleteDoc, Handle: cfg.remove},
		{Method: "GET", Pattern: one + "/input_items", Doc: itemsDoc, Handle: cfg.inputItems},
		{Method: "POST", Pattern: one + "/cancel", Doc: cancelDoc, Handle: cfg.cancel},
	}
	for i := range routes {
		routes[i].Permission, routes[i].Errors = httpx.Inference, Errors
	}
	return routes
}

func (cfg Config) open(r *http.Request, in *createRequest) (*llm.Model, error) {
	return openaiapi.Open(r.Context(), cfg.Models, in.Model)
}

func (cfg Config) create(w http.ResponseWriter, r *http.Request, call httpx.Call[createRequest, *generation, *llm.Model]) error {
	in, gen, model := call.In, call.Req, call.Model
	if err := gen.leaveOut(w, model); err != nil {
		return err
	}
	if err := openaiapi.CheckImages("input", &model.ModelInfo, gen.Request); err != nil {
		return gen.rename(err)
	}
	if err := gen.fit(r.Context(), model); err != nil {
		return gen.rename(err)
	}
	a := &answer{response: in.newResponse(model, cfg.Now()), gen: gen, now: cfg.Now}
	if err := cfg.prepare(r.Context(), in, a); err != nil {
		return err
	}
	if in.Stream { // others cannot be cancelled: their clients do not know the id
		ctx, stop := cfg.watched(r.Context(), a)
		defer stop()
		return a.stream(ctx, w, model)
	}
	rows, _, err := httpx.Collect(r, follower{model, a}, gen.Request)
	if err != nil {
		return gen.rename(err)
	}
	httpx.Guarantee(w, rows)
	return httpx.JSON(w, http.StatusOK, a.response)
}

// A follower passes the chunks of a model on, in their order, to an answer that is not
// streamed.
type follower struct {
	llm.Backend
	a *answer
}

// Generate implements [llm.Backend].
func (f follower) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range f.Backend.Generate(ctx, req) {
			if err == nil {
				err = f.a.add(chunk)
				f.a.take()
			}
			if err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// rename puts the client's keys into an error of a model. The messages of a model are not the
// items of the input.
func (g *generation) rename(err error) error {
	e, ok := errors.AsType[*llm.Error](openaiapi.RenameTool(err, g.paths))
	if !ok {
		return err
	}
	renamed := *e
	if strings.HasPrefix(e.Param, "messages") {
		renamed.Param = "input"
	}
	return &renamed
}

// stream sends the events of an answer as its chunks come.
func (a *answer) stream(ctx context.Context, w http.ResponseWriter, model *llm.Model) error {
	out, begun := httpx.NewStream(ctx, w, httpx.SSE), false
	send := func() error {
		for _, e := range a.take() {
			if err := out.Event(e.Type, e); err != nil {
				return err
			}
		}
		return nil
	}
	for chunk, err := range out.Await(model.Generate(ctx, a.gen.Request)) {
		stopped := err != nil && a.wasCancelled()
		if (err == nil || stopped) && !begun {
			begun = true
			a.begin()
		}
		if stopped {
			a.cancel()
			return send()
		}
		if err == nil {
			err = a.add(chunk)
		}
		if err != nil {
			if !begun {
				return a.gen.rename(err)
			}
			return a.abort(send, err)
		}
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}

// abort ends a stream that has begun with an error, which it returns for the log.
func (a *answer) abort(send func() error, cause error) error {
	cause = a.gen.rename(cause)
	a.fail(cause)
	if err := send(); err != nil {
		return err
	}
	e := *llm.AsError(cause)
	e.Err = sent{e.Err}
	return &e
}

// inputTokens is the answer to POST /v1/responses/input_tokens.
type inputTokens struct {
	Object      string `json:"object" doc:"always response.input_tokens" enum:"response.input_tokens"`
	InputTokens int    `json:"input_tokens" doc:"tokens of the prompt"`
}

// count counts the tokens of the prompt that a request would make.
func count(w http.ResponseWriter, r *http.Request, call httpx.Call[createRequest, *generation, *llm.Model]) error {
	gen, model := call.Req, call.Model
	if err := gen.leaveOut(w, model); err != nil {
		return err
	}
	if err := openaiapi.CheckImages("input", &model.ModelInfo, gen.Request); err != nil {
		return gen.rename(err)
	}
	renderer, err := llm.As[llm.Renderer](model)
	if err != nil {
		return uncounted(err)
	}
	tokenizer, err := llm.As[llm.Tokenizer](model)
	if err != nil {
		return uncounted(err)
	}
	parts, start, err := renderer.Render(r.Context(), gen.Prompts[0], &gen.Params, true)
	if err != nil {
		return gen.rename(err)
	}
	tokens, err := tokenizer.Tokenize(r.Context(), parts, start)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, inputTokens{"response.input_tokens", len(tokens)})
}

func uncounted(cause error) error {
	return &llm.Error{Code: llm.Unsupported, Param: "model", Message: "this server cannot count the tokens of the model's prompts", Err: cause}
}
