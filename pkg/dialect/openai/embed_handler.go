package openai

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// embedRoutes returns the routes of embeddings in the protocols of Cohere and of Text Embeddings
// Inference.
func (cfg Config) embedRoutes() []httpx.Route {
	embed := httpx.Post(embedTable, (*embedRequest).request, openEmbedder[embedRequest](cfg, llm.EmbedDense), answerEmbed)
	inputs := httpx.Post(inputsTable, (*inputsRequest).request, openEmbedder[inputsRequest](cfg, llm.EmbedDense), answerInputs)
	sparse := httpx.Post(plainTable, (*plainRequest).sparse, openEmbedder[plainRequest](cfg, llm.EmbedSparse), answerPlain(sparseValues))
	unpooled := httpx.Post(plainTable, (*plainRequest).unpooled, openEmbedder[plainRequest](cfg, llm.EmbedDense), answerPlain(tokenVectors))
	root := httpx.Post(inputsTable, (*inputsRequest).request, openEmbedder[inputsRequest](cfg, llm.EmbedDense, llm.EmbedSparse), answerRoot)
	rerank := httpx.Post(rerankTable, (*rerankRequest).request, openReranker[rerankRequest](cfg), answerRerank)
	similar := httpx.Post(similarityTable, (*similarityRequest).request, openEmbedder[similarityRequest](cfg, llm.EmbedDense), answerSimilarity)
	decode := httpx.Post(decodeTable, (*decodeRequest).lists, openReader[decodeRequest](cfg), answerDecode)
	route := func(pattern string, doc *httpx.Operation, errors httpx.Errors, handle httpx.Handler) httpx.Route {
		return httpx.Route{Method: "POST", Pattern: pattern, Permission: httpx.Inference, Doc: doc, Errors: errors, Handle: handle}
	}
	return []httpx.Route{
		route("/v1/embed", embedV1Doc, documentsErrors, embed),
		route("/v2/embed", embedDoc, documentsErrors, embed),
		route("/embed", inputsDoc, textsErrors, inputs),
		route("/embed_sparse", sparseDoc, textsErrors, sparse),
		route("/embed_all", unpooledDoc, textsErrors, unpooled),
		route("/similarity", similarityDoc, textsErrors, similar),
		route("/decode", decodeDoc, textsErrors, decode),
		{Method: "GET", Pattern: "/info", Permission: httpx.Listing, Doc: infoDoc, Errors: textsErrors, Handle: cfg.info},
		httpx.Shared(pickRoot, route("/{$}", rootInputsDoc, textsErrors, root),
			route("/{$}", rerankTextsDoc.As("rerankRoot", "Rank texts at the root, in the protocol of Text Embeddings Inference"), textsErrors, rerank),
			route("/{$}", predictDoc.As("predictRoot", "Classify texts at the root, in the protocol of Hugging Face's Inference API"), textsErrors, cfg.predict()),
			route("/{$}", similarityDoc.As("similarityRoot", "Compare texts with one at the root, in the protocol of Hugging Face's Inference API"), textsErrors, similar)),
	}
}

// embeds is the trait of models that have a kind of embeddings.
func embeds(kind llm.EmbedKind) trait {
	return func(m *llm.ModelInfo) bool {
		return m.Task == llm.TaskEmbed && (slices.Contains(m.Embeds, kind) || len(m.Embeds) == 0 && kind == llm.EmbedDense)
	}
}

// openEmbedder returns how the model of a request is found: without a name, it is the first one
// that has embeddings of one of the kinds.
func openEmbedder[In any, Request interface {
	*In
	modelName() string
}](cfg Config, kinds ...llm.EmbedKind) func(*http.Request, *In) (*llm.Model, error) {
	var traits []trait
	for _, kind := range kinds {
		traits = append(traits, embeds(kind))
	}
	return func(r *http.Request, in *In) (*llm.Model, error) {
		model, err := cfg.openFirst(r.Context(), Request(in).modelName(), traits...)
		if err != nil {
			return nil, err
		}
		if _, missing := llm.As[llm.Embedder](model); missing != nil {
			why := strings.Replace(llm.AsError(missing).Message, "this model", model.Name, 1)
			return nil, cfg.lacks(r.Context(), why, "embed texts", "embeds texts", traits...)
		}
		return model, nil
	}
}

// embedTexts computes the embeddings of a request. With lenient, a model that cannot cut texts gets
// them whole.
func embedTexts(ctx context.Context, model *llm.Model, req *llm.EmbedRequest, lenient bool) ([]llm.Embedding, llm.Usage, error) {
	embedder, err := llm.As[llm.Embedder](model)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	if lenient {
		return llm.EmbedCut(ctx, embedder, req)
	}
	return embedder.Embed(ctx, req)
}

func answerEmbed(w http.ResponseWriter, r *http.Request, call httpx.Call[embedRequest, *llm.EmbedRequest, *llm.Model]) error {
	list, used, err := embedTexts(r.Context(), call.Model, call.Req, call.In.Truncate == nil)
	if err != nil {
		return err
	}
	answer, err := call.In.answer(call.Model.Name, versionOf(r), call.Req, list, used)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

func answerInputs(w http.ResponseWriter, r *http.Request, call httpx.Call[inputsRequest, *llm.EmbedRequest, *llm.Model]) error {
	list, _, err := embedTexts(r.Context(), call.Model, call.Req, false)
	if err != nil {
		return err
	}
	answer, err := call.In.answer(list)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// answerPlain returns how requests without options of the vectors are answered: with what of makes
// of the embeddings.
func answerPlain[Out any](of func([]llm.Embedding) Out) func(http.ResponseWriter, *http.Request, httpx.Call[plainRequest, *llm.EmbedRequest, *llm.Model]) error {
	return func(w http.ResponseWriter, r *http.Request, call httpx.Call[plainRequest, *llm.EmbedRequest, *llm.Model]) error {
		list, _, err := embedTexts(r.Context(), call.Model, call.Req, false)
		if err != nil {
			return err
		}
		return httpx.JSON(w, http.StatusOK, of(list))
	}
}

// answerRoot answers as /embed does, or as /embed_sparse if the model has only sparse embeddings.
func answerRoot(w http.ResponseWriter, r *http.Request, call httpx.Call[inputsRequest, *llm.EmbedRequest, *llm.Model]) error {
	if info := &call.Model.ModelInfo; embeds(llm.EmbedDense)(info) || !embeds(llm.EmbedSparse)(info) {
		return answerInputs(w, r, call)
	}
	if call.In.Normalize != nil {
		return &llm.Error{Code: llm.Unsupported, Param: "normalize", Message: "this model has sparse embeddings only, which are not normalised"}
	}
	call.Req.Kind = llm.EmbedSparse
	list, _, err := embedTexts(r.Context(), call.Model, call.Req, false)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, sparseValues(list))
}
