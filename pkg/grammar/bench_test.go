package grammar_test

import (
	"math/rand/v2"
	"testing"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/automaton"
)

// These benchmarks use the schemas of testdata and a small vocabulary. `make bench-grammar`
// uses those of MaskBench and a large vocabulary, and compares with another engine.

// everyday is a schema with each kind of value.
const everyday = "everyday.json: invoice"

func everydaySchema(b *testing.B) schemaCase {
	for _, f := range ownSchemas(b) {
		if f.name == everyday {
			return f
		}
	}
	b.Fatalf("there is no schema %s", everyday)
	return schemaCase{}
}

func BenchmarkSchema(b *testing.B) {
	f := everydaySchema(b)
	for b.Loop() {
		if _, err := grammar.Schema(f.raw, automaton.Generating()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	f, v := everydaySchema(b), vocabularies(b)[2]
	for b.Loop() {
		if _, err := f.grammar.Bind(v.ready); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMask measures the masks of random texts, and taking their tokens.
func BenchmarkMask(b *testing.B) {
	f, v := everydaySchema(b), vocabularies(b)[2]
	c, err := f.grammar.Bind(v.ready)
	if err != nil {
		b.Fatal(err)
	}
	const budget = 200 // tokens
	random := rand.New(rand.NewPCG(1, 2))
	m, left := c.Start(), budget
	for b.Loop() {
		if left == 0 || m.Complete() {
			m, left = c.Start(), budget
		}
		mask := m.Mask(left)
		allowed := list(mask)
		if len(allowed) == 0 {
			m, left = c.Start(), budget
			continue
		}
		if !m.Take(allowed[random.IntN(len(allowed))]) {
			b.Fatal("a token of the mask cannot be taken")
		}
		left--
	}
}

func BenchmarkCanonical(b *testing.B) {
	f := everydaySchema(b)
	v := decode(b, []byte(`{"paid":true,"lines":[{"price":3.50,"count":2,"text":"bread"},{"count":1,"text":"milk","price":1.25}],"id":"123e4567-e89b-12d3-a456-426614174000"}`))
	for b.Loop() {
		if _, ok := f.grammar.Canonical(v); !ok {
			b.Fatal("a valid value has no text")
		}
	}
}
