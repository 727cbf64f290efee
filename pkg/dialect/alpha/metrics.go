package alpha

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Curves reads the metrics of training runs.
type Curves interface {
	// Metrics returns a section of a model's metrics.jsonl that begins at a byte. A missing
	// model is an [llm.NotFound] error; a missing file has no lines.
	Metrics(ctx context.Context, model string, from int64) (Metrics, error)
}

// Metrics is a section of a metrics.jsonl: whole lines, their offset and the offset of the
// next ones. From is 0 if the file was restarted.
type Metrics struct {
	From, Next int64
	More       bool // more lines are available now
	Lines      []json.RawMessage
}

// metrics answers with the metrics of a run. Clients that follow a running training request
// the next section from the end of the last.
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
