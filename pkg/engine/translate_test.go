package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// numberTranslator returns the translator of a golden model whose tokens are numbers, and
// the searches of the original implementation.
func numberTranslator(t *testing.T, cfg Config) (*Translator, searches) {
	t.Helper()
	raw, err := os.ReadFile("arch/testdata/m2m_100/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden searches
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), "m2m_100")
	if err != nil {
		t.Fatal(err)
	}
	s := golden.Searches[0]
	m.Tokenizer, m.Translation.Sources, m.Translation.Targets = numbers{m.Tokens}, nil, nil
	for _, l := range []struct {
		code string
		id   int
	}{{"en", s.Sources[0][0]}, {"fr", s.Language}, {"nso", s.Language}} {
		m.Translation.Sources = append(m.Translation.Sources, arch.Language{Code: l.code, Source: l.id})
		m.Translation.Targets = append(m.Translation.Targets, arch.Language{Code: l.code, Target: l.id})
	}
	tr, err := NewTranslator(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr, golden
}

// A translation is the original implementation's output between the tokens of the
// language and the end, and its usage is that of the example of TextSynth.
func TestTranslate(t *testing.T) {
	tr, golden := numberTranslator(t, Config{})
	language, from := golden.Searches[0].Language, golden.Searches[0].Sources[0][0]
	compared := 0
	for _, s := range golden.Searches {
		source, end := s.Sources[0], len(s.Results[0][0].Tokens)-1
		if s.Limit < 20 || len(s.Sources) > 1 || s.Language != language || source[0] != from ||
			s.Beams > 1 && early(t, s.Early) != arch.StopTrue || s.Results[0][0].Tokens[end] != tr.rules.End {
			continue // cut off, which translations here never are, or of another language
		}
		tr.rules.LengthPenalty, tr.rules.EarlyStopping = max(1, s.Penalty), arch.StopTrue
		for _, target := range []string{"fr", "nso"} {
			got, usage, err := tr.Translate(t.Context(), &llm.TranslateRequest{
				Texts: []string{spell(source[1 : len(source)-1])}, Source: "en", Target: target, Beams: s.Beams,
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := spell(s.Results[0][0].Tokens[2:end]); strings.TrimSpace(got[0].Text) != want || got[0].Source != "en" {
				t.Errorf("%d beams: %+v, want %q", s.Beams, got[0], want)
			}
			if usage.Input != len(source) || usage.Output < 1+s.Beams || (usage.Output-1)%s.Beams != 0 {
				t.Errorf("%d beams: %+v", s.Beams, usage)
			}
			compared++
		}
	}
	if compared < 6 {
		t.Errorf("%d translations were compared", compared)
	}
}

// Sentences are translated separately, together or in turn, and the text between them is
// kept.
func TestTranslateSentences(t *testing.T) {
	tr, golden := numberTranslator(t, Config{})
	source := golden.Searches[0].Sources[0]
	one, two := spell(source[1:len(source)-1]), spell(source[3:len(source)-2])
	alone := func(text string) string {
		got, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: []string{text}, Source: "en", Target: "fr", Beams: 2})
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Text
	}
	texts := []string{"  " + one + "\n\n" + two + "\n", "", " \n", two}
	want := []string{"  " + alone(one) + "\n\n" + alone(two) + "\n", "", " \n", alone(two)}
	small := tr.memory
	for _, memory := range []int64{small, 600 << 10} { // with room for all, and for few
		tr.memory = memory
		got, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: texts, Source: "en", Target: "fr", Beams: 2, SplitSentences: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i].Text != want[i] {
				t.Errorf("text %d with %d bytes: %q, want %q", i, memory, got[i].Text, want[i])
			}
		}
	}
}

// Concurrent translations equal those made one by one.
func TestTranslateTogether(t *testing.T) {
	tr, golden := numberTranslator(t, Config{})
	ask := func(i int) (string, error) {
		s := golden.Searches[i%len(golden.Searches)]
		source := s.Sources[i%len(s.Sources)]
		out, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{
			Texts: []string{spell(source[1 : len(source)-1])}, Source: "en", Target: "fr", Beams: 1 + i%MaxBeams,
		})
		if err != nil {
			return "", err
		}
		return out[0].Text, nil
	}
	var want [12]string
	for i := range want {
		var err error
		if want[i], err = ask(i); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range want {
		wg.Go(func() {
			if got, err := ask(i); err != nil || got != want[i] {
				t.Errorf("translation %d: %q %v, alone %q", i, got, err, want[i])
			}
		})
	}
	wg.Wait()
}

