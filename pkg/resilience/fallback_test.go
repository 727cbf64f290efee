package resilience

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

func fails(code llm.Code, wait time.Duration) error {
	return &llm.Error{Code: code, Message: string(code), RetryAfter: wait}
}

// Table of the primary's errors after which another model is called, by Generate and Invoke.
func TestFailures(t *testing.T) {
	for code, falls := range map[llm.Code]bool{
		llm.Overloaded: true, llm.Upstream: true, llm.Timeout: true, llm.Internal: true, llm.NotFound: true,
		llm.Invalid: false, llm.TooLong: false, llm.Unsupported: false, llm.Forbidden: false, llm.Unauthenticated: false,
	} {
		for _, invokes := range []bool{false, true} {
			a, b := &fake{name: "a", before: fails(code, 0)}, &fake{name: "b", script: llmtest.Script{"b"}}
			s := newModelSet(invoker{a}.model(), invoker{b}.model())
			s.policies["a"] = Policy{Fallbacks: []string{"b"}}
			var got string
			var err error
			rec, header := within(t, t.Context(), func(ctx context.Context) {
				if invokes {
					got, err = invoke(t, ctx, s.mustOpen(t, ctx, "a"))
				} else {
					got, err = text(s.mustOpen(t, ctx, "a").Generate(ctx, request()))
				}
			})
			switch {
			case falls && (err != nil || got != "b" || rec.Model != "b" || rec.Family != "fake" || header.Get(ModelHeader) != "b"):
				t.Errorf("%s: %q %v, record of %q, header %q", code, got, err, rec.Model, header.Get(ModelHeader))
			case falls && !slices.Equal(rec.Fallbacks, []string{"a: " + string(code)}):
				t.Errorf("%s: %q", code, rec.Fallbacks)
			case !falls && (llm.AsError(err).Code != code || b.calls != 0 || rec.Fallbacks != nil || header.Get(ModelHeader) != ""):
				t.Errorf("%s: %q %v after %d calls of b", code, got, err, b.calls)
			}
		}
	}
}

// A client's effort that is for any model does not keep a fallback in this process that does not reason from
// answering: it gets the request without, which a header tells.
func TestOptionalEffort(t *testing.T) {
	for _, c := range []struct {
		key               string
		inProcess, reason bool
		ignored           string
	}{
		{"effort", true, false, "effort"}, {"effort", true, true, ""}, {"effort", false, false, ""}, {"", true, false, ""},
	} {
		a, b, d := &fake{name: "a", before: fails(llm.Upstream, 0)}, &fake{name: "b", before: fails(llm.Upstream, 0)}, &fake{name: "d"}
		local, last := b.model(), d.model()
		local.InProcess = true
		last.InProcess, last.Reasons = c.inProcess, c.reason
		s := newModelSet(a.model(), local, last)
		s.policies["a"] = Policy{Fallbacks: []string{"b", "d"}}
		req := request()
		req.Effort, req.OptionalEffort = new("high"), c.key
		_, header := within(t, t.Context(), func(ctx context.Context) {
			if _, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, req)); err != nil {
				t.Error(err)
			}
		})
		if got := header.Get("X-Glossa-Ignored"); got != c.ignored || (d.req.Effort == nil) != (c.ignored != "") || (b.req.Effort == nil) != (c.key != "") {
			t.Errorf("%+v: ignored %q, efforts %v, %v", c, got, b.req.Effort, d.req.Effort)
		}
		if req.Effort == nil || a.req.Effort == nil {
			t.Errorf("%+v: the client's request was changed", c)
		}
	}
}

// invoke returns the whole text of canonical keys.
func invoke(t *testing.T, ctx context.Context, m *llm.Model) (text string, err error) {
	t.Helper()
	i, err := llm.As[llm.Invoker](m)
	if err != nil {
		t.Fatal(err)
	}
	for out, err := range i.Invoke(ctx, map[string]any{"prompt": "p"}, false) {
		if err != nil {
			return "", err
		}
		text += out["generated_text"].(string)
	}
	return text, nil
}

