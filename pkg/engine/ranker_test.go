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

// A rankingGolden is a pair and sentence-transformers' score.
type rankingGolden struct {
	Query    string  `json:"query"`
	Document string  `json:"document"`
	Score    float64 `json:"score"`
	Tokens   int     `json:"tokens"`
}

// rankerNames lists the golden rerankers.
func rankerNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/rerankers/*/golden.json")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d golden rerankers, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

func readRankings(t *testing.T, name string) (list []rankingGolden) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/rerankers", name, "golden.json"))
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func pairsOf(list []rankingGolden) (pairs []llm.Pair) {
	for _, g := range list {
		pairs = append(pairs, llm.Pair{Query: g.Query, Document: g.Document})
	}
	return pairs
}

func openRanker(t *testing.T, name string, cfg engine.Config) *engine.Ranker {
	t.Helper()
	m, err := arch.OpenPath(filepath.Join("testdata/rerankers", name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := engine.Open(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := b.(*engine.Ranker)
	if !ok {
		t.Fatalf("Open returned a %T", b)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func rerank(t *testing.T, r *engine.Ranker, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage) {
	t.Helper()
	list, usage, err := r.Rerank(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return list, usage
}

// Scores and numbers of tokens equal those of sentence-transformers, for each architecture, and
// for pairs that are cut.
func TestRankerGoldens(t *testing.T) {
	for _, name := range rankerNames(t) {
		t.Run(name, func(t *testing.T) {
			r, goldens := openRanker(t, name, engine.Config{}), readRankings(t, name)
			got, usage := rerank(t, r, &llm.RerankRequest{Pairs: pairsOf(goldens), Truncate: true})
			total := 0
			for i, want := range goldens {
				if d := math.Abs(got[i].Score - want.Score); !(d <= 1e-5) || got[i].Tokens != want.Tokens {
					t.Errorf("%q and %q: %v of %d tokens, want %v of %d", want.Query, want.Document, got[i].Score, got[i].Tokens, want.Score, want.Tokens)
				}
				total += want.Tokens
			}
			if usage.Input != total || usage.Output != 0 {
				t.Errorf("usage %+v, want %d tokens", usage, total)
			}
		})
	}
}

// A score is the same to the bit whatever pairs are in the request, and whatever team computes
// it.
func TestRankerBatches(t *testing.T) {
	team := transformer.NewTeam(3)
	t.Cleanup(team.Close)
	for _, name := range rankerNames(t) {
		alone, shared := openRanker(t, name, engine.Config{}), openRanker(t, name, engine.Config{Team: team})
		pairs := pairsOf(readRankings(t, name))
		pairs = slices.Concat(pairs, pairs, pairs)
		together, _ := rerank(t, shared, &llm.RerankRequest{Pairs: pairs, Truncate: true})
		for i := range pairs {
			if one, _ := rerank(t, alone, &llm.RerankRequest{Pairs: pairs[i : i+1], Truncate: true}); one[0] != together[i] {
				t.Fatalf("%s: pair %d of %d: %+v, alone %+v", name, i, len(pairs), together[i], one[0])
			}
		}
	}
}

// Pairs that do not fit are rejected with the counts, or cut if the request says so. A bound
// of the document's tokens is a cut too.
func TestRankerLengths(t *testing.T) {
	for _, name := range []string{"bert", "qwen3"} {
		r := openRanker(t, name, engine.Config{})
		long := strings.Repeat("the hen and the cow ", 300)
		req := &llm.RerankRequest{Pairs: []llm.Pair{{Query: "hen", Document: "cow"}, {Query: "hen", Document: long}}}
		_, _, err := r.Rerank(t.Context(), req)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.TooLong || e.Length == nil || e.Length.Limit != r.Info().Context || e.Param != "documents[1]" {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range []struct {
			pairs []llm.Pair
			want  string
		}{
			{[]llm.Pair{{Query: long, Document: "cow"}}, "query"},
			{[]llm.Pair{{Query: strings.Repeat(long, 2000), Document: "cow"}}, "query"}, // too long to be tokenised
			{[]llm.Pair{{Query: "hen", Document: "cow"}, {Query: long, Document: "hen"}}, "query[1]"},
			{[]llm.Pair{{Query: "hen", Document: "cow"}, {Query: "cow", Document: long}}, "documents[1]"},
		} {
			_, _, err := r.Rerank(t.Context(), &llm.RerankRequest{Pairs: c.pairs})
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.TooLong || e.Param != c.want {
				t.Errorf("%s: %v, want one about %s", name, err, c.want)
			}
		}
		req.Truncate = true
		got, _ := rerank(t, r, req)
		if got[0].Cut || !got[1].Cut || got[1].Tokens > r.Info().Context {
			t.Errorf("%s: %+v", name, got)
		}
		req.MaxDocument, req.Truncate = 3, false
		got, _ = rerank(t, r, req)
		short, _ := rerank(t, r, &llm.RerankRequest{Pairs: []llm.Pair{{Query: "hen", Document: "the hen and"}}})
		if got[0].Cut || !got[1].Cut || name == "bert" && got[1].Score != short[0].Score {
			t.Errorf("%s: %+v and %+v", name, got, short)
		}
	}
}

// What a reranker cannot do is refused with what it can.
func TestRankerRefusals(t *testing.T) {
	r := openRanker(t, "bert", engine.Config{})
	for _, err := range r.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}}) {
		if err == nil || !strings.Contains(err.Error(), "this model ranks documents") {
			t.Errorf("%v", err)
		}
	}
	for want, pairs := range map[string][]llm.Pair{"at least one": nil, "at most 2048": make([]llm.Pair, 10_000)} {
		if _, _, err := r.Rerank(t.Context(), &llm.RerankRequest{Pairs: pairs}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d pairs: %v", len(pairs), err)
		}
	}
	if info := r.Info(); info.Task != llm.TaskRerank || info.Context != 48 {
		t.Errorf("%+v", info)
	}
}

// A model that computes NaN ends the request with an error.
func TestRankerNaN(t *testing.T) {
	m, err := arch.OpenPath("testdata/rerankers/bert")
	if err != nil {
		t.Fatal(err)
	}
	read := m.Ranking.Head.Out.Weight.Read
	m.Ranking.Head.Out.Weight.Read = func(dst []float32, from int) error {
		err := read(dst, from)
		dst[0] = float32(math.NaN())
		return err
	}
	r, err := engine.NewRanker(m, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Rerank(t.Context(), &llm.RerankRequest{Pairs: []llm.Pair{{Query: "a", Document: "b"}}}); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("%v", err)
	}
}
