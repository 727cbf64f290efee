package engine

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
)

// windowed has random weights and 27 characters. A layer with a window of 7 tokens, which keeps
// 128, follows one without.
func windowed(t testing.TB, context int, cfg Config) *Engine {
	t.Helper()
	ck := weighted(checkpoint.ModelConfig{VocabSize: 27, BlockSize: context, NLayer: 2, NEmbd: 32, NHead: 4})
	ck.Tokenizer, _ = json.Marshal(map[string]any{"type": "char", "vocabSize": 27, "vocab": strings.Split("\nabcdefghijklmnopqrstuvwxyz", "")})
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	m.Spec.Kinds = append(m.Spec.Kinds, m.Spec.Kinds[0])
	m.Spec.Kinds[1].Attention.Window = 7
	m.Spec.Decoder = []int{0, 1}
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// branches returns texts that differ after some common letters.
func branches(common, n, own int) (texts []string) {
	for i := range n {
		texts = append(texts, strings.Repeat("w", common)+string(rune('a'+i/8))+strings.Repeat(string(rune('a'+i%8)), own-1))
	}
	return texts
}

// With windows, a prompt leaves a known text near its end, at the end of its prompt, or where
// another has left it; prompts of one request have common tokens computed once. The answers
// are those without a cache of prefixes.
func TestPrefixesOfWindows(t *testing.T) {
	e, off := windowed(t, 1500, Config{}), windowed(t, 1500, Config{PrefixMemory: -1})
	long := strings.Repeat("abcdefghij", 60)
	list, score := branches(500, 64, 90), branches(300, 3, 150)
	scored := func(texts ...string) *llm.Request {
		req := sampled(0, texts...)
		req.Echo = new(true)
		return req
	}
	several := sampled(300, long+"op")
	several.N = 3
	middle := func(letter string) string { return long[:300] + strings.Repeat(letter, 200) }
	for _, test := range []struct {
		name string
		req  *llm.Request
		want int
	}{
		{"the first", sampled(0, long), 600},
		{"again", sampled(0, long), 1},
		{"longer", sampled(0, long+"xyz"), 3},
		{"other near the end", sampled(0, long[:590]+"z"), 1},
		{"other in the middle", sampled(0, middle("q")), 500},
		{"another in the middle", sampled(0, middle("r")), 200},
		{"a third in the middle", sampled(9, middle("s")), 200 + 8},
		{"that again", sampled(0, middle("s")), 1},
		{"an answer", sampled(300, long+"kl"), 2 + 299},
		{"another to the same prompt", sampled(300, long+"kl"), 1 + 299},
		{"several", several, 2 + 3*299},
		{"one of them again", sampled(200, long+"op"), 1 + 199},
		{"a list", sampled(0, list...), distinct(list)},
		{"the list again", sampled(0, list...), len(list)},
		{"a scored list", scored(score...), distinct(score) + 2}, // a common token is computed again for its logits
		{"too short to mark", sampled(0, long[:50]+strings.Repeat("v", 400)), 450},
		{"too short again", sampled(0, long[:50]+strings.Repeat("u", 400)), 450},
	} {
		n, got := computed(t, e, test.req)
		if n != test.want {
			t.Errorf("%s: %d tokens were computed, want %d", test.name, n, test.want)
		}
		if _, want := computed(t, off, test.req); !same(got, want) {
			t.Errorf("%s: %+v, without prefixes %+v", test.name, got, want)
		}
		checkBounds(t, e.prefixes)
	}
}

// A chat that begins with a system's message as others do has it computed twice at most, and
// none of the texts is forgotten because of marks.
func TestPrefixOfSystem(t *testing.T) {
	e := windowed(t, 3000, Config{})
	system := strings.Repeat("bebriefandkind", 30)
	for i, letter := range strings.Split("abcdefgh", "") {
		want := 300
		if i < 2 {
			want += len(system)
		}
		for turn, text := 0, system; turn < 3; turn++ {
			text += strings.Repeat(letter, 300)
			if n, _ := computed(t, e, sampled(0, text)); n != want {
				t.Errorf("chat %d, turn %d: %d tokens were computed, want %d", i, turn, n, want)
			}
			want = 300
		}
	}
}

// Random requests with common beginnings have the answers that they have without prefixes, in
// a cache with room for a few texts.
func TestPrefixesOfWindowsRandom(t *testing.T) {
	off := windowed(t, 1500, Config{PrefixMemory: -1})
	e := windowed(t, 1500, Config{PrefixMemory: 3 * newPrefixTexts(off.model, 0, nil).size(700)})
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{strings.Repeat("onceuponatime", 40)}
	computedTokens, all := 0, 0
	for range 60 {
		req := sampled(1 + rng.IntN(150))
		for range 1 + rng.IntN(3) {
			from := texts[rng.IntN(len(texts))]
			text := from[:min(len(from), 800)*rng.IntN(11)/10] + strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(200))
			texts = append(texts, text)
			req.Prompts = append(req.Prompts, llm.Text(text))
		}
		n, got := computed(t, e, req)
		cost, want := computed(t, off, req)
		if !same(got, want) {
			t.Fatalf("%+v, without prefixes %+v", got, want)
		}
		for i, c := range got {
			texts = append(texts, texts[len(texts)-len(got)+i]+c.Text)
		}
		texts = texts[max(0, len(texts)-12):]
		computedTokens, all = computedTokens+n, all+cost
		checkBounds(t, e.prefixes)
	}
	if computedTokens > all*9/10 {
		t.Errorf("%d tokens were computed, %d without prefixes", computedTokens, all)
	}
}

// The memory of a request counts what layers keep.
func TestMemoryOfWindows(t *testing.T) {
	e, full := windowed(t, 4000, Config{}), random(t, 4000, Config{})
	need := func(e *Engine) int64 {
		s, err := e.newSettings(sampled(3000, "a"), &llm.Params{MaxTokens: new(3000)})
		if err != nil {
			t.Fatal(err)
		}
		g := e.newGeneration(s, []*prompt{{ids: []int{1}}})
		return g.need()
	}
	// Both layers have 4 heads of 8 dimensions: 32 floats of keys and 64 of padded values.
	dropped := int64(4 * 4 * (8*(3008-128) + 16*(3001-128)))
	if got, want := need(e), need(full)-dropped; got != want {
		t.Errorf("a request may take %d bytes, want %d", got, want)
	}
}
