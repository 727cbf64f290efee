package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// follow makes d the draft model of e.
func follow(t testing.TB, e, d *Engine) *Engine {
	t.Helper()
	if err := e.useDraft(d); err != nil {
		t.Fatal(err)
	}
	return e
}

// letters returns n letters of which no two occur together twice, so that nothing is looked up: a
// de Bruijn sequence, the Lyndon words of one and two letters.
func letters(n int) string {
	var b strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		b.WriteRune(c)
		for d := c + 1; d <= 'z'; d++ {
			b.WriteRune(c)
			b.WriteRune(d)
		}
	}
	return b.String()[:n]
}

// wrong returns text with other letters at every so many places.
func wrong(text string, every int) string {
	b := []byte(text)
	for i := every; i < len(b); i += every {
		b[i] = 'a' + (b[i]-'a'+7)%26
	}
	return string(b)
}

// spelling returns an engine that writes what text has at each place, whatever is there before.
func spelling(t testing.TB, text string, cfg Config) *Engine {
	t.Helper()
	const width = 32
	ck := weighted(checkpoint.ModelConfig{VocabSize: 27, BlockSize: len(text), NLayer: 1, NEmbd: width, NHead: 4})
	head, places := ck.Params["lmHead"].Data, ck.Params["wpe"].Data
	clear(head)
	for i := range 27 {
		head[i*width+i] = 1
	}
	clear(places)
	for i := range len(text) - 1 {
		places[i*width+int(text[i+1]-'a'+1)] = 1000
	}
	clear(ck.Params["lnF.bias"].Data)
	for i := range width {
		ck.Params["lnF.weight"].Data[i] = 1
	}
	ck.Tokenizer, _ = json.Marshal(map[string]any{"type": "char", "vocabSize": 27, "vocab": strings.Split("\nabcdefghijklmnopqrstuvwxyz", "")})
	e, err := newAlpha(ck, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Completions, their chunks and log-probabilities are the same with and without a draft model that
// is right always, often or never.
func TestProposals(t *testing.T) {
	cfg := Config{PrefixMemory: -1}
	q4 := Config{PrefixMemory: -1, Format: transformer.Q4_0}
	other := checkpoint.ModelConfig{VocabSize: 27, BlockSize: 100, NLayer: 1, NEmbd: 64, NHead: 2}
	engines := map[string]*Engine{
		"itself": follow(t, random(t, 160, cfg), random(t, 160, cfg)), "coarse": follow(t, random(t, 160, cfg), random(t, 160, q4)),
		"prefixes": follow(t, random(t, 160, Config{}), random(t, 160, Config{Format: transformer.Q4_0})),
		"windows":  follow(t, windowed(t, 700, Config{}), windowed(t, 700, Config{Format: transformer.Q4_0})),
		"ends":     follow(t, withTokenizer(t, characters(t), 160, cfg, 30), withTokenizer(t, characters(t), 160, q4, 30)),
		"another":  follow(t, random(t, 160, cfg), shaped(t, other, cfg)), // whose context is shorter
	}
	for name, e := range engines {
		rng := rand.New(rand.NewPCG(1, uint64(len(name))))
		known := "a"
		for i := range 30 {
			req := request(repeating(rng, 1+rng.IntN(e.context/2)))
			if i%3 == 0 { // a text that the cache may have
				req = request(known[:min(len(known), e.context-30)] + repeating(rng, 5))
			}
			if i%7 == 0 {
				req.Prompts = append(req.Prompts, llm.Text(repeating(rng, 20)))
			}
			req.N, req.Params = 1+rng.IntN(3), randomParams(rng, e.context/2)
			if name == "ends" { // in the middle of a draft
				req.LogitBias, req.Temperature = map[int]float64{30: 6, 66: 8, 67: 8}, new(1.0)
			}
			if i%5 == 0 {
				req.Stop = []string{repeating(rng, 1+rng.IntN(2)), "zq"}
			}
			if i%11 == 0 {
				req.BestOf = new(4)
			}
			sameWithDrafts(t, fmt.Sprint(name, i), e, req)
			rows, _ := collect(t, e, req)
			known = req.Prompts[0].Parts[0].Text + rows[0].Text
		}
		checkDrafts(t, e)
		if e.draft.lanes.computed() == 0 {
			t.Errorf("%s: the draft model has computed nothing", name)
		}
	}
}

// A draft model that is always right saves all passes that drafts can save, one that errs as many
// as come before its errors, and one that is never right none. It computes no token twice.
func TestProposalsSavePasses(t *testing.T) {
	const prompt, tokens = 3, 1 + 8*(maxDraft+1)
	text := letters(200)
	for name, script := range map[string]string{"right": text, "wrong": wrong(text, 1), "errs": wrong(text, 10), "errs often": wrong(text, 3)} {
		wantPasses, wantDrafted, wantAccepted, wantComputed := 1, 0, 0, 0
		for have, known := prompt+1, 0; have < prompt+tokens; { // the first token follows the prompt
			n, accepted := min(maxDraft, prompt+tokens-have-1), 0
			for accepted < n && script[have+accepted] == text[have+accepted] {
				accepted++
			}
			wantPasses, wantDrafted, wantAccepted = wantPasses+1, wantDrafted+n, wantAccepted+accepted
			if n > 0 {
				wantComputed += have - known + n - 1
				known = have + min(accepted, n-1)
			}
			have += accepted + 1
		}
		e := follow(t, spelling(t, text, Config{PrefixMemory: -1}), spelling(t, script, Config{PrefixMemory: -1}))
		passes, proposals := 0, 0
		m, d := watchPasses(t, e, func(int) { passes++ }), watchPasses(t, &Engine{core: e.draft}, func(int) { proposals++ })
		e.drafting = draftAlways
		rows, usage := collect(t, e, &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:prompt])}, Params: llm.Params{MaxTokens: new(tokens)}})
		drafted, accepted := e.Drafts()
		if rows[0].Text != text[prompt:prompt+tokens] || usage.Output != tokens {
			t.Errorf("%s: %q", name, rows[0].Text)
		}
		if passes != wantPasses || drafted != int64(wantDrafted) || accepted != int64(wantAccepted) || e.draft.lanes.computed() != wantComputed || proposals != wantDrafted {
			t.Errorf("%s: %d passes, %d of %d accepted, the draft model computed %d tokens in %d passes; want %d, %d of %d, %d in %d",
				name, passes, accepted, drafted, e.draft.lanes.computed(), proposals, wantPasses, wantAccepted, wantDrafted, wantComputed, wantDrafted)
		}
		m.leave()
		d.leave()
	}
}

