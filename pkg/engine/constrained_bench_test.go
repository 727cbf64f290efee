package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"glossa/pkg/bench"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// wideTokenizer is a byte-level tokenizer of the given size: bytes, the separators of
// JSON, and all short runs of letters, with and without a space before them.
func wideTokenizer(t testing.TB, size int) tokenizer.Tokenizer {
	t.Helper()
	vocab, merges := map[string]int{}, []string{"#version: 0.2"}
	for b := range rune(256) {
		switch {
		case b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae:
			vocab[string(b)] = len(vocab)
		case b < '!':
			vocab[string(0x100+b)] = len(vocab)
		case b == 0xad:
			vocab[string(rune(0x143))] = len(vocab)
		default: // 0x7f to 0xa0
			vocab[string(0x121+b-0x7f)] = len(vocab)
		}
	}
	var runs []string
	merge := func(left, right string) {
		if _, ok := vocab[left+right]; !ok && len(vocab) < size {
			vocab[left+right] = len(vocab)
			merges = append(merges, left+" "+right)
			runs = append(runs, left+right)
		}
	}
	for _, pair := range []string{`":`, `",`, `{"`, `"}`, `,"`, `[{`, `}]`} {
		merge(pair[:1], pair[1:])
	}
	merge(`":`, `"`)
	merge(`",`, `"`)
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	for _, l := range letters {
		merge("Ġ", string(l))
	}
	runs = append(strings.Split(letters, ""), runs[len(runs)-len(letters):]...)
	for i := 0; len(vocab) < size; i++ {
		for _, l := range letters {
			merge(runs[i], string(l))
		}
	}
	raw, _ := json.Marshal(vocab)
	words, err := hf.ParseGPT2(raw, []byte(strings.Join(merges, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// BenchmarkConstrained decodes with the shape of GPT-2 124M, alternately with and without
// a schema, and reports the ratio of the times per token.
func BenchmarkConstrained(b *testing.B) {
	random, err := bench.Random("gpt2-124m")
	if err != nil {
		b.Fatal(err)
	}
	words := wideTokenizer(b, random.Spec.Vocab)
	e, err := New(&arch.Model{Type: "gpt2", Spec: random.Spec, Weights: random.Weights, Tokenizer: words, Tokens: random.Spec.Vocab},
		Config{Name: random.Name, Format: transformer.Q8_0, PrefixMemory: -1})
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	if _, err := e.constraints.vocabulary(); err != nil {
		b.Fatal(err)
	}
	vocabulary := time.Since(begin)
	const tokens = 64
	decode := func(schema string, p llm.Params) (perToken time.Duration) {
		p.MaxTokens, p.Seed = new(tokens), new(int64(1))
		req := with(p)
		if schema != "" {
			req.Schema = json.RawMessage(schema)
		}
		begin := time.Now()
		_, usage := collect(b, e, req)
		return time.Since(begin) / time.Duration(usage.Output)
	}
	for form, schema := range map[string]string{
		"string":    `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`,
		"numbers":   `{"type":"array","items":{"type":"number"},"minItems":9}`,
		"long keys": fmt.Sprintf(`{"type":"array","minItems":2,"items":{"type":"object","properties":{%q:{"type":"boolean"}},"required":[%[1]q],"additionalProperties":false}}`, "the quick brown fox jumps over the lazy dog"),
	} {
		for name, p := range map[string]llm.Params{"greedy": {}, "top_k": {Temperature: new(0.8), TopK: new(40)}} {
			b.Run(form+"/"+name, func(b *testing.B) {
				decode(schema, p)
				var held, plain time.Duration
				for b.Loop() {
					held, plain = held+decode(schema, p), plain+decode("", p)
				}
				b.ReportMetric(float64(held)/float64(plain), "of-plain")
				b.ReportMetric(float64(plain.Microseconds())/float64(b.N), "µs/token-plain")
				b.ReportMetric(vocabulary.Seconds()*1e3, "ms/vocabulary")
			})
		}
	}
}
