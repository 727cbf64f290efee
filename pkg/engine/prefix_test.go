package engine

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// computed returns the number of tokens that e computes for a request, and the answer.
func computed(t *testing.T, e *Engine, req *llm.Request) (int, []llm.Chunk) {
	t.Helper()
	before := e.lanes.computed()
	rows, _ := collect(t, e, req)
	return e.lanes.computed() - before, rows
}

func sampled(tokens int, prompts ...string) *llm.Request {
	req := request(prompts...)
	req.Params = llm.Params{Seed: new(int64(4)), Temperature: new(1.0), MaxTokens: new(tokens), Logprobs: new(3)}
	return req
}

// marked is a tokenizer with the marks of ChatML.
type marked struct{ specials }

func (m marked) EncodeSpecial(text string) []int { return []int{m.ids[text]} }

// The second turn of a chat computes the new tokens only, and the last token of the first
// turn's answer, which was never fed.
func TestSecondTurn(t *testing.T) {
	secondTurns(t, 20, "jump", func(cfg Config) *Engine { return random(t, 512, cfg) })
}

func TestSecondTurnOfWindows(t *testing.T) {
	secondTurns(t, 200, strings.Repeat("jumps over", 15), func(cfg Config) *Engine { return windowed(t, 4000, cfg) })
}

func secondTurns(t *testing.T, tokens int, question string, open func(Config) *Engine) {
	t.Helper()
	var engines [2]*Engine
	for i, memory := range []int64{0, -1} {
		e := open(Config{PrefixMemory: memory})
		e.template = named(t, chat.ChatML)
		e.tokenizer = marked{specials{e.tokenizer, map[string]int{"<|im_start|>": 25, "<|im_end|>": 26}}}
		engines[i] = e
	}
	req := sampled(tokens)
	req.LogitBias = map[int]float64{0: -100, 25: -100, 26: -100}
	req.Prompts = []llm.Prompt{{Messages: []llm.Message{{Role: "system", Parts: []llm.Part{{Text: "foxes"}}}}}}
	messages, known := &req.Prompts[0].Messages, 0
	for turn := range 4 {
		*messages = append(*messages, llm.Message{Role: "user", Parts: []llm.Part{{Text: strings.Repeat(question, turn+1)}}})
		before := engines[0].lanes.computed()
		rows, usage := collect(t, engines[0], req)
		if n := engines[0].lanes.computed() - before; n != usage.Input-known+tokens-1 {
			t.Errorf("turn %d: %d tokens were computed, %d of %d are known", turn, n, known, usage.Input)
		}
		want, cost := collect(t, engines[1], req)
		if cost.Cached = min(known, usage.Input); !same(rows, want) || usage != cost {
			t.Errorf("turn %d: %+v %+v, without prefixes %+v %+v", turn, rows, usage, want, cost)
		}
		known = usage.Input + tokens - 1
		*messages = append(*messages, llm.Message{Role: "assistant", Parts: []llm.Part{{Text: rows[0].Text}}})
	}
}

// Shared tokens are computed once; all others are computed.
func TestPrefixes(t *testing.T) {
	e := random(t, 256, Config{})
	long := strings.Repeat("abcdefghij", 10)
	score := with(llm.Params{Echo: new(true), Logprobs: new(1), MaxTokens: new(0)})
	score.Prompts[0] = llm.Text(long)
	several := sampled(5, long+"kl")
	several.N = 3
	for _, test := range []struct {
		name string
		req  *llm.Request
		want int
	}{
		{"the first", sampled(0, long), 100},
		{"again", sampled(0, long), 1},
		{"longer", sampled(0, long+"xyz"), 3},
		{"shorter", sampled(0, long[:50]), 1},
		{"other at the end", sampled(0, long[:99]+"z"), 1},
		{"other in the middle", sampled(0, long[:40]+strings.Repeat("q", 40)), 40},
		{"other at the start", sampled(0, "q"+long), 101},
		{"scored", score, 100},
		{"several completions", several, 2 + 3*4},
		{"one of them again", sampled(5, long+"kl"), 1 + 4},
		{"a list", sampled(0, strings.Repeat("w", 90)+"a", strings.Repeat("w", 90)+"b", strings.Repeat("w", 80)), 91 + 1 + 1},
		{"a list that begins as what is known", sampled(0, long[:40]+strings.Repeat("v", 50)+"a", long[:40]+strings.Repeat("v", 50)+"b"), 51 + 1},
		{"one token", sampled(0, "a"), 1},
	} {
		if n, _ := computed(t, e, test.req); n != test.want {
			t.Errorf("%s: %d tokens were computed, want %d", test.name, n, test.want)
		}
	}
	off := random(t, 256, Config{PrefixMemory: -1})
	for range 2 {
		if n, _ := computed(t, off, sampled(0, long)); n != 100 {
			t.Errorf("off: %d tokens were computed", n)
		}
	}
}

