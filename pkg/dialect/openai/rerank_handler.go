package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// rerankRoutes returns the routes of rerankers. One handler answers the clients of Cohere, Jina,
// vLLM, Voyage and Text Embeddings Inference, whose requests have different keys and whose answers do
// not conflict. Their errors do: those of Text Embeddings Inference have another shape at its path.
func (cfg Config) rerankRoutes() []httpx.Route {
	rerank := httpx.Post(rerankTable, (*rerankRequest).request, openReranker[rerankRequest](cfg), answerRerank)
	score := httpx.Post(scoreTable, (*scoreRequest).request, openReranker[scoreRequest](cfg), cfg.answerScore)
	route := func(pattern string, doc *httpx.Operation, errors httpx.Errors, handle httpx.Handler) httpx.Route {
		return httpx.Route{Method: "POST", Pattern: pattern, Permission: httpx.Inference, Doc: doc, Errors: errors, Handle: handle}
	}
	return []httpx.Route{
		httpx.Shared(pickTexts, route("/rerank", rerankDoc, documentsErrors, rerank), route("/rerank", rerankTextsDoc, textsErrors, rerank)),
		route("/v1/rerank", rerankAliasDoc.As("rerankV1", "Rank documents, as /rerank does"), documentsErrors, rerank),
		route("/v2/rerank", rerankAliasDoc.As("rerankV2", "Rank documents, as /rerank does, without returning them"), documentsErrors, rerank),
		route("/score", scoreDoc.As("scoreAlias", "Score pairs of texts, as /v1/score does"), Errors, score),
		route("/v1/score", scoreDoc, Errors, score),
	}
}

// A trait is what models may have.
type trait func(*llm.ModelInfo) bool

// does is the trait of models of a task.
func does(task llm.Task) trait { return func(m *llm.ModelInfo) bool { return m.Task == task } }

// ranks are the traits of models that rank documents: those that were trained for it before those
// that embed texts.
var ranks = []trait{does(llm.TaskRerank), does(llm.TaskEmbed)}

// openReranker returns how the model of a request is found: without a name, it is the first one
// that ranks documents.
func openReranker[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (*llm.Model, error) {
	return func(r *http.Request, in *In) (*llm.Model, error) {
		model, err := cfg.openFirst(r.Context(), Request(in).modelName(), ranks...)
		if err != nil {
			return nil, err
		}
		if _, missing := reranker(model); missing != nil {
			what := model.Name + " continues texts and has no reranker"
			if model.Task == llm.TaskClassify {
				what = model.Name + " classifies texts (/classify) and has no reranker"
			}
			return nil, cfg.lacks(r.Context(), what, "rank documents", "ranks documents", ranks...)
		}
		return model, nil
	}
}

// openFirst opens a model by its name or, without a name, the first one that has one of the traits.
func (cfg Config) openFirst(ctx context.Context, name string, traits ...trait) (*llm.Model, error) {
	if name == "" {
		names, err := cfg.named(ctx, traits)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			name = names[0]
		}
	}
	return cfg.open(ctx, name)
}

// named lists the names of the models that have one of the traits, those with the first trait first.
func (cfg Config) named(ctx context.Context, traits []trait) (names []string, err error) {
	infos, err := cfg.Models.List(ctx)
	for _, has := range traits {
		for _, info := range infos {
			if has(&info) {
				names = append(names, info.Name)
			}
		}
	}
	return names, err
}

// lacks returns the error of a model that lacks what a request needs. It names the models that
// have it: they do it, and each does it.
func (cfg Config) lacks(ctx context.Context, what, they, each string, traits ...trait) error {
	names, err := cfg.named(ctx, traits)
	if err != nil {
		return err
	}
	others := "none of the models here " + each
	if len(names) > 0 {
		others = "these " + they + ": " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	}
	e := llm.Errorf(llm.Unsupported, "%s; %s", what, others)
	e.Param = "model"
	return e
}

func answerRerank(w http.ResponseWriter, r *http.Request, call httpx.Call[rerankRequest, *llm.RerankRequest, *llm.Model]) error {
	scores, used, err := score(r.Context(), call.Model, call.Req)
	if err != nil {
		return renameKeys(err, call.In.keys())
	}
	switch {
	case call.In.Texts != nil:
		return httpx.JSON(w, http.StatusOK, call.In.textScores(scores))
	case call.In.isVoyage():
		return httpx.JSON(w, http.StatusOK, call.In.voyageAnswer(call.Model.Name, scores, used))
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(call.Model.Name, versionOf(r), scores, used))
}

// versionOf returns the version of Cohere's protocol that a path belongs to.
func versionOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/v2/") {
		return "2"
	}
	return "1"
}

func (cfg Config) answerScore(w http.ResponseWriter, r *http.Request, call httpx.Call[scoreRequest, *llm.RerankRequest, *llm.Model]) error {
	scores, used, err := score(r.Context(), call.Model, call.Req)
	if err != nil {
		_, _, key := call.In.texts()
		return renameKeys(err, map[string]string{"query": otherTexts[key], "documents": key, "logits": "use_activation"})
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(call.Model.Name, cfg.Now().Unix(), scores, used))
}

// score computes the scores of a request.
func score(ctx context.Context, model *llm.Model, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	r, err := reranker(model)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	return r.Rerank(ctx, req)
}

// keys maps the keys of errors to those of the request.
func (q *rerankRequest) keys() map[string]string {
	switch {
	case q.Texts != nil:
		return map[string]string{"documents": "texts", "logits": "raw_scores"}
	case q.Truncation != nil:
		return map[string]string{"truncate": "truncation", "logits": "use_activation"}
	}
	return map[string]string{"logits": "use_activation"}
}

// renameKeys puts the client's keys into an error.
func renameKeys(err error, names map[string]string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	renamed := *e
	for key, name := range names {
		if rest, ok := strings.CutPrefix(e.Param, key); ok && (rest == "" || rest[0] == '[') {
			renamed.Param = name + rest
		}
	}
	return &renamed
}
