package engine_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A classGolden has the labels of a model and the results of transformers' pipeline.
type classGolden struct {
	Labels []string
	Texts  []struct {
		Text   string
		Second *string `json:"text_pair"`
		Scores []float64
		Logits []float64
		Tokens int
		Cut    bool
	}
}

// classifierNames lists the golden classifiers.
func classifierNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/classifiers/*/golden.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d golden classifiers, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

func readClasses(t *testing.T, name string) (g classGolden) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/classifiers", name, "golden.json"))
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// request returns a request for all texts.
func (g *classGolden) request() *llm.ClassifyRequest {
	req := &llm.ClassifyRequest{Truncate: true}
	for _, text := range g.Texts {
		req.Inputs = append(req.Inputs, llm.ClassifyInput{Text: text.Text, Second: text.Second})
	}
	return req
}

// A classifier is a model of either kind.
type classifier interface {
	llm.Backend
	llm.Classifier
	Info() llm.ModelInfo
	Close() error
}

func openClassifier(t *testing.T, path string, cfg engine.Config) classifier {
	t.Helper()
	m, err := arch.OpenPath(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return asClassifier(t, m, cfg)
}

func asClassifier(t *testing.T, m *arch.Model, cfg engine.Config) classifier {
	t.Helper()
	b, err := engine.Open(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := b.(classifier)
	if !ok {
		t.Fatalf("Open returned a %T", b)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func classify(t *testing.T, c llm.Classifier, req *llm.ClassifyRequest) ([]llm.Classification, llm.Usage) {
	t.Helper()
	list, usage, err := c.Classify(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return list, usage
}

// near reports whether numbers differ by rounding only.
func near(a, b float64) bool { return math.Abs(a-b) <= 2e-5*max(1, math.Abs(b)) }

// Scores, logits and numbers of tokens equal those of transformers' pipeline, for each architecture
// and function, for pairs, and for texts that are cut.
func TestClassifierGoldens(t *testing.T) {
	for _, name := range classifierNames(t) {
		t.Run(name, func(t *testing.T) {
			c, golden := openClassifier(t, "classifiers/"+name, engine.Config{}), readClasses(t, name)
			if !slices.Equal(c.Info().Labels, golden.Labels) {
				t.Errorf("labels %q, want %q", c.Info().Labels, golden.Labels)
			}
			req, total := golden.request(), 0
			got, usage := classify(t, c, req)
			req.Function = llm.ScoreNone
			logits, _ := classify(t, c, req)
			for i, want := range golden.Texts {
				if !slices.EqualFunc(got[i].Scores, want.Scores, near) || got[i].Tokens != want.Tokens || got[i].Cut != want.Cut || !slices.Equal(got[i].Labels, golden.Labels) {
					t.Errorf("%q: %+v, want %v of %d tokens, cut %v", want.Text, got[i], want.Scores, want.Tokens, want.Cut)
				}
				if !slices.EqualFunc(logits[i].Scores, want.Logits, near) {
					t.Errorf("%q: logits %v, want %v", want.Text, logits[i].Scores, want.Logits)
				}
				total += want.Tokens
			}
			if usage.Input != total || usage.Output != 0 {
				t.Errorf("usage %+v, want %d tokens", usage, total)
			}
		})
	}
}

// Scores are the same to the bit whatever texts are in the request, and whatever team computes
// them.
func TestClassifierBatches(t *testing.T) {
	team := transformer.NewTeam(3)
	t.Cleanup(team.Close)
	for _, name := range classifierNames(t) {
		golden := readClasses(t, name)
		alone, shared := openClassifier(t, "classifiers/"+name, engine.Config{}), openClassifier(t, "classifiers/"+name, engine.Config{Team: team})
		req := golden.request()
		req.Inputs = slices.Concat(req.Inputs, req.Inputs, req.Inputs)
		together, _ := classify(t, shared, req)
		for i := range req.Inputs {
			one, _ := classify(t, alone, &llm.ClassifyRequest{Inputs: req.Inputs[i : i+1], Truncate: true})
			if !slices.Equal(one[0].Scores, together[i].Scores) {
				t.Fatalf("%s: text %d of %d: %v, alone %v", name, i, len(req.Inputs), together[i].Scores, one[0].Scores)
			}
		}
	}
}

// A packed classifier has the scores of its directory in the same format, to the bit.
func TestPackedClassifiers(t *testing.T) {
	for _, name := range classifierNames(t) {
		golden := readClasses(t, name)
		for _, f := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			source := openClassifier(t, "classifiers/"+name, engine.Config{Format: f})
			m, info := openPacked(t, packDir(t, filepath.Join("testdata/classifiers", name), f))
			if !slices.Equal(info.Labels, golden.Labels) || info.Ranks != (name == "camembert") || info.Embeds {
				t.Errorf("%s: %+v", name, info)
			}
			packed := asClassifier(t, m, engine.Config{Format: transformer.Stored})
			want, _ := classify(t, source, golden.request())
			got, _ := classify(t, packed, golden.request())
			for i := range got {
				if !slices.Equal(got[i].Scores, want[i].Scores) || got[i].Tokens != want[i].Tokens {
					t.Errorf("%s, %v: %v, want %v", name, f, got[i], want[i])
				}
			}
		}
	}
}

// Texts that do not fit are rejected with the counts, or cut if the request says so. A request may
// have a shorter limit.
func TestClassifierLengths(t *testing.T) {
	c := openClassifier(t, "classifiers/bert", engine.Config{})
	long, short := strings.Repeat("the hen and the cow ", 300), "hen"
	for want, in := range map[string][]llm.ClassifyInput{
		"inputs":    {{Text: long}},
		"inputs[1]": {{Text: short}, {Text: short, Second: &long}},
		"inputs[0]": {{Text: long, Second: &short}, {Text: short}},
		"inputs[2]": {{Text: short}, {Text: short}, {Text: strings.Repeat(long, 2000)}}, // too long to be tokenised
	} {
		_, _, err := c.Classify(t.Context(), &llm.ClassifyRequest{Inputs: in})
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.TooLong || e.Length == nil || e.Length.Limit != 48 || e.Param != want {
			t.Errorf("%v, want one about %s", err, want)
		}
	}
	req := &llm.ClassifyRequest{MaxInput: 5, Inputs: []llm.ClassifyInput{{Text: "the hen and"}}}
	if got, _ := classify(t, c, req); got[0].Cut || got[0].Tokens != 5 {
		t.Errorf("%+v", got)
	}
	req.Inputs[0].Text = "the hen and the cow"
	if _, _, err := c.Classify(t.Context(), req); llm.AsError(err).Code != llm.TooLong || *llm.AsError(err).Length != (llm.Length{Limit: 5, Got: 7}) {
		t.Errorf("%v", err)
	}
	req.Truncate = true
	cut, _ := classify(t, c, req)
	whole, _ := classify(t, c, &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: "the hen and"}}})
	if !cut[0].Cut || !slices.Equal(cut[0].Scores, whole[0].Scores) {
		t.Errorf("%+v and %+v", cut, whole)
	}
	req.MaxInput = 1 // fewer than the tokens around a text
	if got, _ := classify(t, c, req); !got[0].Cut || got[0].Tokens != 2 {
		t.Errorf("%+v", got)
	}
}

// A request chooses the function of its scores.
func TestClassifierFunctions(t *testing.T) {
	c := openClassifier(t, "classifiers/roberta", engine.Config{})
	for f, sums := range map[llm.ScoreFunction]bool{"": false, llm.ScoreSigmoid: false, llm.ScoreSoftmax: true, llm.ScoreNone: false} {
		got, _ := classify(t, c, &llm.ClassifyRequest{Function: f, Inputs: []llm.ClassifyInput{{Text: "the hen"}}})
		sum := 0.0
		for _, v := range got[0].Scores {
			sum += v
		}
		if near(sum, 1) != sums {
			t.Errorf("%q: %v", f, got[0].Scores)
		}
	}
}

// What a classifier cannot do is refused with what it can.
func TestClassifierRefusals(t *testing.T) {
	c := openClassifier(t, "classifiers/bert", engine.Config{})
	for _, err := range c.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}}) {
		if err == nil || !strings.Contains(err.Error(), "this model classifies texts") {
			t.Errorf("%v", err)
		}
	}
	one := []llm.ClassifyInput{{Text: "a"}}
	for want, req := range map[string]*llm.ClassifyRequest{
		"at least one":           {},
		"at most 2048":           {Inputs: make([]llm.ClassifyInput, 10_000)},
		"would have 3 scores":    {Inputs: one, MaxScores: 2},
		`"argmax" is not one of`: {Inputs: one, Function: "argmax"},
		"fewer or shorter texts": {Inputs: slices.Repeat([]llm.ClassifyInput{{Text: strings.Repeat("the hen ", 20)}}, 2000)},
	} {
		model := openClassifier(t, "classifiers/bert", engine.Config{MaxMemory: 1 << 20})
		if _, _, err := model.Classify(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, err := openRanker(t, "qwen3", engine.Config{}).Classify(t.Context(), &llm.ClassifyRequest{Inputs: one}); err == nil || !strings.Contains(err.Error(), "this model ranks documents (/v1/rerank)") {
		t.Errorf("%v", err)
	}
	model := &llm.Model{ModelInfo: c.Info(), Backend: c}
	if _, err := llm.As[llm.Embedder](model); err == nil || !strings.Contains(err.Error(), "this model classifies texts (/classify) and has no embedder") {
		t.Errorf("%v", err)
	}
	if _, err := llm.As[llm.Reranker](model); err == nil {
		t.Error("a classifier with several labels ranks")
	}
	if info := c.Info(); info.Task != llm.TaskClassify || info.Context != 48 {
		t.Errorf("%+v", info)
	}
}

// A classifier whose tokenizer joins no texts refuses pairs.
func TestClassifierOfSingleTexts(t *testing.T) {
	m, err := arch.OpenPath("testdata/classifiers/bert")
	if err != nil {
		t.Fatal(err)
	}
	m.Ranking.Pair = nil
	c := asClassifier(t, m, engine.Config{})
	_, _, err = c.Classify(t.Context(), &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: "a", Second: new("b")}}})
	if e := llm.AsError(err); e.Code != llm.Unsupported || !strings.Contains(e.Message, "send single texts") {
		t.Errorf("%v", err)
	}
	classify(t, c, &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: "a"}}})
}

// A model that computes numbers which JSON does not have ends the request with an error.
func TestClassifierDamaged(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		m, err := arch.OpenPath("testdata/classifiers/bert")
		if err != nil {
			t.Fatal(err)
		}
		read := m.Ranking.Head.Out.Bias.Read
		m.Ranking.Head.Out.Bias.Read = func(dst []float32, from int) error {
			err := read(dst, from)
			dst[1] = float32(v)
			return err
		}
		c := asClassifier(t, m, engine.Config{})
		if _, _, err := c.Classify(t.Context(), &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: "a"}}}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%v: %v", v, err)
		}
	}
}
