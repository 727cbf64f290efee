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
)

// codes is a tokenizer of numbers with languages.
type codes struct {
	numbers
	ids map[string]int
}

func (c codes) Language(code string) (int, bool) {
	id, ok := c.ids[code]
	return id, ok
}

func (c codes) Languages() []string { return []string{"en", "fr", "ns"} }

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
	m.Tokenizer = codes{numbers{m.Tokens}, map[string]int{"en": s.Sources[0][0], "fr": s.Language, "ns": s.Language}}
	tr, err := NewTranslator(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr, golden
}

// A translation is the original implementation's output between the tokens of the
// language and the end, and its usage is that of seed 001's example.
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
	w := &translation{Translator: tr, beams: 1, target: golden.Searches[0].Language, member: tr.lanes.join("", nil)}
	if _, err := w.add(t.Context(), strings.Repeat(spell(source[1:len(source)-1])+"\n", 40), "en", true); err != nil {
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
	if !slices.Equal(tr.codes, []string{"fr", "en"}) {
		t.Errorf("%v", tr.codes)
	}
	if _, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: []string{"1"}, Source: "en", Target: "nso"}); err == nil {
		t.Error("nso is translated")
	}
	m, err := arch.Open(os.DirFS("arch/testdata"), "m2m_100")
	if err != nil {
		t.Fatal(err)
	}
	m.Tokenizer = codes{numbers{m.Tokens}, nil}
	if _, err := NewTranslator(m, Config{Languages: []string{"de"}}); err == nil || !strings.Contains(err.Error(), `"de"`) {
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