// Rows share the passes of the draft model, which reads their prompt once, and a prompt that begins
// like an earlier text only from there on.
func TestProposalsShare(t *testing.T) {
	text := letters(400)
	e, passes := follow(t, spelling(t, text, Config{}), spelling(t, text, Config{})), 0
	d := watchPasses(t, &Engine{core: e.draft}, func(int) { passes++ })
	defer d.leave()
	e.drafting = draftAlways
	ask := func(prompt, tokens, n int) int {
		before := e.draft.lanes.computed()
		collect(t, e, &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:prompt])}, N: n, Params: llm.Params{MaxTokens: new(tokens)}})
		return e.draft.lanes.computed() - before
	}
	const steps = 3
	tokens := 1 + steps*(maxDraft+1)
	if n := ask(100, tokens, 1); n != 100+tokens-2 {
		t.Errorf("one row: %d tokens", n)
	}
	passes = 0
	if n := ask(100, tokens, 4); n != 4*(tokens-2) {
		t.Errorf("four rows of a known prompt: %d tokens", n)
	}
	if passes != steps*maxDraft {
		t.Errorf("four rows took %d passes of the draft model", passes)
	}
	passes = 0
	// The first row reads the prompt, and the others copy it after its first step.
	if n := ask(250, tokens, 4); n > 120+4*tokens || passes > 3+(steps+1)*maxDraft+maxDraft/2 {
		t.Errorf("four rows of a new prompt: %d tokens in %d passes of the draft model", n, passes)
	}
	if n := ask(280, 1+maxDraft+1, 1); n > 280-250+tokens {
		t.Errorf("a known beginning: %d tokens", n)
	}
	req := request(text[:30], text[:47], text[:90])
	req.MaxTokens = new(tokens)
	collect(t, e, req)
	if drafted, accepted := e.Drafts(); drafted != accepted {
		t.Errorf("%d of %d accepted", accepted, drafted)
	}
}

