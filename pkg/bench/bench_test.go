package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// tiny returns small models of the architectures of the built-in shapes.
func tiny() []shape {
	all := shapes()
	for i := range all {
		s := &all[i]
		s.name = "tiny-" + s.name
		s.vocab, s.context, s.width, s.depth, s.heads, s.keys, s.ffn = 320, 64, 64, 2, 4, 4, 96
		if s.rotary > 0 {
			s.rotary = 8
		}
		if s.rms {
			s.keys, s.rotary = 2, min(s.rotary, 1)*16
		}
		if s.headDim > 0 {
			s.headDim, s.rotary = 32, 32
		}
		if s.window > 0 {
			s.window, s.depth = 3, 7
		}
		if s.mixed() {
			s.depth, s.attention = 3, []int{1}
		}
	}
	return all
}

func TestRun(t *testing.T) {
	for _, s := range tiny() {
		t.Run(s.name, func(t *testing.T) {
			cfg := Config{
				Format: transformer.Q8_0, Threads: []int{1, 2}, Batches: []int{1, 3}, Prefill: 5, Decode: 4, Repeat: 2, Least: time.Nanosecond,
			}
			var got []string
			for r, err := range Run(t.Context(), s.model(), cfg) {
				if err != nil {
					t.Fatal(err)
				}
				line, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				check(t, line, s.name)
				got = append(got, r.Phase)
			}
			if want := slices.Repeat([]string{Prefill, Decode}, 4); !slices.Equal(got, want) {
				t.Errorf("measured %v, want %v", got, want)
			}
		})
	}
}

// check checks that a line is as documented.
func check(t *testing.T, line []byte, name string) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{"batch", "limit_fraction", "phase", "quant", "shape", "threads", "tokens_per_second"}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Fatalf("fields %v, want %v", got, want)
	}
	if fields["shape"] != name || fields["quant"] != "q8_0" {
		t.Errorf("%s", line)
	}
	if rate, _ := fields["tokens_per_second"].(float64); !(rate > 0) {
		t.Errorf("%s", line)
	}
	known := kernel.Best().FloatRounds(1) > 0 && kernel.Best().ReadMemory(make([]byte, 256)) > 0 && kernel.Best().ByteRounds(1) > 0
	if f, ok := fields["limit_fraction"].(float64); ok != known || ok && !(f > 0 && f <= 1) {
		t.Errorf("the machine's limits are known: %v, and %s", known, line)
	}
}

func TestRunRefuses(t *testing.T) {
	s := tiny()[1]
	fails := func(want string, ctx context.Context, m *Model, cfg Config) {
		t.Helper()
		for _, err := range Run(ctx, m, cfg) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		}
	}
	fails("exceed the context of 64", t.Context(), s.model(), Config{Prefill: 65})
	fails("exceed the context of 64", t.Context(), s.model(), Config{Decode: 49})
	fails("one is too small", t.Context(), s.model(), Config{Threads: []int{0}, Decode: 1})
	fails("one is too small", t.Context(), s.model(), Config{Repeat: -1})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	fails("enough", ctx, s.model(), Config{Prefill: 1})
	two := s.model()
	two.Spec.Encoder = []int{0}
	fails("encoder-decoder", t.Context(), two, Config{})
	broken := s.model()
	broken.Weights.Decoder = broken.Weights.Decoder[1:]
	fails("bench tiny-gpt2-124m: decoder: 1 layers", t.Context(), broken, Config{})
	if _, err := Random("gpt5"); err == nil || !strings.Contains(err.Error(), "it must be one of alpha-1.8m, gpt2-124m, smollm2-135m, gemma3-270m, granite4-h-350m, lfm2-350m, neox-410m") {
		t.Errorf("got %v", err)
	}
}

