package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// moods is a backend whose scores of the labels odd and even are the lengths of the text and of its
// pair, over 10; with another function, the lengths. It rejects texts of more than 4 bytes unless it may cut them.
type moods struct{ got *llm.ClassifyRequest }

func (*moods) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model classifies texts"))
	}
}

func (m *moods) Classify(_ context.Context, req *llm.ClassifyRequest) (out []llm.Classification, used llm.Usage, err error) {
	m.got = req
	for i, in := range req.Inputs {
		made := llm.Classification{Labels: []string{"odd", "even"}, Scores: []float64{float64(len(in.Text)), 2}}
		if in.Second != nil {
			made.Scores[1] = float64(len(*in.Second))
		}
		if len(in.Text) > 4 && !req.Truncate {
			long := llm.TooManyTokens("the text has", len(in.Text), 4)
			long.Param = fmt.Sprintf("inputs[%d]", i)
			return nil, llm.Usage{}, long
		}
		if req.Function == "" {
			made.Scores[0], made.Scores[1] = made.Scores[0]/10, made.Scores[1]/10
		}
		out = append(out, made)
		used.Input += len(in.Text)
	}
	return out, used, nil
}

// classifiers returns a handler over a model that continues texts, one that embeds them, a reranker
// and one that classifies them.
func classifiers() (http.Handler, *moods) {
	m := &moods{}
	models := llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "writer", Family: "local"}, Backend: llmtest.Script{"hi"}},
		{ModelInfo: llm.ModelInfo{Name: "embedder", Family: "local", Task: llm.TaskEmbed}, Backend: vectors{}},
		{ModelInfo: llm.ModelInfo{Name: "ranker", Family: "local", Task: llm.TaskRerank}, Backend: &ranker{}},
		{ModelInfo: llm.ModelInfo{Name: "moods", Family: "local", Task: llm.TaskClassify, Labels: []string{"odd", "even"}}, Backend: m},
	}
	routes := Routes(Config{Models: models, Now: func() time.Time { return time.Unix(7, 0) }})
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler(), m
}

// Clients of vLLM, SGLang, Text Embeddings Inference and the Inference API get the answers that they
// know.
func TestClassify(t *testing.T) {
	for _, c := range []struct{ target, body, want string }{
		{"/classify", `{"input":"a"}`, `"object":"list","created":7,"model":"moods","data":[{"index":0,"label":"even","probs":[0.1,0.2],"num_classes":2}],"usage":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}}`},
		{"/v1/classify", `{"model":"moods","input":["abc","b"],"user":"u","priority":1,"add_special_tokens":true,"truncation_side":"right"}`, `"data":[{"index":0,"label":"odd","probs":[0.3,0.2],"num_classes":2},{"index":1,"label":"even","probs":[0.1,0.2],"num_classes":2}]`},
		{"/classify", `{"input":"longer","truncate_prompt_tokens":-1,"use_activation":false}`, `"probs":[6,2]`},
		{"/classify", `{"input":"abc","activation":false}`, `"probs":[3,2]`},
		{"/predict", `{"inputs":"abc"}`, `[{"score":0.3,"label":"odd"},{"score":0.2,"label":"even"}]`},
		{"/predict", `{"inputs":["a"]}`, `[{"score":0.2,"label":"even"},{"score":0.1,"label":"odd"}]`},
		{"/predict", `{"inputs":["a","bcd"],"raw_scores":true}`, `[{"score":3,"label":"even"},{"score":1,"label":"odd"}]`},
		{"/predict", `{"inputs":[["abc"],["a","b"]],"truncation_direction":"Right"}`, `[[{"score":0.3,"label":"odd"},{"score":0.2,"label":"even"}],[{"score":0.1,"label":"odd"},{"score":0.1,"label":"even"}]]`},
		{"/predict", `{"inputs":"longer","truncate":true}`, `[{"score":0.6,"label":"odd"},{"score":0.2,"label":"even"}]`},
		{"/predict", `{"inputs":"abc","parameters":{}}`, `[[{"score":0.3,"label":"odd"},{"score":0.2,"label":"even"}]]`},
		{"/", `{"inputs":["abc","a"],"parameters":{"top_k":1,"function_to_apply":"none"}}`, `[[{"score":3,"label":"odd"}],[{"score":2,"label":"even"}]]`},
	} {
		h, _ := classifiers()
		if w := ask(h, "POST", c.target, c.body); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.target, c.body, w.Code, w.Body, c.want)
		}
	}
	h, _ := classifiers()
	const want = `{"id":"moods","object":"model","created":0,"owned_by":"local","task":"classify","labels":["odd","even"]}`
	if got := ask(h, "GET", "/v1/models", "").Body.String(); !strings.Contains(got, want) {
		t.Error(got)
	}
}

