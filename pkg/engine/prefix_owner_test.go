package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// owned returns how many tokens e computes for a request of an owner, and its usage.
func owned(t *testing.T, e *Engine, owner string, req *llm.Request) (int, llm.Usage) {
	t.Helper()
	before := e.lanes.computed()
	_, usage, err := llm.Collect(e.Generate(llm.WithOwner(t.Context(), owner), req), req.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return e.lanes.computed() - before, usage
}

// A text is used for the owner that had it computed, and for others only if texts are public.
// Usage says what was known.
func TestPrefixOwners(t *testing.T) {
	text := strings.Repeat("abcdefghij", 10)
	for _, public := range []bool{false, true} {
		e := random(t, 256, Config{PublicPrefixes: public})
		for i, step := range []struct {
			owner, text   string
			private, open int // tokens that are computed
		}{
			{"user 1", text, 100, 100}, {"user 1", text, 1, 1}, {"user 2", text, 100, 1}, {"", text + "x", 101, 1},
			{"user 2", text + "x", 1, 1}, {"", text + "xy", 1, 1}, {"user 1", text + "xy", 2, 1}, {"user", text, 100, 1},
		} {
			want := map[bool]int{false: step.private, true: step.open}[public]
			got, usage := owned(t, e, step.owner, sampled(0, step.text))
			if got != want || usage.Cached != len(step.text)-want {
				t.Errorf("public %t, step %d: %d tokens were computed and %d cached of %d, want %d", public, i, got, usage.Cached, len(step.text), want)
			}
		}
		checkBounds(t, e.prefixes)
	}
}

// A text in progress is lent to requests of its owner only.
func TestLentPrefixOwners(t *testing.T) {
	m := random(t, 256, Config{}).model
	limit := int64(1 << 30)
	mine := cacheOf(m, &limit)
	mine.owner = "me"
	theirs := mine.of("them")
	ids, c := slices.Repeat([]int{1, 2, 3, 4}, 25), m.NewCache(200)
	c.Len = len(ids)
	mine.share(ids, c)
	if got, _ := mine.fork(ids, 0, 150); got == nil || got.Len != 99 {
		t.Errorf("the owner's prompt begins with %+v", got)
	}
	if got, known := theirs.fork(ids, 0, 150); got != nil || known != 0 {
		t.Errorf("another owner's prompt: %+v, %d tokens known", got, known)
	}
	mine.keep(ids, c)
	if got, known := theirs.fork(ids, 0, 150); got != nil || known != 0 {
		t.Errorf("another owner's prompt, later: %+v, %d tokens known", got, known)
	}
}

// Texts that begin alike share their blocks, so three prompts with a common half fit where two
// of them would not apart, and all are found again in turn.
func TestPrefixesShareBlocks(t *testing.T) {
	m := random(t, 256, Config{}).model
	common := strings.Repeat("system", 32) // 3 blocks of 64 tokens
	p := newPrefixTexts(m, 0, nil)
	e := random(t, 256, Config{PrefixMemory: p.size(len(common)) + 3*p.size(48)})
	for round := range 3 {
		for _, own := range []string{"a", "b", "c"} {
			want := 1
			if round == 0 {
				if want = 48; own == "a" {
					want = len(common) + 48
				}
			}
			if n, _ := computed(t, e, sampled(0, common+strings.Repeat(own, 48))); n != want {
				t.Errorf("round %d, %s: %d tokens were computed, want %d", round, own, n, want)
			}
		}
	}
	checkBounds(t, e.prefixes)
	if need := e.prefixes.memory.Bytes(); need > p.size(len(common))+3*p.size(48) || 2*p.size(len(common)+48) < need {
		t.Errorf("%d bytes: two whole texts have %d", need, 2*p.size(len(common)+48))
	}
}

// A prompt may leave a known text after any number of tokens; the answer is the same to the bit.
func TestPrefixCuts(t *testing.T) {
	for name, open := range map[string]func(Config) *Engine{
		"full":     func(cfg Config) *Engine { return random(t, 400, cfg) },
		"windowed": func(cfg Config) *Engine { return windowed(t, 400, cfg) },
	} {
		off := open(Config{PrefixMemory: -1})
		text := strings.Repeat("abcdefghijklm", 16)
		for n := 1; n < len(text); n += 1 + n%3 {
			e := open(Config{})
			computed(t, e, sampled(1, text))
			req := sampled(2, text[:n]+"zyx")
			cost, got := computed(t, e, req)
			if all, want := computed(t, off, req); !same(got, want) || name == "full" && cost != all-n {
				t.Fatalf("%s, %d tokens: %+v after %d tokens were computed, without prefixes %+v after %d", name, n, got, cost, want, all)
			}
		}
	}
}

// Engines share a memory: the least recently used texts of any model are evicted, a smaller
// limit evicts at once, and a closed engine keeps nothing.
func TestSharedPrefixMemory(t *testing.T) {
	limit := int64(1 << 40)
	memory := NewPrefixMemory(func() int64 { return limit })
	a, b := random(t, 256, Config{Prefixes: memory}), random(t, 256, Config{Prefixes: memory})
	text := strings.Repeat("abcdefghij", 10)
	size := a.prefixes.size(len(text))
	for _, e := range []*Engine{a, b} {
		computed(t, e, sampled(0, text))
	}
	computed(t, a, sampled(0, text))
	if limit = size; memory.Shrink() == 0 || memory.Shrink() != 0 {
		t.Error("nothing was evicted, or something twice")
	}
	if n, _ := computed(t, a, sampled(0, text)); n != 1 {
		t.Errorf("the text that was used last: %d tokens were computed", n)
	}
	checkBounds(t, a.prefixes)
	if n, _ := computed(t, b, sampled(0, text)); n != 100 {
		t.Errorf("the other: %d tokens were computed", n)
	}
	limit = 1 << 40
	for _, e := range []*Engine{a, b} {
		computed(t, e, sampled(0, text))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		c := e.model.NewCache(100)
		c.Len = 10
		e.prefixes.of("").share([]int{1, 2, 3}, c)
		e.prefixes.of("").keep([]int{1, 2, 3}, c)
	}
	if n := memory.Bytes(); n != 0 || memory.texts != 0 {
		t.Errorf("%d bytes and %d texts of closed engines", n, memory.texts)
	}
}

// Concurrent requests of several owners have their own answers while a memory with room for a
// few texts shrinks and grows.
func TestPrefixesOfOwnersTogether(t *testing.T) {
	off := random(t, 256, Config{PrefixMemory: -1})
	size := newPrefixTexts(off.model, 0, nil).size(120)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 2))
	memory := NewPrefixMemory(func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Int64N(8) * size
	})
	e := random(t, 256, Config{Prefixes: memory})
	texts := branches(70, 6, 40)
	want := map[string][]llm.Chunk{}
	for _, text := range texts {
		_, want[text] = computed(t, off, sampled(4, text))
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			ctx := llm.WithOwner(t.Context(), fmt.Sprint("user ", worker%2))
			for i := range 25 {
				text := texts[(i*7+worker)%len(texts)]
				rows, _, err := llm.Collect(e.Generate(ctx, sampled(4, text)), 1)
				if err != nil || !same(rows, want[text]) {
					t.Errorf("%+v, %v, want %+v", rows, err, want[text])
				}
			}
		})
	}
	wg.Wait()
	memory.limit = func() int64 { return 1 << 40 }
	checkBounds(t, e.prefixes)
}