// Models are opened when it is their turn, in order; those that cannot be opened, do
// not exist, reject the request or were already called are skipped.
func TestOrder(t *testing.T) {
	a, b, c := &fake{name: "a", before: fails(llm.Upstream, 0)}, &fake{name: "b", before: fails(llm.Unsupported, 0)}, &fake{name: "c", script: llmtest.Script{"c"}}
	s := newModelSet(a.model(), b.model(), c.model())
	s.models["alias"] = s.models["a"]
	s.errors["closed"] = errors.New("no weights")
	s.policies["a"] = Policy{Fallbacks: []string{"alias", "none", "closed", "b", "c", "d"}}
	s.policies["b"] = Policy{Fallbacks: []string{"d"}}
	rec, _ := within(t, t.Context(), func(ctx context.Context) {
		if got, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, request())); err != nil || got != "c" {
			t.Errorf("%q %v", got, err)
		}
	})
	if want := []string{"a", "alias", "none", "closed", "b", "c"}; !slices.Equal(s.opened, want) || a.calls != 1 {
		t.Errorf("opened %q, a was asked %d times", s.opened, a.calls)
	}
	if want := []string{"a: upstream", "alias: internal", "none: not_found", "closed: internal", "b: unsupported"}; !slices.Equal(rec.Fallbacks, want) {
		t.Errorf("%q", rec.Fallbacks)
	}
}

// If the primary answers, the header names it too, and no other model is opened.
func TestPrimary(t *testing.T) {
	a := &fake{name: "a"}
	s := newModelSet(a.model())
	s.policies["a"] = Policy{Fallbacks: []string{"b"}}
	rec, header := within(t, t.Context(), func(ctx context.Context) {
		if got, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, request())); err != nil || got != `{"ok":true}` {
			t.Errorf("%q %v", got, err)
		}
	})
	if header.Get(ModelHeader) != "a" || rec.Fallbacks != nil || len(s.opened) != 1 {
		t.Errorf("%v %q %q", header, rec.Fallbacks, s.opened)
	}
}

// If all fail, the error is the primary's, with the shortest wait.
func TestAllFail(t *testing.T) {
	first := fails(llm.Upstream, 0)
	for name, test := range map[string]struct {
		primary error
		others  []time.Duration
		want    time.Duration
	}{
		"none tells":       {first, []time.Duration{0, 0}, 0},
		"another tells":    {first, []time.Duration{3 * time.Second, 2 * time.Second}, 2 * time.Second},
		"the primary's":    {fails(llm.Overloaded, time.Second), []time.Duration{3 * time.Second, 0}, time.Second},
		"one that is less": {fails(llm.Overloaded, 5*time.Second), []time.Duration{3 * time.Second, 0}, 3 * time.Second},
	} {
		b, c := &fake{name: "b", before: fails(llm.Overloaded, test.others[0])}, &fake{name: "c", before: fails(llm.Timeout, test.others[1])}
		s := newModelSet((&fake{name: "a", before: test.primary}).model(), b.model(), c.model())
		s.policies["a"] = Policy{Fallbacks: []string{"b", "c"}}
		rec, header := within(t, t.Context(), func(ctx context.Context) {
			_, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, request()))
			e := llm.AsError(err)
			if e.Code != llm.AsError(test.primary).Code || e.RetryAfter != test.want {
				t.Errorf("%s: %+v", name, e)
			}
		})
		if len(rec.Fallbacks) != 3 || header.Get(ModelHeader) != "" {
			t.Errorf("%s: %q %v", name, rec.Fallbacks, header)
		}
	}
	if e := llm.AsError(first); e.RetryAfter != 0 {
		t.Error("the primary's own error was changed")
	}
}

// After the first chunk, an error belongs to the answer.
func TestAfterTheFirstChunk(t *testing.T) {
	b := &fake{name: "b"}
	s := newModelSet((&fake{name: "a", after: fails(llm.Upstream, 0)}).model(), b.model())
	s.policies["a"] = Policy{Fallbacks: []string{"b"}}
	chunks := 0
	for _, err := range s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request()) {
		if chunks++; chunks == 2 && llm.AsError(err).Code != llm.Upstream {
			t.Error(err)
		}
	}
	if chunks != 2 || b.calls != 0 {
		t.Errorf("%d chunks, %d calls of b", chunks, b.calls)
	}
}

