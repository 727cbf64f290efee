package tabletest

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/table"
)

// secret is in values that errors must not contain.
const secret = "5ecre7"

// TestTable is the contract of a [table.Table]: open returns a table without other
// users, which may be the same each time. The pk of each written item is the name of a
// test.
func TestTable(t *testing.T, open func(*testing.T) *table.Table) {
	for _, part := range []struct {
		name string
		test func(*testing.T, *table.Table)
	}{
		{"get", get}, {"keys", keys}, {"values", values}, {"numbers", numbers}, {"large", large}, {"refused", refused},
		{"conditions", conditions}, {"equal", equal}, {"several", several},
		{"update", updates}, {"misused", misused}, {"bound", bound}, {"first", first},
		{"query", query}, {"prefix", prefix}, {"pages", pages},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}

// place returns the key of an item of this test.
func place(t *testing.T, sk string) table.Key { return table.Key{PK: t.Name(), SK: sk} }

// with returns an item of a key.
func with(k table.Key, attributes table.Item) table.Item {
	i := table.Item{"pk": k.PK, "sk": k.SK}
	for name, v := range attributes {
		i[name] = v
	}
	return i
}

// put writes an item and fails the test on an error.
func put(t *testing.T, tab *table.Table, i table.Item) {
	t.Helper()
	if err := tab.Put(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

// holds checks the item at a key; nil means no item.
func holds(t *testing.T, tab *table.Table, k table.Key, want table.Item) {
	t.Helper()
	got, err := tab.Get(t.Context(), k)
	switch {
	case want == nil && !errors.Is(err, table.ErrNotFound):
		t.Errorf("at %q: %v (%v), want none", k, got, err)
	case want != nil && (err != nil || !reflect.DeepEqual(got, want)):
		t.Errorf("at %q: %.200v (%v), want %.200v", k, got, err, want)
	}
}

// fails checks that an error is not one of the package's own errors, and does not contain the
// value.
func fails(t *testing.T, err error, named string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error of %s", named)
	case !strings.Contains(err.Error(), named):
		t.Errorf("%.300v: does not name %s", err, named)
	case strings.Contains(err.Error(), secret):
		t.Errorf("%.300v: tells a value", err)
	}
	for _, other := range []error{table.ErrNotFound, table.ErrCondition, table.ErrThrottled, table.ErrNoTable} {
		if errors.Is(err, other) {
			t.Errorf("%.300v: is %v", err, other)
		}
	}
}

// get checks one item from nothing to nothing.
func get(t *testing.T, tab *table.Table) {
	k := place(t, "a")
	holds(t, tab, k, nil)
	if err := tab.Delete(t.Context(), k); err != nil {
		t.Errorf("to delete what is not there: %v", err)
	}
	put(t, tab, with(k, table.Item{"a": "1", "b": "2"}))
	holds(t, tab, k, with(k, table.Item{"a": "1", "b": "2"}))
	put(t, tab, with(k, table.Item{"b": "3"})) // replaced: a is gone
	holds(t, tab, k, with(k, table.Item{"b": "3"}))
	holds(t, tab, place(t, "A"), nil)
	if err := tab.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
	holds(t, tab, k, nil)
	if err := tab.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
}

// keys checks keys of all kinds, including invalid ones.
func keys(t *testing.T, tab *table.Table) {
	for _, sk := range []string{
		" ", "a b", "\x00", "\x7f", "a\nb", `"\`, "#a0", ":v0", "%2F", "us.anthropic.claude:0/x", "é", "e\u0301", "日本", "😀", "\uffff", strings.Repeat("x", 1024),
	} {
		k := place(t, sk)
		put(t, tab, with(k, table.Item{"is": sk}))
		holds(t, tab, k, with(k, table.Item{"is": sk}))
	}
	holds(t, tab, table.Key{PK: strings.Repeat("x", 2048), SK: "x"}, nil)
	for _, k := range []table.Key{
		{}, {PK: "", SK: secret}, {PK: secret, SK: ""}, {PK: secret + strings.Repeat("x", 2048), SK: "x"}, {PK: "x", SK: secret + strings.Repeat("x", 1024)},
		{PK: secret + "\xff", SK: "x"}, {PK: "x", SK: "\xff"},
	} {
		holds(t, tab, k, nil)
		fails(t, tab.Put(t.Context(), with(k, nil)), "k of an item")
		fails(t, tab.Delete(t.Context(), k), "k of an item")
		_, err := tab.Update(t.Context(), k, table.Change{Set: table.Item{"a": secret}})
		fails(t, err, "k of an item")
		if k.SK == "x" {
			if items, err := tab.Query(t.Context(), k.PK, ""); len(items) > 0 || err != nil {
				t.Errorf("query of %.20q: %v (%v)", k.PK, items, err)
			}
		}
	}
	fails(t, tab.Put(t.Context(), table.Item{"pk": 1, "sk": secret}), "pk of an item")
	fails(t, tab.Put(t.Context(), table.Item{"pk": secret}), "sk of an item")
}
