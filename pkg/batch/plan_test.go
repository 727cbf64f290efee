package batch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestKeys compares the keys of objects with those that a decoder reads, whatever the values are.
func TestKeys(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b":[{"c":1},"d"], "e":{"f":{"g":[1,2]},"h":"i"},"j":null } `, `{"a":"b","c":"d"}`,
		`{"\"a\\":"\\\"","b\\\\":"{\",}","":"[","\u0061":"\\","{":"}",",":":"}`, "{\"é\":\"\u2028\",\"a\":[],\"b\":{}}", `null`, `[1,[2]]`, `"a"`, `1`,
	} {
		var want []string
		in := json.NewDecoder(strings.NewReader(text))
		if first, _ := in.Token(); first == json.Delim('{') {
			for in.More() {
				key, _ := in.Token()
				var value json.RawMessage
				if err := in.Decode(&value); err != nil {
					t.Fatal(err)
				}
				want = append(want, key.(string))
			}
		}
		if got := slices.Collect(keys([]byte(text))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestKeysAllocate: the check of a line's keys does not decode its values again.
func TestKeysAllocate(t *testing.T) {
	text := slices.Concat([]byte(`{"custom_id":"a","body":{"input":"`), bytes.Repeat([]byte("a"), 1<<20), []byte(`"}}`))
	var stats []float64
	for _, line := range [][]byte{[]byte(`{"custom_id":"a","body":{}}`), text} {
		stats = append(stats, testing.AllocsPerRun(5, func() {
			if key, problem := checkKeys(line); problem != "" {
				t.Fatal(key, problem)
			}
		}))
	}
	if stats[0] != stats[1] {
		t.Errorf("%v allocations for a long line, %v for a short one", stats[1], stats[0])
	}
}