// Time is shared: a model that hangs leaves some for the next, and the last has all of
// the rest.
func TestTime(t *testing.T) {
	for name, test := range map[string]struct {
		stream   bool
		deadline time.Duration
		a, b     fake
		want     string
		at       time.Duration
		failed   []string
	}{
		"a stream":          {true, 8 * time.Second, fake{hang: true}, fake{script: llmtest.Script{"b"}}, "b", 4 * time.Second, []string{"a: timeout"}},
		"a whole answer":    {false, 8 * time.Second, fake{hang: true}, fake{script: llmtest.Script{"b"}}, "b", 6 * time.Second, []string{"a: timeout"}},
		"slow enough":       {true, 8 * time.Second, fake{slow: 3 * time.Second, script: llmtest.Script{"a"}}, fake{}, "a", 3 * time.Second, nil},
		"the last has all":  {true, 8 * time.Second, fake{hang: true}, fake{slow: 3 * time.Second, script: llmtest.Script{"b"}}, "b", 7 * time.Second, []string{"a: timeout"}},
		"without deadline":  {true, 0, fake{slow: time.Hour, script: llmtest.Script{"a"}}, fake{}, "a", time.Hour, nil},
		"nobody in time":    {true, 8 * time.Second, fake{hang: true}, fake{hang: true}, "", 8 * time.Second, []string{"a: timeout"}},
		"opening takes all": {true, 8 * time.Second, fake{hang: true}, fake{script: llmtest.Script{"c"}, name: "opens slowly"}, "c", 6 * time.Second, []string{"a: timeout", "slow: timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if test.deadline > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), test.deadline)
				}
				defer cancel()
				test.a.name = "a"
				s := newModelSet(test.a.model())
				names := []string{"b"}
				if test.b.name == "" {
					test.b.name = "b"
				} else {
					names = []string{"slow", "b"}
				}
				s.models["b"] = test.b.model()
				s.policies["a"] = Policy{Fallbacks: names}
				models := Models(nil, func(ctx context.Context, name string) (*llm.Model, Policy, error) {
					if name == "slow" {
						<-ctx.Done()
						return nil, Policy{}, ctx.Err()
					}
					return s.open(ctx, name)
				}, Keep(&s.store))
				start := time.Now()
				rec, _ := within(t, ctx, func(ctx context.Context) {
					m, err := models.Open(ctx, "a")
					if err != nil {
						t.Fatal(err)
					}
					req := request()
					req.Stream = test.stream
					if got, err := text(m.Generate(ctx, req)); got != test.want || err != nil {
						t.Errorf("%q %v", got, err)
					}
				})
				if took := time.Since(start); took != test.at || !slices.Equal(rec.Fallbacks, test.failed) {
					t.Errorf("after %v, %q", took, rec.Fallbacks)
				}
				if test.a.runs != 0 || test.b.runs != 0 {
					t.Error("one still runs")
				}
			})
		})
	}
}

// A client that leaves is not a failure of a model.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, a := range []*fake{{name: "a", hang: true}, {name: "a"}} {
			b := &fake{name: "b"}
			s := newModelSet(a.model(), b.model())
			s.policies["a"] = Policy{Fallbacks: []string{"b"}}
			ctx, cancel := context.WithCancel(t.Context())
			if a.hang {
				time.AfterFunc(time.Second, cancel)
			} else {
				cancel()
			}
			rec, _ := within(t, ctx, func(ctx context.Context) {
				rows, _, err := llm.Collect(s.mustOpen(t, ctx, "a").Generate(ctx, request()), 1)
				if err == nil && rows[0].Finish != llm.FinishCancelled || err != nil && !errors.Is(err, context.Canceled) {
					t.Error(rows, err)
				}
			})
			if cancel(); b.calls != 0 || rec.Fallbacks != nil {
				t.Errorf("b was asked %d times, %q", b.calls, rec.Fallbacks)
			}
		}
	})
}

