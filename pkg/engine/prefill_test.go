package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// related returns texts with many common prefixes, some equal and some long.
func related(rng *rand.Rand, n int) []string {
	texts := []string{"a", strings.Repeat("abc", prefillChunk), "", "eabcabc"} // e may be the start token
	for len(texts) < n {
		text := texts[rng.IntN(len(texts))]
		text = text[:rng.IntN(len(text)+1)]
		for range rng.IntN(12) {
			text += string(rune('a' + rng.IntN(3)))
		}
		texts = append(texts, text)
	}
	return texts[:n]
}

// distinct counts the tokens that must be computed: common prefixes once, and every last
// token.
func distinct(texts []string) (n int) {
	for i, text := range texts {
		shared := 0
		for _, before := range texts[:i] {
			for k := shared; k < min(len(text)-1, len(before)) && text[:k+1] == before[:k+1]; k++ {
				shared = k + 1
			}
		}
		n += max(1, len(text)) - shared
	}
	return n
}

// Each prompt of a list gives, to the bit, the same result as alone.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	team := transformer.NewTeam(2)
	defer team.Close()
	for name, change := range map[string]func(*llm.Request){
		"plain":       func(*llm.Request) {},
		"echoed":      func(r *llm.Request) { r.Echo = new(true) },
		"scored":      func(r *llm.Request) { r.Echo, r.MaxTokens = new(true), new(0) },
		"several":     func(r *llm.Request) { r.N, r.Logprobs = 2, nil },
		"best of two": func(r *llm.Request) { r.BestOf = new(2) },
	} {
		for _, start := range [][]int{nil, {5}} {
			for _, memory := range []int64{-1, 0, 200 << 10} {
				alone := random(t, 512, Config{PrefixMemory: -1})
				e := random(t, 512, Config{PrefixMemory: memory, Team: team})
				alone.start, e.start = start, start
				texts := related(rng, 20)
				for range 2 {
					together := sampled(3, texts...)
					change(together)
					got, usage := collect(t, e, together)
					var want []llm.Chunk
					input := 0
					for _, text := range texts {
						one := sampled(3, text)
						change(one)
						rows, cost := collect(t, alone, one)
						input += cost.Input
						for _, r := range rows {
							r.Row, r.Usage = len(want), got[len(want)].Usage
							want = append(want, r)
						}
					}
					if !same(got, want) || usage.Input != input {
						t.Errorf("%s, start %v, memory %d: got %+v, want %+v", name, start, memory, got, want)
					}
				}
			}
		}
	}
}

// Common prefixes of a list's prompts are computed once.
func TestListShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 10 {
		texts := related(rng, 30)
		for _, memory := range []int64{-1, 0} {
			if n, _ := computed(t, random(t, 512, Config{PrefixMemory: memory}), sampled(0, texts...)); n != distinct(texts) {
				t.Errorf("%d tokens were computed of %d that differ: %q", n, distinct(texts), texts)
			}
		}
	}
}

// Described prompts share common prefixes too, except the last shared token.
func TestScoredListShares(t *testing.T) {
	long := strings.Repeat("w", 90)
	req := sampled(0, long+"a", long+"b", long+"abc", long+"a")
	req.Echo = new(true)
	if n, _ := computed(t, random(t, 256, Config{}), req); n != 91+2+3+1 {
		t.Errorf("%d tokens were computed", n)
	}
}

// A list of short prompts takes few passes, which have room for others.
func TestListPasses(t *testing.T) {
	e := random(t, 512, Config{PrefixMemory: -1})
	var passes []int
	m := watchPasses(t, e, func(n int) { passes = append(passes, n) })
	list := func(n, tokens int, text string) *llm.Request {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("%c%s", 'a'+i, strings.Repeat(text, tokens-1)))
		}
		return sampled(0, texts...)
	}
	for _, test := range []struct {
		req  *llm.Request
		want []int
	}{
		{list(26, 8, "x"), []int{112, 96}},
		{list(26, 1, ""), []int{26}},
		{list(2, 100, "x"), []int{112, 36 + 52}},
		{sampled(0, strings.Repeat("a", 100), strings.Repeat("a", 90)+strings.Repeat("b", 100)), []int{64, 36, 64, 36}},
	} {
		passes = nil
		collect(t, e, test.req)
		if !reflect.DeepEqual(passes, test.want) {
			t.Errorf("%d prompts: passes of %v tokens, want %v", len(test.req.Prompts), passes, test.want)
		}
	}
	m.leave()
}

// Texts embedded together have, to the bit, the same vectors as alone.
func TestEmbedTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	e := random(t, 512, Config{})
	for _, layers := range [][]int{nil, {0, 1, -1}} {
		req := &llm.EmbedRequest{Layers: layers}
		for _, text := range related(rng, 40) {
			req.Prompts = append(req.Prompts, llm.Text(text))
		}
		got, _, err := e.Embed(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range req.Prompts {
			want, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{p}, Layers: layers})
			if err != nil || !reflect.DeepEqual(got[i], want[0]) {
				t.Errorf("layers %v, text %d: other vectors (%v)", layers, i, err)
			}
		}
	}
}

// A panic while prompts are computed ends the sharing of those that are: their caches belong to nobody.
func TestPrefillPanics(t *testing.T) {
	e := random(t, 512, Config{})
	g := prepare(t, e, request("abc", strings.Repeat("xyz", prefillChunk)))
	g.prompts[1].ids[3*prefillChunk-1] = 1 << 40 // no embedding has this row; a later pass reads it
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		g.run(t.Context(), func(llm.Chunk, error) bool { return true })
	}()
	if n, tokens := len(e.prefixes.live), e.lanes.computed(); tokens <= 2*prefillChunk || n > 0 {
		t.Errorf("%d texts are still shared, after %d tokens", n, tokens)
	}
}
