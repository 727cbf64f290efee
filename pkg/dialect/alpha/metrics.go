package alpha

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Curves knows what was measured while models were trained.
type Curves interface {
	// Metrics returns a stretch of a model's metrics.jsonl from a byte on. A model that
	// is not there is an [llm.NotFound] error; one without such a file has no lines.
	Metrics(ctx context.Context, model string, from int64) (Metrics, error)
}

// Metrics is a stretch of a metrics.jsonl: whole lines, and the bytes that they are from
// and that the next ones will be from. From is 0 if the file was begun anew.
type Metrics struct {
	From, Next int64
	More       bool // there is more now
	Lines      []json.RawMessage
}

// metrics answers with what a run measured. Who looks at it while the run goes on asks
// again from where the last answer ended.
func (cfg Config) metrics(w http.ResponseWriter, r *http.Request) error {
	var in metricsRequest
	if err := httpx.DecodeQuery(r, metricsTable, &in); err != nil {
		return err
	}
	from := *cmp.Or(in.From, new(0))
	name := r.PathValue("name")
	if cfg.Curves == nil {
		return llm.Errorf(llm.NotFound, modelNotFound)
	}
	m, err := cfg.Curves.Metrics(r.Context(), name, int64(from))
	if err != nil {
		return notFound(err)
	}
	if m.Lines == nil {
		m.Lines = []json.RawMessage{}
	}
	return httpx.JSON(w, http.StatusOK, metricsObject{name, m.From, m.Next, m.More, m.Lines})
}