// Proposals hold under grammars, where a model reasons, and where it calls tools.
func TestProposalsConstrained(t *testing.T) {
	coarse := func(t *testing.T, e *Engine) {
		follow(t, e, withTokenizer(t, e.tokenizer, e.context, Config{PrefixMemory: -1, Format: transformer.Q4_0}))
	}
	eachEngine(t, 256, func(t *testing.T, e *Engine) {
		coarse(t, e)
		rng := rand.New(rand.NewPCG(2, 3))
		for i := range 8 {
			p := randomParams(rng, 90)
			p.MaxTokens, p.Echo = new(70+rng.IntN(60)), nil
			req := constrainedRequest([]string{personSchema, listSchema, flagSchema}[i%3], p)
			req.N = 1 + i%2
			sameWithDrafts(t, fmt.Sprint(i), e, req)
		}
		checkDrafts(t, e)
	})
	rng := rand.New(rand.NewPCG(4, 5))
	for prompt := range thinkingPrompts() {
		for name, m := range thinkingModels(t, 256, prompt) {
			coarse(t, m.Engine)
			for i := range 6 {
				p := randomParams(rng, 100)
				p.Echo, p.MaxTokens = nil, new(80+rng.IntN(60))
				switch i % 3 {
				case 0:
					p.Schema = json.RawMessage(flagSchema)
				case 1:
					p.MaxThinking = new(rng.IntN(30))
				}
				sameWithDrafts(t, fmt.Sprint(name, prompt, i), m.Engine, m.ask(p))
			}
		}
	}
	e := follow(t, withTokenizer(t, characters(t), 1024, Config{}), withTokenizer(t, characters(t), 1024, Config{}))
	for i := range 6 {
		p := randomParams(rng, 100)
		p.Echo, p.MaxTokens, p.MustCall, p.Stop = nil, new(120+i), new(i%2 == 0), []string{"rain", "}"}
		p.Tools = []llm.Tool{{Name: "weather", Parameters: json.RawMessage(familyTool)}}
		req := oneMessage("rain? rain in the city, for days")
		req.Params, req.N = p, 1+i%2
		sameWithDrafts(t, fmt.Sprint("tools ", i), e, req)
	}
	checkDrafts(t, e)
}

// Proposals do not change what other requests get, in batches of both models, whose members may
// leave, stall or be cancelled at any time, also if the draft model serves requests of its own.
func TestProposalsTogether(t *testing.T) {
	const requests = 24
	alone := random(t, 128, Config{PrefixMemory: -1, NoDrafts: true})
	coarse := Config{PrefixMemory: -1, Format: transformer.Q4_0}
	aloneDraft := random(t, 128, coarse)
	team := transformer.NewTeam(2)
	defer team.Close()
	for name, cfg := range map[string]Config{"no queue": {}, "a team and a queue": {Team: team, Queue: NewQueue(6, 200, 0)}} {
		own := cfg
		own.Format = transformer.Q4_0
		d := random(t, 128, own)
		for _, how := range []drafting{draftAlways, draftIfFaster} {
			e := follow(t, random(t, 128, cfg), d)
			e.drafting = how
			var wg sync.WaitGroup
			for i := range 2 * requests {
				wg.Go(func() { disruptiveClient(t, e, mixed(i), i) })
				for _, pair := range [][2]*Engine{{e, alone}, {d, aloneDraft}} {
					want, cost := collect(t, pair[1], mixed(i))
					wg.Go(func() {
						rows, usage, err := llm.Collect(pair[0].Generate(t.Context(), mixed(i)), mixed(i).Rows())
						usage.Cached = cost.Cached
						if err != nil || !same(rows, want) || usage != cost {
							t.Errorf("%s: request %d: %v %+v %+v, want %+v %+v", name, i, err, rows, usage, want, cost)
						}
					})
				}
			}
			wg.Wait()
			for _, b := range append(e.lanes.all, d.lanes.all...) {
				if b.members.Load() != 0 || len(b.waiting) != 0 || b.awaited != 0 || b.running || b.pass != nil {
					t.Errorf("%s: somebody is still there: %+v", name, b)
				}
			}
			if drafted, accepted := e.Drafts(); how == draftAlways && (accepted == 0 || accepted == drafted) {
				t.Errorf("%s: %d of %d accepted", name, accepted, drafted)
			}
		}
	}
}