// Leaving the range stops the model, and ends its context.
func TestLeaving(t *testing.T) {
	a, b := &fake{name: "a", before: fails(llm.Overloaded, 0)}, &fake{name: "b"}
	s := newModelSet(a.model(), b.model())
	s.policies["a"] = Policy{Fallbacks: []string{"b"}}
	for range s.mustOpen(t, t.Context(), "a").Generate(t.Context(), request()) {
		if b.runs != 1 || a.runs != 0 {
			t.Errorf("%d of a, %d of b", a.runs, b.runs)
		}
		break
	}
	if b.runs != 0 || b.ctx.Err() == nil || a.ctx.Err() == nil {
		t.Error("one still runs, or its context does")
	}
}

// A fallback that does not accept canonical keys is skipped.
func TestInvokeOfAnother(t *testing.T) {
	s := newModelSet(invoker{&fake{name: "a", before: fails(llm.Upstream, 0)}}.model(), (&fake{name: "b"}).model(), invoker{&fake{name: "c", script: llmtest.Script{"c"}}}.model())
	s.policies["a"] = Policy{Fallbacks: []string{"b", "c"}}
	rec, _ := within(t, t.Context(), func(ctx context.Context) {
		if got, err := invoke(t, ctx, s.mustOpen(t, ctx, "a")); err != nil || got != "c" {
			t.Errorf("%q %v", got, err)
		}
	})
	if !slices.Equal(rec.Fallbacks, []string{"a: upstream", "b: unsupported"}) {
		t.Error(rec.Fallbacks)
	}
}

// A model that yields nothing at all has not answered.
func TestNothing(t *testing.T) {
	s := newModelSet(invoker{&fake{name: "a", script: llmtest.Script{}}}.model(), invoker{&fake{name: "b", script: llmtest.Script{"b"}}}.model())
	s.models["a"].Backend = silent{s.models["a"].Backend.(invoker)}
	s.policies["a"] = Policy{Fallbacks: []string{"b"}}
	if got, err := invoke(t, t.Context(), s.mustOpen(t, t.Context(), "a")); err != nil || got != "b" {
		t.Errorf("%q %v", got, err)
	}
}

type silent struct{ invoker }

func (silent) Invoke(context.Context, map[string]any, bool) iter.Seq2[map[string]any, error] {
	return func(func(map[string]any, error) bool) {}
}

