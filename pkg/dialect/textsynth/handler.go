package textsynth

import (
	"errors"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	const engine = "/v1/engines/{engine_id...}/"
	routes := []httpx.Route{
		{Pattern: engine + "completions", Streams: true, Doc: completionsDoc, Handle: httpx.Post(completionTable, (*completionRequest).request, open[completionRequest, llm.Backend](cfg), answerCompletion)},
		{Pattern: engine + "translate", Doc: translateDoc, Handle: httpx.Post(translateTable, (*translateRequest).request, open[translateRequest, llm.Translator](cfg), answerTranslation)},
		{Pattern: engine + "logprob", Doc: logprobDoc, Handle: httpx.Post(logprobTable, (*logprobRequest).request, open[logprobRequest, llm.Scorer](cfg), answerScore)},
		{Pattern: engine + "tokenize", Doc: tokenizeDoc, Handle: httpx.Post(tokenizeTable, (*tokenizeRequest).part, open[tokenizeRequest, llm.Tokenizer](cfg), answerTokens)},
	}
	for i := range routes {
		routes[i].Method, routes[i].Permission, routes[i].Errors = http.MethodPost, httpx.Inference, Errors
	}
	return routes
}

// open returns the function that opens the engine of a request with the capability that the
// request needs.
func open[In, Capability any](cfg Config) func(*http.Request, *In) (Capability, error) {
	return func(r *http.Request, _ *In) (capability Capability, err error) {
		name := r.PathValue("engine_id")
		model, err := cfg.Models.Open(r.Context(), name)
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
			missing := llm.Errorf(llm.NotFound, "the engine '%.200s' does not exist", name)
			missing.Param, missing.Err = "engine_id", err
			return capability, missing
		}
		if err != nil {
			return capability, err
		}
		return llm.As[Capability](model)
	}
}

func answerCompletion(w http.ResponseWriter, r *http.Request, call httpx.Call[completionRequest, *llm.Request, llm.Backend]) error {
	if call.In.Stream {
		return call.In.stream(w, r, call.Model, call.Req)
	}
	rows, used, err := httpx.Collect(r, call.Model, call.Req)
	if err != nil {
		return err
	}
	httpx.Guarantee(w, rows)
	return httpx.JSON(w, http.StatusOK, call.In.answer(rows, used))
}

// stream sends the answers of a completion as its chunks arrive, each as one write, because
// some clients treat the data of one read as one answer.
func (c *completionRequest) stream(w http.ResponseWriter, r *http.Request, model llm.Backend, req *llm.Request) error {
	s := completionStream{many: c.many(), rows: make([]llm.Chunk, req.Rows())}
	out := httpx.NewStream(r.Context(), w, httpx.LineFeed)
	for chunk, err := range out.Await(model.Generate(r.Context(), req)) {
		if err != nil {
			return err
		}
		if answer, ok := s.answer(chunk); ok {
			if err := out.Send(answer); err != nil {
				return err
			}
		}
	}
	return nil
}

func answerScore(w http.ResponseWriter, r *http.Request, call httpx.Call[logprobRequest, *llm.ScoreRequest, llm.Scorer]) error {
	score, used, err := call.Model.Score(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newLogprob(score, used))
}

func answerTranslation(w http.ResponseWriter, r *http.Request, call httpx.Call[translateRequest, *llm.TranslateRequest, llm.Translator]) error {
	list, used, err := call.Model.Translate(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(list, used))
}

// answerTokens does not count usage, because it is free (§1.6).
func answerTokens(w http.ResponseWriter, r *http.Request, call httpx.Call[tokenizeRequest, llm.Part, llm.Tokenizer]) error {
	tokens, err := call.Model.Tokenize(r.Context(), []llm.Part{call.Req}, false)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(tokens))
}
