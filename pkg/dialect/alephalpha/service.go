package alephalpha

import (
	"context"
	"errors"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// beams is the width of the search for a translation, TextSynth's default: this protocol has
// no parameter for it.
const beams = 4

// translateRequest is the body of POST /translate.
type translateRequest struct {
	target
	Source         *string `json:"source"`
	TargetLanguage string  `json:"target_language"`
}

type translateAnswer struct {
	Translation  string `json:"translation"`
	Score        float  `json:"score"`    // 0 to 1
	Segments     *int   `json:"segments"` // always null
	PromptTokens int    `json:"num_tokens_prompt_total"`
	Generated    int    `json:"num_tokens_generated"`
}

// request translates a request for a translation.
func (t *translateRequest) request() (*llm.TranslateRequest, error) {
	switch {
	case t.Source == nil:
		return nil, invalid("source", "must be given")
	case t.TargetLanguage == "":
		return nil, invalid("target_language", "must be given")
	}
	return &llm.TranslateRequest{Texts: []string{*t.Source}, Target: t.TargetLanguage, Beams: beams, SplitSentences: true}, nil
}

func (cfg Config) translate(w http.ResponseWriter, r *http.Request) error {
	var in translateRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	translator, _, err := open[llm.Translator](r.Context(), cfg, &in.target)
	if err != nil {
		return err
	}
	list, used, err := translator.Translate(r.Context(), req)
	if err != nil {
		return rename(err, map[string]string{"text": "source", "text[0]": "source", "source_lang": "source", "target_lang": "target_language"})
	}
	return httpx.JSON(w, http.StatusOK, translateAnswer{
		Translation: list[0].Text, Score: float(list[0].Score), PromptTokens: used.Input, Generated: used.Output,
	})
}

// tokenizer sends a model's tokenizer.json, which clients load into Hugging Face's library.
func (cfg Config) tokenizer(w http.ResponseWriter, r *http.Request) error {
	model, _, err := open[llm.Backend](r.Context(), cfg, &target{Model: r.PathValue("name")})
	if err != nil {
		return err
	}
	file, err := llm.As[llm.TokenizerFile](model)
	if err != nil {
		return &llm.Error{Code: llm.Unsupported, Message: "this model has no tokenizer here", Err: err}
	}
	raw, err := file.TokenizerJSON(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(raw); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client left", Err: err}
	}
	return nil
}

// notServed lists the paths of today's client that no model here can answer, with the reason.
var notServed = []struct{ path, why string }{
	{"/semantic_embed", "semantic embeddings are not served: no model here was trained for the representations symmetric, document and query; /embed has the vectors of a model's layers"},
	{"/batch_semantic_embed", "semantic embeddings are not served: no model here was trained for the representations symmetric, document and query; /embed has the vectors of a model's layers"},
	{"/instructable_embed", "instructable embeddings are not served: no model here was trained to follow an instruction in them; /embed has the vectors of a model's layers"},
	{"/rerank", "reranking is not served: no model here was trained for it"},
	{"/steering_concepts", "there are no steering concepts"},
}

// refusals returns the routes of what is not served. They give the reason, where an unknown
// path is only not found.
func refusals() (routes []httpx.Route) {
	for _, n := range notServed {
		routes = append(routes, httpx.Route{
			Method: "POST", Pattern: n.path, Permission: httpx.Inference,
			Handle: func(http.ResponseWriter, *http.Request) error { return llm.Errorf(llm.Unsupported, "%s", n.why) },
		})
	}
	return routes
}

// listed returns what /models_available lists: the models, and then their aliases, by which
// clients ask for them too.
func listed(infos []llm.ModelInfo) []modelObject {
	list, names := make([]modelObject, len(infos)), map[string]bool{}
	for i := range infos {
		list[i] = newModel(&infos[i])
		names[infos[i].Name] = true
	}
	for i := range infos {
		for _, alias := range infos[i].Aliases {
			if names[alias] {
				continue // it is the name of another model, or of one before
			}
			names[alias] = true
			object := newModel(&infos[i])
			object.Name = alias
			list = append(list, object)
		}
	}
	return list
}

// open finds the model of a request, as what the request needs it to be.
func open[C any](ctx context.Context, cfg Config, t *target) (capability C, h head, err error) {
	if t.Model == "" {
		return capability, h, invalid("model", "must be given")
	}
	model, err := cfg.Models.Open(ctx, t.Model)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		missing := llm.Errorf(llm.NotFound, "the model '%.200s' does not exist", t.Model)
		missing.Param, missing.Err = "model", err
		return capability, h, missing
	}
	if err != nil {
		return capability, h, err
	}
	if err := t.check(&model.ModelInfo); err != nil {
		return capability, h, err
	}
	capability, err = llm.As[C](model)
	return capability, newHead(httpx.RecordOf(ctx).ID, &model.ModelInfo), err
}