func TestFallbackKeepsTheContract(t *testing.T) {
	for name, before := range map[string]error{"primary": nil, "another": fails(llm.Overloaded, 0)} {
		s := newModelSet((&fake{name: "a", before: before}).model(), (&fake{name: "b"}).model())
		s.policies["a"] = Policy{Fallbacks: []string{"b"}}
		err := llmtest.TestBackend(t.Context(), s.mustOpen(t, t.Context(), "a"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A model keeps its capabilities, and gains none from its fallbacks.
func TestCapabilities(t *testing.T) {
	plain, inv, sc := &fake{name: "plain"}, invoker{&fake{name: "invoker"}}, scorer{&fake{name: "scorer"}}
	s := newModelSet(plain.model(), inv.model(), &llm.Model{ModelInfo: llm.ModelInfo{Name: "scorer"}, Backend: sc})
	for _, p := range []Policy{{}, {Keep: time.Hour}, {Fallbacks: []string{"invoker", "scorer"}}, {Keep: time.Hour, Fallbacks: []string{"invoker", "scorer"}}} {
		for name, inner := range s.models {
			s.policies[name] = p
			m := s.mustOpen(t, t.Context(), name)
			same := func(what string, before, after error) {
				if !reflect.DeepEqual(before, after) {
					t.Errorf("%+v, %s: %s: %v, was %v", p, name, what, after, before)
				}
			}
			_, before := llm.As[llm.Invoker](inner)
			_, after := llm.As[llm.Invoker](m)
			same("Invoker", before, after)
			_, before = llm.As[llm.Scorer](inner)
			_, after = llm.As[llm.Scorer](m)
			same("Scorer", before, after)
			type mapper interface{ Unmapped(map[string]any) []string }
			_, before = llm.As[mapper](inner)
			_, after = llm.As[mapper](m)
			same("mapper", before, after)
		}
	}
}

// A model that cannot be opened gives the answers of its fallbacks, or its error if
// they have none.
func TestCannotBeOpened(t *testing.T) {
	s := newModelSet(invoker{&fake{name: "b", script: llmtest.Script{"b"}}}.model())
	closed := fails(llm.Overloaded, time.Second)
	s.errors["a"], s.errors["refused"], s.errors["alone"] = closed, fails(llm.Unsupported, 0), closed
	p := Policy{Info: llm.ModelInfo{Name: "a", Family: "fake"}, Fallbacks: []string{"b"}}
	s.policies["a"], s.policies["refused"] = p, p
	rec, header := within(t, t.Context(), func(ctx context.Context) {
		m := s.mustOpen(t, ctx, "a")
		if got, err := text(m.Generate(ctx, request())); err != nil || got != "b" || m.Name != "a" {
			t.Errorf("%q %v of %q", got, err, m.Name)
		}
		if _, err := llm.As[llm.Invoker](m); err == nil {
			t.Error("it is an Invoker")
		}
		embedder, _ := llm.As[llm.Embedder](m)
		_, _, embed := embedder.Embed(ctx, &llm.EmbedRequest{})
		scorer, _ := llm.As[llm.Scorer](m)
		_, _, score := scorer.Score(ctx, &llm.ScoreRequest{})
		translator, _ := llm.As[llm.Translator](m)
		_, _, translate := translator.Translate(ctx, &llm.TranslateRequest{})
		tokenizer, _ := llm.As[llm.Tokenizer](m)
		_, tokenize := tokenizer.Tokenize(ctx, []llm.Part{{}}, false)
		_, detokenize := tokenizer.Detokenize(ctx, nil)
		for _, err := range []error{embed, score, translate, tokenize, detokenize} {
			if !errors.Is(err, closed) {
				t.Error(err)
			}
		}
	})
	if header.Get(ModelHeader) != "b" || !slices.Equal(rec.Fallbacks, []string{"a: overloaded", "b: unsupported"}) {
		t.Errorf("%v %q", header, rec.Fallbacks)
	}
	for name, code := range map[string]llm.Code{"refused": llm.Unsupported, "alone": llm.Overloaded, "unknown": llm.NotFound} {
		if _, err := s.resilient().Open(t.Context(), name); llm.AsError(err).Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// blank is an invoker whose stream begins with events without keys.
type blank struct{ invoker }

func (b blank) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for range 2 {
			if !yield(map[string]any{}, nil) {
				return
			}
		}
		b.invoker.Invoke(ctx, body, stream)(yield)
	}
}

// Events without keys do not begin an answer, and are sent together with it.
func TestEventsWithoutKeys(t *testing.T) {
	for _, fail := range []error{nil, fails(llm.Upstream, 0)} {
		a, b := &fake{name: "a", script: llmtest.Script{"a"}, before: fail}, &fake{name: "b", script: llmtest.Script{"b"}}
		first := invoker{a}.model()
		first.Backend = blank{invoker{a}}
		s := newModelSet(first, invoker{b}.model())
		s.policies["a"] = Policy{Fallbacks: []string{"b"}}
		var got []map[string]any
		within(t, t.Context(), func(ctx context.Context) {
			i, err := llm.As[llm.Invoker](s.mustOpen(t, ctx, "a"))
			if err != nil {
				t.Fatal(err)
			}
			for keys, err := range i.Invoke(ctx, map[string]any{"prompt": "p"}, true) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, keys)
			}
		})
		want := []map[string]any{{}, {}, {"generated_text": "a"}, {"generated_text": ""}}
		if fail != nil {
			want = []map[string]any{{"generated_text": "b"}, {"generated_text": ""}}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v, want %v", fail, got, want)
		}
	}
}