// The marks of texts in progress count as memory: when they fill it, no more texts are lent.
func TestLentMemory(t *testing.T) {
	m := windowed(t, 1000, Config{}).model
	limit := int64(0)
	p := cacheOf(m, &limit)
	var caches []*transformer.Cache
	ids := func(i int) []int { return slices.Repeat([]int{1 + i}, 300) }
	for i := range 12 {
		c := m.NewCache(600)
		c.Len = 300
		if i == 0 {
			limit = max(p.size(300), 5*m.Mark(c).Bytes())
			p.keep(ids(20), c)
		}
		p.share(ids(i), c)
		caches = append(caches, c)
		checkBounds(t, p.prefixTexts)
	}
	if n := len(p.live); n == 0 || n == len(caches) {
		t.Errorf("%d texts are lent", n)
	}
	for i, c := range caches {
		p.keep(ids(i)[:0], c)
	}
	if p.memory.bytes != 0 || len(p.live) != 0 {
		t.Errorf("%d bytes of %d texts in progress remain", p.memory.bytes, len(p.live))
	}
}

// The memory of a cache is given away only when nobody copies it any more.
func TestUnusedCaches(t *testing.T) {
	m := random(t, 256, Config{}).model
	limit := int64(1 << 30)
	p := cacheOf(m, &limit)
	ids := slices.Repeat([]int{1, 2, 3, 4}, 25)
	lend := func() *transformer.Cache {
		c := m.NewCache(200)
		c.Len = len(ids)
		p.share(ids, c)
		return c
	}
	c := lend()
	if got, _ := p.fork(ids, 0, 150); got == nil {
		t.Fatal("the text is not lent")
	}
	if !p.keep(ids, c) {
		t.Error("a cache that was copied is still in use")
	}
	ids = slices.Repeat([]int{4, 3, 2, 1}, 25)
	c = lend()
	p.live[0].readers++ // as while another prompt copies it
	if p.keep(ids, c) {
		t.Error("a cache that is being copied is not in use")
	}
	ids = slices.Repeat([]int{2, 2, 1}, 25)
	c = lend()
	p.close()
	if p.keep(ids, c) {
		t.Error("a cache that may be copied, of texts that are closed, is not in use")
	}
	if !(*prefixCache)(nil).keep(ids, c) {
		t.Error("a cache is in use although texts are not kept")
	}
}

// A row that has ended has no cache.
func TestRowsGiveCaches(t *testing.T) {
	g := prepare(t, larger(t, nil), request("abc"))
	var c *transformer.Cache
	g.run(t.Context(), func(llm.Chunk, error) bool {
		c = g.rows[0].cache
		return true
	})
	if c == nil || c.Capacity() != 0 {
		t.Errorf("the cache of a row that has ended is still there: %+v", c)
	}
}