// Texts of each length are measured with each number of threads.
func TestContexts(t *testing.T) {
	m := tiny()[1].model()
	list, err := Contexts(t.Context(), m, Config{Threads: []int{1, 2}, Repeat: 3, Decode: 4}, []int{9, 60, 5})
	if err != nil || len(list) != 6 {
		t.Fatalf("%d results, %v", len(list), err)
	}
	for i, r := range list {
		if r.Tokens != []int{9, 60, 5}[i%3] || r.Threads != 1+i/3 || r.Prefill <= 0 || r.Decode <= 0 || i%3 == 0 && (r.PrefillRatio != 1 || r.DecodeRatio != 1) {
			t.Errorf("%+v", r)
		}
	}
	for want, lengths := range map[string][]int{"4 tokens of decoding after 61 exceed the context of 64": {9, 61}, "at least one token": {0, 9}, "bench tiny-": {}} {
		if _, err := Contexts(t.Context(), m, Config{Decode: 4}, lengths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("lengths %v: %v", lengths, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Contexts(ctx, m, Config{Decode: 4}, []int{9}); err == nil || !strings.HasSuffix(err.Error(), ": enough") {
		t.Errorf("got %v", err)
	}
}

// The shapes have the sizes in their names.
func TestShapes(t *testing.T) {
	for name, want := range map[string]struct {
		all, multiplied int64 // weights
		bytes           int64 // of Q8_0 in a step
	}{
		"alpha-1.8m":      {1_845_248, 1_441_792, 1_531_904},
		"gpt2-124m":       {124_439_808, 123_532_032, 131_265_024},
		"smollm2-135m":    {134_515_008, 134_479_872, 142_884_864},
		"gemma3-270m":     {268_098_176, 268_042_240, 284_794_880},
		"qwen3-0.6b":      {596_049_920, 595_984_384, 633_233_408},
		"llama3.2-1b":     {1_235_814_400, 1_235_746_816, 1_312_980_992},
		"granite4-h-350m": {339_814_112, 339_468_288, 360_867_840},
		"lfm2-350m":       {354_483_968, 354_418_688, 376_569_856},
		"neox-410m":       {405_334_016, 353_501_184, 375_595_008},
		"qwen3.5-0.8b":    {752_393_024, 751_894_528, 798_887_936},
		"oss-16x-490m":    {487_623_936, 152_436_736, 162_873_344},
		"llama-1.1b":      {1_100_048_384, 1_034_420_224, 1_099_071_488},
	} {
		m, err := Random(name)
		if err != nil {
			t.Fatal(err)
		}
		l := m.load(transformer.Q8_0)
		if m.Weights.Elements() != want.all || l.layers+l.head != want.multiplied || l.bytes != want.bytes {
			t.Errorf("%s: %d weights, %d multiplied, %d bytes, want %v", name, m.Weights.Elements(), l.layers+l.head, l.bytes, want)
		}
	}
}

// A part of a tensor equals that part of the whole, and values have the intended spread.
func TestNoise(t *testing.T) {
	w := matrix("some", 100, 48)
	whole, square := make([]float32, 4800), 0.0
	if err := w.Read(whole, 0); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, 1, 2, 3, 5, 48, 4795} {
		part := make([]float32, 5)
		if err := w.Read(part, from); err != nil || !slices.Equal(part, whole[from:from+5]) {
			t.Errorf("from %d: %v, want %v (%v)", from, part, whole[from:from+5], err)
		}
	}
	for _, v := range whole {
		square += float64(v) * float64(v)
	}
	if variance := square / 100; math.Abs(variance-1) > 0.1 {
		t.Errorf("the products of rows have variance %v", variance)
	}
	other := make([]float32, 48)
	if err := matrix("other", 1, 48).Read(other, 0); err != nil || slices.Equal(other, whole[:48]) {
		t.Errorf("two tensors are the same (%v)", err)
	}
}

func TestLeast(t *testing.T) {
	l := load{bytes: 1000, layers: 800, head: 200}
	limit := Limit{Bandwidth: 100, Operations: 400}
	for _, c := range []struct {
		tokens, outputs int
		want            float64
	}{{1, 1, 10}, {2, 2, 10}, {8, 8, 40}, {100, 1, 401}} {
		if got := l.least(limit, c.tokens, c.outputs); got != c.want {
			t.Errorf("%d tokens: %v s, want %v", c.tokens, got, c.want)
		}
	}
	if got := l.least(Limit{Bandwidth: 100}, 1, 1); got != 0 {
		t.Errorf("unknown is %v", got)
	}
}

// A pass that is faster than the limit raises the speed that it proves too low, and only that.
func TestRaise(t *testing.T) {
	b := load{bytes: 1000, layers: 800, head: 200}.bound(1, 1) // 2000 operations
	limit := Limit{Bandwidth: 100, Operations: 1000}           // 10 s and 2 s
	for seconds, want := range map[float64]Limit{12: limit, 10: limit, 5: {200, 1000}, 1: {1000, 2000}} {
		got := b.raise(limit, seconds)
		if got != want || b.least(got, 1, 1) > seconds {
			t.Errorf("a pass of %v s: %v, want %v", seconds, got, want)
		}
	}
	if got := b.raise(Limit{Bandwidth: 100}, 1); got != (Limit{Bandwidth: 100}) {
		t.Errorf("an unknown limit becomes %v", got)
	}
}

// logits returns the logits of a few tokens.
func logits(t *testing.T, m *Model, format transformer.Format) []float32 {
	t.Helper()
	model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), format)
	if err != nil {
		t.Fatal(err)
	}
	tokens := []int{1, 300, 7, 7, 42, 319}
	return must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(16), Tokens: tokens, Logits: len(tokens)}}))
}

func save(t *testing.T, m *Model, path string, format transformer.Format) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Save(file, format), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// A saved model is the same model to the bit, in the format of saving.
func TestSave(t *testing.T) {
	for _, s := range tiny() {
		for name, format := range transformer.Formats() {
			s := s
			if values, _ := format.Type().Block(); values > s.width {
				s.width, s.ffn, s.headDim = values, 2*values, max(s.headDim, 64)
			}
			if _, ok := format.Type().GGUF(); !ok || format == transformer.Stored {
				continue // see below
			}
			t.Run(s.name+"/"+name, func(t *testing.T) {
				made := s.model()
				path := filepath.Join(t.TempDir(), "model.gguf")
				save(t, made, path, format)
				m, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if m.Name != "model.gguf" || m.resolve(transformer.Stored) != format {
					t.Errorf("%s holds %s", m.Name, m.resolve(transformer.Stored))
				}
				want := logits(t, made, format)
				for _, as := range []transformer.Format{transformer.Stored, format} {
					if !slices.Equal(logits(t, m, as), want) {
						t.Errorf("read as %s it computes something else", as)
					}
				}
				if err := m.Save(io.Discard, format); (err == nil) != (s.kind == "gpt2") || err != nil && !strings.Contains(err.Error(), "only the weights of a GPT-2") {
					t.Errorf("saving a file: %v", err)
				}
			})
		}
	}
	if err := tiny()[0].model().Save(io.Discard, transformer.Q4K); err == nil || !strings.Contains(err.Error(), "whole blocks") {
		t.Errorf("rows of 64 values in q4_k: %v", err)
	}
	for _, format := range []transformer.Format{transformer.Stored, transformer.Q8W} {
		if err := tiny()[0].model().Save(io.Discard, format); err == nil || !strings.Contains(err.Error(), "cannot be saved as "+format.String()) {
			t.Errorf("got %v", err)
		}
	}
}

// must returns v, the result of a call that must not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