// The computed part of a cancelled request's prompt is cached.
func TestPrefixOfCancelled(t *testing.T) {
	e := random(t, 256, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	m := watchPasses(t, e, func(int) { cancel() })
	prompt := strings.Repeat("a", 3*prefillChunk)
	if _, _, err := llm.Collect(e.Generate(ctx, sampled(1, prompt)), 1); err == nil {
		t.Error("not cancelled")
	}
	m.leave()
	if n, _ := computed(t, e, sampled(0, prompt)); n != 2*prefillChunk {
		t.Errorf("%d tokens were computed again", n)
	}
}

// Every model family continues from a cache as if it had computed everything, in Q8_0 and in one
// of the other formats, which take turns.
func TestPrefixToTheBit(t *testing.T) {
	dirs, err := filepath.Glob("arch/testdata/*/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	compared, formats := 0, transformer.Formats()
	names := slices.Sorted(maps.Keys(formats))
	for i, file := range dirs {
		for j, format := range names {
			f := formats[format]
			if f != transformer.Q8_0 && (testing.Short() || j != i%len(names)) {
				continue
			}
			dir := filepath.Base(filepath.Dir(file))
			open := func(memory int64) *Engine {
				m, err := arch.Open(os.DirFS("arch/testdata"), dir)
				if err != nil {
					t.Fatal(err)
				}
				if m.Translation != nil {
					return nil
				}
				m.Tokenizer = numbers{m.Tokens}
				e, err := New(m, Config{Name: dir, Format: f, PrefixMemory: memory})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			with, without := open(0), open(-1)
			if with == nil {
				continue
			}
			rng := rand.New(rand.NewPCG(5, 6))
			ids := make([]int, min(with.context-2, 40))
			for i := range ids {
				ids[i] = rng.IntN(min(with.tokens, 20))
			}
			for _, n := range []int{len(ids) / 3, len(ids), len(ids) / 2} {
				req := sampled(2)
				req.Prompts = []llm.Prompt{{Parts: []llm.Part{{Tokens: ids[:n]}}}}
				cost, got := computed(t, with, req)
				all, want := computed(t, without, req)
				if !same(got, want) {
					t.Errorf("%s, %s, %d tokens: %+v, without prefixes %+v", dir, format, n, got, want)
				}
				if cost < all {
					compared++
				}
			}
		}
	}
	if compared == 0 || compared < 50 && !testing.Short() {
		t.Errorf("%d prompts were begun from a cache", compared)
	}
}

// cacheOf returns the texts of an engine without accounts, with a limit that tests may change.
func cacheOf(m *transformer.Model, limit *int64) *prefixCache {
	return newPrefixTexts(m, 0, NewPrefixMemory(func() int64 { return *limit })).of("")
}

// eachNode calls do for all nodes below n.
func eachNode(n *prefixNode, do func(*prefixNode)) {
	for _, c := range n.children {
		do(c)
		eachNode(c, do)
	}
}

// checkBounds checks that p's counts are right and within its limit, and the order of uses.
func checkBounds(t *testing.T, p *prefixTexts) {
	t.Helper()
	held, leaves, order := int64(0), 0, map[*prefixEntry]int{}
	for e := p.memory.uses.previous; e != &p.memory.uses; e = e.previous {
		order[e] = len(order)
	}
	entries := 0
	for key, tree := range p.trees {
		if len(tree.root.children) == 0 || tree.key != key {
			t.Fatalf("a tree of %+v is empty or has the key %+v", key, tree.key)
		}
		eachNode(&tree.root, func(n *prefixNode) {
			entries += 1 + len(n.rings)
			held += n.block.Bytes() + 8*int64(len(n.ids))
			if len(n.children) == 0 {
				leaves++
			} else if len(n.ids) != blockTokens {
				t.Fatalf("%d tokens are before other nodes", len(n.ids))
			}
			if n.parent != &tree.root && order[&n.parent.prefixEntry] < order[&n.prefixEntry] {
				t.Fatal("a parent is evicted before its child")
			}
			for _, r := range n.rings {
				held += r.block.Bytes()
				if r.node != n || order[&n.prefixEntry] < order[&r.prefixEntry] {
					t.Fatal("a node is evicted before its rings")
				}
			}
		})
	}
	limit := p.memory.limit()
	if m := p.memory; held > m.bytes || m.bytes > limit || leaves != m.texts || entries != len(order) {
		t.Fatalf("%d bytes held, %d counted, %d allowed; %d texts, %d counted; %d entries, %d in order", held, m.bytes, limit, leaves, m.texts, entries, len(order))
	}
}

// Prefixes stay within their memory, and the least recently used are evicted first.
func TestPrefixMemory(t *testing.T) {
	m := random(t, 256, Config{}).model
	text := func(first, n int) []int {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = first
		}
		return ids
	}
	cached := func(ids []int) *transformer.Cache {
		c := m.NewCache(200)
		c.Len = len(ids)
		return c
	}
	limit := int64(0)
	p := cacheOf(m, &limit)
	limit = 3 * p.size(20)
	for first := range 3 {
		p.keep(text(first, 20), cached(text(first, 20)))
	}
	if c, _ := p.fork(text(0, 10), 0, 30); c.Len != 9 || c.Capacity() != 30 {
		t.Errorf("a cache of %d tokens for %d", c.Len, c.Capacity())
	}
	p.keep(text(3, 20), cached(text(3, 20))) // 1 goes
	for first, want := range []int{19, 0, 19, 19} {
		n := 0
		if c, _ := p.fork(text(first, 20), 0, 30); c != nil {
			n = c.Len
		}
		if n != want {
			t.Errorf("%d tokens of text %d, want %d", n, first, want)
		}
	}
	p.keep(text(4, 100), cached(text(4, 100)))
	if p.memory.texts != 3 {
		t.Error("a text larger than all memory made others go")
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		ids := append(text(rng.IntN(3), rng.IntN(8)), text(rng.IntN(3), 1+rng.IntN(60))...)
		c := cached(ids)
		if rng.IntN(2) == 0 {
			p.share(ids[:len(ids)/2], c)
		}
		p.keep(ids, c)
		checkBounds(t, p.prefixTexts)
	}
	limit = 1 << 40
	for i := range 2 * maxPrefixes {
		p.keep([]int{i, i, i}, cached([]int{i, i, i}))
	}
	if p.memory.texts != maxPrefixes {
		t.Errorf("%d texts", p.memory.texts)
	}
	checkBounds(t, p.prefixTexts)
}

// Concurrent calls of keep, share and fork return the computed tokens of the right text,
// and memory stays within its bounds.
func TestPrefixesTogether(t *testing.T) {
	prefixesTogether(t, random(t, 256, Config{}).model, 30)
}

func TestPrefixesOfWindowsTogether(t *testing.T) {
	prefixesTogether(t, windowed(t, 1000, Config{}).model, 150)
}

// prefixesTogether uses texts of two or three times a length.
func prefixesTogether(t *testing.T, m *transformer.Model, length int) {
	t.Helper()
	limit := int64(0)
	p := cacheOf(m, &limit)
	limit = 6 * p.size(3*length+length/3)
	texts := make([][]int, 12) // of three, the second differs from the first at the end, and the third extends it
	for i := range texts {
		for k := range 2*length + length*(i%3/2) {
			texts[i] = append(texts[i], (i/3+k)%25)
		}
		if i%3 == 1 {
			texts[i][2*length-1] = 26
		}
	}
	compute := func(pass *transformer.Pass, c *transformer.Cache, ids []int) []float32 {
		logits, err := pass.Forward([]transformer.Sequence{{Cache: c, Tokens: ids[c.Len:], Logits: 1}})
		if err != nil {
			t.Error(err)
		}
		return slices.Clone(logits)
	}
	want := make([][]float32, len(texts))
	for i, ids := range texts {
		want[i] = compute(m.NewPass(nil), m.NewCache(m.Context), ids)
	}
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			rng, pass := rand.New(rand.NewPCG(13, uint64(worker))), m.NewPass(nil)
			for range 60 {
				i := rng.IntN(len(texts))
				c, _ := p.fork(texts[i], 0, m.Context)
				if c == nil {
					c = m.NewCache(m.Context)
				}
				if got := compute(pass, c, texts[i]); !slices.Equal(got, want[i]) {
					t.Errorf("text %d from a cache is another", i)
				}
				p.share(texts[i], c)
				compute(pass, c, append(slices.Clip(texts[i]), 3, 4, 5))
				p.keep(texts[i], c)
			}
		})
	}
	wg.Wait()
	checkBounds(t, p.prefixTexts)
	if len(p.live) > 0 {
		t.Errorf("%d texts are lent", len(p.live))
	}
	for _, tree := range p.trees {
		eachNode(&tree.root, func(x *prefixNode) {
			for _, y := range x.parent.children {
				if x != y && common(x.ids, y.ids) == min(len(x.ids), len(y.ids)) {
					t.Error("a text begins another")
				}
			}
		})
	}
}
