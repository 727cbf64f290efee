package tabletest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/table"
)

// fill writes items with these sk, out of order.
func fill(t *testing.T, tab *table.Table, sks ...string) {
	t.Helper()
	for i := len(sks) - 1; i >= 0; i-- {
		put(t, tab, with(place(t, sks[i]), table.Item{"is": sks[i]}))
	}
}

// finds checks the sk of this test's items with a prefix.
func finds(t *testing.T, tab *table.Table, prefix string, want ...string) {
	t.Helper()
	items, err := tab.Query(t.Context(), t.Name(), prefix)
	if err != nil {
		t.Errorf("query of %q: %v", prefix, err)
	}
	var got []string
	for _, i := range items {
		got = append(got, i.Key().SK)
		if !reflect.DeepEqual(i, with(place(t, i.Key().SK), table.Item{"is": i.Key().SK})) {
			t.Errorf("query of %q returns %v", prefix, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("query of %q: %q, want %q", prefix, got, want)
	}
}

// query checks the order, and that only items of the pk are found.
func query(t *testing.T, tab *table.Table) {
	finds(t, tab, "")
	put(t, tab, table.Item{"pk": t.Name() + "2", "sk": "a"})
	sorted := []string{" ", "10", "9", "A", "Z", "a", "a ", "a!", "aa", "b", "é", "日", "\uffff", "😀"} // ordered by bytes of UTF-8, not of UTF-16
	fill(t, tab, sorted...)
	finds(t, tab, "", sorted...)
	finds(t, tab, "a", "a", "a ", "a!", "aa")
	finds(t, tab, "b", "b")
	finds(t, tab, "c")
	finds(t, tab, "aaa")
}

// prefix checks prefixes with characters that are special elsewhere.
func prefix(t *testing.T, tab *table.Table) {
	for _, p := range []string{"%", "_", "*", ".", "#a0", ":sk", "\\", "'", `"`, "\x00", "\n", "key#", "day#2026-11-22", "us.anthropic.claude-v2:1/", "é", "日", "😀", "\U0010ffff", "\uffff"} {
		t.Run(fmt.Sprintf("%x", p), func(t *testing.T) {
			fill(t, tab, p, p+"1", p+p, "x"+p)
			want := []string{p, p + "1", p + p}
			slices.Sort(want)
			finds(t, tab, p, want...)
		})
	}
	t.Run("long", func(t *testing.T) {
		long := strings.Repeat("x", 1024)
		fill(t, tab, long)
		finds(t, tab, long, long)
		finds(t, tab, long+"x")
	})
}

// pages checks that all items of several megabytes come, each once.
func pages(t *testing.T, tab *table.Table) {
	text := strings.Repeat("x", 300<<10)
	var want []string
	for i := range 9 {
		sk := fmt.Sprintf("%c%d", 'a'+i%2, i)
		put(t, tab, with(place(t, sk), table.Item{"text": text}))
		want = append(want, sk)
	}
	slices.Sort(want)
	for prefix, want := range map[string][]string{"": want, "a": want[:5], "b": want[5:]} {
		items, err := tab.Query(t.Context(), t.Name(), prefix)
		var got []string
		for _, i := range items {
			got = append(got, i.Key().SK)
			if i["text"] != text {
				t.Errorf("%v has another text", i.Key())
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("query of %q: %q (%v), want %q", prefix, got, err, want)
		}
	}
}
