package remote

import (
	"encoding/json"
	"math"
	"testing"
)

// The output equals that of encoding/json.
func TestAppendJSON(t *testing.T) {
	many := map[string]any{}
	for c := range rune(300) {
		many["k"+string(c)] = string(c) + "x"
	}
	for _, v := range []any{
		nil, true, false, 0, -7, int64(1) << 60, 0.5, 1e21, 3.0, 1e-6, -9.9e-7, 1e20, math.Copysign(0, -1), -2.5, json.Number("1.50"), json.Number("x"), json.RawMessage(`{"a" : 1}`), math.NaN(),
		"", "plain", "a\nb\t\"c\"\\ \r\b\f\x00\x7f", "<&>", "é€😀", "\u2028 \u2029", "\xff", "\ufffd", "a\xe2\x82",
		[]any(nil), []any{}, []any{1, "a", []any{nil}}, map[string]any(nil), map[string]any{}, many, []string{"a"},
		map[string]any{"b": 1, "a": []any{map[string]any{"<": "\n"}}, "\xff": 2, "": nil}, map[string]any{"a": math.Inf(1)}, []any{json.Number("x")},
	} {
		want, wantErr := json.Marshal(v)
		got, err := appendJSON(nil, v)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%#v: %s %v, want %s %v", v, got, err, want, wantErr)
		}
	}
}

// For common requests, only the returned slice is allocated.
func BenchmarkAppendJSON(b *testing.B) {
	v := map[string]any{
		"anthropic_version": "bedrock-2023-05-31", "max_tokens": 256, "system": "You answer in one short sentence.", "temperature": 0.5,
		"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Tell me about the old lighthouse."}}}},
	}
	b.Run("appendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := appendJSON(nil, v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
