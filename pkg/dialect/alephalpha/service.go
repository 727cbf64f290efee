package alephalpha

import (
	"errors"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// beams is the width of the beam search for a translation, TextSynth's default: this protocol has
// no parameter for it.
const beams = 4

// translateRequest is the body of POST /translate.
type translateRequest struct {
	target
	Source         *string `json:"source"`
	TargetLanguage string  `json:"target_language"`
}

type translateAnswer struct {
	Translation  string   `json:"translation" doc:"the translated text"`
	Score        float    `json:"score" doc:"0 to 1"`
	Segments     *int     `json:"segments" doc:"always null"`
	PromptTokens int      `json:"num_tokens_prompt_total" doc:"tokens of the source"`
	Generated    int      `json:"num_tokens_generated" doc:"generated tokens"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// request translates a request for a translation.
func (t *translateRequest) request() (*llm.TranslateRequest, error) {
	return &llm.TranslateRequest{Texts: []string{*t.Source}, Target: t.TargetLanguage, Beams: beams, SplitSentences: true}, nil
}

func answerTranslation(w http.ResponseWriter, r *http.Request, call httpx.Call[translateRequest, *llm.TranslateRequest, opened[llm.Translator]]) error {
	list, used, err := call.Model.model.Translate(r.Context(), call.Req)
	if err != nil {
		return sourceError(err)
	}
	return httpx.JSON(w, http.StatusOK, translateAnswer{
		Translation: list[0].Text, Score: float(list[0].Score), PromptTokens: used.Input, Generated: used.Output, Cost: used.Cost,
	})
}

// sourceError puts source into an error about the only text, or about its language.
func sourceError(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Param != "text[0]" && e.Param != "source_lang" {
		return err
	}
	renamed := *e
	renamed.Param = "source"
	return &renamed
}

// tokenizer sends a model's tokenizer.json, which clients load into Hugging Face's library.
func (cfg Config) tokenizer(w http.ResponseWriter, r *http.Request) error {
	model, err := find[llm.Backend](r, cfg, &target{Model: r.PathValue("name")})
	if err != nil {
		return err
	}
	file, err := llm.As[llm.TokenizerFile](model.model)
	if err != nil {
		return &llm.Error{Code: llm.Unsupported, Message: "this server has no tokenizer for the model", Err: err}
	}
	raw, err := file.TokenizerJSON(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(raw); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}

// notServed lists the current client's paths that no model here can answer, with the reason.
var notServed = []struct{ path, why string }{
	{"/instructable_embed", "instructable embeddings are not supported: no model here is trained to follow an instruction in them; /embed has the vectors of a model's layers"},
	{"/steering_concepts", "steering concepts are not supported"},
}

// refusals returns the routes of notServed. They answer with the reason instead of only not
// found.
func refusals() (routes []httpx.Route) {
	for _, n := range notServed {
		routes = append(routes, httpx.Route{
			Method: http.MethodPost, Pattern: n.path, Permission: httpx.Inference,
			Handle: func(http.ResponseWriter, *http.Request) error { return llm.Errorf(llm.Unsupported, "%s", n.why) },
		})
	}
	return routes
}

// listed returns the list of /models_available: the models, then their aliases, which
// clients may use as names.
func listed(infos []llm.ModelInfo) []modelObject {
	list, names := make([]modelObject, len(infos)), map[string]bool{}
	for i := range infos {
		list[i] = newModel(&infos[i])
		names[infos[i].Name] = true
	}
	for i := range infos {
		for _, alias := range infos[i].Aliases {
			if names[alias] {
				continue // the name of another model, or already listed
			}
			names[alias] = true
			object := newModel(&infos[i])
			object.Name = alias
			list = append(list, object)
		}
	}
	return list
}

// opened is a model with the capability that a request needs, and the head of its answers.
type opened[C any] struct {
	model C
	info  *llm.ModelInfo
	head  head
}

// open returns the function that opens the model of a request.
func open[In any, C any, P interface {
	*In
	to() *target
}](cfg Config) func(*http.Request, *In) (opened[C], error) {
	return func(r *http.Request, in *In) (opened[C], error) { return find[C](r, cfg, P(in).to()) }
}

// to returns the target of a request that embeds it.
func (t *target) to() *target { return t }

// find opens the model that a target names.
func find[C any](r *http.Request, cfg Config, t *target) (o opened[C], err error) {
	model, err := cfg.Models.Open(r.Context(), t.Model)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		missing := llm.Errorf(llm.NotFound, "the model '%.200s' does not exist", t.Model)
		missing.Param, missing.Err = "model", err
		return o, missing
	}
	if err != nil {
		return o, err
	}
	if err := t.check(&model.ModelInfo); err != nil {
		return o, err
	}
	o.info, o.head = &model.ModelInfo, newHead(httpx.RecordOf(r.Context()).ID, &model.ModelInfo)
	o.model, err = llm.As[C](model)
	return o, err
}