// A request ends at its deadline while the draft model reads its prompt.
func TestProposalsEnd(t *testing.T) {
	text := letters(600)
	e := follow(t, spelling(t, text, Config{}), spelling(t, text, Config{}))
	e.drafting = draftAlways
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	defer cancel()
	d := watchPasses(t, &Engine{core: e.draft}, func(int) { cancel() })
	defer d.leave()
	req := request(text[:500])
	finish := llm.Finish("")
	for c, err := range e.Generate(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		finish = c.Finish
	}
	if n := e.draft.lanes.computed(); finish != llm.FinishCancelled || n > prefillChunk {
		t.Errorf("finish %q after %d tokens", finish, n)
	}
}

// Rows are followed only in memory that the request has, and the request claims it.
func TestProposalsMemory(t *testing.T) {
	text := letters(400)
	need := func(e *Engine, drafts bool) (bytes int64, follows bool) {
		req := request(text[:100])
		req.MaxTokens = new(200)
		p := req.Effective()
		s, err := e.newSettings(req, &p)
		if err != nil {
			t.Fatal(err)
		}
		prompts, err := e.encodePrompts(t.Context(), req.Prompts, s)
		if err != nil {
			t.Fatal(err)
		}
		g := e.newGeneration(s, prompts)
		if !drafts {
			return g.need(), false
		}
		return g.limitDrafts(), g.follows
	}
	e := spelling(t, text, Config{})
	rows, _ := need(e, false)
	plain, _ := need(e, true)
	d := spelling(t, text, Config{})
	follow(t, e, d)
	all, follows := need(e, true)
	if more := all - plain; !follows || more < d.model.CacheBytes(300) || more > d.model.CacheBytes(300)+1000 {
		t.Errorf("%v, with %d bytes more", follows, all-plain)
	}
	e.memory = rows + all
	if _, follows = need(e, true); !follows {
		t.Error("the memory is enough")
	}
	e.memory--
	if got, follows := need(e, true); follows || got != plain {
		t.Errorf("one byte less: %v, %d bytes", follows, got)
	}
}

