package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A pass has as many texts of some hundreds of tokens as there are workers, and no more tokens than are
// counted for it.
func TestTextsTogether(t *testing.T) {
	for _, test := range []struct{ tokens, workers, want int }{
		{passTokens / 4, 1, 4}, {passTokens / 4, 3, 4}, {passTokens, 1, 1}, {passTokens, 2, 2}, {textTokens, 3, 3}, {textTokens + 1, 3, 2}, {9 * textTokens, 3, 1},
	} {
		if n := together(slices.Repeat([][]int{make([]int, test.tokens)}, 20), test.workers); n != test.want {
			t.Errorf("%d texts of %d tokens for %d workers, want %d", n, test.tokens, test.workers, test.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var texts [][]int
		var all, longest int64
		for range 1 + random.IntN(12) {
			n := 1 + random.IntN(1<<random.IntN(12))
			texts = append(texts, make([]int, n))
			all, longest = all+int64(n), max(longest, int64(n))
		}
		workers := 1 + random.IntN(4)
		for rest := texts; len(rest) > 0; {
			n := together(rest, workers)
			tokens := int64(0)
			for _, text := range rest[:n] {
				tokens += int64(len(text))
			}
			if most := togetherTokens(all, longest, workers); tokens > most {
				t.Fatalf("%d texts of %d tokens for %d workers: %d were counted", n, tokens, workers, most)
			}
			rest = rest[n:]
		}
	}
}

// Workers compute texts next to each other unless somebody else waits.
func TestTextsForEachWorker(t *testing.T) {
	team := transformer.NewTeam(2)
	t.Cleanup(team.Close)
	m, err := arch.OpenPath("testdata/encoders/mpnet")
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, Config{Team: team})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	req := &llm.EmbedRequest{}
	for range 4 {
		req.Prompts = append(req.Prompts, llm.Prompt{Parts: []llm.Part{{Tokens: slices.Repeat([]int{5}, 100)}}})
	}
	passes := func() int64 {
		same := e.lanes.join(llm.SenderOf(t.Context()), nil)
		defer same.leave()
		before := same.share.used
		if _, _, err := e.Embed(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		return (same.share.used - before) / passTokens
	}
	if n := passes(); n != 2 {
		t.Errorf("%d passes of two workers over four texts, want 2", n)
	}
	other := e.lanes.join("another", nil)
	defer other.leave()
	if n := passes(); n != 4 {
		t.Errorf("%d passes where another waits, want 4", n)
	}
}
