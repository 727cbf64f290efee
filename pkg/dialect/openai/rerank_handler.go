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
// vLLM and Text Embeddings Inference, whose requests have different keys and whose answers do
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

// openReranker returns how the model of a request is found: without a name, it is the first one
// that ranks documents.
func openReranker[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (*llm.Model, error) {
	return func(r *http.Request, in *In) (*llm.Model, error) {
		name := Request(in).modelName()
		if name == "" {
			names, err := cfg.rerankers(r.Context())
			if err != nil {
				return nil, err
			}
			if len(names) > 0 {
				name = names[0]
			}
		}
		model, err := cfg.open(r.Context(), name)
		if err != nil {
			return nil, err
		}
		if _, missing := reranker(model); missing != nil {
			return nil, cfg.notReranker(r.Context(), model)
		}
		return model, nil
	}
}

// rerankers lists the names of the models that rank documents: those that were trained for it
// before those that embed texts.
func (cfg Config) rerankers(ctx context.Context) (names []string, err error) {
	infos, err := cfg.Models.List(ctx)
	for _, task := range []llm.Task{llm.TaskRerank, llm.TaskEmbed} {
		for _, info := range infos {
			if info.Task == task {
				names = append(names, info.Name)
			}
		}
	}
	return names, err
}

// notReranker returns the error of a model that does not rank documents.
func (cfg Config) notReranker(ctx context.Context, model *llm.Model) error {
	names, err := cfg.rerankers(ctx)
	if err != nil {
		return err
	}
	others := "none of the models here ranks documents"
	if len(names) > 0 {
		others = "these rank documents: " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	}
	e := llm.Errorf(llm.Unsupported, "%s continues texts and has no reranker; %s", model.Name, others)
	e.Param = "model"
	return e
}

func answerRerank(w http.ResponseWriter, r *http.Request, call httpx.Call[rerankRequest, *llm.RerankRequest, *llm.Model]) error {
	scores, used, err := score(r.Context(), call.Model, call.Req)
	if err != nil {
		if call.In.Texts != nil {
			return renameTexts(err, "query", "texts", "raw_scores")
		}
		return renameTexts(err, "query", "documents", "use_activation")
	}
	if call.In.Texts != nil {
		return httpx.JSON(w, http.StatusOK, call.In.textScores(scores))
	}
	version := "1"
	if strings.HasPrefix(r.URL.Path, "/v2/") {
		version = "2"
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(call.Model.Name, version, scores, used))
}

func (cfg Config) answerScore(w http.ResponseWriter, r *http.Request, call httpx.Call[scoreRequest, *llm.RerankRequest, *llm.Model]) error {
	scores, used, err := score(r.Context(), call.Model, call.Req)
	if err != nil {
		_, _, key := call.In.texts()
		return renameTexts(err, otherTexts[key], key, "use_activation")
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

// renameTexts puts the client's keys into an error about a query, a document or logits.
func renameTexts(err error, query, documents, logits string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	renamed := *e
	switch rest, ok := strings.CutPrefix(e.Param, "documents"); {
	case e.Param == "logits":
		renamed.Param = logits
	case e.Param == "query":
		renamed.Param = query
	case ok:
		renamed.Param = documents + rest
	}
	return &renamed
}