// A draft model must have the same tokens, and both models must be able to drop some.
func TestDraftRefused(t *testing.T) {
	open := func(dir string) *Engine {
		e, err := New(openNumbers(t, dir), Config{Name: dir})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	summary := open("bart")
	plain := func(cfg Config) *Engine { cfg.Name = "plain"; return random(t, 64, cfg) }
	for want, pair := range map[string][2]*Engine{
		`model "plain": the draft model "plain": drafts of "plain" are turned off`:                      {plain(Config{NoDrafts: true}), plain(Config{})},
		`model "plain": the draft model "llama": its vocabulary has 112 tokens, and that of "plain" 27`: {plain(Config{}), open("llama")},
		`the draft model "granite4-states": it has states`:                                              {plain(Config{}), open("granite4-states")},
		`the draft model "plain": "granite4-states" has states`:                                         {open("granite4-states"), plain(Config{})},
		`the draft model "bart": it answers prompts and does not continue texts`:                        {plain(Config{}), summary},
		`model "bart": the draft model "plain": "bart" answers prompts that an encoder has read`:        {summary, plain(Config{})},
	} {
		if err := pair[0].useDraft(pair[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	e, d := plain(Config{}), plain(Config{})
	d.tokenizer = shifted{d.tokenizer}
	if err := e.useDraft(d); err == nil || !strings.Contains(err.Error(), `its token 26 is "?", and that of "plain" is "z"`) {
		t.Error(err)
	}
	closed := plain(Config{})
	_ = closed.Close()
	if err := e.useDraft(closed); err == nil || !strings.Contains(err.Error(), `model "plain": the draft model "plain": its weights have been released`) {
		t.Error(err)
	}
}

// shifted is a tokenizer with another last token.
type shifted struct{ tokenizer.Tokenizer }

func (s shifted) Piece(id int) string {
	if id == s.Size()-1 {
		return "?"
	}
	return s.Tokenizer.Piece(id)
}

// If the weights of a draft model cannot be read, requests say so, and the engine has failed like it,
// so that both are opened again.
func TestDraftFails(t *testing.T) {
	ck := weighted(checkpoint.ModelConfig{VocabSize: 27, BlockSize: 64, NLayer: 2, NEmbd: 32, NHead: 4})
	ck.Tokenizer, _ = json.Marshal(map[string]any{"type": "char", "vocabSize": 27, "vocab": strings.Split("\nabcdefghijklmnopqrstuvwxyz", "")})
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn")
	m.Weights.Await = func(int) error { return torn }
	d, err := New(m, Config{Name: "small"})
	if err != nil {
		t.Fatal(err)
	}
	e := follow(t, random(t, 64, Config{}), d)
	e.drafting = draftAlways
	_, _, err = llm.Collect(e.Generate(t.Context(), request("abc")), 1)
	if !errors.Is(err, torn) || llm.AsError(err).Code != llm.Upstream || !errors.Is(e.Failed(), torn) {
		t.Errorf("%v, failed %v", err, e.Failed())
	}
}

// The weights of a draft model stay until all engines that use them are closed, and those of an
// engine that could not be made are released.
func TestDraftWeights(t *testing.T) {
	d := random(t, 64, Config{Name: "small"})
	for i, name := range []string{"llama", "llama"} {
		if _, err := New(openNumbers(t, name), Config{Name: name, Draft: d}); err == nil || !strings.Contains(err.Error(), `model "llama": the draft model "small": its vocabulary`) {
			t.Errorf("%d: %v", i, err)
		}
	}
	e := follow(t, random(t, 64, Config{}), d)
	e.drafting = draftAlways
	want, _ := rowsOf(t, e, draftNever, request("abc"))
	_ = d.Close()
	if got, _ := rowsOf(t, e, draftAlways, request("abc")); !same(got[0], want[0]) || d.weights.users != 1 {
		t.Errorf("%v with %d users, want %v", got, d.weights.users, want)
	}
	if drafted, _ := e.Drafts(); drafted == 0 {
		t.Error("nothing was drafted")
	}
	_ = e.Close()
	_ = e.Close()
	if d.weights.users != 0 {
		t.Errorf("%d users", d.weights.users)
	}
}

// Tokens that only pad the vocabulary are not proposed.
func TestProposalsPadded(t *testing.T) {
	text := letters(100)
	e, d := spelling(t, text, Config{PrefixMemory: -1}), spelling(t, text, Config{PrefixMemory: -1})
	e.tokens, d.tokens = 25, 25 // without y and z
	follow(t, e, d)
	e.drafting = draftAlways
	collect(t, e, &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:3])}, Params: llm.Params{MaxTokens: new(60)}})
	if drafted, accepted := e.Drafts(); accepted != drafted || drafted < 50 {
		t.Errorf("%d of %d accepted", accepted, drafted)
	}
}