// Requests reach the model with all that they ask.
func TestClassifyRequest(t *testing.T) {
	for body, want := range map[string]llm.ClassifyRequest{
		`{"input":"a"}`: {},
		`{"input":"a","truncate_prompt_tokens":3}`:                    {Truncate: true, MaxInput: 3},
		`{"input":"a","truncate_prompt_tokens":0}`:                    {Truncate: true},
		`{"input":"a","use_activation":true}`:                         {},
		`{"input":"a","use_activation":false}`:                        {Function: llm.ScoreNone},
		`{"inputs":"a","truncate":true}`:                              {Truncate: true},
		`{"inputs":"a","raw_scores":true}`:                            {Function: llm.ScoreNone},
		`{"inputs":"a","parameters":{"top_k":1}}`:                     {},
		`{"inputs":"a","parameters":{"function_to_apply":"softmax"}}`: {Function: llm.ScoreSoftmax},
	} {
		h, m := classifiers()
		target := "/classify"
		if strings.Contains(body, "inputs") {
			target = "/predict"
		}
		if w := ask(h, "POST", target, body); w.Code != 200 {
			t.Fatalf("%s: %s", body, w.Body)
		}
		if got := m.got; got.Function != want.Function || got.MaxInput != want.MaxInput || got.Truncate != want.Truncate || got.MaxScores != maxScores || got.Inputs[0].Text != "a" || got.Inputs[0].Second != nil {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// Bad requests are rejected with the key at fault, and models are asked for what they do.
func TestBadClassify(t *testing.T) {
	many := `["a"` + strings.Repeat(`,"a"`, 2048) + `]`
	for _, c := range []struct {
		target, body string
		status       int
		want         string
	}{
		{"/classify", `{}`, 400, `'input': is required`},
		{"/classify", `{"input":[]}`, 400, `'input'`},
		{"/classify", `{"input":[1,2]}`, 400, `'input`},
		{"/classify", `{"input":` + many + `}`, 400, `'input': at most 2048 texts`},
		{"/classify", `{"input":["a","longer"]}`, 400, `"param":"input[1]"`},
		{"/classify", `{"input":"a","truncation_side":"left"}`, 400, `'truncation_side'`},
		{"/classify", `{"input":"a","messages":[]}`, 400, `'messages'`},
		{"/classify", `{"input":"a","model":"writer"}`, 400, `writer has no classifier; these classify texts: moods`},
		{"/classify", `{"input":"a","model":"embedder"}`, 400, `embedder embeds texts (/v1/embeddings) and has no classifier; these classify texts: moods`},
		{"/classify", `{"input":"a","model":"ranker"}`, 400, `ranker ranks documents (/v1/rerank) and has no classifier`},
		{"/classify", `{"input":"a","model":"nope"}`, 404, `nope`},
		{"/predict", `{"inputs":"a","model":"writer"}`, 424, `writer has no classifier`},
		{"/predict", `{"inputs":"longer"}`, 413, `"error_type":"Validation"`},
		{"/predict", `{}`, 422, `inputs`},
		{"/predict", `{"inputs":5}`, 422, `inputs`},
		{"/predict", `{"inputs":["a",null]}`, 422, `inputs[1]`},
		{"/predict", `{"inputs":[]}`, 422, `at least one text is required`},
		{"/predict", `{"inputs":["a","b","c"]}`, 422, `3 texts in a list`},
		{"/predict", `{"inputs":[["a"],["a","b","c"]]}`, 422, `inputs[1]`},
		{"/predict", `{"inputs":[["a"],[]]}`, 422, `inputs[1]`},
		{"/predict", `{"inputs":[["a"],[null]]}`, 422, `inputs[1][0]`},
		{"/predict", `{"inputs":[["a"],"b"]}`, 422, `inputs`},
		{"/predict", `{"inputs":"a","parameters":{"top_k":0}}`, 422, `parameters.top_k`},
		{"/predict", `{"inputs":"a","parameters":{"function_to_apply":"max"}}`, 422, `parameters.function_to_apply`},
		{"/predict", `{"inputs":[["a"]],"parameters":{}}`, 422, `inputs`},
		{"/predict", `{"inputs":"a","raw_scores":true,"parameters":{"function_to_apply":"none"}}`, 422, `cannot be combined`},
		{"/predict", `{"inputs":"a","truncation_direction":"left"}`, 422, `truncation_direction`},
		{"/v1/rerank", `{"query":"a","documents":["b"],"model":"moods"}`, 400, `moods classifies texts (/classify) and has no reranker; these rank documents: ranker, embedder`},
		{"/v1/embed", `{"texts":["b"],"model":"moods"}`, 400, `moods classifies texts (/classify) and has no embedder`},
	} {
		h, _ := classifiers()
		if w := ask(h, "POST", c.target, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.80s: %d %s, want %d and %s", c.target, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}
