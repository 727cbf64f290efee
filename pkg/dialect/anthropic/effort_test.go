package anthropic

import (
	"context"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// thoughtless is a model that does not reason.
type thoughtless struct{ chunks }

func (t thoughtless) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	const message = "this model does not reason before its answer"
	switch {
	case req.Thinking != nil && *req.Thinking:
		t.chunks = chunks{err: &llm.Error{Code: llm.Unsupported, Param: "thinking", Message: message}}
	case req.Effort != nil:
		t.chunks = chunks{err: &llm.Error{Code: llm.Unsupported, Param: "reasoning_effort", Message: message}}
	}
	return t.chunks.Generate(ctx, req)
}

// TestEffort: a local model that does not reason answers requests with an effort, as Claude Code
// sends them, but not those that turn thinking on. A remote model rejects what its record lacks.
func TestEffort(t *testing.T) {
	backend := thoughtless{play(llm.FinishEOS, llm.Chunk{Text: "Once"})}
	h := (&httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "local", InProcess: true}, Backend: backend}, {ModelInfo: llm.ModelInfo{Name: "remote"}, Backend: backend},
		{ModelInfo: llm.ModelInfo{Name: "thinks", InProcess: true, Reasons: true}, Backend: backend},
	}}), Fallback: Errors}).Handler()
	const effort, adaptive = `,"output_config":{"effort":"high"}`, `,"thinking":{"type":"adaptive"}`
	for _, test := range []struct {
		model, more string
		status      int
		has         string
	}{
		{"local", effort + adaptive, 200, "Once"},
		{"local", effort + adaptive + `,"stream":true`, 200, "Once"},
		{"local", effort + `,"thinking":{"type":"enabled","budget_tokens":4}`, 400, "thinking.type: this model does not reason"},
		{"remote", effort, 400, "output_config.effort: this model does not reason"},
		{"thinks", effort, 400, "output_config.effort: this model does not reason"}, // it was asked with the effort
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(send(test.model, test.more))))
		ignored := w.Header().Get(httpx.IgnoredHeader)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) || (ignored == "output_config.effort") != (test.model == "local") {
			t.Errorf("%s: got %d, %q left out, %s", test.more, w.Code, ignored, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages/count_tokens", strings.NewReader(`{"model":"local","messages":[{"role":"user","content":"a"}]`+effort+`}`)))
	if ignored := w.Header().Get(httpx.IgnoredHeader); ignored != "output_config.effort" {
		t.Errorf("%q left out of the count: %d %s", ignored, w.Code, w.Body)
	}
}
