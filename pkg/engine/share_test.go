package engine

import "testing"

// Many rows that generate wait for a part of one prompt at most, fewer for two, and many prompts have
// room of their own.
func TestRoomOfPrompts(t *testing.T) {
	for _, test := range []struct {
		rows, prompts int
		many          bool
		want          int
	}{
		{0, 0, false, passTokens}, {manyRows - 1, 0, false, passTokens - manyRows + 1}, {manyRows, 0, false, prefillChunk}, {manyRows, 40, false, prefillChunk - 40},
		{manyRows, prefillChunk, false, 0}, {passTokens - 10, 0, false, 10}, {manyRows, 0, true, passTokens}, {passTokens, 40, true, passTokens - 40},
	} {
		u := use{test.rows, test.prompts}
		if got := u.left(passTokens, false, test.many); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
		if got := u.left(passTokens, true, false); got != passTokens-test.rows-test.prompts {
			t.Errorf("%+v: %d for a row that generates", test, got)
		}
	}
}
