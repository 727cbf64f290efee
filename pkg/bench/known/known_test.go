package known_test

import (
	"testing"

	"glossa/pkg/bench/known"
	"glossa/pkg/engine/transformer"
)

// Each of the three times is measured, and the directory has the beginning of each prompt.
func TestShape(t *testing.T) {
	r, err := known.Shape(t.Context(), "alpha-1.8m", known.Config{Format: transformer.Q8_0, Threads: 1, Tokens: 200, Repeat: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tokens < transformer.BlockTokens || r.Computed <= 0 || r.Stored <= 0 || r.Memory <= 0 || r.Bytes < 1000 {
		t.Errorf("%+v", r)
	}
	if _, err := known.Shape(t.Context(), "alpha-1.8m", known.Config{Format: transformer.Q8_0, Threads: 1, Tokens: 10, Repeat: 1}); err == nil {
		t.Error("no error for a prompt without a block")
	}
	if _, err := known.File(t.Context(), t.TempDir(), known.Config{Threads: 1, Tokens: 100, Repeat: 1}); err == nil {
		t.Error("no error for an empty directory")
	}
}
