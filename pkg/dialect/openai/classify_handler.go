package openai

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// classifyRoutes returns the routes of classifiers, in the protocols of vLLM and SGLang, and of Text
// Embeddings Inference and Hugging Face's Inference API.
func (cfg Config) classifyRoutes() []httpx.Route {
	classify := httpx.Post(classifyTable, (*classifyRequest).request, openClassifier[classifyRequest](cfg), cfg.answerClassify)
	route := func(pattern string, doc *httpx.Operation, errors httpx.Errors, handle httpx.Handler) httpx.Route {
		return httpx.Route{Method: "POST", Pattern: pattern, Permission: httpx.Inference, Doc: doc, Errors: errors, Handle: handle}
	}
	return []httpx.Route{
		route("/classify", classifyDoc, Errors, classify),
		route("/v1/classify", classifyDoc.As("classifyV1", "Classify texts, as /classify does"), Errors, classify),
		route("/predict", predictDoc, textsErrors, cfg.predict()),
	}
}

// predict returns the handler of requests in the protocol of Text Embeddings Inference.
func (cfg Config) predict() httpx.Handler {
	return httpx.Post(predictTable, (*predictRequest).request, openClassifier[predictRequest](cfg), answerPredict)
}

// classifies are the traits of models that classify texts: those of several labels before rerankers,
// whose label says how relevant a text is.
var classifies = []trait{does(llm.TaskClassify), func(m *llm.ModelInfo) bool { return m.Task == llm.TaskRerank && len(m.Labels) > 0 }}

// openClassifier returns how the model of a request is found: without a name, it is the first one
// that classifies texts.
func openClassifier[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (*llm.Model, error) {
	return func(r *http.Request, in *In) (*llm.Model, error) {
		model, err := cfg.openFirst(r.Context(), Request(in).modelName(), classifies...)
		if err != nil {
			return nil, err
		}
		if _, missing := llm.As[llm.Classifier](model); missing != nil {
			why := strings.Replace(llm.AsError(missing).Message, "this model", model.Name, 1)
			return nil, cfg.lacks(r.Context(), why, "classify texts", "classifies texts", classifies...)
		}
		return model, nil
	}
}

// classifyTexts computes the scores of a request.
func classifyTexts(ctx context.Context, model *llm.Model, req *llm.ClassifyRequest) ([]llm.Classification, llm.Usage, error) {
	c, err := llm.As[llm.Classifier](model)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	return c.Classify(ctx, req)
}

func (cfg Config) answerClassify(w http.ResponseWriter, r *http.Request, call httpx.Call[classifyRequest, *llm.ClassifyRequest, *llm.Model]) error {
	list, used, err := classifyTexts(r.Context(), call.Model, call.Req)
	if err != nil {
		return renameInput(err)
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(call.Model.Name, cfg.Now().Unix(), list, used))
}

func answerPredict(w http.ResponseWriter, r *http.Request, call httpx.Call[predictRequest, *llm.ClassifyRequest, *llm.Model]) error {
	list, _, err := classifyTexts(r.Context(), call.Model, call.Req)
	if err != nil {
		return err
	}
	answer := call.In.answer(list)
	if !call.In.listed() {
		return httpx.JSON(w, http.StatusOK, answer[0])
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// renameInput puts the client's key into an error about inputs.
func renameInput(err error) error {
	e := llm.AsError(err)
	rest, ok := strings.CutPrefix(e.Param, "inputs")
	if !ok {
		return err
	}
	renamed := *e
	renamed.Param = "input" + rest
	return &renamed
}

// byScore orders scores, the largest score first.
func byScore(a, b labelScore) int { return cmp.Compare(b.Score, a.Score) }

// pickRoot distinguishes the requests at the root: with texts (1), with a sentence and others (3), with
// parameters of the Inference API (2), and the others (0).
func pickRoot(_ http.Header, body []byte) (int, error) {
	switch keys := readPicked(body); {
	case keys.Inputs != nil && bytes.HasPrefix(*keys.Inputs, []byte("{")):
		return 3, nil
	case keys.Parameters != nil:
		return 2, nil
	case keys.Texts != nil:
		return 1, nil
	}
	return 0, nil
}
