package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"models", "models", 0},
		{"model", "models", 1}, {"modles", "models", 1}, {"nodels", "models", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 65), "a", 65},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