// With any number of sentences, few are encoded between two checks of the context.
func TestEncodeInParts(t *testing.T) {
	tr, golden := numberTranslator(t, Config{})
	source := golden.Searches[0].Sources[0]
	w := &translation{Translator: tr, beams: 1, target: &arch.Language{Target: golden.Searches[0].Language}, member: tr.lanes.join("", nil)}
	if _, err := w.add(t.Context(), strings.Repeat(spell(source[1:len(source)-1])+"\n", 40), tr.sources.find("en"), true); err != nil {
		t.Fatal(err)
	}
	encoded := 0
	count := func(encoder bool, layer int, x []float32) {
		if n := len(x) / tr.model.Width; encoder && layer == 0 {
			encoded += n
			if n >= prefillChunk+len(source) {
				t.Errorf("%d tokens are encoded at once", n)
			}
		}
	}
	if err := w.member.runExclusive(t.Context(), func(p *transformer.Pass) error {
		p.Hidden = count
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.run(t.Context()); err != nil || encoded != w.usage.Input {
		t.Errorf("%d of %d tokens, %v", encoded, w.usage.Input, err)
	}
}

func TestTranslateRefuses(t *testing.T) {
	tr, _ := numberTranslator(t, Config{})
	for name, test := range map[string]struct {
		req   llm.TranslateRequest
		param string
	}{
		"no texts":           {llm.TranslateRequest{Target: "fr"}, "text"},
		"too many texts":     {llm.TranslateRequest{Texts: make([]string, MaxTexts+1), Target: "fr"}, "text"},
		"no target":          {llm.TranslateRequest{Texts: []string{"1"}}, "target_lang"},
		"unknown target":     {llm.TranslateRequest{Texts: []string{"1"}, Target: "xx"}, "target_lang"},
		"the model's code":   {llm.TranslateRequest{Texts: []string{"1"}, Source: "en", Target: "ns"}, "target_lang"},
		"unknown source":     {llm.TranslateRequest{Texts: []string{"1"}, Source: "xx", Target: "fr"}, "source_lang"},
		"undetectable":       {llm.TranslateRequest{Texts: []string{"1"}, Target: "fr"}, "source_lang"},
		"too many beams":     {llm.TranslateRequest{Texts: []string{"1"}, Source: "en", Target: "fr", Beams: 6}, "num_beams"},
		"sentence too long":  {llm.TranslateRequest{Texts: []string{"", strings.Repeat("1 ", 400)}, Source: "en", Target: "fr"}, "text[1]"},
		"more than a budget": {llm.TranslateRequest{Texts: []string{strings.Repeat("1 ", 200)}, Source: "en", Target: "fr", Beams: 5}, "text[0]"},
	} {
		tr.memory = 100 << 10
		_, _, err := tr.Translate(t.Context(), &test.req)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Param != test.param || e.Code != llm.Invalid && e.Code != llm.TooLong {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range tr.Generate(t.Context(), request("1")) {
		if llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("completion: %v", err)
		}
	}
	tr.memory = 300 << 10 // one sentence of 1 token takes a third of it
	for n, fits := range map[int]bool{10: true, 1000: false} {
		_, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{
			Texts: []string{strings.Repeat("1\n", n)}, Source: "en", Target: "fr", SplitSentences: true,
		})
		if fits != (err == nil) {
			t.Errorf("%d sentences: %v", n, err)
		}
	}
	tr.memory = DefaultMaxMemory
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tr.Translate(ctx, &llm.TranslateRequest{Texts: []string{"1"}, Source: "en", Target: "fr"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A record may list the trained languages among those of the tokenizer.
func TestTranslatorLanguages(t *testing.T) {
	tr, _ := numberTranslator(t, Config{Languages: []string{"fr", "en"}})
	if !slices.Equal(tr.sources.codes(), []string{"fr", "en"}) || !slices.Equal(tr.targets.codes(), []string{"fr", "en"}) {
		t.Errorf("%v, %v", tr.sources, tr.targets)
	}
	if _, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: []string{"1"}, Source: "en", Target: "nso"}); err == nil {
		t.Error("nso is translated")
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), "m2m_100")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTranslator(m, Config{Languages: []string{"tlh"}}); err == nil || !strings.Contains(err.Error(), `"tlh"`) {
		t.Errorf("a language that is not there: %v", err)
	}
}

// The vectors of a translator are its encoder's layers.
func TestTranslatorEmbeds(t *testing.T) {
	tr, _ := numberTranslator(t, Config{})
	got, usage, err := tr.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("3 4 5")}, Layers: []int{0, -1}})
	if err != nil || len(got[0].Layers) != 2 || len(got[0].Layers[1].Vectors) != 5 || usage.Input != 5 || got[0].Layers[1].Index != len(tr.model.Encoder) {
		t.Errorf("%+v %+v %v", got, usage, err)
	}
}

