package invoke

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
	// IgnoreUnmapped drops keys that a model does not support, unless the request or the
	// model's record decides otherwise.
	IgnoreUnmapped bool
	// EmptyLines writes a line {} for an event without keys, unless the request decides
	// otherwise.
	EmptyLines bool
}

// IgnoredHeader names the keys of a request that were dropped.
const IgnoredHeader = httpx.IgnoredHeader

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Pattern: "/ping", Permission: httpx.Public, Doc: pingDoc, Handle: ping, Errors: Errors},
		{Method: "GET", Pattern: "/list_models", Permission: httpx.Listing, Doc: modelsDoc, Handle: cfg.list, Errors: Errors},
		{Method: "POST", Pattern: "/invoke", Permission: httpx.Inference, Doc: invokeDoc, Handle: cfg.invoke, Errors: Errors},
		{Method: "POST", Pattern: "/invoke_stream", Permission: httpx.Inference, Streams: true, Doc: streamDoc, Handle: cfg.stream, Errors: Errors},
	}
}

func ping(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, health{"200"})
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	list := make([]model, len(infos))
	for i, m := range infos {
		list[i] = model{m.Type, m.Name, m.Family, m.Streaming}
	}
	return httpx.JSON(w, http.StatusOK, modelList{list})
}

// invoke answers with the keys of the complete answer.
func (cfg Config) invoke(w http.ResponseWriter, r *http.Request) error {
	in, err := cfg.read(w, r, false)
	if err != nil {
		return err
	}
	var answer map[string]any
	for out, err := range in.model.call(r.Context(), in.Body, false) {
		if err != nil {
			return err
		}
		answer = out
	}
	switch {
	case errors.Is(r.Context().Err(), context.Canceled): // the client has disconnected
		return r.Context().Err()
	case answer == nil:
		return llm.Errorf(llm.Upstream, "the model returned no answer")
	}
	if g, ok := answer["guarantee"].(llm.Guarantee); ok { // only models in the process
		httpx.Guarantee(w, []llm.Chunk{{Guarantee: g}})
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// stream answers with a line for each event of the model with keys, or for every event.
func (cfg Config) stream(w http.ResponseWriter, r *http.Request) error {
	in, err := cfg.read(w, r, true)
	if err != nil {
		return err
	}
	empty := cfg.EmptyLines
	if in.EmptyLines != nil {
		empty = *in.EmptyLines
	}
	lines := httpx.NewStream(r.Context(), w, httpx.NDJSON)
	unknown := func(map[string]any) bool { return false } // which event is the last one
	for out, err := range httpx.Await(lines, in.model.call(r.Context(), in.Body, true), unknown) {
		if err != nil {
			return err
		}
		if len(out) == 0 && !empty {
			continue
		}
		if err := lines.Send(out); err != nil {
			return err
		}
	}
	if lines.Skipped() { // a space alone is not a line of JSON
		return lines.Send(map[string]any{})
	}
	return nil
}

// read reads a request, opens its model and adapts the body to it. The answer's header names
// the dropped keys.
func (cfg Config) read(w http.ResponseWriter, r *http.Request, stream bool) (*request, error) {
	in, err := decode(r)
	if err != nil {
		return nil, err
	}
	found, err := cfg.open(r.Context(), *in.ModelFamily, *in.ModelName)
	if err != nil {
		return nil, err
	}
	ignore := cfg.IgnoreUnmapped
	for _, said := range []*bool{found.IgnoreUnmapped, in.IgnoreUnmapped} {
		if said != nil {
			ignore = *said
		}
	}
	in.model = canonicalModelOf(found)
	ignored, err := in.fit(in.model, stream, ignore)
	if err != nil {
		return nil, err
	}
	if len(ignored) > 0 {
		w.Header().Set(IgnoredHeader, list(ignored))
	}
	return in, nil
}

// Limits of [IgnoredHeader]; "..." replaces the rest.
const (
	maxIgnored = 32 // names
	maxKey     = 64 // bytes of a name
)

// list formats names for a header, escaped as in a query, because clients choose them.
func list(names []string) string {
	var out []string
	for i, name := range names {
		if i == maxIgnored {
			return strings.Join(append(out, "..."), ", ")
		}
		more := ""
		if len(name) > maxKey {
			name, more = name[:maxKey], "..."
		}
		out = append(out, url.QueryEscape(name)+more)
	}
	return strings.Join(out, ", ")
}

// decode reads a request. Without a Content-Type it is JSON, as clients send it. With another
// Content-Type API layer's server does not see an object.
func decode(r *http.Request) (*request, error) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")) {
			return nil, llm.Errorf(malformed, "the Content-Type is %.80q: send application/json or none", kind)
		}
	}
	body, err := httpx.ReadBody(r)
	if err != nil {
		return nil, err
	}
	return parse(body)
}

// open opens a model of a family.
func (cfg Config) open(ctx context.Context, family, name string) (*llm.Model, error) {
	found, err := cfg.Models.Open(ctx, family+"/"+name)
	if e, ok := errors.AsType[*llm.Error](err); err == nil && found.Family == family || err != nil && (!ok || e.Code != llm.NotFound) {
		return found, err
	}
	list, listing := cfg.Models.List(ctx)
	if listing != nil {
		return nil, listing
	}
	none := llm.Errorf(llm.NotFound, "the family %.80q has no model %.200q", family, name)
	if !slices.ContainsFunc(list, func(m llm.ModelInfo) bool { return m.Family == family }) {
		none.Message = "No module named 'handlers." + family + "'" // the exact text of API layer's server
	}
	none.Err = err
	return nil, none
}