// What is kept of a row's text is what its cache has, although the last proposals did not come: the
// draft model itself continues it as ever.
func TestProposalsKeep(t *testing.T) {
	shape := checkpoint.ModelConfig{VocabSize: 27, BlockSize: 200, NLayer: 2, NEmbd: 32, NHead: 2}
	text, d, alone := letters(200), shaped(t, shape, Config{}), shaped(t, shape, Config{PrefixMemory: -1})
	e, plain := follow(t, random(t, 200, Config{}), d), random(t, 200, Config{PrefixMemory: -1})
	e.drafting = draftAlways
	for i := range 10 {
		req := request(text[i : 40+i])
		req.MaxTokens, req.Temperature, req.Seed = new(30), new(1.5), new(int64(i))
		rows, _ := collect(t, plain, req)
		written := rows[0].Text[:16+i]
		req.Stop = []string{written[13+i:]} // within a draft
		collect(t, e, req)
		next := request(text[i:40+i] + written + "abc")
		next.MaxTokens, next.Logprobs = new(20), new(1)
		got, usage := collect(t, d, next)
		if want, _ := collect(t, alone, next); !same(got, want) || usage.Cached < 40 {
			t.Errorf("%v with %d known tokens, want %v", got, usage.Cached, want)
		}
	}
}

// A row ends where its model ends it: the draft model's ends are not proposed, nor what it would
// write after them.
func TestProposalsEnds(t *testing.T) {
	text := letters(24)                    // without an x
	for _, place := range []int{4, 5, 9} { // the first proposal is at 4
		script := []byte(text + text)
		script[place] = 'x'
		e := follow(t, spelling(t, text+text, Config{PrefixMemory: -1}), spelling(t, string(script), Config{PrefixMemory: -1}))
		e.ends, e.drafting = map[int]bool{24: true}, draftAlways
		rows, _ := collect(t, e, &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:3])}, Params: llm.Params{MaxTokens: new(14)}})
		if drafted, accepted := e.Drafts(); rows[0].Text != text[3:17] || drafted != accepted || drafted < 8 {
			t.Errorf("an end at %d: %d of %d accepted, %q", place, accepted, drafted, rows[0].Text)
		}
	}
}

// A text with pictures, which a draft model cannot read, is not followed.
func TestProposalsOfPictures(t *testing.T) {
	e, g := openVision(t, "smolvlm", Config{PrefixMemory: -1})
	d, _ := openVision(t, "smolvlm", Config{PrefixMemory: -1})
	follow(t, e, d)
	sameWithDrafts(t, "pictures", e, g.ask(t))
	if n := d.lanes.computed(); n > 0 {
		t.Errorf("the draft model has computed %d tokens", n)
	}
	sameWithDrafts(t, "no pictures", e, request("the quick brown fox"))
	if d.lanes.computed() == 0 {
		t.Error("the draft model has computed nothing")
	}
}

// The odds of proposals are those of the draft model, by the number of proposals in a row that came.
func TestProposalsOdds(t *testing.T) {
	text := letters(300)
	e := follow(t, spelling(t, text, Config{PrefixMemory: -1}), spelling(t, wrong(text, 9), Config{PrefixMemory: -1}))
	e.drafting = draftAlways
	collect(t, e, &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:3])}, Params: llm.Params{MaxTokens: new(280)}})
	b := e.lanes.all[0]
	if b.odds != startingOdds() {
		t.Errorf("lookups have the odds %v", b.odds)
	}
	before := newProposals().odds
	if o := b.proposals.odds; !(o[0] > before[0] && o[1] > before[1] && o[2] > before[2]) || o[5] != before[5] || o[6] != before[6] {
		t.Errorf("odds %v", o)
	}
}

// A draft model whose texts are public does not tell others what a private model has read.
func TestDraftsStayPrivate(t *testing.T) {
	for _, public := range []bool{false, true} {
		d := random(t, 160, Config{PublicPrefixes: public})
		e := follow(t, random(t, 160, Config{}), d)
		e.drafting = draftAlways
		ask := func(e *Engine, owner, text string) int {
			req := request(text)
			req.Params = llm.Params{MaxTokens: new(20)}
			_, usage, err := llm.Collect(e.Generate(llm.WithOwner(t.Context(), owner), req), 1)
			if err != nil {
				t.Fatal(err)
			}
			return usage.Cached
		}
		secret := strings.Repeat("the password is swordfish ", 3)
		ask(e, "alice", secret)
		if n := ask(d, "bob", secret+"x"); n != 0 {
			t.Errorf("public %v: the draft model knows %d tokens of another owner's prompt", public, n)
		}
	}
}
