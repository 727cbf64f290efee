package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A draft is what followed the newest tokens before. It follows its source until another token
// comes, and repeats a text that repeats itself.
func TestLookup(t *testing.T) {
	for _, test := range []struct {
		text  string
		draft string
		match int
	}{
		{"abcd", "", 0},
		{"abcdXb", "cdXb", 1}, // one token
		{"abcbdXb", "", 0},    // but not if the text has it more than once
		{"abcdXbYb", "", 0},   // as it does now
		{"abXcdefYbcd", "efYb", 2},
		{"zabcE1abcDza92zabc", "E1ab", 4}, // a longer match takes over
		{"abcdQbc", "dQbc", 2},
		{"abcdefghXbcd", "efgh", 3},
		{"abcdefghXbcdef", "ghXb", 5},
		{"1234567X34Y34", "Y34Y", 2},        // the last occurrence
		{"1234567X4Y1234", "567X", 4},       // the longest
		{"abcdXbcdYbcdX", "bcdY", 4},        // not what followed bcd last
		{"abcabc", "abca", 3},               // once around
		{"zxyxyxyxy", "xyxy", 6},            // a period of two
		{"abcdefgXabcdZ", "", 0},            // another token came
		{"abcdefgXabcdZcd", "Zcd" + "Z", 2}, // and the source is forgotten
	} {
		l := newLookup(1000)
		for _, c := range test.text {
			l.add(int(c))
		}
		got := ""
		for _, id := range l.draft(nil, 4) {
			got += string(rune(id))
		}
		if got != test.draft || l.match != test.match {
			t.Errorf("%s: drafted %q after %d tokens that agree, want %q after %d", test.text, got, l.match, test.draft, test.match)
		}
	}
	var none *lookup
	none.add(1)
}

// After a prompt comes the prediction, from its beginning, and after a difference from where the
// text agrees again.
func TestLookupPredicts(t *testing.T) {
	ids := func(text string) (list []int) {
		for _, c := range text {
			list = append(list, int(c))
		}
		return list
	}
	l := newLookup(100)
	l.predict(ids("abcdefgh"), ids("xyz, abc"))
	for i, step := range []struct {
		text, draft string
		came        int
	}{
		{"", "abcd", 0}, {"ab", "cdef", 2}, {"cX", "", 3}, {"fg", "hxyz", 4}, {"h", "xyz,", 5}, {"x", "yz, ", 5},
	} {
		for _, id := range ids(step.text) {
			l.add(id)
		}
		got := ""
		for _, id := range l.draft(nil, 4) {
			got += string(rune(id))
		}
		if got != step.draft || l.came != step.came {
			t.Errorf("step %d: drafted %q after %d predicted tokens, want %q after %d", i, got, l.came, step.draft, step.came)
		}
	}
}

// What hashes find is compared with the newest tokens, whatever collides, and tables do not grow
// with the text.
func TestLookupCollides(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	l, matches := newLookup(1), 0
	for range 20000 {
		l.add(rng.IntN(40))
		if l.match == 0 {
			continue
		}
		n := len(l.tokens)
		if agree := min(l.match, 4); agree < 1 || !slices.Equal(l.tokens[l.at-agree:l.at], l.tokens[n-agree:]) || l.at >= n {
			t.Fatalf("%v does not end like %v", l.tokens[:l.at], l.tokens)
		}
		matches++
	}
	if n := len(l.tables[0]); matches < 100 || n != 64 || len(newLookup(1 << 30 >> 8).tables[1]) != 1<<maxTableBits {
		t.Errorf("%d matches with %d slots", matches, n)
	}
}
