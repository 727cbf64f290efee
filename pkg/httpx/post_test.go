package httpx

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

type question struct {
	Model string `json:"model"`
	Text  string `json:"text"`
	Most  *int   `json:"most"`
}

// TestPost: a request is decoded, checked, translated, and only then is its model opened;
// errors of the model name the client's keys.
func TestPost(t *testing.T) {
	table := wire.For[question](
		wire.Parameter{Name: "model", Required: true},
		wire.Parameter{Name: "text", NotEmpty: true, Canonical: "prompt"},
		wire.Parameter{Name: "most", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens"},
	)
	opened := 0
	handle := Post(table,
		func(in *question) (*llm.Request, error) {
			if in.Text == "untranslatable" {
				return nil, wire.Invalid("text", "cannot be translated")
			}
			return &llm.Request{Params: llm.Params{MaxTokens: in.Most}}, nil
		},
		func(_ *http.Request, in *question) (string, error) {
			if opened++; in.Model == "none" {
				return "", llm.Errorf(llm.NotFound, "no such model")
			}
			return in.Model, nil
		},
		func(w http.ResponseWriter, _ *http.Request, call Call[question, *llm.Request, string]) error {
			switch {
			case call.In.Text == "long":
				return &llm.Error{Code: llm.TooLong, Message: "too long"}
			case call.Req.MaxTokens != nil:
				return &llm.Error{Code: llm.Invalid, Param: "max_new_tokens", Message: "too many"}
			case call.Model == "broken":
				return errors.New("a fault")
			}
			return JSON(w, http.StatusOK, call.Model)
		})
	m := &Mux{Routes: []Route{{Method: "POST", Pattern: "/", Handle: handle}}}
	for _, test := range []struct {
		body   string
		status int
		want   string
		opens  int
	}{
		{`{"model":"m","text":"hi"}`, 200, `"m"`, 1},
		{`{"text":"hi"}`, 400, `{"error":"model: is required"}`, 0},
		{`{"model":"m","text":"untranslatable"}`, 400, `{"error":"text: cannot be translated"}`, 0},
		{`{"model":"none"}`, 404, `{"error":"no such model"}`, 1},
		{`{"model":"m","text":"long"}`, 400, `{"error":"text: too long"}`, 1},
		{`{"model":"m","most":5}`, 400, `{"error":"most: too many"}`, 1},
		{`{"model":"m","most":0}`, 400, `{"error":"most: must be at least 1"}`, 0},
		{`{"model":"broken"}`, 500, `{"error":"internal error"}`, 1},
		{`{`, 400, `{"error":"the body is not valid JSON: unexpected end of JSON input"}`, 0},
	} {
		opened = 0
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(test.body)))
		if w.Code != test.status || w.Body.String() != test.want+"\n" || opened != test.opens {
			t.Errorf("%s: got %d %s, opened %d times", test.body, w.Code, w.Body, opened)
		}
	}
}