// opened returns the translator of a golden model with its own tokenizer.
func opened(t *testing.T, name string, cfg Config) *Translator {
	t.Helper()
	m, err := arch.Open(os.DirFS("arch/testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTranslator(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A source of Marian begins with the token of its target's language, and its target with no token;
// those of NLLB and mBART begin with the tokens of their languages.
func TestTranslateLanguages(t *testing.T) {
	some := false
	for _, c := range []struct{ model, source, target, before, begin string }{
		{"marian", "en", "de", ">>deu<<", ""}, {"marian", "en", "nl", ">>nld<<", ""}, {"nllb", "en", "fr", "eng_Latn", "fra_Latn"}, {"nllb", "fr", "en", "fra_Latn", "eng_Latn"},
		{"mbart", "en", "zh", "en_XX", "zh_CN"}, {"mbart-gelu", "de", "sl", "de_DE", "sl_SI"},
	} {
		tr := opened(t, c.model, Config{})
		special := tr.tokenizer.(tokenizer.Specials).SpecialTokens()
		const text = "the fox sat on a hen"
		got, usage, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: []string{text}, Source: c.source, Target: c.target, Beams: 3})
		if err != nil {
			t.Fatal(err)
		}
		s := &sentence{ids: slices.Concat([]int{special[c.before]}, tr.tokenizer.Encode(text), []int{tr.rules.End})}
		w := &translation{Translator: tr, beams: 3, target: &arch.Language{Target: special[c.begin]}, member: tr.lanes.join("", nil), waiting: []*sentence{s}}
		s.limit = w.limit(len(s.ids))
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.member.leave()
		some = some || got[0].Text != ""
		tokens := slices.DeleteFunc(slices.Clone(s.search.finished[0].tokens), func(id int) bool { return id == tr.rules.End })
		if special[c.begin] > 0 {
			tokens = tokens[1:]
		}
		if want := tokenizer.Decode(tr.tokenizer, tokens); got[0].Text != want || usage.Input != len(s.ids) || got[0].Source != c.source {
			t.Errorf("%+v: %+v %+v, want %q of %d tokens", c, got, usage, want, len(s.ids))
		}
	}
	if !some {
		t.Error("no text has a translation")
	}
}

// A model may translate from other languages than to.
func TestTranslateDirections(t *testing.T) {
	tr := opened(t, "marian", Config{})
	for want, req := range map[string]*llm.TranslateRequest{
		`does not translate to the language "en", only to de, nl`: {Source: "en", Target: "en"},
		`does not translate from the language "de", only from en`: {Source: "de", Target: "nl"},
	} {
		req.Texts = []string{"a hen"}
		if _, _, err := tr.Translate(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	got, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: []string{"x"}, Target: "nl"}) // nothing to detect
	if err != nil || got[0].Source != "en" {
		t.Errorf("%+v, %v", got, err)
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), "marian")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTranslator(m, Config{Languages: []string{"de"}}); err == nil || !strings.Contains(err.Error(), "none is one to translate from") {
		t.Error(err)
	}
	if only := opened(t, "marian", Config{Languages: []string{"nl", "en"}}); !slices.Equal(only.targets.codes(), []string{"nl"}) {
		t.Errorf("%+v", only.targets)
	}
}
