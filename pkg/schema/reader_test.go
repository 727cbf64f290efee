package schema

import (
	"encoding/json"
	"testing"
)

// Strings decode as in encoding/json.
func TestReadStrings(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"é€😀"`, `"\""`, `"\\"`, `"\\\\"`, `"\/"`, `"\b\f\n\r\t"`, `"a\nb\\n"`, `"\\u0041"`, `"\u0041"`, `"a\u0041\n"`, `"\ud83d\ude00"`,
		`"\ud800"`, `"\n\ud800x"`, `"\u0000"`, `"ends in a \\"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		for _, whole := range []string{text, `[` + text + `]`, `{` + text + `:1}`} {
			doc, err := read([]byte(whole), false)
			if err != nil {
				t.Fatal(err)
			}
			got := doc.root
			switch v := got.(type) {
			case []any:
				got = v[0]
			case map[string]any:
				for name := range v {
					got = name
				}
			}
			if got != want {
				t.Errorf("%s: %q, want %q", whole, got, want)
			}
		}
	}
}
