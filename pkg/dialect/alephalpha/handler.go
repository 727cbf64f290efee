package alephalpha

import (
	"context"
	"io"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Version is the version of the protocol, MAJOR.MINOR.PATCH: the first that clients of
// version 11 take, and those of version 1 take all that begin with 1.
const Version = "1.19.0"

// Config is what the dialect is given.
type Config struct {
	Models llm.Models
	// Login returns a token, and the role that it gives: admin, worker, client or
	// monitor. nil: there are no logins, and no routes for them.
	Login func(ctx context.Context, email, password string) (token, role string, err error)
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	routes := []httpx.Route{
		{Method: "GET", Pattern: "/version", Permission: httpx.Public, Handle: version},
		{Method: "GET", Pattern: "/models_available", Permission: httpx.Listing, Handle: cfg.list},
		{Method: "POST", Pattern: "/complete", Permission: httpx.Inference, Streams: true, Handle: cfg.complete},
		{Method: "POST", Pattern: "/embed", Permission: httpx.Inference, Handle: cfg.embed},
		{Method: "POST", Pattern: "/evaluate", Permission: httpx.Inference, Handle: cfg.evaluate},
		{Method: "POST", Pattern: "/tokenize", Permission: httpx.Inference, Handle: cfg.tokenize},
		{Method: "POST", Pattern: "/detokenize", Permission: httpx.Inference, Handle: cfg.detokenize},
		{Method: "POST", Pattern: "/explain", Permission: httpx.Inference, Handle: cfg.explain},
		{Method: "POST", Pattern: "/translate", Permission: httpx.Inference, Handle: cfg.translate},
		{Method: "GET", Pattern: "/models/{name...}/tokenizer", Permission: httpx.Listing, Handle: cfg.tokenizer},
	}
	routes = append(routes, refusals()...)
	if cfg.Login != nil {
		for _, pattern := range []string{"/users/me/token", "/get_token"} { // seed 000, and what clients ask
			routes = append(routes, httpx.Route{Method: "POST", Pattern: pattern, Permission: httpx.Public, Handle: cfg.login})
		}
	}
	for i := range routes {
		routes[i].Errors = Errors
	}
	return routes
}

func version(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := io.WriteString(w, Version); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client left", Err: err}
	}
	return nil
}

func (cfg Config) login(w http.ResponseWriter, r *http.Request) error {
	var in tokenRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
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

func (cfg Config) complete(w http.ResponseWriter, r *http.Request) error {
	var in completeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, h, err := open[llm.Backend](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	if req.Stream {
		return rename(stream(w, r, model, req, h), names)
	}
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return rename(err, names)
	}
	return httpx.JSON(w, http.StatusOK, newComplete(h, req, rows, used))
}

// stream sends the events of completions as their chunks come.
func stream(w http.ResponseWriter, r *http.Request, model llm.Backend, req *llm.Request, h head) error {
	out := httpx.NewStream(w, httpx.SSE)
	for chunk, err := range model.Generate(r.Context(), req) {
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

func (cfg Config) embed(w http.ResponseWriter, r *http.Request) error {
	var in embedRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	embedder, h, err := open[llm.Embedder](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	made, used, err := embedder.Embed(r.Context(), req)
	if err != nil {
		return rename(err, nil)
	}
	return httpx.JSON(w, http.StatusOK, in.newEmbed(h, req, &made[0], used))
}

func (cfg Config) evaluate(w http.ResponseWriter, r *http.Request) error {
	var in evaluateRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	scorer, h, err := open[llm.Scorer](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	score, used, err := scorer.Score(r.Context(), req)
	if err != nil {
		return rename(err, map[string]string{"continuation": "completion_expected"})
	}
	return httpx.JSON(w, http.StatusOK, newEvaluate(h, req.Continuation, score, used))
}

func (cfg Config) tokenize(w http.ResponseWriter, r *http.Request) error {
	var in tokenizeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	tokenizer, _, err := open[llm.Tokenizer](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	tokens, err := tokenizer.Tokenize(r.Context(), llm.Part{Text: *in.Prompt}, false)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, in.newTokenize(tokens))
}

func (cfg Config) detokenize(w http.ResponseWriter, r *http.Request) error {
	var in detokenizeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	ids, err := in.ids()
	if err != nil {
		return err
	}
	tokenizer, _, err := open[llm.Tokenizer](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	text, err := tokenizer.Detokenize(r.Context(), ids)
	if err != nil {
		return rename(err, map[string]string{"prompt": "token_ids"})
	}
	return httpx.JSON(w, http.StatusOK, detokenizeAnswer{text})
}
