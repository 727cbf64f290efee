package app

import (
	"net/http"

	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// healthRoutes tell whether the program runs, whether it can serve models, and which.
func (a *App) healthRoutes() []httpx.Route {
	return []httpx.Route{
		{Method: http.MethodGet, Pattern: "/health", Permission: httpx.Public, Doc: healthDoc, Handle: health},
		{Method: http.MethodGet, Pattern: "/ready", Permission: httpx.Public, Doc: readyDoc, Handle: a.ready},
		{Method: http.MethodGet, Pattern: "/health/models", Permission: httpx.Metrics, Doc: modelHealthDoc, Handle: a.modelHealth},
	}
}

// The documentation of the routes.
var (
	healthDoc = &httpx.Operation{
		ID: "health", Tag: serviceTag, Summary: "Check that the server is running", Answers: []httpx.Answer{{Media: "text/plain", Description: "Ok"}},
	}
	readyDoc = &httpx.Operation{
		ID: "ready", Tag: serviceTag, Summary: "Check that the server can serve its models",
		Description: "The answer is 503 while the records of the models were never read, or no model is served.",
		Answers:     []httpx.Answer{{Media: "text/plain", Description: "Ok"}},
	}
	modelHealthDoc = &httpx.Operation{
		ID: "modelHealth", Tag: serviceTag, Summary: "Say of each record whether it is served, and why not",
		Answers: []httpx.Answer{{Of: modelHealth{}}},
	}
)

// modelHealth is the answer of /health/models.
type modelHealth struct {
	Records  []recordHealth `json:"records" doc:"the records of the table, or of the directory of records"`
	Problems []string       `json:"problems" doc:"why models are not served, those without a record too"`
}

// recordHealth is the health of a record.
type recordHealth struct {
	Record   string   `json:"record" doc:"its sort key"`
	Served   bool     `json:"served" doc:"whether a model is served with it"`
	Models   []string `json:"models" doc:"the names of these models"`
	Why      string   `json:"why,omitempty" doc:"why there are none"`
	Warnings []string `json:"warnings,omitempty" doc:"what works in another way than the record says"`
}

func health(w http.ResponseWriter, _ *http.Request) error { return ok(w) }

// ok answers that all is well.
func ok(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte("Ok"))
	if err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}

// ready is for orchestrators, which send requests only to servers that can answer them.
func (a *App) ready(w http.ResponseWriter, r *http.Request) error {
	list, err := a.catalog.List(r.Context())
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return llm.Errorf(llm.Unavailable, "no model is served: GET /health/models says why")
	}
	return ok(w)
}

func (a *App) modelHealth(w http.ResponseWriter, r *http.Request) error {
	items, problems := a.catalog.Status(r.Context())
	answer := modelHealth{Records: []recordHealth{}, Problems: []string{}}
	for _, s := range items {
		answer.Records = append(answer.Records, recordHealth{s.Item, s.Served != nil, append([]string{}, s.Served...), s.Why, s.Warnings})
	}
	for _, problem := range problems {
		if !catalog.IsWarning(problem) {
			answer.Problems = append(answer.Problems, problem.Error())
		}
	}
	return httpx.JSON(w, http.StatusOK, answer)
}
