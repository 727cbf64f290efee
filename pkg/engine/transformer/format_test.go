package transformer_test

import (
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Every matrix of a model has the format that its width allows, and the head that of the head.
func TestFormatsOfMatrices(t *testing.T) {
	const f32, q8, q4, q4k, q6k = transformer.F32, transformer.Q8_0, transformer.Q4_0, transformer.Q4K, transformer.Q6K
	for _, c := range []struct {
		format     transformer.Format
		name       string
		width      int
		head, body transformer.Format
	}{
		{q4, "q4_0", 256, q8, q4}, {q4k, "q4_k", 256, q6k, q4k}, {q6k, "q6_k", 256, q6k, q6k},
		{q4k, "q4_k", 192, q8, q4k}, // filled up to 256 inputs, Q6_K is larger than Q8_0
		{q4k, "q4_k", 64, q8, q8}, {q6k, "q6_k", 64, q8, q8},
		{q4k.WithHead(q4k), "q4_k with q4_k head", 256, q4k, q4k}, {q4k.WithHead(q4k), "q4_k with q4_k head", 192, q4k, q4k},
		{q4.WithHead(f32), "q4_0 with f32 head", 256, f32, q4},
		{transformer.Stored.WithHead(q6k), "stored with q6_k head", 256, q6k, f32}, {q8.WithHead(transformer.Stored), "q8_0 with stored head", 256, f32, q8},
	} {
		if c.format.String() != c.name {
			t.Errorf("%q is called %q", c.name, c.format)
		}
		spec, w := plain(c.width, 1, 50)
		l, err := transformer.NewLayout(spec, w, kernel.Best(), c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]transformer.Format{}
		for _, x := range l.Tensors {
			got[x.Name] = x.Format
		}
		for name, want := range map[string]transformer.Format{"embedding": c.head, "head": c.head, "decoder.0.qkv": c.body, "decoder.0.up": c.body, "norm": f32} {
			if f, ok := got[name]; !ok || f != want {
				t.Errorf("%s, width %d: %s is in %v, want %v", c.name, c.width, name, f, want)
			}
		}
		m, err := transformer.New(spec, w, kernel.Best(), c.format)
		if err != nil {
			t.Fatal(err)
		}
		if m.Bytes() != w.Bytes(spec, c.format) {
			t.Errorf("%s: %d bytes, before reading %d", c.name, m.Bytes(), w.Bytes(spec, c.format))
		}
	}
}

// Logits stay near those of float32, the nearer the more bits there are, and the head counts.
func TestRoundedLogits(t *testing.T) {
	spec, w := plain(256, 2, 50)
	want := forward(t, spec, w, transformer.F32)
	last := 0.0
	for _, f := range []transformer.Format{
		transformer.Q8_0, transformer.Q6K, transformer.Q4K, transformer.Q4K.WithHead(transformer.Q4K),
	} {
		off := distance(forward(t, spec, w, f), want)
		t.Logf("%v: %.4f", f, off)
		if off <= last || off > 0.2 {
			t.Errorf("%v: logits are %.4f from those of float32, those of the format before %.4f", f, off, last)
		}
		last = off
	}
}
