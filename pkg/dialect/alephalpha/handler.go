package alephalpha

import (
	"context"
	"io"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// Version is the version of the protocol, MAJOR.MINOR.PATCH: the first that clients of
// version 11 accept. Clients of version 1 accept all that begin with 1.
const Version = "1.19.0"

// Config configures the dialect.
type Config struct {
	Models llm.Models
	// Login returns a token, and the role that it gives: admin, worker, client or
	// monitor. nil: there are no logins, and no routes for them.
	Login func(ctx context.Context, email, password string) (token, role string, err error)
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	const get, post = http.MethodGet, http.MethodPost
	routes := []httpx.Route{
		{Method: get, Pattern: "/version", Permission: httpx.Public, Doc: versionDoc, Handle: version},
		{Method: get, Pattern: "/models_available", Permission: httpx.Listing, Doc: modelsDoc, Handle: cfg.list},
		{Method: get, Pattern: "/models/{name...}/tokenizer", Permission: httpx.Listing, Doc: tokenizerDoc, Handle: cfg.tokenizer},
		{Method: post, Pattern: "/complete", Streams: true, Doc: completeDoc, Handle: httpx.Post(completeTable, (*completeRequest).request, open[completeRequest, llm.Backend](cfg), complete)},
		{Method: post, Pattern: "/embed", Doc: embedDoc, Handle: httpx.Post(embedTable, (*embedRequest).request, open[embedRequest, llm.Embedder](cfg), embed)},
		{Method: post, Pattern: "/semantic_embed", Doc: semanticDoc, Handle: httpx.Post(semanticTable, (*semanticRequest).request, open[semanticRequest, llm.Embedder](cfg), semanticEmbed)},
		{Method: post, Pattern: "/batch_semantic_embed", Doc: batchDoc, Handle: httpx.Post(batchTable, (*batchRequest).request, open[batchRequest, llm.Embedder](cfg), batchEmbed)},
		{Method: post, Pattern: "/evaluate", Doc: evaluateDoc, Handle: httpx.Post(evaluateTable, (*evaluateRequest).request, open[evaluateRequest, llm.Scorer](cfg), evaluate)},
		{Method: post, Pattern: "/tokenize", Doc: tokenizeDoc, Handle: httpx.Post(tokenizeTable, (*tokenizeRequest).part, open[tokenizeRequest, llm.Tokenizer](cfg), tokenize)},
		{Method: post, Pattern: "/detokenize", Doc: detokenizeDoc, Handle: httpx.Post(detokenizeTable, (*detokenizeRequest).ids, open[detokenizeRequest, llm.Tokenizer](cfg), detokenize)},
		{Method: post, Pattern: "/explain", Doc: explainDoc, Handle: httpx.Post(explainTable, (*explainRequest).read, cfg.openExplainer, explain)},
		{Method: post, Pattern: "/translate", Doc: translateDoc, Handle: httpx.Post(translateTable, (*translateRequest).request, open[translateRequest, llm.Translator](cfg), answerTranslation)},
	}
	routes = append(routes, refusals()...)
	if cfg.Login != nil {
		routes = append(routes,
			httpx.Route{Method: post, Pattern: "/users/me/token", Permission: httpx.Public, Doc: loginDoc, Handle: cfg.login}, // documented
			httpx.Route{Method: post, Pattern: "/get_token", Permission: httpx.Public, Doc: getTokenDoc, Handle: cfg.login})   // the clients' path
	}
	for i := range routes {
		routes[i].Errors = Errors
		if routes[i].Permission == "" {
			routes[i].Permission = httpx.Inference
		}
	}
	return routes
}

func version(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := io.WriteString(w, Version); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}

func (cfg Config) login(w http.ResponseWriter, r *http.Request) error {
	var in tokenRequest
	if err := httpx.Decode(r, tokenTable, &in); err != nil {
		return err
	}
	token, role, err := cfg.Login(r.Context(), *in.Email, *in.Password)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpx.JSON(w, http.StatusOK, tokenAnswer{Token: token, Role: role})
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, listed(infos))
}

func complete(w http.ResponseWriter, r *http.Request, call httpx.Call[completeRequest, *llm.Request, opened[llm.Backend]]) error {
	model, h := call.Model.model, call.Model.head
	if err := openaiapi.CheckImages("prompt", call.Model.info, call.Req); err != nil {
		return err
	}
	if call.Req.Stream {
		return stream(w, r, model, call.Req, h)
	}
	rows, used, err := httpx.Collect(r, model, call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newComplete(h, call.Req, rows, used))
}

// stream sends the events of completions as their chunks arrive.
func stream(w http.ResponseWriter, r *http.Request, model llm.Backend, req *llm.Request, h head) error {
	out := httpx.NewStream(r.Context(), w, httpx.SSE.KeptAliveBy(httpx.BlankLine))
	for chunk, err := range out.Await(model.Generate(r.Context(), req)) {
		if err != nil {
			return err
		}
		for _, event := range events(h, req, chunk) {
			if err := out.Send(event); err != nil {
				return err
			}
		}
	}
	return nil
}

func embed(w http.ResponseWriter, r *http.Request, call httpx.Call[embedRequest, *llm.EmbedRequest, opened[llm.Embedder]]) error {
	made, used, err := call.Model.model.Embed(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.newEmbed(call.Model.head, call.Req, &made[0], used))
}

func evaluate(w http.ResponseWriter, r *http.Request, call httpx.Call[evaluateRequest, *llm.ScoreRequest, opened[llm.Scorer]]) error {
	score, used, err := call.Model.model.Score(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newEvaluate(call.Model.head, call.Req.Continuation, score, used))
}

func tokenize(w http.ResponseWriter, r *http.Request, call httpx.Call[tokenizeRequest, llm.Part, opened[llm.Tokenizer]]) error {
	tokens, err := call.Model.model.Tokenize(r.Context(), []llm.Part{call.Req}, false)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.newTokenize(tokens))
}

func detokenize(w http.ResponseWriter, r *http.Request, call httpx.Call[detokenizeRequest, []int, opened[llm.Tokenizer]]) error {
	text, err := call.Model.model.Detokenize(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, detokenizeAnswer{text})
}
